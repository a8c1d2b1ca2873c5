//! An index of a file's blocks, made without decompressing any.

use std::io::{Read, Seek, SeekFrom};

use bytes::Bytes;

use crate::after_block::{Judge, TrailingBytes};
use crate::block::{BlockHead, BlockPosition};
use crate::error::{Error, ErrorKind};
use crate::header::Header;
use crate::limits::{Limits, REST_LOOKED_AT};
use crate::reader::Blocks;
use crate::source::ReadSource;
use crate::sync::SyncMarker;

/// Where a file's blocks lie and how many records each holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockIndex {
    /// The file's header.
    pub header: Header,
    /// One entry per block, in file order.
    pub entries: Vec<IndexEntry>,
    /// Number of bytes left out after the last block.
    pub trailing_bytes: u64,
}

/// One block in a [`BlockIndex`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexEntry {
    /// Offset in the file of the block's first byte.
    pub offset: u64,
    /// Bytes of the whole block: count, size, payload and sync marker.
    pub len: u64,
    /// Records in the block.
    pub count: u64,
    /// Bytes of the payload, compressed.
    pub payload_len: u64,
}

impl BlockIndex {
    /// Builds an index: reads the header, then each block's head and sync marker, and seeks past
    /// the payloads.
    ///
    /// # Errors
    ///
    /// The error that a [`Framer`](crate::Framer) returns at the first damaged block, and the
    /// errors of the reader.
    pub fn build(reader: impl Read + Seek) -> Result<Self, Error> {
        Self::with_limits(reader, Limits::default())
    }

    /// As [`build`](Self::build), with the given limits.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub fn with_limits(reader: impl Read + Seek, limits: Limits) -> Result<Self, Error> {
        match Self::before_damage(reader, limits, TrailingBytes::Error)? {
            (index, None) => Ok(index),
            (_, Some(damage)) => Err(damage),
        }
    }

    /// The index of the blocks before the first damaged one, and that block's error. If the file is
    /// whole, the index of all blocks and `None`. `trailing` tells how bytes after the last block
    /// are treated.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), but only those of the header.
    pub fn before_damage(
        mut reader: impl Read + Seek,
        limits: Limits,
        trailing: TrailingBytes,
    ) -> Result<(Self, Option<Error>), Error> {
        let io = |error| Error::new(error, 0, None);
        let file_len = reader.seek(SeekFrom::End(0)).map_err(io)?;
        reader.rewind().map_err(io)?;
        let source = ReadSource::new(&mut reader, HEADER_READ);
        let header = Blocks::from_source(source, limits.clone())?
            .header()
            .clone();
        let mut scan = Scan {
            reader,
            file_len,
            limits,
            sync: header.sync(),
        };
        let mut entries = Vec::new();
        let result = match scan.entries(header.len(), &mut entries) {
            Ok(()) => Ok(0),
            Err(error) if matches!(error.kind, ErrorKind::Io(_)) => Err(error),
            Err(error) => {
                let end = entries.last().map_or(header.len(), IndexEntry::end);
                scan.judge(error, end, trailing)
            }
        };
        let index = |trailing_bytes| Self {
            header,
            entries,
            trailing_bytes,
        };
        Ok(match result {
            Ok(left_out) => (index(left_out), None),
            Err(damage) => (index(0), Some(damage)),
        })
    }

    /// Builds the index of a file whose whole contents are `bytes`.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub fn from_bytes(bytes: &Bytes) -> Result<Self, Error> {
        Self::build(std::io::Cursor::new(bytes))
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the file has no blocks.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of records in all blocks.
    pub fn records(&self) -> u64 {
        // Saturating: records may take no bytes, so even a short file can declare 2^64.
        let counts = self.entries.iter().map(|entry| entry.count);
        counts.fold(0, u64::saturating_add)
    }
}

impl IndexEntry {
    /// Offset in the file just past the block.
    fn end(&self) -> u64 {
        self.offset + self.len
    }
}

/// Bytes per read of the header. Most headers are smaller. Bytes read beyond the header are read
/// again.
const HEADER_READ: usize = 16 * 1024;

/// A pass over a file from block to block.
struct Scan<R> {
    reader: R,
    file_len: u64,
    limits: Limits,
    sync: SyncMarker,
}

impl<R: Read + Seek> Scan<R> {
    /// Appends to `entries` the blocks from `offset` to the end of the file.
    fn entries(&mut self, mut offset: u64, entries: &mut Vec<IndexEntry>) -> Result<(), Error> {
        // One read per block: the marker that ends a block and the head of the next are adjacent.
        let mut window = [0; SyncMarker::LEN + BlockHead::MAX_LEN];
        let mut head_bytes = self.read_at(offset, 0, &mut window[SyncMarker::LEN..])?;
        while offset < self.file_len {
            let position = BlockPosition {
                offset,
                index: entries.len() as u64,
            };
            let bytes = &window[SyncMarker::LEN..][..head_bytes];
            let head = BlockHead::parse(bytes, &self.limits, position)?
                .ok_or_else(|| BlockHead::cut(bytes, position))?;
            let available = self.file_len - offset;
            if available < head.block_len() {
                return Err(head.truncated(available, position));
            }

            let sync_at = head.len + head.payload_len;
            let n = self.read_at(offset + sync_at, position.index, &mut window)?;
            if n < SyncMarker::LEN {
                // The file has become shorter since its length was taken.
                return Err(head.truncated(sync_at + n as u64, position));
            }
            let (found, _) = window.split_first_chunk().expect("longer than a marker");
            let (expected, found) = (self.sync, SyncMarker(*found));
            if found != expected {
                return Err(position.error(ErrorKind::SyncMismatch { expected, found }, sync_at));
            }

            entries.push(IndexEntry {
                offset,
                len: head.block_len(),
                count: head.count,
                payload_len: head.payload_len,
            });
            offset += head.block_len();
            head_bytes = n - SyncMarker::LEN;
        }
        Ok(())
    }

    /// Judges the rest of the file from `offset` on, where a block should begin but `error` was
    /// found. Returns the number of bytes left out, or the error with the format that was found.
    #[cold]
    fn judge(&mut self, error: Error, offset: u64, trailing: TrailingBytes) -> Result<u64, Error> {
        let block = error.block.unwrap_or_default();
        let mut window = vec![0; REST_LOOKED_AT as usize];
        let mut n = self.read_at(offset, block, &mut window)?;
        let position = BlockPosition {
            offset,
            index: block,
        };
        let head = BlockHead::parse(&window[..n.min(BlockHead::MAX_LEN)], &self.limits, position);
        let block_len = head.ok().flatten().map(|head| head.block_len());
        let mut judge = Judge::new(error, offset, block_len, self.sync, trailing);
        while n > 0 {
            judge.feed(&window[..n]);
            if judge.wanted() == 0 {
                return judge.verdict(false);
            }
            n = self.read_at(offset + judge.seen(), block, &mut window)?;
        }
        judge.verdict(true)
    }

    /// Fills `window` with the bytes from `offset` on, up to the end of the file; returns their
    /// number.
    fn read_at(&mut self, offset: u64, block: u64, window: &mut [u8]) -> Result<usize, Error> {
        let fail = |error: std::io::Error| Error::new(error, offset, Some(block));
        self.reader.seek(SeekFrom::Start(offset)).map_err(fail)?;
        let mut filled = 0;
        while filled < window.len() {
            match self.reader.read(&mut window[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(fail(error)),
            }
        }
        Ok(filled)
    }
}
