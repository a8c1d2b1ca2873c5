//! TFRecord files for the pipeline, by way of `atds-tfrecord`.

pub(crate) mod build;
pub(crate) mod records;

use std::sync::Arc;

use atds_format::{
    BlockDesc, Blocks, Decoded, Decoder, Error, ErrorKind, FileInfo, Format, LaidBlocks,
    ListedBlock, Match, Next, Payload, Payloads, Pos, Prepared, Scratch, Tally, Upcoming,
};
use atds_tfrecord::{
    DecodeError, DecodeErrorKind, Frame, Framer, FramerOptions, Plan, Scan, Scanned, begins_record,
    check_block,
};
use bytes::Bytes;
use tensor_batch::RowSlots;

use crate::avro::records::RecordOptions;

/// TFRecord files, read by the features of a data set.
#[derive(Clone, Debug)]
pub(crate) struct TfRecordFormat {
    pub(crate) plan: Arc<Plan>,
    pub(crate) framing: FramerOptions,
}

/// What a framer is told of `options`.
pub(crate) fn framing(options: &RecordOptions) -> FramerOptions {
    let mut framing = FramerOptions::default();
    framing.limits.max_record_bytes = options.max_block_bytes as u64;
    framing
}

impl Format for TfRecordFormat {
    fn name(&self) -> &'static str {
        "tfrecord"
    }

    fn sniff(&self, name: &str, head: &[u8]) -> Match {
        if begins_record(head) {
            Match::Content
        } else if name.contains(".tfrecord") {
            Match::Name
        } else {
            Match::No
        }
    }

    fn open(&self, file: &FileInfo<'_>) -> Result<Box<dyn Blocks>, Error> {
        let format = self.clone();
        let has_decoder = false;
        Ok(match file.size {
            Some(size) if !file.payloads => {
                let FramerOptions {
                    limits,
                    block_bytes,
                    ..
                } = &self.framing;
                // In a larger block there may be a record above the limit, and finding blocks says so.
                let fits = *block_bytes..=limits.max_record_bytes;
                let layout = file.layout.filter(|layout| {
                    let is_whole = layout.start() == 0;
                    is_whole && layout.fits(size, fits)
                });
                Box::new(ListedBlocks {
                    list: match layout {
                        Some(layout) => List::Known(layout.blocks()),
                        None => List::Found(Scan::new(size, self.framing.clone())),
                    },
                    format,
                    has_decoder,
                })
            }
            _ => Box::new(FramedBlocks {
                framer: Framer::new(self.framing.clone()),
                format,
                has_decoder,
            }),
        })
    }
}

impl TfRecordFormat {
    fn decoder(&self) -> Next {
        let plan = self.plan.clone();
        Next::Decoder(Arc::new(TfRecordDecoder { plan }))
    }

    fn at_block(&self, index: u64, offset: u64) -> Option<Box<dyn Blocks>> {
        // Errors count records in their block, so the number of the first record does not matter.
        let framer = Framer::at_block(offset, index, 0, self.framing.clone());
        Some(Box::new(FramedBlocks {
            format: self.clone(),
            framer,
            has_decoder: true,
        }))
    }
}

/// The error of framing, in block `index`.
#[cold]
pub(crate) fn framing_error(error: atds_tfrecord::Error, index: u64) -> Error {
    let offset = error.offset;
    let mut located = Error::format(error.kind);
    located.place.block = Some(index);
    located.at(offset)
}

/// The blocks of a file, in file order with their payloads.
#[derive(Debug)]
struct FramedBlocks {
    format: TfRecordFormat,
    framer: Framer,
    /// Whether the decoder was given.
    has_decoder: bool,
}

/// Bytes that are asked for at a time, as long as the file has not shown that it has more: a length may
/// be damage.
const FIRST_NEED: u64 = 128 << 10;

impl Blocks for FramedBlocks {
    fn next(&mut self) -> Result<Next, Error> {
        if !std::mem::replace(&mut self.has_decoder, true) {
            return Ok(self.format.decoder());
        }
        loop {
            let index = self.framer.next_index();
            let frame = self.framer.next();
            match frame.map_err(|error| framing_error(error, index))? {
                Frame::Block(block) => {
                    let entry = (block.index, block.offset, block.payload.len() as u64);
                    let payload = Payload::Here(block.payload);
                    return Ok(Next::Block(block_of(entry, block.records, payload)));
                }
                Frame::NeedMore(more) => {
                    let at = self.framer.end_offset();
                    return Ok(Next::Need {
                        range: at..at + more.min(at.max(FIRST_NEED)),
                        sequential: true,
                    });
                }
                Frame::End => return Ok(Next::End),
                _ => {}
            }
        }
    }

    fn push(&mut self, _: u64, bytes: Bytes) {
        if bytes.is_empty() {
            self.framer.end();
        } else {
            self.framer.push(bytes);
        }
    }

    fn resync(&mut self) -> bool {
        self.framer.resync();
        true
    }

    fn skipped_bytes(&self) -> u64 {
        self.framer.skipped_bytes()
    }

    fn has_layout(&self) -> bool {
        true
    }

    fn at_block(&self, index: u64, offset: u64) -> Option<Box<dyn Blocks>> {
        self.format.at_block(index, offset)
    }
}

