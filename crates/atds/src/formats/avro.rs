//! Avro container files for the pipeline, by way of `avro-block` and `avro-decode`.

pub(crate) mod buffers;

use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

use atds_format::{
    BlockDesc, Blocks, Decoded, Decoder, Error, ErrorKind, FileInfo, Format, LaidBlocks, Layout,
    ListedBlock, Location, Match, Next, Payload, Payloads, Pos, PrepareJob, Prepared, Scratch,
    Tally, Upcoming,
};
use avro_block::{
    Codec, DecompressError, DecompressJob, Decompressor, Frame, Framer, Header, IndexEntry,
    IndexScan, MAGIC, Scan, SyncMarker,
};
use bytes::Bytes;
use tensor_batch::RowSlots;

use crate::avro;
use crate::avro::file_blocks::framing;
use crate::avro::plans::{Compiled, Plans};
use crate::avro::records::RecordOptions;
use crate::formats::avro::buffers::{BufferPool, DecompressedBlock};
use crate::lock::lock;
use crate::tolerate::FaultLog;

/// Avro container files, read by the features of a data set.
#[derive(Clone, Debug)]
pub(crate) struct AvroFormat {
    pub(crate) plans: Arc<Plans>,
    pub(crate) reading: RecordOptions,
    pub(crate) buffers: Arc<BufferPool>,
    pub(crate) log: Arc<FaultLog>,
    pub(crate) last_decoder: Arc<Mutex<Weak<AvroDecoder>>>,
}

impl Format for AvroFormat {
    fn name(&self) -> &'static str {
        "avro"
    }

    fn sniff(&self, name: &str, head: &[u8]) -> Match {
        if head.starts_with(&MAGIC) {
            Match::Content
        } else if name.ends_with(".avro") {
            Match::Name
        } else {
            Match::No
        }
    }

    fn open(&self, file: &FileInfo<'_>) -> Result<Box<dyn Blocks>, Error> {
        let (limits, trailing) = framing(&self.reading);
        let opened = Opened {
            format: self.clone(),
            location: file.location.clone(),
            codec: Codec::Null,
            header_bytes: 0,
        };
        if let (false, Some(size)) = (file.payloads, file.size) {
            // A larger block is an error, which the scan finds.
            let fits = |block: BlockDesc| {
                laid_entry(&(&block).into()).is_some_and(|entry| {
                    entry.count <= limits.max_block_records
                        && entry.payload_len <= limits.max_block_bytes
                })
            };
            let layout = file
                .layout
                .cloned()
                .filter(|layout| layout.fits(size, 0..=u64::MAX) && layout.blocks().all(fits));
            return Ok(Box::new(ListedBlocks {
                opened,
                scan: IndexScan::new(size, limits, trailing),
                layout,
                laid: None,
                sync: None,
                has_shortest_heads: true,
                trailing_bytes: 0,
            }));
        }
        let mut framer = Framer::with_limits(limits);
        framer.set_trailing_bytes(trailing);
        Ok(Box::new(FramedBlocks {
            opened,
            framer,
            sync: None,
            has_shortest_heads: true,
            is_ended: false,
        }))
    }
}

/// A file that is framed.
#[derive(Clone, Debug)]
struct Opened {
    format: AvroFormat,
    location: Location,
    codec: Codec,
    header_bytes: u64,
}

impl Opened {
    /// The decoder of the file's blocks.
    fn decoder(&mut self, header: &Header) -> Result<Next, Error> {
        (self.codec, self.header_bytes) = (header.codec(), header.len());
        let path = self.location.path().unwrap_or(Path::new(""));
        let compiled = self.format.plans.compile(header.schema(), path);
        let (compiled, _) = compiled.map_err(|error| Error::format(error.kind))?;
        let tolerate = &self.format.reading.tolerate;
        let names_files = tolerate.checksum || tolerate.trailing_block_bytes;
        let mut last = lock(&self.format.last_decoder);
        // Blocks of one decoder are decompressed side by side, and a window has blocks of several files.
        if let Some(last) = last.upgrade()
            && Arc::ptr_eq(&last.compiled, &compiled)
            && last.file.codec == self.codec
            && !names_files
        {
            return Ok(Next::Decoder(last));
        }
        let decoder = Arc::new(AvroDecoder {
            compiled,
            file: self.clone(),
        });
        *last = Arc::downgrade(&decoder);
        Ok(Next::Decoder(decoder))
    }

