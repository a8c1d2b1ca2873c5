//! The engine: blocks in, batches out. It keeps the window, takes the batches as
//! they are planned, asks the scheduler who decodes which blocks, and has the
//! workers do it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use atds_sched::Threads;
use tensor_batch::{Batch, BatchSpec};

use crate::budget::{Budget, known_row_bytes};
use crate::crew::Crew;
use crate::error::Place;
use crate::handoff::{Gone, Sender};
use crate::intake::Intake;
use crate::kept::Kept;
use crate::limits::{DOUBTFUL_BATCH_BYTES, TOGETHER_BATCHES};
use crate::outlet::Step;
use crate::planner::{Batching, Visit};
use crate::stats::Counters;
use crate::task::Failed;
use crate::window::Window;
use crate::{Error, ErrorKind};

/// How batches are made.
#[derive(Clone, Debug)]
pub(crate) struct EngineOptions {
    pub(crate) batching: Batching,
    /// Batches that may wait ready.
    pub(crate) prefetch: usize,
    pub(crate) threads: Threads,
    /// Whether threads wait for the next iteration.
    pub(crate) keep_threads: bool,
    /// Whether a batch is made as soon as its blocks are there: their writer may be slow.
    pub(crate) is_live: bool,
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
    out: Sender<Result<Ready, Error>>,

    window: Window,
    /// Bytes that came into the window since the budget was told of it.
    arrived: u64,
    /// The batches that are made next, the first `drawn` of these.
    planned: [Planned; TOGETHER_BATCHES],
    drawn: usize,
    /// What blocks give to all batches that are made in one go.
    visits: Vec<Visit>,

    crew: Crew,
    kept: Arc<Kept>,
    /// Bytes of a row in the columns whose size is known beforehand.
    row_bytes: u64,
    /// Bytes of the last batch: the next one's, as far as anybody knows.
    last_batch_bytes: u64,
}

/// A batch that is to be made.
#[derive(Debug, Default)]
struct Planned {
    rows: u64,
    /// What blocks give it, in the order of their places.
    visits: Vec<Visit>,
    /// The first place of the window that is of use afterwards.
    first: usize,
}

