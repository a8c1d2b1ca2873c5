//! The crew: the workers who fill a batch, and all they need for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use atds_sched::{BlockWork, Observed, Pool, Schedule};
use tensor_batch::{Batch, BatchBuilder, BatchSpec, GatherTask, RowSlots, reuse};

use crate::Error;
use crate::budget::Budget;
use crate::kept::Kept;
use crate::stats::Counters;
use crate::window::WindowBlock;
use crate::work::{Done, Failed, Room, Task, Workshop};

pub(crate) struct Crew {
    budget: Arc<Budget>,
    counters: Arc<Counters>,
    pool: Pool,
    gear: Gear,
}

/// What a crew works with, one iteration after another.
#[derive(Debug)]
pub(crate) struct Gear {
    builder: BatchBuilder,
    workshop: Workshop,
    memory: Memory,
}

/// What is made anew for each batch, in the memory of the last.
#[derive(Debug, Default)]
struct Memory {
    work: Vec<BlockWork>,
    schedule: Schedule,
    rows: Vec<usize>,
    slots: Vec<RowSlots<'static>>,
    tasks: Vec<Mutex<Task<'static>>>,
    copies: Vec<GatherTask<'static>>,
    copying: Vec<Mutex<Option<GatherTask<'static>>>>,
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
        let gear = kept_gear.unwrap_or_else(|| Gear {
            builder: BatchBuilder::new(spec),
            workshop: Workshop::new(workers, kept.spare.clone()),
            memory: Memory::default(),
        });
        Crew {
            budget,
            counters,
            pool: Pool::new(workers),
            gear,
        }
    }

    /// Ends the work; the gear is for another crew.
    pub(crate) fn into_gear(self) -> Gear {
        self.gear
    }

    /// A block of no records must have no bytes either.
    pub(crate) fn check_empty(&self, block: WindowBlock, held: u64) -> Result<(), Error> {
        let workshop = &self.gear.workshop;
        workshop.check_empty(&block, &Room::new(&self.budget, held))?;
        workshop.recycle(block);
        Ok(())
    }

    /// Takes a block back that has been read to its end.
    pub(crate) fn recycle(&self, block: WindowBlock) {
        self.gear.workshop.recycle(block);
    }

    /// Fills a batch with the next `takes[i]` records of each block `i` of the
    /// window; `held` bytes of window and batch are known beforehand. The error
    /// is `None` if nobody wants the batch any more.
    pub(crate) fn fill(
        &mut self,
        window: &mut [WindowBlock],
        takes: &[u64],
        held: u64,
    ) -> Result<Done, Option<Failed>> {
        let begun = Instant::now();
        self.plan(window, takes);
        let done = self.decode(window, takes, held)?;
        // How far lists are padded is only known now, and bounded by nothing else.
        let padded = held.saturating_add(self.gear.builder.padded_bytes());
        self.budget
            .check(padded)
            .map_err(|error| Some(Failed { error, row: 0 }))?;
        self.gather();
        self.counters.scheduler().took(begun.elapsed());
        Ok(done)
    }

    /// The batch that was filled.
    pub(crate) fn finish(&mut self) -> Batch {
        self.gear.builder.finish()
    }

    /// Decides who takes which part of the window.
    fn plan(&mut self, window: &[WindowBlock], takes: &[u64]) {
        let Memory {
            work,
            schedule,
            rows,
            ..
        } = &mut self.gear.memory;
        work.clear();
        let blocks = window.iter().zip(takes);
        work.extend(blocks.map(|(block, &take)| block.work(take)));
        self.counters.scheduler().plan_into(work, schedule);
        rows.clear();
        let chunks = schedule.chunks.iter().cloned();
        rows.extend(chunks.map(|chunk| takes[chunk].iter().sum::<u64>() as usize));
    }

    /// Has the workers decode, each the parts that were planned for it.
    fn decode(
        &mut self,
        mut window: &mut [WindowBlock],
        mut takes: &[u64],
        held: u64,
    ) -> Result<Done, Option<Failed>> {
        let Memory {
            schedule,
            rows,
            slots: slot_memory,
            tasks: task_memory,
            ..
        } = &mut self.gear.memory;
        let mut slots = reuse(std::mem::take(slot_memory));
        self.gear.builder.slots_into(rows, &mut slots);
        let mut tasks = reuse(std::mem::take(task_memory));
        let chunks = schedule.chunks.iter().zip(slots.drain(..));
        tasks.extend(chunks.map(|(chunk, slots)| {
            Mutex::new(Task {
                blocks: window.split_off_mut(..chunk.len()).unwrap_or_default(),
                takes: takes.split_off(..chunk.len()).unwrap_or_default(),
                slots,
                result: Ok(Done::default()),
            })
        }));

        let (workshop, room) = (&self.gear.workshop, Room::new(&self.budget, held));
        let work = |worker, task: usize| workshop.run(worker, &mut own(&tasks[task]), &room);
        let report = self
            .pool
            .run_numbers(schedule.threads, &schedule.owners, work);
        let result = if self.budget.stopped() {
            Err(None)
        } else {
            let results = tasks.drain(..).map(|task| into_own(task).result);
            sum(results).map_err(Some)
        };
        *slot_memory = reuse(slots);
        *task_memory = reuse(tasks);
        let done = result?;
        self.counters.scheduler().record(
            report,
            &Observed {
                records_inflated: done.records_inflated,
                inflate_ns: done.inflate_ns,
                records_decoded: done.records_decoded,
                decode_ns: done.decode_ns,
            },
        );
        Ok(done)
    }

    /// Has the workers bring what they wrote apart to its place.
    fn gather(&mut self) {
        let Memory {
            schedule,
            copies: copy_memory,
            copying: copying_memory,
            ..
        } = &mut self.gear.memory;
        let mut copies = reuse(std::mem::take(copy_memory));
        self.gear.builder.gather_into(&mut copies);
        let mut copying = reuse(std::mem::take(copying_memory));
        copying.extend(copies.drain(..).map(|copy| Mutex::new(Some(copy))));
        if !copying.is_empty() {
            let decode = &self.counters.decode;
            let copy = |_, task: usize| {
                let copy: Option<GatherTask<'_>> = own(&copying[task]).take();
                decode.time(|| copy.into_iter().for_each(GatherTask::run));
            };
            let owners = &schedule.owners[..copying.len()];
            self.pool.run_numbers(schedule.threads, owners, copy);
        }
        *copy_memory = reuse(copies);
        *copying_memory = reuse(copying);
    }
}

/// All that tasks did, or the first error in the order of rows.
fn sum(mut results: impl Iterator<Item = Result<Done, Failed>>) -> Result<Done, Failed> {
    results.try_fold(Done::default(), |mut sum, result| {
        sum.add(&result?);
        Ok(sum)
    })
}

/// What only one worker ever has the number of.
fn own<T>(task: &Mutex<T>) -> MutexGuard<'_, T> {
    task.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_own<T>(task: Mutex<T>) -> T {
    task.into_inner().unwrap_or_else(PoisonError::into_inner)
}
