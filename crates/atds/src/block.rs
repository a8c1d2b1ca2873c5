//! A block of the window, with a cursor.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use avro_block::{Block, Codec, DecompressBuffer, DecompressError, Decompressor};
use avro_decode::{Plan, Skipper, prefetch_place};
use bytes::Bytes;

use crate::error::Place;
use crate::limits::MAX_EMPTY_BYTES;
use crate::source::Lenience;
use crate::spare::{Lent, Spare};
use crate::tolerate::{NamedOnce, Tolerated, ToleratedCounters};
use crate::{Error, ErrorKind, avro};

/// Bytes between the payloads of neighbouring blocks at most: a sync marker and
/// two numbers.
const BETWEEN_BLOCKS: usize = 16 + 2 * 10;

/// What the blocks of a file have in common.
#[derive(Debug)]
pub(crate) struct FileContext {
    pub(crate) path: PathBuf,
    pub(crate) codec: Codec,
    pub(crate) plan: Arc<Plan>,
    /// Whether the file is packed as a whole, so that offsets are those of the unpacked one.
    pub(crate) unpacked: bool,
    /// Gets past records that are not read, in a file of which some are not.
    pub(crate) skipper: Option<Skipper>,
    pub(crate) lenience: Lenience,
    /// What is passed over in the iteration.
    pub(crate) tolerated: Arc<ToleratedCounters>,
    pub(crate) named: NamedOnce,
}

impl FileContext {
    /// Says in the log what is passed over in the file, the first time.
    #[cold]
    pub(crate) fn name_fault(&self, what: &str) {
        self.named.name(&self.tolerated, &self.path, what);
    }
}

/// A block and how far it has been read.
#[derive(Debug)]
pub(crate) struct WindowBlock {
    pub(crate) file: Arc<FileContext>,
    /// Which block of the file.
    pub(crate) index: u64,
    /// Its first byte in the file.
    offset: u64,
    /// Bytes before its payload.
    header_len: u32,
    /// Bytes of a record on average, once it is decompressed.
    record_len: u32,
    /// Records in the block.
    pub(crate) count: u64,
    /// Which of them are read.
    records: Range<u64>,
    /// Records that have been read or got past.
    pub(crate) taken: u64,
    /// Where the next record starts in the decompressed payload.
    pub(crate) position: usize,
    /// These two before the block was visited last.
    before: (u64, usize),
    pub(crate) data: BlockData,
}

/// A block's payload.
#[derive(Debug)]
pub(crate) enum BlockData {
    /// As it lies in the file.
    Compressed(Bytes),
    /// As it lies in the file, which is not compressed.
    Plain(Bytes),
    /// Decompressed, or the copy of what is not compressed.
    Decompressed(Lent),
}

impl BlockData {
    /// Bytes as they are held.
    pub(crate) fn len(&self) -> usize {
        match self {
            BlockData::Compressed(bytes) | BlockData::Plain(bytes) => bytes.len(),
            BlockData::Decompressed(buffer) => buffer.len(),
        }
    }
}

impl WindowBlock {
    /// A block of which `records` are read.
    pub(crate) fn new(block: Block, records: Range<u64>, file: Arc<FileContext>) -> Self {
        // Two numbers.
        let header_len = (block.payload_offset() - block.offset) as u32;
        let is_plain = file.codec.is_null();
        WindowBlock {
            index: block.index,
            offset: block.offset,
            header_len,
            record_len: if is_plain {
                record_len(block.payload.len(), block.count)
            } else {
                0
            },
            count: block.count,
            records,
            taken: 0,
            position: 0,
            before: (0, 0),
            data: match is_plain {
                true => BlockData::Plain(block.payload),
                false => BlockData::Compressed(block.payload),
            },
            file,
        }
    }

    /// Copies a payload that is not compressed out of the bytes that were read
    /// together with it, so that it does not keep them while it waits.
    pub(crate) fn detach(&mut self, spare: &Arc<Spare>) -> Result<(), Error> {
        if let BlockData::Plain(bytes) = &self.data {
            let copy = spare.copy(bytes).map_err(|error| self.no_memory(error))?;
            self.wait_in(copy);
        }
        Ok(())
    }

