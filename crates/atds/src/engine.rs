//! The engine: blocks in, batches out. It keeps the window, asks the sampler
//! how many records each block gives, the scheduler who decodes which blocks,
//! and has the workers do it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::SyncSender;

use atds_sched::Threads;
use atds_shuffle::{Sampler, window_target};
use tensor_batch::{Batch, BatchSpec};

use crate::block::WindowBlock;
use crate::budget::{Budget, known_row_bytes};
use crate::crew::Crew;
use crate::draws::Draws;
use crate::intake::{Gone, Intake};
use crate::kept::Kept;
use crate::limits::{DOUBTFUL_BATCH_BYTES, TOGETHER_BATCHES};
use crate::stats::Counters;
use crate::task::Failed;
use crate::window::Window;
use crate::{Error, ErrorKind};

/// What batches are made of.
#[derive(Clone, Debug)]
pub(crate) struct EngineOptions {
    pub(crate) batch_size: usize,
    pub(crate) shuffle_buffer_size: usize,
    pub(crate) drop_remainder: bool,
    /// Batches that may wait ready.
    pub(crate) prefetch: usize,
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
    intake: Intake,
    out: SyncSender<Result<Ready, Error>>,

    window: Window,
    /// Bytes that came into the window since the budget was told of it.
    arrived: u64,

    crew: Crew,
    kept: Arc<Kept>,
    /// Bytes of a row in the columns whose size is known beforehand.
    row_bytes: u64,
    /// Bytes of the last batch: the next one's, as far as anybody knows.
    last_batch_bytes: u64,
    draws: Draws,
}

