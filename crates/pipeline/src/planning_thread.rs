//! The planning thread: frames the blocks of files, in the order of an epoch, and plans batches.

mod again;
mod blocks;
mod framing;
mod heads;
mod interleaved;
mod known;
mod payloads;
mod reads;
mod runs;

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use atds_format::{PrepareJob, Prepared, Scratch, Tally};
use atds_shuffle::{block_order, file_order, run_order};

use self::blocks::{File, Framed};
use self::framing::{Framing, OrderedBlocks};
pub use self::known::BlockCache;
pub(crate) use self::runs::{RunList, RunsAhead};
use crate::block::{Block, BlockPayload};
use crate::damage::Skipped;
use crate::delays;
use crate::error::Stop;
use crate::files::Files;
use crate::flow::Flow;
use crate::interleave::Turns;
use crate::memory::Lease;
use crate::planner::Planner;
use crate::prepare::block_error;
use crate::progress::Progress;
use crate::read_pool::ReadPool;
use crate::replay::{Position, Replay, Resumed, Wanted};
use crate::sequence::Sequence;
use crate::slice::{FileOrder, FilePart};
use crate::tuning::{COUNTED_BYTES, MUCH_MEMORY};
use crate::watch::{LIST, PLANNER};
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
    /// Number of batches of the first epoch that were given out before.
    pub(crate) given: u64,
    /// Number of batches that were planned.
    pub(crate) planned: u64,
    /// Number of batches that were planned before the blocks of a damaged file were shuffled: the order has
    /// those before the damage only.
    pub(crate) sound: Option<u64>,
    /// What the batches that were given out before have left of the epoch.
    pub(crate) resumed: Resumed,
    /// How far drawing again is, in the log.
    progress: Option<Progress>,
    /// Size of each file when the iteration opened it first.
    sizes: HashMap<usize, u64>,
    /// Number of records of each block, of files that were framed for them, while layers are drawn again.
    pub(crate) counted: HashMap<usize, Arc<[u64]>>,
    /// The blocks of the file or run of an epoch that was drawn again last: many readers share it.
    ordered: Option<((usize, u64), Arc<OrderedBlocks>)>,
    /// The files of the epoch, in its order, if they take turns.
    in_turns: Option<Arc<[usize]>>,
    /// The runs of all files, if they are shuffled, and those that are read ahead.
    pub(crate) runs: Option<Arc<RunList>>,
    pub(crate) ahead: RunsAhead,
    /// Its clones are counted: the number of files that are open for workers.
    worker_files: Arc<()>,
}

