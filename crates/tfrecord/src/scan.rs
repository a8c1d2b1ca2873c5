//! Lists the blocks of a file by the lengths of its records, without their data.

use std::ops::Range;

use bytes::Bytes;

use crate::error::Error;
use crate::framer::{FramerOptions, find_record};
use crate::head::{AROUND, HEAD, data_len, truncated};
use crate::input::Input;

/// Records of this size on average, or larger, are skipped by not reading them. Smaller ones are
/// read: a disk reads as many bytes at a time anyway.
const WORTH_SKIPPING: u64 = 64 << 10;

/// If records are smaller than this on average, the scan loads all bytes of a block into the processor's cache:
/// waiting for the memory of each length takes longer.
const WORTH_LOADING: u64 = 1 << 10;

/// Lists the blocks of a file of known size. The blocks and errors are those of a
/// [`Framer`](crate::Framer) with the same options.
///
/// Call [`next`](Self::next); after [`Scanned::Need`] call [`push`](Self::push) with bytes from the
/// start of that range on.
#[derive(Debug)]
pub struct Scan {
    options: FramerOptions,
    size: u64,
    input: Input,
    /// File offset after the last byte that was pushed.
    pushed: u64,
    /// File offset of the block's first byte, and of the next record.
    start: u64,
    at: u64,
    records: u64,
    index: u64,
    first_record: u64,
    /// Searching for a record, after damage from this file offset on.
    searching: Option<u64>,
    skipped: u64,
}

/// One step of a [`Scan`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scanned {
    /// A block.
    Block(BlockEntry),
    /// The first bytes of this range are needed.
    Need {
        /// The range of the file.
        range: Range<u64>,
        /// Whether the bytes after it will be needed next.
        sequential: bool,
    },
    /// There are no more blocks.
    End,
}

/// A run of whole records that was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockEntry {
    /// Number of the block in its file, from 0. A run of damaged bytes counts as a block.
    pub index: u64,
    /// Offset in the file of the first record's first byte.
    pub offset: u64,
    /// Size in bytes.
    pub len: u64,
    /// Number in the file of the first record, from 0.
    pub first_record: u64,
    /// Number of records, at least 1.
    pub records: u64,
}

impl Scan {
    /// Lists the blocks of a file of `size` bytes.
    pub fn new(size: u64, options: FramerOptions) -> Self {
        Scan {
            options,
            size,
            input: Input::default(),
            pushed: 0,
            start: 0,
            at: 0,
            records: 0,
            index: 0,
            first_record: 0,
            searching: None,
            skipped: 0,
        }
    }

    /// Takes bytes of the file from offset `at` on. Bytes that are known are left out; so is a piece
    /// that leaves a gap.
    pub fn push(&mut self, at: u64, mut bytes: Bytes) {
        let known = self.input.end().checked_sub(at);
        if known.is_some() {
            self.pushed = at + bytes.len() as u64;
        }
        let known = known.and_then(|known| usize::try_from(known).ok());
        if let Some(known) = known.filter(|&known| known < bytes.len()) {
            self.input.push(bytes.split_off(known));
        } else if bytes.is_empty() {
            // The file has become shorter.
            self.size = self.size.min(at);
        }
    }

    /// Number of the next block.
    pub fn next_index(&self) -> u64 {
        self.index
    }

    /// Number of bytes skipped so far by all calls of [`resync`](Self::resync).
    pub fn skipped_bytes(&self) -> u64 {
        self.skipped
    }

    /// Gives up the record that is damaged, as [`Framer::resync`](crate::Framer::resync) does.
    pub fn resync(&mut self) {
        if self.searching.is_none() {
            self.searching = Some(self.at);
            self.input.skip_to(self.at + 1);
        }
    }

    /// The next block, or the range of the file without which it cannot be found.
    ///
    /// # Errors
    /// Those of [`Framer::next`](crate::Framer::next).
    #[allow(clippy::should_implement_trait)] // "Need" is no end, so this is no iterator.
    pub fn next(&mut self) -> Result<Scanned, Error> {
        if let Some(from) = self.searching {
            let is_found = find_record(&mut self.input, &self.options.limits);
            if !is_found && self.input.end() < self.size {
                return Ok(self.need(self.input.at(), true));
            }
            self.at = if is_found { self.input.at() } else { self.size };
            self.start = self.at;
            self.skipped += self.at - from;
            self.index += 1;
            self.searching = None;
        }
        if self.records == 0 && self.at < self.first_record * WORTH_LOADING {
            self.input.skip_to(self.at);
            self.input.load(self.options.block_bytes);
        }
        loop {
            let is_full = self.at - self.start >= self.options.block_bytes;
            if self.records > 0 && (is_full || self.at >= self.size) {
                return Ok(self.close());
            }
            if self.at >= self.size {
                return Ok(Scanned::End);
            }
            self.input.skip_to(self.at);
            let left = self.size - self.at;
            let head = self.input.peek::<HEAD>(0);
            if head.is_none() && self.input.end() < self.size {
                let is_small = self.at < (self.first_record + self.records) * WORTH_SKIPPING;
                return Ok(self.need(self.at, is_small || self.at == 0));
            }
            let FramerOptions {
                limits, checksums, ..
            } = &self.options;
            let len = head.map(|head| data_len(&head, *checksums, limits));
            match len {
                Some(Ok(len)) if len.saturating_add(AROUND) <= left => {
                    self.at += len + AROUND;
                    self.records += 1;
                }
                _ if self.records > 0 => return Ok(self.close()),
                _ => {
                    let mut head = [0; HEAD];
                    let n = self.input.peek_some(0, &mut head);
                    let place = (self.at, self.first_record);
                    return Err(truncated(&head[..n], left, place, *checksums, limits));
                }
            }
        }
    }

    /// What is needed of the record, or the searched bytes, at `at`.
    fn need(&self, at: u64, sequential: bool) -> Scanned {
        let end = (at + HEAD as u64).min(self.size);
        let next = self.input.end();
        // The bytes of a record that a piece ends in are read with those after it: who reads ahead has them.
        let is_near = self.pushed < next && next - self.pushed < WORTH_SKIPPING;
        let start = match sequential && is_near {
            true => self.pushed,
            false => next,
        };
        Scanned::Need {
            range: start..end.max(next + 1),
            sequential,
        }
    }

    /// The block of the records that were listed.
    fn close(&mut self) -> Scanned {
        let entry = BlockEntry {
            index: self.index,
            offset: self.start,
            len: self.at - self.start,
            first_record: self.first_record,
            records: self.records,
        };
        self.index += 1;
        self.first_record += self.records;
        (self.start, self.records) = (self.at, 0);
        Scanned::Block(entry)
    }
}