    /// The blocks from block `index` on, which begins at `offset`, of a file whose header was read.
    fn at_block(
        &self,
        sync: SyncMarker,
        has_shortest_heads: bool,
        (index, offset): (u64, u64),
    ) -> Option<Box<dyn Blocks>> {
        let (limits, trailing) = framing(&self.format.reading);
        let mut framer = Framer::at_block(sync, offset, index, limits);
        framer.set_trailing_bytes(trailing);
        Some(Box::new(FramedBlocks {
            opened: self.clone(),
            framer,
            sync: Some(sync),
            has_shortest_heads,
            is_ended: false,
        }))
    }

    #[cold]
    fn name_fault(&self, what: &str) {
        self.format.log.name(&self.location, what);
    }
}

/// The error of a container.
#[cold]
pub(crate) fn container(error: avro_block::Error) -> Error {
    let mut located = match error.kind {
        avro_block::ErrorKind::Io(error) => Error::new(ErrorKind::Io(error)),
        kind => Error::format(avro::ErrorKind::Container(kind)),
    };
    located.place.block = error.block;
    located.at(error.offset)
}

/// The blocks of a file, in file order with their payloads.
#[derive(Debug)]
struct FramedBlocks {
    opened: Opened,
    framer: Framer,
    sync: Option<SyncMarker>,
    /// Whether the heads of all blocks have their numbers in their shortest form. Where a head is longer than it must
    /// be, its size does not follow from that of its block.
    has_shortest_heads: bool,
    is_ended: bool,
}

/// Bytes that are asked for at a time, as long as the file has not shown that it has more: a size
/// may be damage.
const FIRST_NEED: u64 = 128 << 10;

impl Blocks for FramedBlocks {
    fn next(&mut self) -> Result<Next, Error> {
        loop {
            match self.framer.next().map_err(container)? {
                Frame::Header(header) => {
                    self.sync = Some(header.sync());
                    return self.opened.decoder(&header);
                }
                Frame::Block(block) => {
                    let is_plain = self.opened.codec.is_null();
                    let payload_bytes = block.payload.len() as u64;
                    let laid = IndexEntry::of_shortest_head(block.offset, block.len, block.count);
                    self.has_shortest_heads &=
                        laid.is_some_and(|laid| laid.payload_len == payload_bytes);
                    return Ok(Next::Block(BlockDesc {
                        index: block.index,
                        offset: block.offset,
                        file_bytes: block.len,
                        records: block.count,
                        start: 0,
                        payload_offset: is_plain.then(|| block.payload_offset()),
                        payload: Payload::Here(block.payload),
                        max_prepared: None,
                    }));
                }
                Frame::NeedMore(_) if self.is_ended => {
                    self.framer.finish().map_err(container)?;
                    return Ok(Next::End);
                }
                Frame::NeedMore(more) => {
                    let at = self.framer.end_offset();
                    return Ok(Next::Need {
                        range: at..at + more.min(at.max(FIRST_NEED)),
                        sequential: true,
                    });
                }
                _ => {}
            }
        }
    }

    fn push(&mut self, _: u64, bytes: Bytes) {
        if bytes.is_empty() {
            self.is_ended = true;
        } else {
            self.framer.push(bytes);
        }
    }

    fn header_bytes(&self) -> u64 {
        self.opened.header_bytes
    }

    fn resync(&mut self) -> bool {
        self.framer.resync()
    }

    fn skipped_bytes(&self) -> u64 {
        self.framer.skipped_bytes()
    }

    fn has_layout(&self) -> bool {
        self.has_shortest_heads
    }

