use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Decoder, Error};

/// The framing of one file: bytes in, blocks out. It decompresses nothing and reads nothing itself.
///
/// # Contract
/// The framing thread alone calls it, and it must not block. The pipeline calls
/// [`next`](Self::next) until it returns [`Next::End`] or an error. After [`Next::Need`] it calls
/// [`push`](Self::push), once or more, before it calls `next` again. However bytes are cut into
/// pieces, the blocks and the errors are the same.
pub trait Blocks: Send + fmt::Debug {
    /// The next block, or the range of the file without which the next block cannot be found.
    ///
    /// # Errors
    /// The framing is damaged, with the offset of the damage. After it only
    /// [`resync`](Self::resync) may be called.
    fn next(&mut self) -> Result<Next, Error>;

    /// Takes bytes of the file from offset `at` on: some of the range that was asked for, and perhaps
    /// bytes after it. The first piece begins where the range does, and later pieces without a gap.
    /// Empty `bytes` say that the file ends at `at`; to ask for bytes from there on is an error.
    fn push(&mut self, at: u64, bytes: Bytes);

    /// Number of bytes before the first block, known once there is a decoder. The first block needs no memory for them.
    /// By default, blocks begin where the file does.
    fn header_bytes(&self) -> u64 {
        0
    }

    /// Continues after damage, if the format can find where a block begins. Returns whether it can.
    fn resync(&mut self) -> bool {
        false
    }

    /// Number of bytes that all calls of [`resync`](Self::resync) have left out, known with the next block
    /// or the end.
    fn skipped_bytes(&self) -> u64 {
        0
    }

    /// The framing of the same file from block `index` on, which begins at byte `offset`, with payloads. It
    /// begins with a decoder only if that of the block is not the one that this framing has returned last.
    /// `None` if a framing begins at the start of a file only: the pipeline then lists all blocks before.
    fn at_block(&self, _index: u64, _offset: u64) -> Option<Box<dyn Blocks>> {
        None
    }

    /// A list of the blocks of the same file, of `size` bytes, from block `index` on, which begins at byte `offset`:
    /// all of them [whole](Payload::Whole), and each found by a short read. The pipeline then has workers read the
    /// payloads, which [`payloads`](Self::payloads) of this framing finds. Where that does not pay, and at the first
    /// error, it goes on with [`at_block`](Self::at_block) of the list. `None`, the default, if finding blocks takes more.
    fn heads_at(&self, _index: u64, _offset: u64, _size: u64) -> Option<Box<dyn Blocks>> {
        None
    }

    /// How the payloads are found that are listed by their ranges. Asked for once there is a decoder. By default,
    /// all bytes of the ranges are the payload.
    fn payloads(&self) -> Arc<dyn Payloads> {
        Arc::new(WholeRanges)
    }

    /// Whether the blocks that were found, once there are no more, can be listed by a
    /// [`Layout`](crate::Layout) where the file is opened again.
    fn has_layout(&self) -> bool {
        false
    }

    /// Number of bytes after the last block that were left out, once there are no more blocks.
    fn trailing_bytes(&self) -> u64 {
        0
    }
}

/// Finds payloads that were listed by their ranges in the bytes of these ranges. One value is of one file, and threads
/// share it.
pub trait Payloads: Send + Sync + fmt::Debug {
    /// The parts of the payload of `block`, from the bytes of its ranges: a format checks here that they are the
    /// block's, and leaves out what is no part of the payload.
    ///
    /// # Errors
    /// The bytes are not those of the block: the file has changed.
    fn find(&self, _block: &ListedBlock, ranges: Vec<Bytes>) -> Result<Vec<Bytes>, Error> {
        Ok(ranges)
    }

    /// Size in bytes of the payload of `block`, which has one range: all of its bytes in the file.
    fn payload_bytes(&self, block: &ListedBlock) -> u64 {
        block.file_bytes
    }
}

/// Payloads that are all bytes of their ranges.
#[derive(Debug)]
struct WholeRanges;

impl Payloads for WholeRanges {}

/// A block whose payload is read by its ranges: what its [`BlockDesc`] says of it.
#[derive(Clone, Copy, Debug)]
pub struct ListedBlock {
    /// The number of the block in its file, counted from 0.
    pub index: u64,
    /// The byte offset at which the block begins.
    pub offset: u64,
    /// Number of bytes that the block takes in the file.
    pub file_bytes: u64,
    /// Number of records.
    pub records: u64,
}

impl From<&BlockDesc> for ListedBlock {
    fn from(block: &BlockDesc) -> Self {
        ListedBlock {
            index: block.index,
            offset: block.offset,
            file_bytes: block.file_bytes,
            records: block.records,
        }
    }
}

/// What a framing needs or has found.
#[derive(Clone, Debug)]
pub enum Next {
    /// The decoder of the blocks that follow. Comes before the first block, and again when a file
    /// changes the schema of its records.
    Decoder(Arc<dyn Decoder>),
    /// A block.
    Block(BlockDesc),
    /// These bytes are needed, at least.
    Need {
        /// The range of the file. It may go beyond the end of the file.
        range: Range<u64>,
        /// Whether the bytes after the range are needed next, so that reading ahead pays.
        sequential: bool,
    },
    /// There are no more blocks.
    End,
}

/// A block: records that are decoded one after another from one payload.
#[derive(Clone, Debug)]
pub struct BlockDesc {
    /// The number of the block in its file, counted from 0.
    pub index: u64,
    /// The byte offset at which the block begins: with `start`, its identity in the file.
    pub offset: u64,
    /// Number of bytes that the block takes in the file, with its head and its end. Of blocks that
    /// share a payload, the sum is what they take together.
    pub file_bytes: u64,
    /// Number of records.
    pub records: u64,
    /// The format's position of the first record in the prepared payload, see
    /// [`Pos::at`](crate::Pos::at).
    pub start: u64,
    /// The byte offset of the payload in the file, where the payload is read as it lies there: an
    /// error then names the very byte.
    pub payload_offset: Option<u64>,
    /// The payload.
    pub payload: Payload,
    /// The most bytes that the prepared payload takes, if the framing says so.
    pub max_prepared: Option<u64>,
}

impl BlockDesc {
    /// Where the block is in the file.
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.file_bytes)
    }

    /// The ranges of the file that are read for the payload; none if it is here.
    pub fn ranges(&self) -> Arc<[Range<u64>]> {
        match &self.payload {
            Payload::Here(_) => Arc::default(),
            Payload::Whole => [self.range()].into(),
            Payload::Ranges { ranges, .. } => ranges.clone(),
        }
    }
}

/// The bytes of a block.
#[derive(Clone, Debug)]
pub enum Payload {
    /// A slice of the bytes that were pushed.
    Here(Bytes),
    /// All bytes of the block in the file, which are read when the block's turn comes. No other block has them.
    Whole,
    /// Ranges of the file, which are read when the block's turn comes.
    Ranges {
        /// Blocks of a file with the same key have one payload, which is read and prepared once. `None`
        /// if the block has the payload alone.
        key: Option<u64>,
        /// The ranges, each of one part.
        ranges: Arc<[Range<u64>]>,
    },
}