    /// Has the block wait as what it was decompressed to.
    pub(crate) fn wait_in(&mut self, decompressed: Lent) {
        self.record_len = record_len(decompressed.len(), self.count);
        self.data = BlockData::Decompressed(decompressed);
    }

    /// The error of a block that there is no memory for.
    #[cold]
    pub(crate) fn no_memory(&self, error: DecompressError) -> Error {
        self.locate(Error::new(avro::ErrorKind::Container(error.into())))
    }

    pub(crate) fn unread(&self) -> u64 {
        self.records.end - self.taken.max(self.records.start)
    }

    /// The cursor at the next record that is read, behind those before it in
    /// `data` that are not.
    #[inline]
    pub(crate) fn next_record(&self, data: &[u8]) -> Result<(u64, usize), Error> {
        match self.records.start <= self.taken {
            true => Ok(self.cursor()),
            false => self.first_record(data),
        }
    }

    #[inline(never)] // Few blocks are read in part.
    fn first_record(&self, data: &[u8]) -> Result<(u64, usize), Error> {
        let before = self.records.start - self.taken;
        let Some(skipper) = &self.file.skipper else {
            return Ok(self.cursor());
        };
        match skipper.skip(data, self.position, before) {
            Ok(position) => Ok((self.records.start, position)),
            Err(error) => Err(self.locate(Error::decode(error, self.taken))),
        }
    }

    /// Records that are to be decompressed when the first of them is read.
    pub(crate) fn to_decompress(&self) -> u64 {
        match self.decompressed() {
            Some(_) => 0,
            None => self.count,
        }
    }

    /// The records' bytes; `None` as long as they are compressed.
    pub(crate) fn decompressed(&self) -> Option<&[u8]> {
        match &self.data {
            BlockData::Compressed(_) => None,
            BlockData::Plain(bytes) => Some(bytes),
            BlockData::Decompressed(buffer) => Some(buffer),
        }
    }

    /// The bytes of the next records, so many of them, if they are as long as most; none
    /// as long as the block is compressed.
    pub(crate) fn next_bytes(&self, records: u64) -> &[u8] {
        let bytes = self.decompressed().unwrap_or_default();
        let unread = bytes.get(self.position..).unwrap_or_default();
        let len = u64::from(self.record_len).saturating_mul(records);
        &unread[..len.min(unread.len() as u64) as usize]
    }

    /// Has the processor look up where the next record is, at its start and about its end,
    /// if it is in a file: those are in small pages, of which it knows few at a time.
    pub(crate) fn find(&self) {
        let BlockData::Plain(bytes) = &self.data else {
            return;
        };
        prefetch_place(bytes, self.position);
        prefetch_place(bytes, self.position + self.record_len as usize);
    }

    /// Whether the block, read to its end, has had the processor load the next,
    /// which stands behind it in memory.
    pub(crate) fn leads_to(&self, next: &WindowBlock) -> bool {
        if !self.file.plan.asks_ahead() {
            return false;
        }
        let (Some(bytes), Some(behind)) = (self.decompressed(), next.decompressed()) else {
            return false;
        };
        let gap = behind
            .as_ptr()
            .addr()
            .wrapping_sub(bytes.as_ptr_range().end.addr());
        gap <= BETWEEN_BLOCKS && next.position == 0
    }

    /// Whether the block has been read to its end.
    pub(crate) fn is_at_end(&self) -> bool {
        self.taken == self.count
    }

    /// How far the block has been read: records, and bytes once decompressed.
    fn cursor(&self) -> (u64, usize) {
        (self.taken, self.position)
    }

    /// Notes how far the block has been read, before more of it is.
    pub(crate) fn begin_visit(&mut self) {
        self.before = self.cursor();
    }

    /// Has what was read since the last [`begin_visit`](Self::begin_visit) be unread.
    pub(crate) fn undo_visit(&mut self) {
        (self.taken, self.position) = self.before;
    }

    /// Lets the payload go.
    pub(crate) fn drain(&mut self) {
        self.data = BlockData::Plain(Bytes::new());
    }

    /// Bytes that the block holds now, with what is kept beside its payload.
    pub(crate) fn bytes(&self) -> u64 {
        (self.payload_bytes() + size_of::<WindowBlock>()) as u64
    }