    fn payloads(&self) -> Arc<dyn Payloads> {
        Arc::new(AvroPayloads { sync: self.sync })
    }

    fn heads_at(&self, index: u64, offset: u64, size: u64) -> Option<Box<dyn Blocks>> {
        let (limits, trailing) = framing(&self.opened.format.reading);
        let place = (offset, index);
        Some(Box::new(ListedBlocks {
            opened: self.opened.clone(),
            scan: IndexScan::at_block(self.sync?, place, size, limits, trailing),
            layout: None,
            laid: None,
            sync: self.sync,
            has_shortest_heads: self.has_shortest_heads,
            trailing_bytes: 0,
        }))
    }

    fn at_block(&self, index: u64, offset: u64) -> Option<Box<dyn Blocks>> {
        let place = (index, offset);
        self.opened
            .at_block(self.sync?, self.has_shortest_heads, place)
    }

    fn trailing_bytes(&self) -> u64 {
        self.framer.trailing_bytes()
    }
}

/// The blocks of a file, listed by what is around their payloads, or where an index has them.
#[derive(Debug)]
struct ListedBlocks {
    opened: Opened,
    scan: IndexScan,
    /// Where an index has the blocks, and those that come next, once the header fits it.
    layout: Option<Layout>,
    laid: Option<LaidBlocks>,
    sync: Option<SyncMarker>,
    /// As of [`FramedBlocks`].
    has_shortest_heads: bool,
    trailing_bytes: u64,
}

/// The entry of a block that an index has.
fn laid_entry(block: &ListedBlock) -> Option<IndexEntry> {
    IndexEntry::of_shortest_head(block.offset, block.file_bytes, block.records)
}

/// The byte offset of a payload.
fn payload_at(entry: &IndexEntry) -> u64 {
    entry.offset + entry.len - SyncMarker::LEN as u64 - entry.payload_len
}

impl Blocks for ListedBlocks {
    fn next(&mut self) -> Result<Next, Error> {
        if let Some(laid) = &mut self.laid {
            let block = laid.next().map(|mut block| {
                let entry = laid_entry(&(&block).into()).filter(|_| self.opened.codec.is_null());
                block.payload_offset = entry.as_ref().map(payload_at);
                block
            });
            return Ok(block.map_or(Next::End, Next::Block));
        }
        match self.scan.next().map_err(container)? {
            Scan::Header(header) => {
                let layout = self.layout.take();
                let layout = layout.filter(|layout| layout.start() == header.len());
                self.laid = layout.map(|layout| layout.blocks());
                self.sync = Some(header.sync());
                self.opened.decoder(&header)
            }
            Scan::Block(entry) => {
                let index = self.scan.block_index().map_or(0, |next| next - 1);
                let is_plain = self.opened.codec.is_null();
                let payload_offset = is_plain.then(|| payload_at(&entry));
                let desc = BlockDesc {
                    index,
                    offset: entry.offset,
                    file_bytes: entry.len,
                    records: entry.count,
                    start: 0,
                    payload_offset,
                    payload: Payload::Whole,
                    max_prepared: None,
                };
                self.has_shortest_heads &= entry.has_shortest_head();
                Ok(Next::Block(desc))
            }
            Scan::Need(range) => Ok(Next::Need {
                range,
                sequential: false,
            }),
            Scan::End { trailing_bytes } => {
                self.trailing_bytes = trailing_bytes;
                Ok(Next::End)
            }
        }
    }

    fn push(&mut self, at: u64, bytes: Bytes) {
        self.scan.push(at, bytes);
    }

    fn header_bytes(&self) -> u64 {
        self.opened.header_bytes
    }

    fn resync(&mut self) -> bool {
        self.scan.resync()
    }

    fn skipped_bytes(&self) -> u64 {
        self.scan.skipped_bytes()
    }

    fn has_layout(&self) -> bool {
        self.has_shortest_heads
    }

    fn at_block(&self, index: u64, offset: u64) -> Option<Box<dyn Blocks>> {
        let place = (index, offset);
        self.opened
            .at_block(self.sync?, self.has_shortest_heads, place)
    }

