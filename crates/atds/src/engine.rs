//! The engine: blocks in, batches out. It keeps the window, asks the sampler
//! how many records each block gives, the scheduler who decodes which blocks,
//! and has the workers do it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvError, SyncSender};

use atds_sched::Threads;
use atds_shuffle::{Sampler, take_in_order, window_target};
use tensor_batch::{Batch, BatchSpec};

use crate::budget::{Budget, known_row_bytes};
use crate::crew::Crew;
use crate::kept::Kept;
use crate::limits::DOUBTFUL_BATCH_BYTES;
use crate::reader::{Group, Groups, Message};
use crate::stats::Counters;
use crate::window::WindowBlock;
use crate::work::{Done, Failed};
use crate::{Error, ErrorKind};

/// What batches are made of.
#[derive(Clone, Debug)]
pub(crate) struct EngineOptions {
    pub(crate) batch_size: usize,
    pub(crate) shuffle_buffer_size: usize,
    pub(crate) drop_remainder: bool,
    pub(crate) threads: Threads,
    pub(crate) seed: u64,
}

/// A batch on its way to the consumer, with the bytes it counts for.
pub(crate) struct Ready {
    pub(crate) batch: Batch,
    pub(crate) bytes: u64,
}

pub(crate) struct Engine {
    options: EngineOptions,
    budget: Arc<Budget>,
    counters: Arc<Counters>,
    input: Receiver<Message>,
    groups: Arc<Groups>,
    out: SyncSender<Result<Ready, Error>>,

    window: Vec<WindowBlock>,
    /// Bytes of the window.
    held: u64,
    /// Bytes that came into the window since the budget was told of it.
    arrived: u64,
    /// Blocks that have been read and are not in the window yet.
    queue: Group,
    /// How the epoch's blocks ended, once they have.
    end: Option<Result<(), Error>>,

    crew: Crew,
    kept: Arc<Kept>,
    /// Bytes of a row in the columns whose size is known beforehand.
    row_bytes: u64,
    /// Bytes of the last batch: the next one's, as far as anybody knows.
    last_batch_bytes: u64,
    unread: Vec<u64>,
    takes: Vec<u64>,
    /// Where the blocks' cursors stood before the batch.
    cursors: Vec<(u64, usize)>,
}

/// The consumer is gone.
struct Over;

impl Engine {
    pub(crate) fn new(
        options: EngineOptions,
        spec: BatchSpec,
        kept: Arc<Kept>,
        budget: Arc<Budget>,
        counters: Arc<Counters>,
        (input, groups): (Receiver<Message>, Arc<Groups>),
        out: SyncSender<Result<Ready, Error>>,
    ) -> Self {
        Engine {
            row_bytes: known_row_bytes(&spec),
            crew: Crew::new(spec, &kept, budget.clone(), counters.clone()),
            kept,
            last_batch_bytes: 0,
            window: Vec::new(),
            held: 0,
            arrived: 0,
            queue: Group::default(),
            end: None,
            unread: Vec::new(),
            takes: Vec::new(),
            cursors: Vec::new(),
            options,
            budget,
            counters,
            input,
            groups,
            out,
        }
    }

    /// Makes the batches of all epochs.
    pub(crate) fn run(mut self, epochs: std::ops::Range<u64>) {
        self.epochs(epochs);
        self.kept.keep_gear(self.crew.into_gear());
    }

    fn epochs(&mut self, epochs: std::ops::Range<u64>) {
        for epoch in epochs.clone() {
            let before = self.counters.dropped_records.load(Relaxed);
            match self.epoch(epoch) {
                Ok(0) => {
                    // Nor will those that follow have any, be they ever so many.
                    let dropped = &self.counters.dropped_records;
                    let each = dropped.load(Relaxed) - before;
                    let following = each.saturating_mul(epochs.end - epoch - 1);
                    dropped.store(
                        before.saturating_add(each).saturating_add(following),
                        Relaxed,
                    );
                    return;
                }
                Ok(_) => {}
                Err(None) => return,
                Err(Some(error)) => {
                    // If the consumer is gone there is nobody to tell.
                    let _ = self.out.send(Err(error));
                    return;
                }
            }
        }
    }

    /// Makes the batches of an epoch and says how many. The error is `None` if
    /// the consumer is gone.
    fn epoch(&mut self, epoch: u64) -> Result<u64, Option<Error>> {
        let shuffled = self.options.shuffle_buffer_size > 0;
        let mut sampler = shuffled.then(|| Sampler::new(self.options.seed, epoch));
        self.end = None;
        let mut batches = 0;
        loop {
            let unread = self.fill()?;
            let rows = unread.min(self.options.batch_size as u64);
            if rows == 0 {
                break;
            }
            if rows < self.options.batch_size as u64 && self.options.drop_remainder {
                self.counters.dropped_records.fetch_add(rows, Relaxed);
                self.window.clear();
                self.settle();
                break;
            }
            self.draw(sampler.as_mut(), rows);
            let (ready, failed) = self.batch(rows)?;
            self.hand_out(ready).map_err(|Over| None)?;
            if let Some(error) = failed {
                return Err(Some(error));
            }
            batches += 1;
        }
        match self.end.take() {
            Some(Err(error)) => Err(Some(error)),
            _ => Ok(batches),
        }
    }

