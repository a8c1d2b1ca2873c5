//! The crew: the workers who fill batches, and all they need for it.

use std::iter::zip;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use atds_sched::{BlockWork, Observed, Pool, Schedule, Wishes};
use avro_block::Decompressor;
use tensor_batch::{Batch, BatchBuilder, BatchSpec, GatherTask, RowSlots, reuse};

use crate::budget::Budget;
use crate::kept::Kept;
use crate::limits::{COPIED_ALONE, TOGETHER_BATCHES};
use crate::planner::Visit;
use crate::room::Room;
use crate::stats::Counters;
use crate::task::{Done, Failed, Parts, Task};
use crate::window::Section;
use crate::work::{Workshop, own};

pub(crate) struct Crew {
    budget: Arc<Budget>,
    counters: Arc<Counters>,
    pool: Pool,
    gear: Gear,
    /// How the last batches went, until those that follow have their blocks.
    last: Option<Lap>,
}

/// What filling batches took, and how long all bytes had been waited for by then.
#[derive(Clone, Copy, Debug)]
struct Lap {
    took: Duration,
    waited: Duration,
}

/// What a crew works with, one iteration after another.
#[derive(Debug)]
pub(crate) struct Gear {
    /// One for each batch that is made in one go.
    builders: [BatchBuilder; TOGETHER_BATCHES],
    workshop: Workshop,
    memory: Memory,
    /// Bytes of the window and the batch when a batch was made by itself last.
    alone_bytes: Option<u64>,
    /// Threads that wait for the next crew, if they are kept.
    pool: Option<Pool>,
}

/// What is made anew each time, in the memory of the last.
#[derive(Debug, Default)]
struct Memory {
    /// The work on each block that is read.
    work: Vec<BlockWork>,
    /// Which worker reads which of them.
    schedule: Schedule,
    /// For each batch, the rows of the chunks that give it any, and their slots.
    rows: [Vec<usize>; TOGETHER_BATCHES],
    slots: [Vec<RowSlots<'static>>; TOGETHER_BATCHES],
    tasks: Vec<Mutex<Task<'static>>>,
    copies: Vec<GatherTask<'static>>,
    copying: Vec<Mutex<Option<GatherTask<'static>>>>,
    copying_owners: Vec<usize>,
}

impl Crew {
    /// A crew with the gear that an earlier one of the same data set has left.
    pub(crate) fn new(
        spec: BatchSpec,
        kept: &Kept,
        budget: Arc<Budget>,
        counters: Arc<Counters>,
    ) -> Self {
        let workers = counters.scheduler().max_threads();
        // There may be more cores than there were.
        let kept_gear = kept
            .gear()
            .filter(|gear| gear.workshop.workers() >= workers);
        let mut gear = kept_gear.unwrap_or_else(|| Gear {
            builders: [(); TOGETHER_BATCHES].map(|()| BatchBuilder::new(spec.clone())),
            workshop: Workshop::new(workers, kept.spare.clone()),
            memory: Memory::default(),
            alone_bytes: None,
            pool: None,
        });
        let pool = gear.pool.take();
        let pool = pool.filter(|pool| pool.max_threads() >= workers);
        Crew {
            budget,
            counters,
            pool: pool.unwrap_or_else(|| Pool::new(workers)),
            gear,
            last: None,
        }
    }

    /// Ends the work; the gear is for another crew, with the threads or without.
    pub(crate) fn into_gear(mut self, with_threads: bool) -> Gear {
        self.end_lap();
        self.gear.pool = with_threads.then_some(self.pool);
        self.gear
    }

    /// Whether more than one worker may take part.
    pub(crate) fn is_several(&self) -> bool {
        self.pool.max_threads() > 1
    }

    /// Bytes of the window and the batch when a batch was made by itself last, if
    /// one was.
    pub(crate) fn alone_bytes(&self) -> Option<u64> {
        self.gear.alone_bytes
    }

    pub(crate) fn note_alone_bytes(&mut self, bytes: u64) {
        self.gear.alone_bytes = Some(bytes);
    }

    /// Fills so many batches, at most [`TOGETHER_BATCHES`], with what the `visits` of
    /// the window's blocks give. `held` bytes of the window and the batches are known
    /// beforehand. The error is `None` if nobody wants batches any more; the row of
    /// another is one of the first batch if that is the only one.
    pub(crate) fn fill(
        &mut self,
        window: Section<'_>,
        visits: &[Visit],
        batches: usize,
        held: u64,
    ) -> Result<Done, Option<Failed>> {
        self.end_lap();
        let begun = Instant::now();
        self.plan(&window, visits, batches);
        let done = self.decode(window, visits, batches, held)?;
        let mut builders = self.gear.builders[..batches].iter();
        if let Some((builder, found)) =
            builders.find_map(|builder| Some((builder, builder.disagreement()?)))
        {
            return Err(Some(Failed::by_shape(builder.spec(), found)));
        }
        // How far lists are padded is only known now, and bounded by nothing else.
        let builders = self.gear.builders[..batches].iter();
        let padded = builders.map(BatchBuilder::padded_bytes);
        self.budget
            .check(padded.fold(held, u64::saturating_add))
            .map_err(|error| Some(Failed { error, row: 0 }))?;
        self.gather(batches);
        self.last = Some(Lap {
            took: begun.elapsed(),
            waited: self.counters.read_wait.get(),
        });
        Ok(done)
    }

    /// Tells the scheduler how the last batches went, and how long the blocks behind them were
    /// waited for.
    fn end_lap(&mut self) {
        if let Some(Lap { took, waited }) = self.last.take() {
            let waited = self.counters.read_wait.get().saturating_sub(waited);
            self.counters.scheduler().took(took, waited);
        }
    }