    fn payloads(&self) -> Arc<dyn Payloads> {
        Arc::new(AvroPayloads { sync: self.sync })
    }

    fn trailing_bytes(&self) -> u64 {
        self.trailing_bytes
    }
}

/// The payloads of a file's blocks: what is between their heads and the file's sync marker.
#[derive(Debug)]
struct AvroPayloads {
    /// Known as soon as there is a decoder.
    sync: Option<SyncMarker>,
}

impl Payloads for AvroPayloads {
    fn find(&self, block: &ListedBlock, ranges: Vec<Bytes>) -> Result<Vec<Bytes>, Error> {
        let (Some(sync), [bytes]) = (self.sync, &*ranges) else {
            return Ok(ranges);
        };
        let place = (block.index, block.offset, block.records);
        let block = avro_block::Block::of_bytes(bytes, sync, place);
        Ok(vec![block.map_err(container)?.payload])
    }

    fn payload_bytes(&self, block: &ListedBlock) -> u64 {
        laid_entry(block).map_or(block.file_bytes, |entry| entry.payload_len)
    }
}

/// Decodes the blocks of a file, or of several with one schema and codec.
#[derive(Debug)]
pub(crate) struct AvroDecoder {
    compiled: Arc<Compiled>,
    file: Opened,
}

/// What a worker uses again and again.
#[derive(Default)]
struct AvroScratch {
    decompressor: Decompressor,
    /// Decompressed bytes of the last block, for 1024 of its payload.
    ratio: usize,
    plan: avro_decode::Scratch,
}

impl Decoder for AvroDecoder {
    fn prepares(&self) -> bool {
        !self.file.codec.is_null()
    }

    fn group(&self) -> usize {
        Decompressor::preferred_group(self.file.codec)
    }

    fn most_records(&self, payload_bytes: u64) -> u64 {
        let bytes = payload_bytes.saturating_mul(self.file.codec.max_expansion());
        let most = bytes.checked_div(self.compiled.plan.min_record_len());
        // As many as items of an array that take no bytes.
        most.unwrap_or(avro_decode::limits::MAX_ZERO_SIZE_ITEMS as u64)
    }

    fn working_bytes(&self, parts: &[Bytes]) -> u64 {
        Decompressor::working_memory(self.file.codec, payload(parts))
    }