/// The block that is number `index`, of `len` bytes from `offset` on.
fn block_of((index, offset, len): (u64, u64, u64), records: u64, payload: Payload) -> BlockDesc {
    BlockDesc {
        index,
        offset,
        file_bytes: len,
        records,
        start: 0,
        payload_offset: Some(offset),
        payload,
        max_prepared: None,
    }
}

/// The blocks of a file, listed without their payloads.
#[derive(Debug)]
struct ListedBlocks {
    format: TfRecordFormat,
    list: List,
    has_decoder: bool,
}

/// How blocks are listed.
#[derive(Debug)]
enum List {
    /// By the lengths of records.
    Found(Scan),
    /// Where an index has them.
    Known(LaidBlocks),
}

impl Blocks for ListedBlocks {
    fn next(&mut self) -> Result<Next, Error> {
        if !std::mem::replace(&mut self.has_decoder, true) {
            return Ok(self.format.decoder());
        }
        let scan = match &mut self.list {
            List::Found(scan) => scan,
            List::Known(blocks) => return Ok(blocks.next().map_or(Next::End, Next::Block)),
        };
        let index = scan.next_index();
        let scanned = scan.next();
        Ok(
            match scanned.map_err(|error| framing_error(error, index))? {
                Scanned::Block(entry) => {
                    let place = (entry.index, entry.offset, entry.len);
                    Next::Block(block_of(place, entry.records, Payload::Whole))
                }
                Scanned::Need { range, sequential } => Next::Need { range, sequential },
                _ => Next::End,
            },
        )
    }

    fn push(&mut self, at: u64, bytes: Bytes) {
        if let List::Found(scan) = &mut self.list {
            scan.push(at, bytes);
        }
    }

    fn resync(&mut self) -> bool {
        match &mut self.list {
            List::Found(scan) => {
                scan.resync();
                true
            }
            List::Known(_) => false,
        }
    }

    fn skipped_bytes(&self) -> u64 {
        match &self.list {
            List::Found(scan) => scan.skipped_bytes(),
            List::Known(_) => 0,
        }
    }

    fn has_layout(&self) -> bool {
        true
    }

    fn at_block(&self, index: u64, offset: u64) -> Option<Box<dyn Blocks>> {
        self.format.at_block(index, offset)
    }

    fn payloads(&self) -> Arc<dyn Payloads> {
        Arc::new(self.format.clone())
    }
}

impl Payloads for TfRecordFormat {
    fn find(&self, block: &ListedBlock, ranges: Vec<Bytes>) -> Result<Vec<Bytes>, Error> {
        if let Some(bytes) = ranges.first() {
            // Errors count records in their block, so the number of the first record does not matter.
            let place = (block.offset, 0, block.records);
            let checked = check_block(bytes, place, &self.framing);
            checked.map_err(|error| framing_error(error, block.index))?;
        }
        Ok(ranges)
    }
}

/// Decodes the blocks of all files.
#[derive(Debug)]
struct TfRecordDecoder {
    plan: Arc<Plan>,
}

impl Decoder for TfRecordDecoder {
    fn prepares(&self) -> bool {
        false
    }

    fn most_records(&self, payload_bytes: u64) -> u64 {
        // Around its data, each record has a length and two checksums.
        payload_bytes / 16
    }

    fn seek(&self, block: &Prepared, from: Pos, record: u64) -> Result<Pos, Error> {
        let place = (from.at as usize, from.record);
        let at = self.plan.skip(data(block), place, record - from.record);
        let at = at.map_err(decode_error)? as u64;
        Ok(Pos { record, at })
    }

    fn seeks_by_lengths(&self) -> bool {
        true
    }

    fn decode(
        &self,
        block: &Prepared,
        at: Pos,
        records: u64,
        rows: &mut RowSlots<'_>,
        scratch: &mut Scratch,
        _: Option<Upcoming<'_>>,
    ) -> Result<Decoded, Error> {
        let place = (at.at as usize, at.record);
        let records = records as usize;
        let done = self
            .plan
            .execute(scratch.get(), data(block), place, records, rows);
        let done = done.map_err(decode_error)?;
        let mut tally = Tally::default();
        tally.dropped_entries = done.dropped;
        tally.truncated_lists = done.truncated;
        tally.tolerated.bad_checksums = done.bad_checksums;
        let pos = Pos {
            record: at.record + records as u64,
            at: done.position as u64,
        };
        Ok(Decoded { pos, tally })
    }

    fn finish(&self, block: &Prepared, at: Pos) -> Result<Tally, Error> {
        if at.at != data(block).len() as u64 {
            let error = Error::format(atds_tfrecord::ErrorKind::BlockChanged);
            return Err(error.at_prepared(at.at));
        }
        Ok(Tally::default())
    }
}

/// The records of a block.
fn data(block: &Prepared) -> &[u8] {
    block.as_bytes().map_or(&[], |bytes| bytes)
}

/// The error of a record of a block.
#[cold]
fn decode_error(error: DecodeError) -> Error {
    let located = match error.kind {
        DecodeErrorKind::NoRoom { needed } => Error::new(ErrorKind::Limit {
            needed: Some(needed as u64),
        }),
        DecodeErrorKind::Record(kind) => Error::format(kind),
        kind => Error::format(kind),
    };
    let mut located = located
        .at_prepared(error.offset as u64)
        .in_record(error.record);
    located.place.field = error.field;
    located
}
