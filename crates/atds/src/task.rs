//! A worker's task: some blocks, and the rows that their records go to.

use std::sync::Mutex;

use avro_decode::Scratch;
use tensor_batch::{BatchSpec, Disagreement, RowSlots};

use crate::block::WindowBlock;
use crate::limits::TOGETHER_BATCHES;
use crate::planner::Visit;
use crate::tolerate::Tolerated;
use crate::window::Section;
use crate::{Error, avro};

/// A contiguous part of the window, and what it gives to each of the batches
/// that are being made.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) blocks: Section<'a>,
    /// Those that give any, by their places.
    pub(crate) visits: &'a [Visit],
    pub(crate) parts: Parts<'a>,
    /// Who has done it.
    pub(crate) worker: Option<usize>,
    /// What became of it.
    pub(crate) result: Result<Done, Failed>,
}

/// The rows of each batch that a task's records go to; `None` for one that it gives
/// nothing to.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a>(pub(crate) [Option<RowSlots<'a>>; TOGETHER_BATCHES]);

/// What a task did, and how long it took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub(crate) records_decoded: u64,
    pub(crate) records_decompressed: u64,
    /// Decompressed bytes of the blocks first read by this task.
    pub(crate) decompressed_bytes: u64,
    /// By how much blocks that wait have more bytes, since they were decompressed.
    pub(crate) grown: i64,
    pub(crate) decompress_ns: u64,
    pub(crate) decode_ns: u64,
    pub(crate) dropped_entries: u64,
    pub(crate) truncated_lists: u64,
    pub(crate) tolerated: Tolerated,
}

impl Done {
    pub(crate) fn add(&mut self, other: &Done) {
        self.records_decoded += other.records_decoded;
        self.records_decompressed += other.records_decompressed;
        self.decompressed_bytes += other.decompressed_bytes;
        self.grown += other.grown;
        self.decompress_ns += other.decompress_ns;
        self.decode_ns += other.decode_ns;
        self.dropped_entries += other.dropped_entries;
        self.truncated_lists += other.truncated_lists;
        self.tolerated.add(&other.tolerated);
    }
}

/// A task that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: Error,
    /// The first row of the batch that is not good; those before it in the
    /// same task are.
    pub(crate) row: u64,
}

impl Failed {
    /// Of a row whose lists differ from those before it. Its record, and the first one, are
    /// not known yet.
    #[cold]
    pub(crate) fn by_shape(spec: &BatchSpec, found: Disagreement) -> Self {
        Failed {
            row: found.row as u64,
            error: Error::shapes_differ(spec, found),
        }
    }
}

impl Task<'_> {
    /// Goes on in the segments of the task before if `worker` has done that.
    pub(crate) fn follow(&mut self, worker: usize, before: &Mutex<Self>) {
        // If it is locked, another worker is at it.
        let Ok(mut before) = before.try_lock() else {
            return;
        };
        if before.worker == Some(worker) && before.result.is_ok() {
            for parts in self.parts.0.iter_mut().zip(&mut before.parts.0) {
                if let (Some(own), Some(before)) = parts {
                    own.follow(before);
                }
            }
        }
    }
}

impl Parts<'_> {
    /// Has `worker` write the rows.
    pub(crate) fn begin(&mut self, worker: usize) {
        for part in self.0.iter_mut().flatten() {
            part.begin(worker);
        }
    }

    pub(crate) fn end(&mut self) {
        for part in self.0.iter_mut().flatten() {
            part.end();
        }
    }

    /// Bytes written to columns whose size is not known beforehand.
    pub(crate) fn written(&self) -> usize {
        let parts = self.0.iter().flatten();
        parts.map(RowSlots::segment_bytes).sum()
    }

    /// Decodes what `block`, which is visited, gives, the batches one after the other.
    pub(crate) fn decode(
        &mut self,
        visit: &Visit,
        block: &mut WindowBlock,
        decompressed: Option<&[u8]>,
        scratch: &mut Scratch,
        done: &mut Done,
    ) -> Result<(), Failed> {
        for (slots, take) in self.0.iter_mut().zip(visit.takes) {
            if let (Some(slots), 1..) = (slots, take) {
                decode(block, decompressed, take, scratch, slots, done)
                    .map_err(|error| failed(error, slots))?;
            }
        }
        Ok(())
    }

    /// An error before the first record of a visited block is decoded.
    #[cold]
    pub(crate) fn failed(&self, visit: &Visit, error: Error) -> Failed {
        let mut parts = self.0.iter().zip(visit.takes);
        match parts.find_map(|(part, take)| part.as_ref().filter(|_| take > 0)) {
            Some(slots) => failed(error, slots),
            None => Failed { error, row: 0 },
        }
    }
}

/// An error while the next of the rows was written.
#[cold]
fn failed(error: Error, slots: &RowSlots<'_>) -> Failed {
    let mut row = slots.batch_row() as u64;
    if let Some(avro::ErrorKind::TrailingBytes { .. }) = error.kind.avro() {
        // The record that the block should end with: without it the rows
        // before can be read again and given out.
        row -= 1;
    }
    Failed { error, row }
}

/// Decodes the next `take` records of a block from its decompressed bytes: those it
/// has, or those that were decompressed for this alone.
fn decode(
    block: &mut WindowBlock,
    decompressed: Option<&[u8]>,
    take: u64,
    scratch: &mut Scratch,
    slots: &mut RowSlots<'_>,
    done: &mut Done,
) -> Result<(), Error> {
    let data = decompressed.or_else(|| block.decompressed());
    let data = data.expect("decompressed before");
    let len = data.len();
    if block.taken == 0 {
        done.decompressed_bytes += len as u64;
    }
    let (first, position) = block.next_record(data)?;
    let plan = &block.file.plan;
    match plan.execute_with(scratch, data, position, take as usize, slots) {
        Ok(executed) => {
            block.position = executed.position;
            block.taken = first + take;
            done.records_decoded += take;
            done.dropped_entries += executed.dropped;
            done.truncated_lists += executed.truncated;
            if executed.replaced > 0 {
                done.tolerated.replaced_texts += executed.replaced;
                block.file.name_fault("text that is not UTF-8");
            }
        }
        Err(error) => return Err(block.locate(Error::decode(error, first))),
    }
    if block.is_at_end() {
        block.check_end(len, &mut done.tolerated)?;
    }
    Ok(())
}