impl Engine {
    pub(crate) fn new(
        options: EngineOptions,
        spec: BatchSpec,
        kept: Arc<Kept>,
        budget: Arc<Budget>,
        counters: Arc<Counters>,
        intake: Intake,
        out: SyncSender<Result<Ready, Error>>,
    ) -> Self {
        Engine {
            row_bytes: known_row_bytes(&spec),
            crew: Crew::new(spec, &kept, budget.clone(), counters.clone()),
            kept,
            last_batch_bytes: 0,
            window: Window::new(options.shuffle_buffer_size > 0),
            arrived: 0,
            draws: Draws::default(),
            options,
            budget,
            counters,
            intake,
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
        self.intake.begin_epoch();
        let batch_size = self.options.batch_size as u64;
        let mut batches = 0;
        loop {
            let together = self.together();
            let rows = self.fill(0)?.min(batch_size);
            if rows == 0 {
                break;
            }
            if rows < batch_size && self.options.drop_remainder {
                self.counters.dropped_records.fetch_add(rows, Relaxed);
                self.window.clear();
                self.tell_window();
                break;
            }
            self.draws
                .draw(0, self.window.unread(), sampler.as_mut(), rows);
            let mut drawn = 1;
            while drawn < together && self.fill(drawn)? >= batch_size {
                let (unread, sampler) = (self.window.unread(), sampler.as_mut());
                self.draws.draw(drawn, unread, sampler, batch_size);
                drawn += 1;
            }
            self.make_all(drawn, rows)?;
            batches += drawn as u64;
        }
        self.intake.end_epoch().map_err(Some)?;
        Ok(batches)
    }

    /// How many batches to make next in one go, at most.
    fn together(&mut self) -> usize {
        // Shuffled, every block would write to twice as many places.
        let pays = self.options.shuffle_buffer_size == 0 && self.crew.is_several();
        let fits = |bytes| self.has_room_for(bytes);
        match pays
            && self.options.prefetch >= TOGETHER_BATCHES
            && self.crew.alone_bytes().is_some_and(fits)
        {
            true => TOGETHER_BATCHES,
            false => 1,
        }
    }

    /// Whether `bytes` for each of several batches are far below the limit.
    fn has_room_for(&self, bytes: u64) -> bool {
        let all = bytes.saturating_mul(TOGETHER_BATCHES as u64);
        all <= self.budget.for_batch() / 2
    }

    /// Fills the window as far as the batch behind the `drawn` ones needs it or
    /// blocks go; returns the records that those leave unread. 0 if there are
    /// `drawn` ones, and no room for more than they need.
    fn fill(&mut self, drawn: usize) -> Result<u64, Option<Error>> {
        let target = window_target(
            self.options.batch_size as u64,
            self.options.shuffle_buffer_size as u64,
        );
        let mut unread = self.window.records() - self.draws.records(drawn);
        while unread < target {
            if drawn > 0 && !self.has_room_for(self.window.held()) {
                unread = 0;
                break;
            }
            let Some(block) = self.next_block()? else {
                break;
            };
            self.arrived += block.bytes();
            if block.count == 0 {
                let held = self.window.held() + block.bytes();
                if let Err(error) = self.crew.check_empty(&block, held) {
                    // Behind the blocks before it, like damage that the reader finds.
                    self.intake.end_here(error);
                }
                self.tell_window();
                continue;
            }
            unread += block.unread();
            self.window.push(block);
            self.budget.check(self.window.held())?;
        }
        self.tell_window();
        Ok(unread)
    }

    /// The next block of the epoch, or `None` behind its last. The error is `None`
    /// if nobody wants batches any more.
    fn next_block(&mut self) -> Result<Option<WindowBlock>, Option<Error>> {
        while !self.intake.has_block() {
            if self.intake.has_ended() {
                return Ok(None);
            }
            self.tell_window();
            self.intake.receive().map_err(|Gone| None)?;
        }
        Ok(self.intake.next_block())
    }

    /// Makes the batches drawn, of `rows` rows each, and hands them out.
    fn make_all(&mut self, drawn: usize, rows: u64) -> Result<(), Option<Error>> {
        self.draws.cover(drawn, self.window.blocks().len());
        if drawn == 1 {
            return self.make_one(rows);
        }
        match self.make(drawn, rows) {
            Ok(ready) => {
                let mut ready = ready.into_iter().flatten();
                return ready.try_for_each(|ready| self.hand_out(ready));
            }
            Err(None) => return Err(None),
            // Of which batch the error is, shows when they are made one by one.
            Err(Some(_)) => self.undo(),
        }
        for _ in 0..drawn {
            self.make_one(rows)?;
            self.draws.go_on(self.window.blocks().len());
        }
        Ok(())
    }

    /// Makes the first batch drawn, and hands it out.
    fn make_one(&mut self, rows: u64) -> Result<(), Option<Error>> {
        let (ready, failed) = self.batch(rows)?;
        self.hand_out(ready)?;
        failed.map_or(Ok(()), |error| Err(Some(error)))
    }

    /// Makes a batch of the records drawn. Where one of them is at fault, makes
    /// it of those in the rows before, and gives the error too.
    fn batch(&mut self, rows: u64) -> Result<(Ready, Option<Error>), Option<Error>> {
        let (ready, failed) = match self.make(1, rows) {
            Ok(ready) => (ready, None),
            Err(None) => return Err(None),
            Err(Some(Failed { error, row })) => {
                if row == 0 || matches!(error.kind, ErrorKind::MemoryLimit { .. }) {
                    return Err(Some(error));
                }
                if self.options.drop_remainder {
                    self.counters.dropped_records.fetch_add(row, Relaxed);
                    return Err(Some(error));
                }
                self.undo();
                self.draws.keep_rows_before(row);
                let ready = self.make(1, rows);
                let ready = ready.map_err(|failed| failed.map(|failed| failed.error))?;
                (ready, Some(error))
            }
        };
        let [Some(ready), ..] = ready else {
            unreachable!("a batch was made");
        };
        Ok((ready, failed))
    }

    /// Makes so many batches of `rows` rows, of the records drawn. The error is
    /// `None` if the consumer is gone.
    fn make(
        &mut self,
        batches: usize,
        rows: u64,
    ) -> Result<[Option<Ready>; TOGETHER_BATCHES], Option<Failed>> {
        let failed = |error| Some(Failed { error, row: 0 });
        let all_rows = rows.saturating_mul(batches as u64);
        let known = all_rows.saturating_mul(self.row_bytes);
        if known > DOUBTFUL_BATCH_BYTES {
            self.check_counts(batches).map_err(failed)?;
        }
        let needed = self.window.held().saturating_add(known);
        self.budget.check(needed).map_err(failed)?;
        let last = self.last_batch_bytes.saturating_mul(batches as u64);
        self.budget.begin_batch(known, known.max(last));
        let takes = self.draws.takes(batches);
        self.window.begin(takes);
        let (blocks, visits) = self.window.reading();
        let done = self.crew.fill(blocks, visits, takes, needed)?;
        self.window.count();

        let mut made = [const { None }; TOGETHER_BATCHES];
        let mut bytes = 0;
        for (made, batch) in made.iter_mut().zip(self.crew.finish(batches)) {
            self.last_batch_bytes = batch.used_bytes() as u64;
            bytes += self.last_batch_bytes;
            *made = Some(Ready {
                batch,
                bytes: self.last_batch_bytes,
            });
        }
        let needed = self.window.held() + bytes;
        self.budget.check(needed).map_err(failed)?;
        if batches == 1 {
            // Blocks that were inflated and are drained are counted with it.
            self.crew.note_alone_bytes(needed + done.inflated_bytes);
        }

        self.counters.add_work(&done);
        self.window.finish();
        self.tell_window();
        self.budget.finish_batch(bytes);
        Ok(made)
    }

    /// Has the records be unread that were read for batches which were not made.
    fn undo(&mut self) {
        self.window.undo();
        self.tell_window();
    }

    /// Holds the record counts of the blocks to be read against their bytes.
    fn check_counts(&self, batches: usize) -> Result<(), Error> {
        let takes = self.draws.takes(batches).iter();
        let mut all = takes.flat_map(|takes| self.window.blocks().iter().zip(takes));
        all.try_for_each(|(block, take)| match take {
            0 => Ok(()),
            _ => block.check_count(),
        })
    }

    /// The error is `None`: the consumer is gone.
    fn hand_out(&mut self, ready: Ready) -> Result<(), Option<Error>> {
        let Counters { consumer_wait, .. } = &*self.counters;
        consumer_wait
            .time(|| self.out.send(Ok(ready)))
            .map_err(|_| None)
    }

    /// Tells the budget of the window's bytes.
    fn tell_window(&mut self) {
        self.budget.window(self.window.held(), self.arrived);
        self.arrived = 0;
    }
}