impl Engine {
    pub(crate) fn new(
        options: EngineOptions,
        spec: BatchSpec,
        kept: Arc<Kept>,
        budget: Arc<Budget>,
        counters: Arc<Counters>,
        intake: Intake,
        out: Sender<Result<Ready, Error>>,
    ) -> Self {
        Engine {
            row_bytes: known_row_bytes(&spec),
            crew: Crew::new(spec, &kept, budget.clone(), counters.clone()),
            kept,
            last_batch_bytes: 0,
            window: Window::default(),
            arrived: 0,
            planned: Default::default(),
            drawn: 0,
            visits: Vec::new(),
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
        let gear = self.crew.into_gear(self.options.keep_threads);
        self.kept.keep_gear(gear);
        self.kept.keep_scheduler(&self.counters.scheduler());
    }

    fn epochs(&mut self, epochs: std::ops::Range<u64>) {
        for epoch in epochs.clone() {
            let before = self.counters.dropped_records.load(Relaxed);
            match self.epoch() {
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
    fn epoch(&mut self) -> Result<u64, Option<Error>> {
        let mut batches = 0;
        loop {
            self.draw(self.together())?;
            // All but the last batch of an epoch have the same rows.
            let planned = &self.planned[..self.drawn];
            let is_even = |batch: &&Planned| batch.rows == planned[0].rows;
            let made = planned.iter().take_while(is_even).count();
            if made == 0 {
                break;
            }
            self.make_all(made)?;
            self.planned.rotate_left(made);
            self.drawn -= made;
            batches += made as u64;
        }
        // What is left of it is no batch.
        self.window.clear();
        self.tell_window();
        let Some(end) = self.intake.end_epoch() else {
            unreachable!("an epoch without another batch has ended");
        };
        let dropped = &self.counters.dropped_records;
        dropped.fetch_add(end.remainder, Relaxed);
        end.result.map_err(Some)?;
        Ok(batches)
    }

    /// How many batches to make next in one go, at most.
    fn together(&self) -> usize {
        // Shuffled, every block would write to twice as many places.
        let pays = self.options.batching.shuffle_buffer_size == 0
            && !self.options.is_live
            && self.crew.is_several();
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

    /// Takes steps until so many batches are to be made, or the epoch has no other.
    /// There may be fewer if there is no room for the blocks of another.
    fn draw(&mut self, batches: usize) -> Result<(), Option<Error>> {
        while self.drawn < batches {
            if self.drawn > 0 && !self.has_room_for(self.window.held()) {
                break;
            }
            match self.next_step()? {
                Some(Step::Put(place, block)) => {
                    self.arrived += block.bytes();
                    self.window.put(place, block);
                    self.budget.check(self.window.held())?;
                }
                Some(Step::Make(drawn)) => {
                    let planned = &mut self.planned[self.drawn];
                    (planned.rows, planned.first) = (drawn.rows, drawn.first);
                    planned.visits.clear();
                    let visits = self.intake.next_visits(drawn.visits);
                    planned.visits.extend_from_slice(visits);
                    self.drawn += 1;
                }
                None => break,
            }
        }
        self.tell_window();
        Ok(())
    }

    /// The next step of the epoch, or `None` behind its last. The error is `None`
    /// if nobody wants batches any more.
    fn next_step(&mut self) -> Result<Option<Step>, Option<Error>> {
        while self.intake.is_empty() {
            if self.intake.has_ended() {
                return Ok(None);
            }
            self.tell_window();
            self.intake.receive().map_err(|Gone| None)?;
        }
        if let Some(place) = self.intake.later_place() {
            self.window.load(place);
        }
        Ok(self.intake.next_step())
    }

    /// Makes the first `batches` ones, which have the same rows, and hands them out.
    fn make_all(&mut self, batches: usize) -> Result<(), Option<Error>> {
        if batches > 1 {
            match self.make(0..batches) {
                Ok(ready) => {
                    return self.hand_out(ready.into_iter().flatten());
                }
                Err(None) => return Err(None),
                // Of which batch the error is, shows when they are made one by one.
                Err(Some(_)) => self.undo(),
            }
        }
        (0..batches).try_for_each(|batch| self.make_one(batch))
    }

    /// Makes a batch, and hands it out.
    fn make_one(&mut self, batch: usize) -> Result<(), Option<Error>> {
        let (ready, failed) = self.batch(batch)?;
        self.hand_out([ready])?;
        failed.map_or(Ok(()), |error| Err(Some(error)))
    }

    /// Makes a batch of the records drawn. Where one of them is at fault, makes
    /// it of those in the rows before, and gives the error too.
    fn batch(&mut self, batch: usize) -> Result<(Ready, Option<Error>), Option<Error>> {
        let (ready, failed) = match self.make(batch..batch + 1) {
            Ok(ready) => (ready, None),
            Err(None) => return Err(None),
            Err(Some(Failed { error, row })) => {
                if row == 0 || matches!(error.kind, ErrorKind::MemoryLimit { .. }) {
                    return Err(Some(error));
                }
                if self.options.batching.drop_remainder {
                    self.counters.dropped_records.fetch_add(row, Relaxed);
                    return Err(Some(error));
                }
                self.undo();
                self.planned[batch].keep_rows_before(row);
                let ready = self.make(batch..batch + 1);
                let ready = ready.map_err(|failed| failed.map(|failed| failed.error))?;
                (ready, Some(error))
            }
        };
        let [Some(ready), ..] = ready else {
            unreachable!("a batch was made");
        };
        Ok((ready, failed))
    }

    /// Makes batches of the same rows, of the records drawn. The error is `None` if
    /// the consumer is gone.
    fn make(
        &mut self,
        batches: Range<usize>,
    ) -> Result<[Option<Ready>; TOGETHER_BATCHES], Option<Failed>> {
        let failed = |error| Some(Failed { error, row: 0 });
        let planned = &self.planned[batches];
        merge(planned, &mut self.visits);
        let rows = planned.iter().map(|planned| planned.rows);
        let rows = rows.fold(0, u64::saturating_add);
        let first = planned.last().map_or(0, |planned| planned.first);
        let batches = planned.len();

        let known = rows.saturating_mul(self.row_bytes);
        if known > DOUBTFUL_BATCH_BYTES {
            self.check_counts().map_err(failed)?;
        }
        let needed = self.window.held().saturating_add(known);
        self.budget.check(needed).map_err(failed)?;
        let last = self.last_batch_bytes.saturating_mul(batches as u64);
        self.budget.begin_batch(known, known.max(last));
        let window = self.window.section();
        let done = self.crew.fill(window, &self.visits, batches, needed);
        let done = done.map_err(|failed| failed.map(|failed| self.locate(failed)))?;

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
        let needed = self.window.held().wrapping_add_signed(done.grown) + bytes;
        self.budget.check(needed).map_err(failed)?;
        if batches == 1 {
            // Blocks that were decompressed and are drained are counted with it.
            self.crew.note_alone_bytes(needed + done.decompressed_bytes);
        }

        self.counters.add_work(&done);
        self.window.finish(&self.visits, done.grown, first);
        self.tell_window();
        self.budget.finish_batch(bytes);
        Ok(made)
    }

    /// Says of which records the rows of different shapes are, before they are unread.
    #[cold]
    fn locate(&self, mut failed: Failed) -> Failed {
        if let ErrorKind::ShapesDiffer { first, .. } = &mut failed.error.kind {
            if let Some(first) = first
                && let Some(at) = self.place_of_row(0)
            {
                first.0 = at;
            }
            if let Some(at) = self.place_of_row(failed.row) {
                let field = failed.error.place.field.take();
                *failed.error.place = at;
                failed.error.place.field = field;
            }
        }
        failed
    }

    /// The record of a row of the first batch, which was just read.
    fn place_of_row(&self, row: u64) -> Option<Place> {
        let mut after = 0;
        let mut visits = self.visits.iter();
        let visit = visits.find(|visit| {
            after += visit.takes[0];
            row < after
        })?;
        let block = self.window.block(visit.place);
        // Some of what the block gave is of the second batch.
        let taken = block.taken.checked_sub(visit.takes.iter().sum())?;
        Some(block.place(taken + row - (after - visit.takes[0])))
    }

    /// Has the records be unread that were read for batches which were not made.
    fn undo(&mut self) {
        self.window.undo(&self.visits);
        self.tell_window();
    }

    /// Holds the record counts of the blocks to be read against their bytes.
    fn check_counts(&self) -> Result<(), Error> {
        let mut visits = self.visits.iter();
        visits.try_for_each(|visit| self.window.block(visit.place).check_count())
    }

    /// The error is `None`: the consumer is gone.
    fn hand_out(&self, ready: impl IntoIterator<Item = Ready>) -> Result<(), Option<Error>> {
        let Counters { consumer_wait, .. } = &*self.counters;
        let ready = ready.into_iter().map(Ok);
        consumer_wait
            .time(|| self.out.send_all(ready))
            .map_err(|_| None)
    }

    /// Tells the budget of the window's bytes.
    fn tell_window(&mut self) {
        self.budget.window(self.window.held(), self.arrived);
        self.arrived = 0;
    }
}

impl Planned {
    /// Leaves only the first `rows` rows, of blocks that all stay in the window.
    fn keep_rows_before(&mut self, rows: u64) {
        self.rows = rows;
        let first = self.visits.first().map_or(0, |visit| visit.place);
        self.first = first.min(self.first);
        let mut left = rows;
        self.visits.retain_mut(|visit| {
            visit.takes[0] = left.min(visit.takes[0]);
            left -= visit.takes[0];
            visit.takes[0] > 0
        });
    }
}

/// Writes what blocks give to `batches` into `all`, in the order of their places.
/// Several are of unshuffled blocks: no place is before the last of the batch before.
fn merge(batches: &[Planned], all: &mut Vec<Visit>) {
    all.clear();
    let Some((first, later)) = batches.split_first() else {
        return;
    };
    all.extend_from_slice(&first.visits);
    for (batch, planned) in (1..).zip(later) {
        let mut visits = planned.visits.iter();
        if let (Some(last), [shared, ..]) = (all.last_mut(), visits.as_slice())
            && last.place == shared.place
        {
            last.takes[batch] = shared.takes[0];
            visits.next();
        }
        all.extend(visits.map(|visit| {
            let mut visit = *visit;
            visit.takes.swap(0, batch);
            visit
        }));
    }
    debug_assert!(all.is_sorted_by(|a, b| a.place < b.place));
}
