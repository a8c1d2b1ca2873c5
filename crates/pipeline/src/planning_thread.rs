//! The planning thread: frames the blocks of files, in the order of an epoch, and plans batches.

mod blocks;
mod payloads;
mod reads;

use std::ops::Range;
use std::sync::Arc;

use atds_format::{PrepareJob, Prepared, Scratch, Tally};
use atds_shuffle::{block_order, file_order};

use self::blocks::{File, Framed};
use crate::block::{Block, BlockPayload};
use crate::delays;
use crate::error::Stop;
use crate::files::Files;
use crate::flow::Flow;
use crate::planner::Planner;
use crate::prepare::block_error;
use crate::read_pool::ReadPool;
use crate::sequence::Sequence;
use crate::slice::{FilePart, overlap};
use crate::tuning::{COUNTED_BYTES, DOUBTFUL_BATCH_BYTES};
use crate::watch::PLANNER;
use crate::{Error, ErrorKind};

/// The planning thread's state.
pub(crate) struct PlanningThread {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) flow: Arc<Flow>,
    pub(crate) pool: Arc<ReadPool>,
    pub(crate) planner: Planner,
    pub(crate) sequence: Sequence,
    /// Bytes of a read.
    pub(crate) read_size: u64,
}

impl PlanningThread {
    /// Frames and plans all epochs.
    pub(crate) fn run(mut self, epochs: impl Iterator<Item = u64>) {
        delays::begin(self.flow.options.delays, 1000);
        let flow = self.flow.clone();
        let _running = flow.watch.thread(PLANNER, "frames and plans");
        let error = match self.epochs(epochs) {
            Err(Stop::Cancelled) => return,
            Err(Stop::Failed(error)) => Some(error),
            Ok(()) => None,
        };
        if self.sequence.flush().is_ok() {
            self.flow.end(error);
        }
    }

    fn epochs(&mut self, mut epochs: impl Iterator<Item = u64>) -> Result<(), Stop> {
        while let Some(epoch) = epochs.next() {
            self.planner.begin_epoch(&self.flow.options, epoch);
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
        let order = match self.flow.options.shuffle_files {
            true => file_order(self.flow.options.seed, epoch, count),
            false => (0..count).collect(),
        };
        let parts = match &self.flow.options.slice {
            Some(slice) => slice.files(&order),
            None => order.into_iter().map(FilePart::whole).collect(),
        };
        for part in &parts {
            let listed = self.flow.options.shuffle_blocks || !part.is_whole();
            let mut file = self.open(part.file, !listed)?;
            // An input without a size cannot be listed.
            let framed = if listed && file.size.is_some() {
                self.listed_file(&mut file, part, epoch)
            } else {
                self.whole_file(&mut file, part)
            };
            self.let_go(&mut file);
            framed.map_err(|stop| stop.in_file(&file.location))?;
        }
        Ok(())
    }

    /// Reads a file from its start to its end, or to the end of the part that a slice has.
    fn whole_file(&mut self, file: &mut File, part: &FilePart) -> Result<(), Stop> {
        let mut found = 0;
        while part.goes_on(found)
            && let Some(framed) = self.next_block(file)?
        {
            self.add_part(file, framed, part, &mut found)?;
        }
        self.finish_list(file)?;
        match part.goes_on(found) {
            true => self.end_file(file, part, found),
            false => Ok(()),
        }
    }

    /// Lists the blocks of a file, and reads those that the epoch has, in its order.
    fn listed_file(&mut self, file: &mut File, part: &FilePart, epoch: u64) -> Result<(), Stop> {
        let mut all = Vec::new();
        let damage = loop {
            match self.next_block(file) {
                Ok(Some(framed)) => all.push(framed),
                Ok(None) => break None,
                Err(Stop::Cancelled) => return Err(Stop::Cancelled),
                // The blocks before the damage are read.
                damaged => break damaged.err(),
            }
        };
        if damage.is_none() {
            let counts = all.iter().map(|framed| framed.desc.records);
            self.end_file(file, part, counts.fold(0, u64::saturating_add))?;
        }
        let order = match self.flow.options.shuffle_blocks {
            true => block_order(self.flow.options.seed, epoch, part.file as u64, all.len()),
            false => (0..all.len()).collect(),
        };
        let mut found = 0;
        for block in order {
            self.add_part(file, all[block].clone(), part, &mut found)?;
        }
        self.finish_list(file)?;
        damage.map_or(Ok(()), Err)
    }

    /// Adds what `part` has of a block, before which it has `found` records.
    fn add_part(
        &mut self,
        file: &mut File,
        framed: Framed,
        part: &FilePart,
        found: &mut u64,
    ) -> Result<(), Stop> {
        let records = framed.desc.records;
        let wanted = overlap(&part.records, *found, records);
        *found = found.saturating_add(records);
        // Blocks without records are checked where the whole file is read.
        match wanted.is_empty() && (records > 0 || !part.is_whole()) {
            true => Ok(()),
            false => self.add(file, framed, wanted),
        }
    }

    /// All blocks of a file were framed, which have `found` records. An error if these were others when
    /// they were counted: other slices of the file would not fit.
    fn end_file(&self, file: &File, part: &FilePart, found: u64) -> Result<(), Stop> {
        let trailing_bytes = file.blocks.trailing_bytes();
        if trailing_bytes > 0 {
            let counters = &self.flow.counters;
            counters.note(|stats| stats.tolerated.trailing_file_bytes += trailing_bytes);
            self.files.left_out(part.file, trailing_bytes);
        }
        match part.counted {
            Some(counted) if counted != found => {
                Err(Error::new(ErrorKind::RecordsChanged { counted, found }).into())
            }
            _ => Ok(()),
        }
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
        self.flow.counters.note(|stats| {
            stats.raw_bytes = stats.raw_bytes.saturating_add(desc.file_bytes);
        });
        let block = Arc::new(Block::new(desc, context.clone(), payload));
        let rows = block.records.min(self.flow.options.batch_size as u64);
        // Where records take no bytes, the payload does not end before a false count does.
        let has_empty = context.decoder.most_records(0) > 0;
        if has_empty
            || rows.saturating_mul(self.flow.builders.fixed_row_bytes) > DOUBTFUL_BATCH_BYTES
        {
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
            self.check_window(file, bytes)?;
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
        let decoder = &block.file.decoder;
        let _lease = self.lease(file, decoder.working_bytes(&parts))?;
        let mut jobs = [PrepareJob::new(&parts, COUNTED_BYTES as usize)];
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
