//! BTable files for the pipeline, by way of `atds-btable`.
//!
//! A row is a list of numbers, one for each column. The expression of a feature is a label, or several,
//! `['a', 'b']`; the number of a column, `[2]`; all columns, `[*]`, or a slice of them, `[0:4]`; or `@`: the
//! columns that no other feature names.

pub(crate) mod build;
mod columns;
pub(crate) mod rows;
mod write;

use std::sync::Arc;

use atds_btable::{Error as TableError, ErrorKind as TableErrorKind, Frame, Framer, Rows};
use atds_format::{
    BlockDesc, Blocks, Decoded, Decoder, Error, ErrorKind, FileInfo, Format, LaidBlocks, Layout,
    ListedBlock, Match, Next, Payload, Payloads, Pos, Prepared, Scratch, Tally, Upcoming,
};
use bytes::Bytes;
use tensor_batch::RowSlots;

use columns::Plan;
pub(crate) use columns::Request;
pub use columns::{BTableError, FeatureFault};

/// BTable files, read by the features of a data set.
#[derive(Clone, Debug)]
pub(crate) struct BTableFormat {
    pub(crate) request: Arc<Request>,
    /// Size in bytes at which a block of rows ends.
    pub(crate) block_bytes: usize,
}

/// Size in bytes at which a block ends: small enough to be shuffled, large enough that a block costs
/// nothing.
pub(crate) const BLOCK_BYTES: usize = 64 << 10;

impl Format for BTableFormat {
    fn name(&self) -> &'static str {
        "btable"
    }

    fn sniff(&self, name: &str, head: &[u8]) -> Match {
        if is_table(head) {
            Match::Content
        } else if name.ends_with(".btable") {
            Match::Name
        } else {
            Match::No
        }
    }

    fn open(&self, file: &FileInfo<'_>) -> Result<Box<dyn Blocks>, Error> {
        Ok(Box::new(TableBlocks {
            format: self.clone(),
            framer: Framer::new().with_block_bytes(self.block_bytes),
            plan: None,
            header_bytes: 0,
            payloads: file.payloads,
            layout: file.layout.cloned().filter(|layout| {
                let fits = self.block_bytes as u64..=u64::MAX;
                // With more, the sum of all rows may be none.
                let has_room = |block: BlockDesc| block.records <= most_rows(block.file_bytes);
                file.size.is_some_and(|size| layout.fits(size, fits))
                    && layout.blocks().all(has_room)
            }),
            known: None,
            coming: None,
        }))
    }

    /// Walking all rows for their lengths takes as long as decoding them.
    fn frames_by_layout(&self) -> bool {
        true
    }
}

/// The most rows that `bytes` bytes have: a row without cells is its count.
fn most_rows(bytes: u64) -> u64 {
    bytes / 4
}

/// Whether a file begins as a table does: version 0, and labels of some characters. Files of zeros, and
/// tables of one unnamed column, are known by their names only.
pub(crate) fn is_table(head: &[u8]) -> bool {
    let Some((start, text)) = head.split_first_chunk::<8>() else {
        return false;
    };
    let (version, units) = start.split_at(4);
    let first_is_text = text.first_chunk().is_none_or(|unit| *unit != [0, 0]);
    version == [0; 4] && units != [0; 4] && units[0] < 0x80 && first_is_text
}

/// The blocks of a file. Without a layout all rows are walked for them: a table has its counts among its rows.
#[derive(Debug)]
struct TableBlocks {
    format: BTableFormat,
    framer: Framer,
    /// `None` before the header.
    plan: Option<Arc<Plan>>,
    header_bytes: u64,
    payloads: bool,
    /// Where the blocks are, if that is known, and those that come next, once the header fits it.
    layout: Option<Layout>,
    known: Option<LaidBlocks>,
    /// The next of them, whose bytes are not here.
    coming: Option<BlockDesc>,
}

/// Bytes that are asked for at a time, as long as the file has not shown that it has more: a size may be
/// damage.
const FIRST_NEED: u64 = 128 << 10;

impl Blocks for TableBlocks {
    fn next(&mut self) -> Result<Next, Error> {
        if let Some(known) = &mut self.known {
            let Some(mut block) = self.coming.take().or_else(|| known.next()) else {
                return Ok(Next::End);
            };
            if self.payloads {
                let bytes = usize::try_from(block.file_bytes).unwrap_or(usize::MAX);
                let Some(framed) = self.framer.next_known(block.records, bytes) else {
                    let at = self.framer.end_offset();
                    let range = at..block.offset + block.file_bytes;
                    self.coming = Some(block);
                    return Ok(Next::Need {
                        range,
                        sequential: true,
                    });
                };
                block.payload = Payload::Here(framed.payload);
            }
            return Ok(Next::Block(block));
        }
        let index = self.framer.block_index();
        match self.framer.next().map_err(|error| framing(error, index))? {
            Frame::Header(header) => {
                let plan = self.format.request.plan(header.labels());
                let plan = Arc::new(plan.map_err(Error::format)?);
                (self.plan, self.header_bytes) = (Some(plan.clone()), header.len());
                let layout = self.layout.take();
                let layout = layout.filter(|layout| layout.start() == header.len());
                self.known = layout.map(|layout| layout.blocks());
                Ok(Next::Decoder(Arc::new(TableDecoder { plan })))
            }
            Frame::Block(block) => Ok(Next::Block(BlockDesc {
                index: block.index,
                offset: block.offset,
                file_bytes: block.payload.len() as u64,
                records: block.rows,
                start: 0,
                payload_offset: Some(block.offset),
                payload: match self.payloads {
                    true => Payload::Here(block.payload),
                    false => Payload::Whole,
                },
                max_prepared: None,
            })),
            Frame::NeedMore(more) => {
                let at = self.framer.end_offset();
                Ok(Next::Need {
                    range: at..at + more.min(at.max(FIRST_NEED)),
                    // Of a list by a layout, the header alone.
                    sequential: self.payloads || self.layout.is_none(),
                })
            }
            _ => Ok(Next::End),
        }
    }

