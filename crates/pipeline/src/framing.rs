//! The planning thread: frames the blocks of files, in the order of an epoch, and plans batches.

mod file;
mod ranges;

use std::ops::Range;
use std::sync::Arc;

use atds_format::{Location, PrepareJob, Prepared, Scratch, Tally};
use atds_shuffle::{block_order, file_order};

use self::file::{File, Framed};
use crate::block::{Block, BlockPayload};
use crate::delays;
use crate::error::Stop;
use crate::fetch::ReadPool;
use crate::files::Files;
use crate::flow::Flow;
use crate::planner::Planner;
use crate::prepare::block_error;
use crate::sequence::Sequence;
use crate::slice::{FilePart, overlaps};
use crate::stats::Noted;
use crate::tuning::{COUNTED_BYTES, DOUBTFUL_BATCH_BYTES};
use crate::{Error, ErrorKind, Options};

/// The planning thread's state.
pub(crate) struct Framing {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) options: Options,
    pub(crate) flow: Arc<Flow>,
    pub(crate) pool: Arc<ReadPool>,
    pub(crate) planner: Planner,
    pub(crate) sequence: Sequence,
    /// Bytes of a row in columns of fixed size.
    pub(crate) fixed_row_bytes: u64,
    /// Bytes of a read.
    pub(crate) read_size: usize,
}

impl Framing {
    /// Frames and plans all epochs.
    pub(crate) fn run(mut self, epochs: impl Iterator<Item = u64>) {
        delays::begin(self.flow.delays, 1000);
        let flow = self.flow.clone();
        let _running = flow.watch.planner();
        let error = match self.epochs(epochs) {
            Err(Stop::Cancelled) => return,
            Err(Stop::Failed(error)) => Some(error),
            Ok(()) => None,
        };
        match self.sequence.flush() {
            Ok(()) => self.flow.end(error),
            Err(Stop::Cancelled) => {}
            Err(Stop::Failed(error)) => self.flow.end(Some(error)),
        }
    }

    fn epochs(&mut self, mut epochs: impl Iterator<Item = u64>) -> Result<(), Stop> {
        while let Some(epoch) = epochs.next() {
            self.planner.begin_epoch(epoch);
            let framed = self.epoch(epoch);
            match &framed {
                Err(Stop::Cancelled) => return framed,
                // Drawn from less than a window, rows would have another order than they have.
                Err(Stop::Failed(error)) if matches!(error.kind, ErrorKind::MemoryLimit { .. }) => {
                    return framed;
                }
                _ => {}
            }
            while self.planner.has_batch() {
                let plan = self.planner.draw();
                self.sequence.push(plan)?;
            }
            let left = self.planner.remainder();
            self.flow.counters.add_dropped_records(left);
            framed?;
            if self.planner.drawn() == 0 {
                // Nor will the epochs that follow have a batch.
                let following = epochs.size_hint().0 as u64;
                self.flow
                    .counters
                    .add_dropped_records(left.saturating_mul(following));
                return Ok(());
            }
        }
        Ok(())
    }

    fn epoch(&mut self, epoch: u64) -> Result<(), Stop> {
        let count = self.files.len();
        let order = match self.options.shuffle_files {
            true => file_order(self.options.seed, epoch, count),
            false => (0..count).collect(),
        };
        let parts: Vec<_> = match &self.options.slice {
            Some(slice) => {
                let parts = slice.files(&order).into_iter();
                parts.map(|(file, part)| (file, Some(part))).collect()
            }
            None => order.into_iter().map(|file| (file, None)).collect(),
        };
        for (file, part) in parts {
            let is_whole = part.as_ref().is_none_or(FilePart::is_whole);
            let listed = self.options.shuffle_blocks || !is_whole;
            let mut opened = self.open(file, !listed)?;
            // An input without a size cannot be listed.
            let framed = if listed && opened.fetcher.size.is_some() {
                self.listed_file(file, &mut opened, part.as_ref(), epoch)
            } else {
                self.whole_file(file, &mut opened, part.as_ref())
            };
            self.let_go(&mut opened);
            framed.map_err(|stop| stop.in_file(&opened.location))?;
        }
        Ok(())
    }

    /// Notes that all bytes of a file were framed.
    fn framed(&self, file: usize, trailing_bytes: u64) {
        if trailing_bytes > 0 {
            let counters = &self.flow.counters;
            counters.note(|noted| noted.stats.tolerated.trailing_file_bytes += trailing_bytes);
            self.files.left_out(file, trailing_bytes);
        }
    }

    /// Reads a file from its start to its end, or the part of it that a slice has.
    fn whole_file(
        &mut self,
        file: usize,
        opened: &mut File,
        part: Option<&FilePart>,
    ) -> Result<(), Stop> {
        let mut found = 0u64;
        // The end of the file is read, too, if the part goes so far.
        let is_last = |part: &&FilePart| part.records.end < part.counted;
        let end = part.filter(is_last).map(|part| part.records.end);
        while end.is_none_or(|end| found < end)
            && let Some(framed) = self.next_block(opened)?
        {
            let first = found;
            let records = framed.desc.records;
            found = found.saturating_add(records);
            let wanted = match part {
                Some(part) => {
                    let Range { start, end } = part.records;
                    start.clamp(first, found) - first..end.clamp(first, found) - first
                }
                None => 0..records,
            };
            if wanted.is_empty() && records > 0 {
                opened.copied.shrink(0);
                continue;
            }
            self.add(opened, framed, wanted)?;
        }
        self.finish_list(opened)?;
        if end.is_some_and(|end| found >= end) {
            return Ok(());
        }
        self.framed(file, opened.blocks.trailing_bytes());
        check_records(&opened.location, part, found)
    }