    /// The batches that were filled, so many of them.
    pub(crate) fn finish(&mut self, batches: usize) -> impl Iterator<Item = Batch> {
        let builders = self.gear.builders[..batches].iter_mut();
        builders.map(BatchBuilder::finish)
    }

    /// Decides who makes which visits.
    fn plan(&mut self, window: &Section<'_>, visits: &[Visit], batches: usize) {
        let Memory {
            work,
            schedule,
            rows,
            ..
        } = &mut self.gear.memory;
        work.clear();
        work.extend(visits.iter().map(|visit| BlockWork {
            records_to_decompress: visit.to_decompress,
            records_to_decode: visit.take(),
        }));
        // What the first of a batch's workers writes need not be brought to its place.
        let mut others = 1..batches;
        let start = others.find_map(|batch| visits.iter().position(|it| it.takes[batch] > 0));
        let codec = visits.first().map(|visit| window[visit.place].file.codec);
        let together = codec.map_or(1, Decompressor::lanes);
        let wishes = Wishes { together, start };
        self.counters.scheduler().plan_into(work, &wishes, schedule);
        for (batch, rows) in rows.iter_mut().enumerate().take(batches) {
            rows.clear();
            let chunks = schedule.chunks.iter();
            let all = chunks.map(|chunk| rows_of(&visits[chunk.clone()], batch));
            rows.extend(all.filter(|&rows| rows > 0));
        }
    }

    /// Has the workers decode, each the parts that were planned for it.
    fn decode(
        &mut self,
        mut window: Section<'_>,
        visits: &[Visit],
        batches: usize,
        held: u64,
    ) -> Result<Done, Option<Failed>> {
        let Memory {
            schedule,
            rows,
            slots: slot_memory,
            tasks: task_memory,
            ..
        } = &mut self.gear.memory;
        let mut slots = std::mem::take(slot_memory).map(reuse);
        let builders = self.gear.builders.iter_mut().zip(rows);
        for ((builder, rows), slots) in zip(builders, &mut slots).take(batches) {
            builder.slots_into(rows, slots);
        }
        let mut tasks = reuse(std::mem::take(task_memory));
        {
            let mut slots = slots.each_mut().map(|slots| slots.drain(..));
            tasks.extend(schedule.chunks.iter().map(|chunk| {
                let behind = visits.get(chunk.end).map(|visit| visit.place);
                let visits = &visits[chunk.clone()];
                let mut parts = Parts::default();
                for (batch, (part, slots)) in zip(&mut parts.0, &mut slots).enumerate() {
                    if rows_of(visits, batch) > 0 {
                        *part = slots.next();
                    }
                }
                Mutex::new(Task {
                    blocks: window.split_before(behind),
                    visits,
                    parts,
                    worker: None,
                    result: Ok(Done::default()),
                })
            }));
        }

        let (workshop, room) = (&self.gear.workshop, Room::new(&self.budget, held));
        let work = |worker, task| workshop.run(worker, task, &tasks, &room);
        let report = self.pool.run_schedule(schedule, work);
        let result = if self.budget.stopped() {
            Err(None)
        } else {
            let results = tasks.drain(..).map(|task| into_own(task).result);
            sum(results).map_err(Some)
        };
        *slot_memory = slots.map(reuse);
        *task_memory = reuse(tasks);
        let done = result?;
        self.counters.scheduler().record(
            report,
            &Observed {
                records_decompressed: done.records_decompressed,
                decompress_ns: done.decompress_ns,
                records_decoded: done.records_decoded,
                decode_ns: done.decode_ns,
            },
        );
        Ok(done)
    }

    /// Has the workers bring what they wrote apart to its place.
    fn gather(&mut self, batches: usize) {
        let Memory {
            schedule,
            copies: copy_memory,
            copying: copying_memory,
            copying_owners: owners,
            ..
        } = &mut self.gear.memory;
        let mut copies = reuse(std::mem::take(copy_memory));
        for builder in &mut self.gear.builders[..batches] {
            builder.gather_into(&mut copies);
        }
        let bytes: usize = copies.iter().map(GatherTask::bytes).sum();
        let mut copying = reuse(std::mem::take(copying_memory));
        copying.extend(copies.drain(..).map(|copy| Mutex::new(Some(copy))));
        if !copying.is_empty() {
            let decode = &self.counters.decode;
            let copy = |_, task: usize| {
                let copy: Option<GatherTask<'_>> = own(&copying[task]).take();
                decode.time(|| copy.into_iter().for_each(GatherTask::run));
            };
            owners.clear();
            owners.extend(0..copying.len());
            let threads = if bytes < COPIED_ALONE {
                1
            } else {
                schedule.threads
            };
            self.pool.run_numbers(threads, owners, copy);
        }
        *copy_memory = reuse(copies);
        *copying_memory = reuse(copying);
    }
}

/// Rows that blocks give to a batch at `visits`.
fn rows_of(visits: &[Visit], batch: usize) -> usize {
    visits.iter().map(|visit| visit.takes[batch] as usize).sum()
}

/// All that tasks did, or the first error in the order of rows.
fn sum(mut results: impl Iterator<Item = Result<Done, Failed>>) -> Result<Done, Failed> {
    results.try_fold(Done::default(), |mut sum, result| {
        sum.add(&result?);
        Ok(sum)
    })
}

fn into_own<T>(task: Mutex<T>) -> T {
    task.into_inner().unwrap_or_else(PoisonError::into_inner)
}