    fn push(&mut self, _: u64, bytes: Bytes) {
        if bytes.is_empty() {
            self.framer.end();
        } else {
            self.framer.push(bytes);
        }
    }

    fn header_bytes(&self) -> u64 {
        self.header_bytes
    }

    fn has_layout(&self) -> bool {
        true
    }

    fn at_block(&self, index: u64, offset: u64) -> Option<Box<dyn Blocks>> {
        let plan = self.plan.clone()?;
        // Errors count rows in their block, so the number of the first row does not matter.
        let framer = Framer::at_block(plan.columns(), index, offset, 0);
        Some(Box::new(TableBlocks {
            format: self.format.clone(),
            framer: framer.with_block_bytes(self.format.block_bytes),
            plan: Some(plan),
            header_bytes: 0,
            payloads: true,
            layout: None,
            known: None,
            coming: None,
        }))
    }

    fn payloads(&self) -> Arc<dyn Payloads> {
        // There is a plan as soon as there is a decoder.
        let columns = self.plan.as_ref().map_or(0, |plan| plan.columns());
        Arc::new(TablePayloads { columns })
    }
}

/// The payloads of a table with `columns` columns.
#[derive(Debug)]
struct TablePayloads {
    columns: u32,
}

impl Payloads for TablePayloads {
    fn find(&self, block: &ListedBlock, ranges: Vec<Bytes>) -> Result<Vec<Bytes>, Error> {
        let [bytes] = &*ranges else {
            return Ok(ranges);
        };
        let mut rows = Rows::new(bytes, self.columns, 0, 0);
        if rows.skip_rows(block.records).is_err() || !rows.rest().is_empty() {
            let mut error = Error::format(BTableError::BlockChanged).at(block.offset);
            error.place.block = Some(block.index);
            return Err(error);
        }
        Ok(ranges)
    }
}

/// The error of a framing: the bad row is the first one of the block that would be next.
#[cold]
fn framing(error: TableError, index: u64) -> Error {
    let mut located = match error.kind {
        TableErrorKind::Io(error) => Error::new(ErrorKind::Io(error)),
        kind => Error::format(BTableError::Table(kind)),
    };
    if error.row.is_some() {
        located.place.block = Some(index);
    }
    located.at(error.offset)
}

/// Decodes the blocks of a file.
#[derive(Debug)]
pub(super) struct TableDecoder {
    plan: Arc<Plan>,
}

impl Plan {
    /// Number of columns of the table.
    fn columns(&self) -> u32 {
        // A header has fewer than 2^31 characters.
        self.labels.len() as u32
    }
}

impl TableDecoder {
    /// What decodes tables with these labels.
    #[cfg(test)]
    pub(super) fn of(request: &Request, labels: &Arc<[String]>) -> Result<Self, BTableError> {
        let plan = Arc::new(request.plan(labels)?);
        Ok(TableDecoder { plan })
    }

    /// The rows of a block from `at` on. Offsets and numbers of rows count in the block.
    fn rows<'a>(&self, block: &'a Prepared, at: Pos) -> Rows<'a> {
        let bytes = bytes_from(block, at);
        Rows::new(bytes, self.plan.columns(), at.at, at.record)
    }

    /// The error of a row.
    #[cold]
    fn error(&self, error: TableError) -> Error {
        let column = match &error.kind {
            TableErrorKind::RepeatedColumn(column)
            | TableErrorKind::DescendingColumn { column, .. } => Some(*column),
            _ => None,
        };
        let (offset, row) = (error.offset, error.row);
        let mut located = Error::format(BTableError::Table(error.kind)).at_prepared(offset);
        located.place.record = row;
        let label = column.and_then(|column| self.plan.labels.get(column as usize));
        located.place.field = label.cloned();
        located
    }
}

/// The bytes of a block from `at` on.
fn bytes_from(block: &Prepared, at: Pos) -> &[u8] {
    let bytes = block.as_bytes().map_or(&[][..], |bytes| bytes);
    bytes.get(at.at as usize..).unwrap_or_default()
}

impl Decoder for TableDecoder {
    fn prepares(&self) -> bool {
        false
    }

    fn most_records(&self, payload_bytes: u64) -> u64 {
        most_rows(payload_bytes)
    }

    fn seek(&self, block: &Prepared, from: Pos, record: u64) -> Result<Pos, Error> {
        let mut rows = self.rows(block, from);
        let before = rows.rest().len();
        rows.skip_rows(record - from.record)
            .map_err(|error| self.error(error))?;
        let at = from.at + (before - rows.rest().len()) as u64;
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
        _: &mut Scratch,
        upcoming: Option<Upcoming<'_>>,
    ) -> Result<Decoded, Error> {
        let mut table = self.rows(block, at);
        let before = table.rest().len();
        let after = upcoming.map_or(&[][..], |next| bytes_from(next.block, next.at));
        self.write(&mut table, records, rows, after)?;
        let pos = Pos {
            record: at.record + records,
            at: at.at + (before - table.rest().len()) as u64,
        };
        let tally = Tally::default();
        Ok(Decoded { pos, tally })
    }

    fn finish(&self, block: &Prepared, at: Pos) -> Result<Tally, Error> {
        match self.rows(block, at).rest().len() {
            0 => Ok(Tally::default()),
            left => Err(Error::format(BTableError::BytesLeft(left)).at_prepared(at.at)),
        }
    }
}
