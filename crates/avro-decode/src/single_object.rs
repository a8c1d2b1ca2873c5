//! Single-object encoding (Avro 1.12, "Single-object encoding"): a record with the fingerprint of
//! its writer's schema, as in messages of a queue.

use atds_features::words::counted;
use thiserror::Error;

/// Bytes of the header: the marker, and the fingerprint of the writer's schema.
pub const HEADER_LEN: usize = MARKER.len() + 8;

/// The first bytes of every header: the format and its version.
const MARKER: [u8; 2] = [0xc3, 0x01];

/// The header of records written with a schema of this [`fingerprint`](crate::Schema::fingerprint).
pub fn header(fingerprint: u64) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    let (marker, rest) = header.split_at_mut(MARKER.len());
    marker.copy_from_slice(&MARKER);
    rest.copy_from_slice(&fingerprint.to_le_bytes());
    header
}

/// The record after its header, which must have this fingerprint.
///
/// ```
/// use avro_decode::{Schema, single_object};
///
/// let fingerprint = Schema::parse("\"int\"")?.fingerprint();
/// let mut message = single_object::header(fingerprint).to_vec();
/// message.push(42);
/// assert_eq!(single_object::strip(&message, fingerprint)?, [42]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the message is too short for a header, does not start with the marker, or was written with
/// another schema.
pub fn strip(message: &[u8], fingerprint: u64) -> Result<&[u8], SingleObjectError> {
    let (found, record) = split(message)?;
    if found == fingerprint {
        Ok(record)
    } else {
        Err(other_schema(fingerprint, found))
    }
}

/// The fingerprint in the header, which identifies the writer's schema, and the record after the
/// header.
///
/// # Errors
/// If the message is too short for a header, or does not start with the marker.
pub fn split(message: &[u8]) -> Result<(u64, &[u8]), SingleObjectError> {
    let Some((header, record)) = message.split_first_chunk::<HEADER_LEN>() else {
        return Err(too_short(message.len()));
    };
    let [first, second, fingerprint @ ..] = *header;
    if [first, second] == MARKER {
        Ok((u64::from_le_bytes(fingerprint), record))
    } else {
        Err(bad_marker([first, second]))
    }
}

/// A message that is not a single object of the expected schema.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SingleObjectError {
    /// The message is shorter than a header.
    #[error("{}, fewer than the {HEADER_LEN} of a single object's header", counted(*len, "byte"))]
    TooShort {
        /// Bytes of the message.
        len: usize,
    },
    /// The message does not start with the marker.
    #[error("the first bytes are {:02x} {:02x}, not the marker c3 01 of a single object", found[0], found[1])]
    BadMarker {
        /// The first bytes.
        found: [u8; 2],
    },
    /// The message was written with another schema.
    #[error("the schema's fingerprint is {found:016x}, not {expected:016x}")]
    OtherSchema {
        /// The fingerprint of the expected schema.
        expected: u64,
        /// The fingerprint in the header.
        found: u64,
    },
}

#[cold]
fn too_short(len: usize) -> SingleObjectError {
    SingleObjectError::TooShort { len }
}

#[cold]
fn bad_marker(found: [u8; 2]) -> SingleObjectError {
    SingleObjectError::BadMarker { found }
}

#[cold]
fn other_schema(expected: u64, found: u64) -> SingleObjectError {
    SingleObjectError::OtherSchema { expected, found }
}