    /// Lists the blocks of a file, and reads those that the epoch has, in its order.
    fn listed_file(
        &mut self,
        file: usize,
        opened: &mut File,
        part: Option<&FilePart>,
        epoch: u64,
    ) -> Result<(), Stop> {
        let (mut all, mut damage) = (Vec::new(), None);
        loop {
            match self.next_block(opened) {
                Ok(Some(framed)) => all.push(framed),
                Ok(None) => break,
                Err(Stop::Cancelled) => return Err(Stop::Cancelled),
                // The blocks before the damage are read.
                Err(Stop::Failed(error)) => {
                    damage = Some(error);
                    break;
                }
            }
        }
        self.framed(file, opened.blocks.trailing_bytes());
        let counts = all.iter().map(|framed| framed.desc.records);
        let found = counts.fold(0, u64::saturating_add);
        if damage.is_none() {
            check_records(&opened.location, part, found)?;
        }
        opened.ranges.set_blocks(&all);
        let order = match self.options.shuffle_blocks {
            true => block_order(self.options.seed, epoch, file as u64, all.len()),
            false => (0..all.len()).collect(),
        };
        let counts = order.iter().map(|&block| all[block].desc.records);
        let chosen: Vec<_> = match part {
            Some(part) => overlaps(counts, &part.records).collect(),
            None => counts
                .enumerate()
                .map(|(at, records)| (at, records, 0..records))
                .collect(),
        };
        for (at, _, records) in chosen {
            self.add(opened, all[order[at]].clone(), records)?;
        }
        self.finish_list(opened)?;
        damage.map_or(Ok(()), |error| Err(Stop::Failed(error)))
    }

    /// Adds a block with its payload to the window, and plans the batches that it fills.
    fn push(
        &mut self,
        file: &mut File,
        framed: &Framed,
        payload: BlockPayload,
        records: Range<u64>,
    ) -> Result<(), Stop> {
        let Framed { desc, context } = framed;
        self.flow.counters.note(|Noted { stats, .. }| {
            stats.raw_bytes = stats.raw_bytes.saturating_add(desc.file_bytes);
        });
        let block = Arc::new(Block::new(desc, context.clone(), payload));
        let rows = block.records.min(self.options.batch_size as u64);
        // Where records take no bytes, the payload does not end before a false count does.
        let has_empty = context.decoder.most_records(0) > 0;
        if has_empty || rows.saturating_mul(self.fixed_row_bytes) > DOUBTFUL_BATCH_BYTES {
            block.check_count()?;
        }
        if desc.records == 0 {
            if !block.payload.is_shared {
                self.check_empty(file, &block)?;
            }
            return Ok(());
        }
        if !block.file.decoder.prepares() {
            block.payload.take_as_it_is();
            self.flow
                .counters
                .add_prepared(block.payload.bytes, block.records);
        }
        if block.payload.enters_window() {
            let bytes = block.payload.window_bytes();
            self.ahead(file, Some(desc)).check_window(bytes)?;
        }
        self.hold(file, &block);
        self.planner.push(block, records);
        while self.planner.is_full() {
            let plan = self.planner.draw();
            self.sequence.push(plan)?;
        }
        if self.flow.is_stopped() {
            return Err(Stop::Cancelled);
        }
        Ok(())
    }

    /// An error if a block without records has bytes of records.
    fn check_empty(&mut self, file: &File, block: &Block) -> Result<(), Stop> {
        let parts = block.payload.parts();
        let working = block.file.decoder.working_bytes(&parts);
        let mut ahead = self.ahead(file, None);
        let _lease = ahead.lease(file.fetcher.under_way(), working)?;
        let mut jobs = [PrepareJob::new(&parts, COUNTED_BYTES as usize)];
        let decoder = &block.file.decoder;
        decoder.prepare(&mut jobs, &mut Scratch::default());
        let [job] = jobs;
        let check = |(prepared, tally): (Prepared, Tally)| {
            let mut all = decoder.finish(&prepared, block.nearest(0))?;
            all.add(&tally);
            Ok(all)
        };
        let tally = job.result.and_then(check);
        let tally = tally.map_err(|error| block_error(block, error, COUNTED_BYTES as usize))?;
        self.flow.counters.add_tally(&tally);
        Ok(())
    }
}

/// An error if a file of a slice has another number of records than it had when they were counted:
/// other slices of it would not fit.
fn check_records(location: &Location, part: Option<&FilePart>, found: u64) -> Result<(), Stop> {
    match part {
        Some(part) if part.counted != found => {
            let counted = part.counted;
            let error = Error::new(ErrorKind::RecordsChanged { counted, found });
            Err(Stop::Failed(error.in_file(location)))
        }
        _ => Ok(()),
    }
}