impl PlanningThread {
    /// For an iteration after `given` batches of its first epoch.
    pub(crate) fn new(files: Arc<dyn Files>, flow: Arc<Flow>, given: u64) -> Self {
        let options = &flow.options;
        PlanningThread {
            files,
            pool: ReadPool::new(
                flow.memory.clone(),
                options.spare.clone().unwrap_or_default(),
                options.is_shuffled(),
            ),
            planner: Planner::new(options),
            sequence: Sequence::new(flow.clone()),
            read_size: options.read_size as u64,
            given,
            planned: 0,
            sound: None,
            resumed: Resumed::default(),
            progress: None,
            sizes: HashMap::new(),
            counted: HashMap::new(),
            ordered: None,
            in_turns: None,
            runs: None,
            ahead: RunsAhead::default(),
            worker_files: Arc::default(),
            flow,
        }
    }

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
        let at_end = self.planner.take_skipped();
        self.flow.counters.skip_at_end(at_end);
        if self.sequence.flush().is_ok() {
            self.flow.end(error);
        }
    }

    fn epochs(&mut self, mut epochs: impl Iterator<Item = u64>) -> Result<(), Stop> {
        while let Some(epoch) = epochs.next() {
            let given = mem::take(&mut self.given);
            let stream = self.flow.options.stream_of(epoch);
            self.planner.begin_epoch(&self.flow.options, epoch, stream);
            self.flow.begin_epoch(
                self.planned,
                Position {
                    epoch,
                    batches: given,
                },
            );
            let framed = self.epoch(epoch, given);
            match &framed {
                Err(Stop::Cancelled) => return framed,
                // Drawn from less than a window, rows would have another order than they have.
                Err(Stop::Failed(error)) if matches!(error.kind, ErrorKind::MemoryLimit { .. }) => {
                    return framed;
                }
                _ => {}
            }
            if framed.is_err() {
                self.flow.set_sound(self.sound.unwrap_or(self.planned));
            }
            while self.planner.has_batch() {
                self.plan_batch()?;
            }
            let left = self.planner.remainder();
            self.flow.counters.add_dropped_records(left);
            framed?;
            if self.planner.drawn() == 0 && self.flow.options.rest_of(epoch).is_none() {
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

    /// Plans an epoch but for its last batches, without the first `given` ones.
    fn epoch(&mut self, epoch: u64, given: u64) -> Result<(), Stop> {
        let flow = self.flow.clone();
        self.add_to_replay([given]);
        let seed = flow.options.seed;
        let runs = match flow.options.shuffle_runs {
            true => {
                self.forget_changed_runs();
                Some(self.list_runs()?)
            }
            false => None,
        };
        let mut order = match &runs {
            Some(runs) => run_order(seed, epoch, runs.records.len()),
            None if flow.options.shuffle_files => file_order(seed, epoch, self.files.len()),
            None => (0..self.files.len()).collect(),
        };
        if runs.is_none() {
            order.retain(|&file| flow.options.has_file(file));
        }
        let counted = match (flow.options.rest_of(epoch), &flow.options.slice) {
            (Some(rest), _) => Some(&rest.file_records),
            (None, slice) => slice.as_ref().map(|slice| &slice.file_records),
        };
        // The numbers of records of what is ordered.
        let records = match (&runs, counted) {
            (Some(runs), counted) => {
                self.check_counts(runs, counted.map_or(&[], |counted| counted))?;
                runs.records.clone()
            }
            (None, counted) => counted.cloned().unwrap_or_default(),
        };
        let interleave = flow.options.turns();
        let turns = interleave.map(|interleave| Turns::new(interleave, order.len()));
        let of_files = records.clone();
        let (order, records) = match &turns {
            Some(_) => {
                let of_turns = order.iter().filter_map(|&file| records.get(file));
                let all = of_turns.copied().fold(0, u64::saturating_add);
                self.in_turns = Some(order.into());
                (vec![0], [all].into())
            }
            None => (order, records),
        };
        let parts = match (flow.options.rest_of(epoch), &flow.options.slice) {
            (Some(rest), _) => {
                let files = FileOrder::new(&order, &records);
                let left = self.left(rest, &files)?;
                files.parts(&left.part(rest.records.clone()))
            }
            (None, Some(slice)) => {
                FileOrder::new(&order, &records).parts(&slice.records.clone().into())
            }
            (None, None) if runs.is_some() => {
                let mut parts = FileOrder::new(&order, &records).whole();
                if flow.options.split.is_some() {
                    // Runs of other splits are not opened.
                    let is_read = |run: usize| runs.as_ref().is_some_and(|runs| runs.is_read(run));
                    parts.retain(|part| is_read(part.file));
                }
                parts
            }
            (None, None) => order.into_iter().map(FilePart::whole).collect(),
        };
        self.resumed = match given {
            0 => Resumed::default(),
            _ => {
                let stream = flow.options.stream_of(epoch);
                let batch_size = flow.options.batch_size as u64;
                let replay = Replay::new(&flow.options, batch_size, (epoch, stream), given);
                self.replay(&parts, epoch, replay)?
            }
        };
        self.planner.resume(&mut self.resumed);
        if turns.is_none() {
            self.counted.clear();
        }
        self.ordered = None;
        if let Some(runs) = runs {
            return self.read_runs(&runs, &parts);
        }
        if let (Some(turns), Some(order)) = (turns, self.in_turns.take()) {
            let part = parts.first().filter(|_| self.resumed.has_file(0));
            let read = part.map_or(Ok(()), |part| {
                self.read_in_turns(turns, &order, part, &of_files)
            });
            self.ahead.opened.clear();
            return read;
        }
        for (place, part) in parts.iter().enumerate() {
            if !self.resumed.has_file(place) {
                continue;
            }
            let listed = self.flow.options.shuffle_blocks
                || !part.is_whole()
                || self.resumed.has_begun(place);
            // Payloads of other splits are not read, unless damage is to be left out: it is found in payloads.
            let leaves_out = !flow.options.skip_damage
                && (flow.options.split.as_ref()).is_some_and(|split| split.leaves_blocks_out());
            let mut file = self.open(part.file, !listed && !leaves_out)?;
            let mut framing = Framing::new(place, part);
            let listing = || flow.watch.begin(LIST.in_file(&file.location));
            let _listing = (listed || leaves_out).then(listing);
            // An input without a size cannot be listed.
            let framed = if listed && file.size.is_some() {
                self.listed_file(&mut file, &mut framing, epoch)
            } else {
                self.whole_file(&mut file, &mut framing)
            };
            self.let_go(&mut file);
            framed.map_err(|stop| stop.in_file(&file.location))?;
        }
        Ok(())
    }

    /// The blocks of the file or run that a part is of.
    fn part_blocks(&mut self, part: &FilePart, epoch: u64) -> Result<Arc<OrderedBlocks>, Stop> {
        if let Some((_, blocks)) = self
            .ordered
            .as_ref()
            .filter(|(of, _)| *of == (part.file, epoch))
        {
            return Ok(blocks.clone());
        }
        let blocks = match self.runs.clone() {
            None => {
                let blocks = self.block_records(part.file)?;
                let order = self.block_order(part.file, epoch, blocks.len());
                OrderedBlocks::new(order.into_iter().map(|block| blocks[block]))
            }
            Some(runs) => {
                let run = &runs.runs[part.file];
                let blocks = self.block_records(run.file)?;
                // If the file has changed since the runs were listed, reading it finds that.
                let of_run = run.ordinal..(run.ordinal + run.blocks).min(blocks.len());
                OrderedBlocks::new(blocks[of_run].iter().copied())
            }
        };
        let blocks = Arc::new(blocks);
        self.ordered = Some(((part.file, epoch), blocks.clone()));
        Ok(blocks)
    }

    /// Number of records of each block of a file, in file order.
    fn block_records(&mut self, number: usize) -> Result<Arc<[u64]>, Stop> {
        if let Some(known) = self.files.block_records(number) {
            return Ok(known);
        }
        if let Some(known) = self.counted.get(&number) {
            return Ok(known.clone());
        }
        let mut records = Vec::new();
        match self.list(number, |framed| records.push(framed.members.count())) {
            Err(Stop::Cancelled) => return Err(Stop::Cancelled),
            // Damage is found where it is read.
            Ok(()) | Err(Stop::Failed(_)) => {}
        }
        let records: Arc<[u64]> = records.into();
        let options = &self.flow.options;
        if options.rest.is_some() || self.are_in_turns() || self.runs.is_some() {
            self.counted.insert(number, records.clone());
        }
        Ok(records)
    }

    fn list(&mut self, number: usize, mut on_block: impl FnMut(Framed)) -> Result<(), Stop> {
        let flow = self.flow.clone();
        let mut file = self.open(number, false)?;
        let _listing = flow.watch.begin(LIST.in_file(&file.location));
        while let Some(framed) = self.next_block(&mut file)? {
            on_block(framed);
        }
        Ok(())
    }

    /// Frames a file, outside of an iteration, for the number of records of each block, of all splits.
    pub(crate) fn frame(mut self, number: usize) -> Result<Arc<[u64]>, Error> {
        let mut records = Vec::new();
        match self.list(number, |framed| records.push(framed.desc.records)) {
            Err(Stop::Failed(error)) => Err(error),
            // No other thread can stop it.
            Ok(()) | Err(Stop::Cancelled) => Ok(records.into()),
        }
    }

    /// The order of the `count` blocks of a file.
    fn block_order(&self, file: usize, epoch: u64, count: usize) -> Vec<usize> {
        match self.flow.options.shuffle_blocks {
            true => block_order(self.flow.options.seed, epoch, file as u64, count),
            false => (0..count).collect(),
        }
    }

    /// Reads a file from its start to its end, or to the end of the part that a slice has.
    fn whole_file(&mut self, file: &mut File, framing: &mut Framing<'_>) -> Result<(), Stop> {
        while framing.goes_on() {
            let framed = self.next_block_or_awaited(file)?;
            self.planner.note_skipped(&mut file.skipped);
            let Some(framed) = framed else {
                break;
            };
            self.add_part(file, framed, framing)?;
        }
        self.finish_awaited(file)?;
        match framing.goes_on() {
            true => self.end_file(file, framing.part, framing.records),
            false => Ok(()),
        }
    }

    /// The next block of a file. Before an error, the blocks are added that were framed before it: which
    /// of them still wait for their payloads depends on how bytes are read.
    fn next_block_or_awaited(&mut self, file: &mut File) -> Result<Option<Framed>, Stop> {
        let next = self.next_block(file);
        if let Err(Stop::Failed(_)) = next {
            self.finish_awaited(file)?;
        }
        next
    }

    /// Lists the blocks of a file, and reads those that the epoch has, in its order.
    fn listed_file(
        &mut self,
        file: &mut File,
        framing: &mut Framing<'_>,
        epoch: u64,
    ) -> Result<(), Stop> {
        let mut all = Vec::new();
        let (mut bytes, mut lease) = (0, Lease::none(&self.flow.memory));
        // What was noted before the iteration was stopped.
        let noted = match self.flow.options.shuffle_blocks || !framing.part.is_whole() {
            true if self.resumed.has_begun(framing.place) => usize::MAX,
            true => 0,
            false => self.resumed.blocks_passed(framing.place),
        };
        let damage = loop {
            let next = self.next_block(file);
            if all.len() >= noted {
                self.planner.note_skipped(&mut file.skipped);
            }
            file.skipped.clear();
            match next {
                Ok(Some(framed)) => {
                    bytes += framed.listed_bytes();
                    if bytes > lease.bytes() {
                        self.lease_list(file, &mut lease, bytes)?;
                    }
                    all.push(framed);
                }
                Ok(None) => break None,
                Err(Stop::Cancelled) => return Err(Stop::Cancelled),
                // The blocks before the damage are read.
                damaged => break damaged.err(),
            }
        };
        if damage.is_some() && self.flow.options.shuffle_blocks {
            self.sound = Some(self.planned);
        }
        if damage.is_none() {
            let counts = all.iter().map(|framed| framed.members.count());
            self.end_file(file, framing.part, counts.fold(0, u64::saturating_add))?;
        }
        for block in self.block_order(framing.part.file, epoch, all.len()) {
            self.add_part(file, all[block].clone(), framing)?;
        }
        self.finish_awaited(file)?;
        self.planner.free(lease.bytes());
        damage.map_or(Ok(()), Err)
    }

    /// Adds what is read of the next block.
    fn add_part(
        &mut self,
        file: &mut File,
        framed: Framed,
        framing: &mut Framing<'_>,
    ) -> Result<(), Stop> {
        let records = framed.members.count();
        let found = framing.add(records);
        // Blocks without records are checked where the whole file is read, in one split.
        let split = self.flow.options.split.as_ref();
        let is_checked = framed.desc.records == 0
            && framing.part.is_whole()
            && split.is_none_or(|split| split.has_empty_block(file.number, framed.first_record));
        if found.records.is_empty() && !is_checked {
            return Ok(());
        }
        match self.resumed.unread(found.at, records, found.records)? {
            Some(wanted) => self.add(file, framed, wanted),
            None => Ok(()),
        }
    }

    /// All blocks of a file were framed, which have `found` records. An error if these were others when
    /// they were counted: other slices of the file would not fit.
    fn end_file(&self, file: &File, part: &FilePart, found: u64) -> Result<(), Stop> {
        self.note_trailing(part.file, file.blocks.trailing_bytes());
        match part.counted {
            Some(counted) if counted != found => {
                Err(Error::new(ErrorKind::RecordsChanged { counted, found }).into())
            }
            _ => Ok(()),
        }
    }

    /// Notes bytes that were left out after the last block of a file.
    fn note_trailing(&self, file: usize, trailing_bytes: u64) {
        if trailing_bytes > 0 {
            let counters = &self.flow.counters;
            counters.note(|stats| stats.tolerated.trailing_file_bytes += trailing_bytes);
            self.files.left_out(file, trailing_bytes);
        }
    }

    /// Plans the next batch.
    fn plan_batch(&mut self) -> Result<(), Stop> {
        let plan = self.planner.draw();
        self.planned += 1;
        self.sequence.push(plan)
    }

    /// Adds a block with its payload to the window, and plans the batches that it fills.
    fn push(
        &mut self,
        file: &mut File,
        framed: &Framed,
        mut payload: BlockPayload,
        wanted: Wanted,
    ) -> Result<(), Stop> {
        let Framed { desc, context, .. } = framed;
        self.flow.counters.note(|stats| {
            stats.raw_bytes = stats.raw_bytes.saturating_add(desc.file_bytes);
        });
        let lease = match framed.members.bytes() + framed.run_bytes().unwrap_or(0) {
            0 => None,
            bytes => {
                if let BlockPayload::Own(payload) = &mut payload {
                    payload.count_beside(bytes);
                }
                self.check_window(file, payload.window_bytes())?;
                Some(self.lease(file, bytes)?)
            }
        };
        let members = (framed.members.clone(), lease);
        let mut block = Block::new(desc, context.clone(), framed.first_record, members, payload);
        let rows = block
            .members
            .count()
            .min(self.flow.options.batch_size as u64);
        // Where records take no bytes, the payload does not end before a false count does.
        let has_empty = context.decoder.most_records(0) > 0;
        if self.flow.options.skip_damage {
            // It was checked as it was framed.
        } else if has_empty || rows.saturating_mul(self.flow.builders.fixed_row_bytes) > MUCH_MEMORY
        {
            block.check_count()?;
        }
        if desc.records == 0 {
            if let BlockPayload::Own(_) = &block.payload {
                match self.check_empty(file, &block) {
                    Err(Stop::Failed(error))
                        if self.flow.options.skip_damage && error.is_damage() =>
                    {
                        let skipped = Skipped::of_framing(error, desc.file_bytes, (0, 1));
                        self.planner.note_skipped(&mut vec![skipped]);
                    }
                    checked => checked?,
                }
            }
            return Ok(());
        }
        if !block.file.decoder.prepares() {
            let bytes = block.payload.bytes;
            self.flow.counters.add_prepared(bytes, block.records);
            if framed.run_bytes().is_some() {
                self.copy_members(file, &mut block)?;
            }
            if !block.payload.is_unread {
                block.payload.take_as_it_is();
            }
        }
        if block.payload.enters_window() {
            let bytes = block.payload.window_bytes();
            self.check_window(file, bytes)?;
        }
        let block = Arc::new(block);
        self.hold(file, &block);
        if self.are_in_turns() {
            // Its turns come.
            return Ok(());
        }
        self.planner.push(block, wanted);
        while self.planner.is_full() {
            self.plan_batch()?;
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
