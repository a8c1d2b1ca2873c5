//! What follows a whole block and is no block: damage, or bytes that are no part of the file.
//!
//! After a whole block, or the header, there is either another block or the end of the file. What
//! is neither may be a damaged block, with more blocks after it, and must not pass for the end of
//! the file. [`Judge`] looks at the rest of the file. The rest is no part of the file if
//!
//! - it begins with the magic of an Avro file: another file was appended;
//! - or the file's sync marker does not occur in it, and it is
//!   - NUL bytes, white space, or 16 bytes or more of one value: padding;
//!   - or ASCII text;
//!   - or cannot begin a block: it does not begin with a record count and a size within the limits;
//!   - or begins with these, is longer than such a block, and has nothing like the sync marker
//!     where that block ends.
//!
//! Everything else is damage: where the marker occurs later, blocks may follow; where the rest is
//! shorter than the block that it begins, the file was cut; where it is exactly that long, or has
//! most of the marker's bytes in their places, the last block is damaged.

use memchr::memmem;

use crate::diagnose::Found;
use crate::error::{Error, ErrorKind};
use crate::header::MAGIC;
use crate::limits::{MIN_PADDING, MIN_TEXT, REST_LOOKED_AT};
use crate::sync::SyncMarker;

/// What is done about bytes after the last block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrailingBytes {
    /// They are an error.
    #[default]
    Error,
    /// They are left out and counted. The rest of the file is read for it, to tell such bytes from
    /// a damaged block: the rest of a file after a block is no part of it if it begins with
    /// Avro's magic; or if it has no sync marker of the file and is padding, text, or bytes that
    /// cannot be a damaged last block.
    LeaveOut,
}

/// Looks at the rest of a file, fed in pieces of any size, from the first byte that should begin a
/// block and does not.
#[derive(Debug)]
pub(crate) struct Judge {
    /// What framing found.
    error: Error,
    /// Offset in the file of the rest.
    start: u64,
    sync: SyncMarker,
    choice: TrailingBytes,
    /// Bytes of the block that the rest begins, if it can begin one.
    block_len: Option<u64>,
    /// Bytes seen.
    seen: u64,
    /// The first of them.
    first: Vec<u8>,
    /// The last of them, which may begin a marker.
    seam: Vec<u8>,
    /// Where the marker first occurs.
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

    /// Bytes seen so far.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Where in the rest the file's marker first occurs, if that is what ended the look.
    pub(crate) fn marker_at(&self) -> Option<u64> {
        self.marker_at
    }

    /// Whether the bytes seen need not be kept: what comes of them is settled without.
    pub(crate) fn leaves_out(&self) -> bool {
        self.choice == TrailingBytes::LeaveOut
    }

    /// How many bytes more are wanted; 0 if the verdict does not depend on any.
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

    /// Looks at the next bytes.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.wanted() > 0 {
            // So that pieces of any size are looked at alike: the magic first, and no more than
            // is wanted.
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

    /// Searches for the marker, across pieces too.
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

    /// How many bytes are left out, or the error, with what was found. `is_end` says that the file
    /// ends with the bytes seen.
    #[cold]
    pub(crate) fn verdict(self, is_end: bool) -> Result<u64, Error> {
        let Some(found) = self.found(is_end) else {
            return Err(self.error);
        };
        if self.leaves_out() {
            return Ok(self.seen);
        }
        if found == Found::Unknown && matches!(self.error.kind, ErrorKind::TooLarge { .. }) {
            // A limit has a remedy of its own.
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

    /// What the rest is, if it is no part of the file.
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

/// Whether most bytes of the marker are in their places.
fn is_similar(expected: SyncMarker, found: SyncMarker) -> bool {
    let equal = expected.0.iter().zip(&found.0).filter(|(a, b)| a == b);
    equal.count() >= SyncMarker::LEN / 2
}
