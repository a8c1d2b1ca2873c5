//! Bytes after a whole block that begin no block: damage, or bytes that do not belong to the file.
//!
//! After a whole block, or the header, comes another block or the end of the file. Other bytes may
//! be a damaged block with more blocks after it, so they must not pass for the end of the file.
//! [`Judge`] reads the rest of the file. The rest does not belong to the file in any of these
//! cases:
//!
//! - It begins with the magic of an Avro file: another file was appended.
//! - It lacks the file's sync marker and is padding: NUL bytes, white space, or at least 16 bytes
//!   of one value.
//! - It lacks the sync marker and is ASCII text.
//! - It lacks the sync marker and cannot begin a block: it has no record count and size within the
//!   limits.
//! - It lacks the sync marker, it is longer than its declared block, and that block does not end
//!   with anything like the marker.
//!
//! Every other rest is damage. If the marker occurs later, blocks may follow. If the rest is
//! shorter than the declared block, the file was cut. If the rest is exactly that long, or has most
//! of the marker's bytes where the marker belongs, the last block is damaged.

use memchr::memmem;

use crate::diagnose::Found;
use crate::error::{Error, ErrorKind};
use crate::header::MAGIC;
use crate::limits::{MIN_PADDING, MIN_TEXT, REST_LOOKED_AT};
use crate::sync::SyncMarker;

/// How to treat bytes after the last block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrailingBytes {
    /// Report them as an error.
    #[default]
    Error,
    /// Leave them out and count them.
    ///
    /// The rest of the file is read to tell such bytes from a damaged block. It is left out if it
    /// begins with Avro's magic. It is also left out if it lacks the file's sync marker and is
    /// padding, text, or bytes that cannot be a damaged last block.
    LeaveOut,
}

/// Reads the rest of a file in pieces of any size, from the first byte at which a block should
/// begin but does not.
#[derive(Debug)]
pub(crate) struct Judge {
    /// The error that framing found.
    error: Error,
    /// Offset in the file of the rest's first byte.
    start: u64,
    sync: SyncMarker,
    choice: TrailingBytes,
    /// Bytes of the block that the rest begins, if it can begin one.
    block_len: Option<u64>,
    /// Number of bytes seen.
    seen: u64,
    /// The first bytes seen, at most as many as the magic has.
    first: Vec<u8>,
    /// The last bytes seen, which may begin a marker.
    seam: Vec<u8>,
    /// Offset in the rest of the marker's first occurrence.
    marker_at: Option<u64>,
    is_text: bool,
    is_blank: bool,
    is_uniform: bool,
}

impl Judge {
    pub(crate) fn new(
        error: Error,
        start: u64,
        block_len: Option<u64>,
        sync: SyncMarker,
        choice: TrailingBytes,
    ) -> Self {
        Judge {
            error,
            start,
            sync,
            choice,
            block_len,
            seen: 0,
            first: Vec::new(),
            seam: Vec::new(),
            marker_at: None,
            is_text: true,
            is_blank: true,
            is_uniform: true,
        }
    }

    /// Number of bytes seen so far.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Offset in the rest of the file's marker, if the marker decided the verdict.
    pub(crate) fn marker_at(&self) -> Option<u64> {
        self.marker_at
    }

    /// Whether the caller may drop the bytes seen: the verdict no longer needs them.
    pub(crate) fn leaves_out(&self) -> bool {
        self.choice == TrailingBytes::LeaveOut
    }

    /// Number of further bytes wanted; 0 if the verdict depends on no further byte.
    pub(crate) fn wanted(&self) -> u64 {
        let is_over = match self.choice {
            _ if self.is_second_file() => !self.leaves_out(),
            _ if self.marker_at.is_some() => true,
            TrailingBytes::Error => self.seen >= REST_LOOKED_AT,
            TrailingBytes::LeaveOut => false,
        };
        if is_over {
            return 0;
        }
        REST_LOOKED_AT.saturating_sub(self.seen).max(1)
    }

