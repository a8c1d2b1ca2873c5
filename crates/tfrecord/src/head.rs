//! The twelve bytes before a record's data, and the four after it.

use crate::crc::masked_crc;
use crate::error::{Error, ErrorKind};
use crate::framer::Checksums;
use crate::limits::Limits;

/// Size in bytes of the length and its checksum.
pub(crate) const HEAD: usize = 12;

/// Size in bytes of the checksum after the data.
pub(crate) const TAIL: usize = 4;

/// Size in bytes of what a record has around its data.
pub(crate) const AROUND: u64 = (HEAD + TAIL) as u64;

/// The length of the data after `head`, if the length and its checksum are right.
///
/// # Errors
/// The checksum is another, or the length is above its limit. The error has the offset 0.
#[inline]
pub(crate) fn data_len(
    head: &[u8; HEAD],
    checksums: Checksums,
    limits: &Limits,
) -> Result<u64, ErrorKind> {
    let (len, stored) = split(head);
    if checksums != Checksums::Ignore {
        let computed = masked_crc(&head[..8]);
        if stored != computed {
            return Err(length_checksum(len, stored, computed));
        }
    }
    if len > limits.max_record_bytes {
        return Err(too_large(len, limits.max_record_bytes));
    }
    Ok(len)
}

/// The length and the stored checksum of a head.
#[inline]
pub(crate) fn split(head: &[u8; HEAD]) -> (u64, u32) {
    let [a, b, c, d, e, f, g, h, crc @ ..] = *head;
    let len = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    (len, u32::from_le_bytes(crc))
}

#[cold]
fn length_checksum(length: u64, stored: u32, computed: u32) -> ErrorKind {
    ErrorKind::LengthChecksum {
        length,
        stored,
        computed,
    }
}

#[cold]
fn too_large(length: u64, limit: u64) -> ErrorKind {
    ErrorKind::TooLarge { length, limit }
}

/// The error of a file that ends inside the record that begins at `offset`, `have` bytes after its
/// first. The bytes of the head are `head`, as far as they are there.
#[cold]
pub(crate) fn truncated(
    head: &[u8],
    have: u64,
    (offset, record): (u64, u64),
    checksums: Checksums,
    limits: &Limits,
) -> Error {
    let kind = match head.first_chunk() {
        None => ErrorKind::Truncated {
            missing: HEAD as u64 - have,
        },
        Some(head) => match data_len(head, checksums, limits) {
            Ok(len) => ErrorKind::Truncated {
                missing: len.saturating_add(AROUND).saturating_sub(have),
            },
            Err(kind) => kind,
        },
    };
    Error::new(kind, offset, record)
}