    /// Fills the window as far as the next batch needs it or blocks go; returns
    /// its unread records.
    fn fill(&mut self) -> Result<u64, Option<Error>> {
        let target = window_target(
            self.options.batch_size as u64,
            self.options.shuffle_buffer_size as u64,
        );
        let mut unread: u64 = self.window.iter().map(WindowBlock::unread).sum();
        while unread < target {
            let Some(block) = self.next_block()? else {
                break;
            };
            self.held += block.bytes();
            self.arrived += block.bytes();
            if block.count == 0 {
                if let Err(error) = self.crew.check_empty(block, self.held) {
                    // Behind the blocks before it, like damage that the reader finds.
                    self.end = Some(Err(error));
                    self.queue.clear();
                }
                self.settle();
                continue;
            }
            unread += block.count;
            self.window.push(block);
            self.budget.check(self.held)?;
        }
        self.tell_window();
        Ok(unread)
    }

    /// The next block of the epoch, or `None` behind its last.
    fn next_block(&mut self) -> Result<Option<WindowBlock>, Option<Error>> {
        loop {
            if let Some(block) = self.queue.pop_front() {
                return Ok(Some(block));
            }
            if self.end.is_some() {
                return Ok(None);
            }
            self.tell_window();
            match self.receive() {
                Ok(Message::Blocks(blocks)) => {
                    let empty = std::mem::replace(&mut self.queue, blocks);
                    self.groups.give(empty);
                }
                Ok(Message::EpochEnd) => self.end = Some(Ok(())),
                Ok(Message::Failed(error)) => self.end = Some(Err(error)),
                // The reader has stopped, as it does only when told to.
                Err(_) => return Err(None),
            }
        }
    }

    /// The reader's next message.
    fn receive(&self) -> Result<Message, RecvError> {
        if let Ok(message) = self.input.try_recv() {
            return Ok(message);
        }
        self.budget.starve(true);
        let message = self.counters.read_wait.time(|| self.input.recv());
        self.budget.starve(false);
        message
    }

    /// How many records each block gives to the next batch, into `takes`.
    fn draw(&mut self, sampler: Option<&mut Sampler>, rows: u64) {
        self.unread.clear();
        self.unread
            .extend(self.window.iter().map(WindowBlock::unread));
        self.takes.clear();
        self.takes.resize(self.unread.len(), 0);
        match sampler {
            Some(sampler) => sampler.draw(&self.unread, rows, &mut self.takes),
            None => take_in_order(&self.unread, rows, &mut self.takes),
        }
    }

    /// Makes a batch of the records drawn. Where one of them is at fault, makes
    /// it of those in the rows before, and gives the error too.
    fn batch(&mut self, rows: u64) -> Result<(Ready, Option<Error>), Option<Error>> {
        let known = rows.saturating_mul(self.row_bytes);
        if known > DOUBTFUL_BATCH_BYTES {
            self.check_counts()?;
        }
        let needed = self.held.saturating_add(known);
        self.budget.check(needed)?;
        self.budget
            .begin_batch(known, known.max(self.last_batch_bytes));

        self.cursors.clear();
        let cursors = self.window.iter().map(WindowBlock::cursor);
        self.cursors.extend(cursors);
        let (done, failed) = match self.fill_batch(needed) {
            Ok(done) => (done, None),
            Err(None) => return Err(None),
            Err(Some(Failed { error, row })) => {
                if row == 0 || matches!(error.kind, ErrorKind::MemoryLimit { .. }) {
                    return Err(Some(error));
                }
                if self.options.drop_remainder {
                    self.counters.dropped_records.fetch_add(row, Relaxed);
                    return Err(Some(error));
                }
                self.keep_rows_before(row);
                let done = self.fill_batch(self.held.saturating_add(known));
                let done = done.map_err(|failed| failed.map(|failed| failed.error))?;
                (done, Some(error))
            }
        };
        let batch = self.crew.finish();
        let bytes = batch.used_bytes() as u64;
        self.budget.check(self.window_bytes() + bytes)?;
        self.last_batch_bytes = bytes;

        self.counters.add_work(&done);
        for block in self.window.extract_if(.., |block| block.unread() == 0) {
            self.crew.recycle(block);
        }
        self.settle();
        self.budget.finish_batch(bytes);
        Ok((Ready { batch, bytes }, failed))
    }

    /// Puts all cursors back to where they stood before the batch, and leaves
    /// only its first `rows` rows to be taken.
    fn keep_rows_before(&mut self, rows: u64) {
        for (block, cursor) in self.window.iter_mut().zip(&self.cursors) {
            block.set_cursor(*cursor);
        }
        let mut left = rows;
        for take in &mut self.takes {
            *take = left.min(*take);
            left -= *take;
        }
        self.settle();
    }

    /// Holds the record counts of the blocks to be read against their bytes.
    fn check_counts(&self) -> Result<(), Error> {
        let blocks = self.window.iter().zip(&self.takes);
        let mut taking_part = blocks.filter(|(_, take)| **take > 0);
        taking_part.try_for_each(|(block, _)| block.check_count())
    }

    /// Has the workers fill the batch; `held` bytes of window and batch are
    /// known beforehand.
    fn fill_batch(&mut self, held: u64) -> Result<Done, Option<Failed>> {
        self.crew.fill(&mut self.window, &self.takes, held)
    }

    fn hand_out(&mut self, ready: Ready) -> Result<(), Over> {
        let Counters { consumer_wait, .. } = &*self.counters;
        consumer_wait
            .time(|| self.out.send(Ok(ready)))
            .map_err(|_| Over)
    }

    /// Counts the bytes of the window anew, once blocks were inflated or drained.
    fn settle(&mut self) {
        self.held = self.window_bytes();
        self.tell_window();
    }

    /// Tells the budget of the window's bytes.
    fn tell_window(&mut self) {
        self.budget.window(self.held, self.arrived);
        self.arrived = 0;
    }

    fn window_bytes(&self) -> u64 {
        self.window.iter().map(WindowBlock::bytes).sum()
    }
}