    fn payload_bytes(&self) -> usize {
        self.data.len()
    }

    /// Whether the block's bytes can hold the records it says it has.
    pub(crate) fn check_count(&self) -> Result<(), Error> {
        let bytes = self.payload_bytes() as u64;
        let most = match &self.data {
            BlockData::Compressed(_) => bytes.saturating_mul(self.file.codec.max_expansion()),
            BlockData::Plain(_) | BlockData::Decompressed(_) => bytes,
        };
        let records = self.count;
        if records.saturating_mul(self.file.plan.min_record_len()) > most {
            let kind = ErrorKind::TooManyRecords { records, bytes };
            return Err(self.locate(Error::new(kind)));
        }
        Ok(())
    }

    /// An error if a block of no records has any bytes.
    pub(crate) fn check_empty(
        &self,
        decompressor: &mut Decompressor,
        buffer: &mut DecompressBuffer,
        tolerated: &mut Tolerated,
    ) -> Result<(), Error> {
        let BlockData::Compressed(payload) = &self.data else {
            return self.check_end(self.payload_bytes(), tolerated);
        };
        if payload.is_empty() {
            return Ok(());
        }
        match self.decompress(decompressor, payload, buffer, MAX_EMPTY_BYTES, tolerated) {
            Ok(()) => self.check_end(buffer.len(), tolerated),
            Err(error) => Err(self.locate(Error::new(avro::ErrorKind::Container(error.into())))),
        }
    }

    /// Decompresses the `payload` of the block into `buffer`, to `limit` bytes at most.
    pub(crate) fn decompress(
        &self,
        decompressor: &mut Decompressor,
        payload: &[u8],
        buffer: &mut DecompressBuffer,
        limit: usize,
        tolerated: &mut Tolerated,
    ) -> Result<(), DecompressError> {
        decompressor.set_tolerates_checksums(self.file.lenience.tolerate.checksum);
        let before = decompressor.bad_checksums();
        decompressor.decompress(self.file.codec, payload, buffer, limit)?;
        self.note_checksums(decompressor.bad_checksums() - before, tolerated);
        Ok(())
    }

    /// Notes blocks of the same file whose checksum was passed over.
    #[inline]
    pub(crate) fn note_checksums(&self, bad: u64, tolerated: &mut Tolerated) {
        if bad > 0 {
            tolerated.bad_checksums += bad;
            self.file
                .name_fault("a block with a wrong checksum, or without one");
        }
    }

    /// Once all records are read: they must end where their `len` bytes do.
    pub(crate) fn check_end(&self, len: usize, tolerated: &mut Tolerated) -> Result<(), Error> {
        match len - self.position {
            0 => Ok(()),
            left if self.file.lenience.tolerate.trailing_block_bytes => {
                tolerated.trailing_block_bytes += left as u64;
                self.file
                    .name_fault("bytes left in a block after its records");
                Ok(())
            }
            left => {
                let records = self.count;
                let mut error = Error::new(avro::ErrorKind::TrailingBytes { records, left });
                error.place.decompressed_offset = Some(self.position as u64);
                Err(self.locate(error))
            }
        }
    }

    /// The place of record `record` of the block.
    #[cold]
    pub(crate) fn place(&self, record: u64) -> Place {
        Place {
            location: Some(self.file.path.as_path().into()),
            unpacked: self.file.unpacked,
            block: Some(self.index),
            offset: Some(self.offset),
            record: Some(record),
            ..Place::default()
        }
    }

    /// Adds the file, the block and the byte to an error in this block.
    #[cold]
    pub(crate) fn locate(&self, mut error: Error) -> Error {
        error = error
            .in_file(&self.file.path)
            .unpacked(self.file.unpacked)
            .in_block(self.index, self.offset);
        if self.file.codec.is_null() {
            // The block lies in the file as it is: name the very byte.
            if let Some(offset) = error.place.decompressed_offset.take() {
                error.place.offset = Some(self.offset + u64::from(self.header_len) + offset);
            }
        }
        error
    }
}

/// Bytes of each of `records` records on average.
fn record_len(bytes: usize, records: u64) -> u32 {
    let len = (bytes as u64).checked_div(records).unwrap_or(0);
    u32::try_from(len).unwrap_or(u32::MAX)
}