    /// Reads the next bytes.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.wanted() > 0 {
            // This makes pieces of any size give the same result: the magic is compared first, and
            // no byte beyond the wanted ones is read.
            let most = match MAGIC.len() - self.first.len() {
                0 => self.wanted(),
                missing => missing as u64,
            };
            let len = usize::try_from(most).map_or(bytes.len(), |most| bytes.len().min(most));
            let (now, later) = bytes.split_at(len);
            self.look_at(now);
            bytes = later;
        }
    }

    fn look_at(&mut self, bytes: &[u8]) {
        let missing = MAGIC.len() - self.first.len();
        self.first.extend(bytes.iter().take(missing));
        if !self.is_second_file() {
            self.search(bytes);
        }
        let first = self.first[0];
        self.is_uniform &= bytes.iter().all(|&byte| byte == first);
        self.is_blank &= bytes
            .iter()
            .all(|&byte| byte == 0 || byte.is_ascii_whitespace());
        self.is_text &= bytes
            .iter()
            .all(|&byte| matches!(byte, 0x20..=0x7e) || byte.is_ascii_whitespace());
        self.seen += bytes.len() as u64;
    }

    /// Searches for the marker, also across the border of two pieces.
    fn search(&mut self, bytes: &[u8]) {
        const STRADDLE: usize = SyncMarker::LEN - 1;
        let before = self.seam.len();
        self.seam.extend(bytes.iter().take(STRADDLE));
        let across = memmem::find(&self.seam, &self.sync.0);
        let found = match across {
            Some(at) => Some((self.seen + at as u64) - before as u64),
            None => memmem::find(bytes, &self.sync.0).map(|at| self.seen + at as u64),
        };
        self.marker_at = self.marker_at.or(found);
        if bytes.len() >= STRADDLE {
            self.seam.clear();
            self.seam.extend(&bytes[bytes.len() - STRADDLE..]);
        } else {
            self.seam.drain(..self.seam.len().saturating_sub(STRADDLE));
        }
    }

    fn is_second_file(&self) -> bool {
        self.first == MAGIC
    }

    /// The error that framing found.
    pub(crate) fn into_error(self) -> Error {
        self.error
    }

    /// Number of bytes left out, or the error with the format that was found. `is_end` tells
    /// whether the file ends with the bytes seen.
    #[cold]
    pub(crate) fn verdict(self, is_end: bool) -> Result<u64, Error> {
        let Some(found) = self.found(is_end) else {
            return Err(self.error);
        };
        if self.leaves_out() {
            return Ok(self.seen);
        }
        if found == Found::Unknown && matches!(self.error.kind, ErrorKind::TooLarge { .. }) {
            // The error text for a limit already names its remedy.
            return Err(self.error);
        }
        let mut error = self.error;
        if found != Found::Unknown {
            error.offset = self.start;
        }
        let cause = Box::new(error.kind);
        error.kind = ErrorKind::NotABlock { found, cause };
        Err(error)
    }

    /// The format of the rest, if it does not belong to the file.
    fn found(&self, is_end: bool) -> Option<Found> {
        if self.is_second_file() {
            return Some(Found::SecondFile);
        }
        if self.marker_at.is_some() {
            return None;
        }
        if self.is_blank {
            let is_zeros = self.is_uniform && self.first.first() == Some(&0);
            return Some(if is_zeros {
                Found::Zeros
            } else {
                Found::Whitespace
            });
        }
        if self.is_uniform && self.seen >= MIN_PADDING {
            return self.first.first().map(|&byte| Found::Padding { byte });
        }
        if self.is_text && self.seen >= MIN_TEXT {
            return Some(Found::Text);
        }
        let may_be_block = match &self.error.kind {
            ErrorKind::Truncated { .. } => true,
            &ErrorKind::SyncMismatch { expected, found } => {
                is_similar(expected, found) || is_end && Some(self.seen) == self.block_len
            }
            _ => false,
        };
        (!may_be_block).then_some(Found::Unknown)
    }
}

/// Whether most bytes of `found` are equal to the bytes of `expected` at the same index.
fn is_similar(expected: SyncMarker, found: SyncMarker) -> bool {
    let equal = expected.0.iter().zip(&found.0).filter(|(a, b)| a == b);
    equal.count() >= SyncMarker::LEN / 2
}
