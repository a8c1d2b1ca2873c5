//! The sync marker: sixteen bytes that end the header and every block.

use std::fmt;

use memchr::memmem;

/// The sixteen bytes that end the header and every block of one file, chosen at random by its
/// writer.
///
/// Avro 1.12 specification, "Object Container Files".
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SyncMarker(pub [u8; 16]);

impl SyncMarker {
    /// Bytes of a sync marker.
    pub const LEN: usize = 16;
}

impl fmt::Display for SyncMarker {
    /// Thirty-two hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SyncMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SyncMarker({self})")
    }
}

/// Index of the first `marker` in `haystack` at or after `from`.
///
/// `None` if there is no such marker, or if `from` lies past the end.
///
/// ```
/// use avro_block::{SyncMarker, find_sync};
///
/// let marker = SyncMarker([7; 16]);
/// let mut bytes = vec![0; 5];
/// bytes.extend(marker.0);
/// assert_eq!(find_sync(&bytes, &marker, 0), Some(5));
/// assert_eq!(find_sync(&bytes, &marker, 6), None);
/// ```
pub fn find_sync(haystack: &[u8], marker: &SyncMarker, from: usize) -> Option<usize> {
    let found = memmem::find(haystack.get(from..)?, &marker.0)?;
    Some(from + found)
}
