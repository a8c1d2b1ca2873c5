//! A framed block, and the two integers it begins with.

use bytes::Bytes;

use crate::error::{ContainerPart, Error, ErrorKind};
use crate::limits::Limits;
use crate::sync::SyncMarker;
use crate::varint::{self, Varint};

/// One block of a container file, its payload still compressed.
///
/// If the framer got the block in one piece, the payload is a slice of that piece, and keeps all of
/// it alive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// Offset in the file of the block's first byte.
    pub offset: u64,
    /// Index of the block in the file, from 0. After [`Framer::resync`](crate::Framer::resync) a
    /// skipped run counts as one block, since the number of blocks in it is unknown.
    pub index: u64,
    /// Records in the block.
    pub count: u64,
    /// The records, compressed with the file's codec.
    pub payload: Bytes,
    /// Bytes of the whole block: count, size, payload and sync marker.
    pub len: u64,
}

impl Block {
    /// The block that is number `index` of its file, begins at `offset` and has `count` records. `bytes` are all
    /// its bytes, and `sync` is the marker of the file's header. The payload is a slice of `bytes`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BlockChanged`] if the bytes are no such block.
    pub fn of_bytes(
        bytes: &Bytes,
        sync: SyncMarker,
        (index, offset, count): (u64, u64, u64),
    ) -> Result<Self, Error> {
        let position = BlockPosition { offset, index };
        // A head of any other block is larger than these limits, or differs.
        let limits = Limits {
            max_block_records: count,
            max_block_bytes: bytes.len() as u64,
            ..Limits::default()
        };
        let first = &bytes[..bytes.len().min(BlockHead::MAX_LEN)];
        let head = BlockHead::parse(first, &limits, position).ok().flatten();
        let head = head.filter(|head| {
            head.count == count
                && head.block_len() == bytes.len() as u64
                && bytes.ends_with(&sync.0)
        });
        let Some(head) = head else {
            return Err(position.error(ErrorKind::BlockChanged, 0));
        };
        let payload = head.len as usize..(head.len + head.payload_len) as usize;
        Ok(Block {
            offset,
            index,
            count,
            payload: bytes.slice(payload),
            len: bytes.len() as u64,
        })
    }

    /// Offset in the file of the payload's first byte.
    pub fn payload_offset(&self) -> u64 {
        self.offset + self.len - SyncMarker::LEN as u64 - self.payload.len() as u64
    }
}

/// The record count and the size before a block's payload, both checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockHead {
    /// Records in the block.
    pub count: u64,
    /// Bytes of the payload.
    pub payload_len: u64,
    /// Bytes of the head itself.
    pub len: u64,
}

/// Offset and index of a block, for its errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPosition {
    pub(crate) offset: u64,
    pub(crate) index: u64,
}

impl BlockPosition {
    /// An error `at` bytes into the block.
    #[cold]
    pub(crate) fn error(self, kind: ErrorKind, at: u64) -> Error {
        Error::new(kind, self.offset + at, Some(self.index))
    }
}

impl BlockHead {
    /// Most bytes a head can take.
    pub(crate) const MAX_LEN: usize = 2 * varint::MAX_LEN;
    /// Fewest bytes a block can take: two varints of one byte, no payload, the marker.
    pub(crate) const MIN_BLOCK: u64 = 2 + SyncMarker::LEN as u64;

    /// The head at the front of `bytes`; `None` if there is none within the `limits`. Nothing proves
    /// a head before the sync marker is found where the block should end.
    pub fn read(bytes: &[u8], limits: &Limits) -> Option<Self> {
        let nowhere = BlockPosition {
            offset: 0,
            index: 0,
        };
        Self::parse(bytes, limits, nowhere).ok().flatten()
    }

    /// Reads the head at the front of `bytes`; `None` if `bytes` ends inside the head.
    pub(crate) fn parse(
        bytes: &[u8],
        limits: &Limits,
        position: BlockPosition,
    ) -> Result<Option<Self>, Error> {
        let long = |at: usize, part| match varint::decode(&bytes[at..]) {
            Varint::Value(value, len) => Ok(Some((value, at + len))),
            Varint::Incomplete => Ok(None),
            Varint::Overlong => Err(position.error(ErrorKind::BadVarint { part }, at as u64)),
        };

        let Some((count, count_end)) = long(0, ContainerPart::RecordCount)? else {
            return Ok(None);
        };
        let count =
            u64::try_from(count).map_err(|_| position.error(ErrorKind::NegativeCount(count), 0))?;
        check(ContainerPart::RecordCount, count, limits.max_block_records)
            .map_err(|kind| position.error(kind, 0))?;

        let Some((size, head_end)) = long(count_end, ContainerPart::PayloadSize)? else {
            return Ok(None);
        };
        let part = ContainerPart::PayloadSize;
        let payload_len = u64::try_from(size).map_err(|_| {
            let kind = ErrorKind::NegativeSize { part, value: size };
            position.error(kind, count_end as u64)
        })?;
        // A payload is one allocation at most, so its size must also fit the platform's address
        // space.
        let limit = limits.max_block_bytes.min(isize::MAX as u64);
        check(part, payload_len, limit).map_err(|kind| position.error(kind, count_end as u64))?;

        Ok(Some(Self {
            count,
            payload_len,
            len: head_end as u64,
        }))
    }

    /// Bytes of the whole block: head, payload and sync marker.
    pub fn block_len(&self) -> u64 {
        self.len + self.payload_len + SyncMarker::LEN as u64
    }

    /// The error for a file that ends `available` bytes into this block.
    #[cold]
    pub(crate) fn truncated(&self, available: u64, position: BlockPosition) -> Error {
        let sync_at = self.len + self.payload_len;
        let (part, at, end) = if available < sync_at {
            (ContainerPart::Payload, self.len, sync_at)
        } else {
            (ContainerPart::SyncMarker, sync_at, self.block_len())
        };
        let missing = end - available;
        position.error(ErrorKind::Truncated { part, missing }, at)
    }

    /// The error for a file that ends with `bytes`, which begin a head but do not end it.
    #[cold]
    pub(crate) fn cut(bytes: &[u8], position: BlockPosition) -> Error {
        let (part, at) = match varint::decode(bytes) {
            Varint::Value(_, len) => (ContainerPart::PayloadSize, len as u64),
            Varint::Incomplete | Varint::Overlong => (ContainerPart::RecordCount, 0),
        };
        position.error(ErrorKind::Truncated { part, missing: 1 }, at)
    }
}

/// Checks a declared value against its limit.
pub(crate) fn check(part: ContainerPart, value: u64, limit: u64) -> Result<(), ErrorKind> {
    if value > limit {
        return Err(ErrorKind::TooLarge { part, value, limit });
    }
    Ok(())
}