    fn prepare(&self, jobs: &mut [PrepareJob<'_>], scratch: &mut Scratch) {
        let AvroScratch {
            decompressor,
            ratio,
            ..
        } = scratch.get();
        let pool = &self.file.format.buffers;
        let len = |job: &PrepareJob<'_>| payload(job.parts).len() * *ratio / 1024;
        let mut buffers: Vec<_> = jobs.iter().map(|job| pool.take(len(job))).collect();
        decompressor.set_tolerates_checksums(self.file.format.reading.tolerate.checksum);
        let bad_checksums = decompressor.bad_checksums();
        let work = jobs.iter().zip(&mut buffers);
        let mut work: Vec<_> = work
            .map(|(job, buffer)| DecompressJob::new(payload(job.parts), buffer, job.limit))
            .collect();
        decompressor.decompress_many(self.file.codec, &mut work);
        let results: Vec<_> = work.into_iter().map(|job| job.result).collect();
        for ((job, result), buffer) in jobs.iter_mut().zip(results).zip(buffers) {
            job.result = match result {
                Ok(_) => {
                    let ratio_now = (buffer.len() * 1024).checked_div(payload(job.parts).len());
                    *ratio = ratio_now.unwrap_or(0);
                    Ok((pool.prepared(buffer), Tally::default()))
                }
                Err(error) => {
                    pool.give_back(buffer);
                    Err(match error {
                        DecompressError::TooLarge { .. } => {
                            Error::new(ErrorKind::Limit { needed: None })
                        }
                        error => Error::format(avro::ErrorKind::Container(error.into())),
                    })
                }
            };
        }
        let bad_checksums = decompressor.bad_checksums() - bad_checksums;
        if bad_checksums > 0 {
            self.file
                .name_fault("a block with a wrong checksum, or without one");
            let mut good = jobs.iter_mut().filter_map(|job| job.result.as_mut().ok());
            if let Some((_, tally)) = good.next() {
                tally.tolerated.bad_checksums += bad_checksums;
            }
        }
    }

    fn seek(&self, block: &Prepared, from: Pos, record: u64) -> Result<Pos, Error> {
        let skipper = &self.compiled.skipper;
        let skipped = skipper.skip(data(block), from.at as usize, record - from.record);
        let at = skipped.map_err(|error| decode_error(error, from.record))?;
        Ok(Pos {
            record,
            at: at as u64,
        })
    }

    fn decode(
        &self,
        block: &Prepared,
        at: Pos,
        records: u64,
        rows: &mut RowSlots<'_>,
        scratch: &mut Scratch,
        upcoming: Option<Upcoming<'_>>,
    ) -> Result<Decoded, Error> {
        let AvroScratch { plan: scratch, .. } = scratch.get();
        if let Some(upcoming) = upcoming {
            scratch.prefetch_next(next_bytes(&upcoming));
        }
        let plan = &self.compiled.plan;
        let done = plan.execute_with(scratch, data(block), at.at as usize, records as usize, rows);
        let done = done.map_err(|error| decode_error(error, at.record))?;
        let mut tally = Tally::default();
        tally.dropped_entries = done.dropped;
        tally.truncated_lists = done.truncated;
        tally.tolerated.replaced_texts = done.replaced;
        let pos = Pos {
            record: at.record + records,
            at: done.position as u64,
        };
        Ok(Decoded { pos, tally })
    }

    fn finish(&self, block: &Prepared, at: Pos) -> Result<Tally, Error> {
        let left = data(block).len() - at.at as usize;
        let mut tally = Tally::default();
        if left > 0 && self.file.format.reading.tolerate.trailing_block_bytes {
            self.file
                .name_fault("bytes left in a block after its records");
            tally.tolerated.trailing_block_bytes = left as u64;
        } else if left > 0 {
            let records = at.record;
            let error = Error::format(avro::ErrorKind::TrailingBytes { records, left });
            return Err(error.at_prepared(at.at));
        }
        Ok(tally)
    }
}

/// The error of a fault in a record of a block; `first` is the number of the first record that was decoded.
#[cold]
pub(crate) fn decode_error(error: avro_decode::DecodeError, first: u64) -> Error {
    let located = match error.kind {
        avro_decode::DecodeErrorKind::NoRoom { needed } => Error::new(ErrorKind::Limit {
            needed: Some(needed as u64),
        }),
        kind => Error::format(avro::ErrorKind::Decode(kind)),
    };
    let mut located = located.at_prepared(error.offset as u64);
    located.place.record = error.record.map(|record| first + record);
    located.place.field = error.field;
    located
}

/// Bytes that are loaded of a block whose first records are next.
const FIRST_BYTES: usize = 4 << 10;

/// The bytes of records that are decoded next, about as many as they are.
fn next_bytes<'a>(upcoming: &Upcoming<'a>) -> &'a [u8] {
    let bytes = data(upcoming.block);
    let bytes = bytes.get(upcoming.at.at as usize..).unwrap_or_default();
    // As long as those before, on average.
    let records = usize::try_from(upcoming.records).unwrap_or(usize::MAX);
    let each = upcoming.at.at.checked_div(upcoming.at.record);
    let len = each.map_or(FIRST_BYTES, |each| records.saturating_mul(each as usize));
    &bytes[..len.min(bytes.len())]
}

/// The payload that a block has in the file: Avro's is in one part.
fn payload(parts: &[Bytes]) -> &[u8] {
    parts.first().map_or(&[], |part| part)
}

/// The records of a block.
fn data(block: &Prepared) -> &[u8] {
    match block.as_bytes() {
        Some(bytes) => bytes,
        None => block
            .value::<DecompressedBlock>()
            .map_or(&[], |block| &*block.buffer),
    }
}
