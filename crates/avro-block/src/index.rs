//! An index of a file's blocks, made without decompressing any.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use bytes::Bytes;

use crate::after_block::TrailingBytes;
use crate::block::{Block, BlockPosition};
use crate::error::{Error, ErrorKind};
use crate::header::Header;
use crate::index_scan::{IndexScan, Scan};
use crate::limits::Limits;
use crate::sync::SyncMarker;
use crate::varint;

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
        let (index, damage) = Self::before_damage(reader, limits, TrailingBytes::Error)?;
        damage.map_or(Ok(index), Err)
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
        let scan = IndexScan::new(file_len, limits, trailing);
        Self::from_scan(scan, |range| read_range(&mut reader, range))
    }

    /// Builds the index of a file whose whole contents are `bytes`.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub fn from_bytes(bytes: &Bytes) -> Result<Self, Error> {
        let len = bytes.len() as u64;
        let scan = IndexScan::new(len, Limits::default(), TrailingBytes::Error);
        // The scan asks for ranges within the length only.
        let read = |range: Range<u64>| Ok(bytes.slice(range.start as usize..));
        let (index, damage) = Self::from_scan(scan, read)?;
        damage.map_or(Ok(index), Err)
    }

    /// The index that `scan` gives, and the error of the first damaged block. `read` returns the
    /// bytes of the file from the start of a range on, or no bytes at the end of the file.
    fn from_scan(
        mut scan: IndexScan,
        mut read: impl FnMut(Range<u64>) -> io::Result<Bytes>,
    ) -> Result<(Self, Option<Error>), Error> {
        let mut header = None;
        let mut entries = Vec::new();
        let result = loop {
            match scan.next() {
                Ok(Scan::Header(found)) => header = Some(found),
                Ok(Scan::Block(entry)) => entries.push(entry),
                Ok(Scan::Need(range)) => match read(range.clone()) {
                    Ok(bytes) => scan.push(range.start, bytes),
                    Err(error) => break Err(Error::new(error, range.start, scan.block_index())),
                },
                Ok(Scan::End { trailing_bytes }) => break Ok(trailing_bytes),
                Err(error) => break Err(error),
            }
        };
        let (trailing_bytes, damage) = match result {
            Ok(trailing_bytes) => (trailing_bytes, None),
            Err(error) => (0, Some(error)),
        };
        match (header, damage) {
            (Some(header), damage) => {
                let index = Self {
                    header,
                    entries,
                    trailing_bytes,
                };
                Ok((index, damage))
            }
            (None, Some(error)) => Err(error),
            (None, None) => unreachable!("a scan gives the header first, or an error"),
        }
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
    /// The entry of a block of `len` bytes whose head has its numbers in their shortest form, as most writers
    /// have them; `None` if no such block has that size.
    pub fn of_shortest_head(offset: u64, len: u64, count: u64) -> Option<Self> {
        let rest = len.checked_sub(SyncMarker::LEN as u64 + varint_len(count)?)?;
        let payload_len = (1..=varint::MAX_LEN as u64)
            .filter_map(|size_len| rest.checked_sub(size_len).map(|rest| (rest, size_len)))
            .find(|&(payload_len, size_len)| varint_len(payload_len) == Some(size_len))?
            .0;
        Some(IndexEntry {
            offset,
            len,
            count,
            payload_len,
        })
    }

    /// Whether the head of the block has its numbers in their shortest form:
    /// [`of_shortest_head`](Self::of_shortest_head) then finds the payload's size.
    pub fn has_shortest_head(&self) -> bool {
        IndexEntry::of_shortest_head(self.offset, self.len, self.count).as_ref() == Some(self)
    }

    /// The block of this entry, as block `index` of its file. `bytes` are the
    /// [`len`](Self::len) bytes of the file from [`offset`](Self::offset) on, and `sync` is the
    /// marker of the file's header. The payload is a slice of `bytes`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BlockChanged`] if the bytes are not the indexed block: their number, the record
    /// count, the payload's size and the sync marker must be equal.
    pub fn frame(&self, bytes: Bytes, sync: SyncMarker, index: u64) -> Result<Block, Error> {
        let position = BlockPosition {
            offset: self.offset,
            index,
        };
        let block = Block::of_bytes(&bytes, sync, (index, self.offset, self.count))?;
        match block.len == self.len && block.payload.len() as u64 == self.payload_len {
            true => Ok(block),
            false => Err(position.error(ErrorKind::BlockChanged, 0)),
        }
    }
}

/// The length of a number in its shortest form, if it is one of a head.
fn varint_len(value: u64) -> Option<u64> {
    let bits = u64::BITS - i64::try_from(value).ok()?.leading_zeros();
    // One more for the sign.
    Some(u64::from((bits + 1).div_ceil(7)).max(1))
}

/// Reads `range`, or the part of it before the end of the file.
fn read_range(reader: &mut (impl Read + Seek), range: Range<u64>) -> io::Result<Bytes> {
    reader.seek(SeekFrom::Start(range.start))?;
    // A scan asks for few bytes at first, and for no more than it was given already.
    let mut bytes = vec![0; (range.end - range.start) as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match reader.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use super::*;

    #[test]
    fn a_shortest_head_follows_from_the_size_of_its_block() {
        let edges = (0..40).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit]);
        let numbers: Vec<u64> = edges.collect();
        for &count in &numbers {
            for &payload_len in &numbers {
                let mut head = Vec::new();
                varint::encode(count as i64, &mut head);
                varint::encode(payload_len as i64, &mut head);
                let len = head.len() as u64 + payload_len + SyncMarker::LEN as u64;
                let entry = IndexEntry {
                    offset: 7,
                    len,
                    count,
                    payload_len,
                };
                assert_eq!(IndexEntry::of_shortest_head(7, len, count), Some(entry));
            }
        }
        // A size of 63 bytes takes one byte, and one of 64 takes two.
        assert!(IndexEntry::of_shortest_head(0, 16 + 1 + 1 + 63, 0).is_some());
        assert_eq!(IndexEntry::of_shortest_head(0, 16 + 1 + 1 + 64, 0), None);
        assert_eq!(IndexEntry::of_shortest_head(0, 17, 0), None);
        assert_eq!(IndexEntry::of_shortest_head(0, 1 << 20, u64::MAX), None);
    }
}
