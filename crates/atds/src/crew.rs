//! The crew: the workers who fill batches, and all they need for it.

use std::iter::zip;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use atds_sched::{BlockWork, Observed, Pool, Schedule, Wishes};
use avro_block::Codec;
use tensor_batch::{Batch, BatchBuilder, BatchSpec, GatherTask, RowSlots, reuse};

use crate::Error;
use crate::block::WindowBlock;
use crate::budget::Budget;
use crate::kept::Kept;
use crate::limits::{COPIED_ALONE, INFLATED_AT_ONCE, TOGETHER_BATCHES};
use crate::room::Room;
use crate::stats::Counters;
use crate::task::{Done, Failed, Part, Parts, Task};
use crate::work::{Workshop, own};

pub(crate) struct Crew {
    budget: Arc<Budget>,
    counters: Arc<Counters>,
    pool: Pool,
    gear: Gear,
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
}

/// What is made anew each time, in the memory of the last.
#[derive(Debug, Default)]
struct Memory {
    /// The work on each block that is read.
    work: Vec<BlockWork>,
    /// Which worker reads which of them.
    schedule: Schedule,
    /// For each chunk of them, its blocks' places in the window and those of others around
    /// them.
    places: Vec<Range<usize>>,
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
        let gear = kept_gear.unwrap_or_else(|| Gear {
            builders: [(); TOGETHER_BATCHES].map(|()| BatchBuilder::new(spec.clone())),
            workshop: Workshop::new(workers, kept.spare.clone()),
            memory: Memory::default(),
            alone_bytes: None,
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

    /// A block of no records must have no bytes either.
    pub(crate) fn check_empty(&self, block: &WindowBlock, held: u64) -> Result<(), Error> {
        let workshop = &self.gear.workshop;
        workshop.check_empty(block, &Room::new(&self.budget, held))
    }

    /// Fills batches: the first with the next `takes[0][i]` records of each block
    /// `i` of the window, the second with those behind them, at most
    /// [`TOGETHER_BATCHES`]. `visits` are the places of the blocks that give any.
    /// `held` bytes of the window and the batches are known beforehand. The error is
    /// `None` if nobody wants batches any more; the row of another is one of the first
    /// batch if that is the only one.
    pub(crate) fn fill(
        &mut self,
        window: &mut [WindowBlock],
        visits: &[usize],
        takes: &[Vec<u64>],
        held: u64,
    ) -> Result<Done, Option<Failed>> {
        let begun = Instant::now();
        self.plan(window, visits, takes);
        let done = self.decode(window, visits, takes, held)?;
        // How far lists are padded is only known now, and bounded by nothing else.
        let builders = self.gear.builders[..takes.len()].iter();
        let padded = builders.map(BatchBuilder::padded_bytes);
        self.budget
            .check(padded.fold(held, u64::saturating_add))
            .map_err(|error| Some(Failed { error, row: 0 }))?;
        self.gather(takes.len());
        self.counters.scheduler().took(begun.elapsed());
        Ok(done)
    }

    /// The batches that were filled, so many of them.
    pub(crate) fn finish(&mut self, batches: usize) -> impl Iterator<Item = Batch> {
        let builders = self.gear.builders[..batches].iter_mut();
        builders.map(BatchBuilder::finish)
    }

    /// Decides who takes which part of the window.
    fn plan(&mut self, window: &[WindowBlock], visits: &[usize], takes: &[Vec<u64>]) {
        let Memory {
            work,
            schedule,
            places,
            rows,
            ..
        } = &mut self.gear.memory;
        work.clear();
        work.extend(visits.iter().map(|&place| {
            let take = takes.iter().map(|takes| takes[place]).sum();
            window[place].work(take)
        }));
        // What the first of a batch's workers writes need not be brought to its place.
        let start = takes[1..]
            .iter()
            .find_map(|batch| visits.iter().position(|&place| batch[place] > 0));
        let together = match visits.first().map(|&place| window[place].file.codec) {
            Some(Codec::Deflate) => INFLATED_AT_ONCE,
            _ => 1,
        };
        let wishes = Wishes { together, start };
        self.counters.scheduler().plan_into(work, &wishes, schedule);
        places.clear();
        let mut first = 0;
        places.extend(schedule.chunks.iter().map(|chunk| {
            let start = first;
            first = visits.get(chunk.end).map_or(window.len(), |&place| place);
            start..first
        }));
        for (rows, takes) in zip(rows, takes) {
            rows.clear();
            let chunks = schedule.chunks.iter().cloned();
            let all = chunks.map(|chunk| {
                let visits = visits[chunk].iter();
                visits.map(|&place| takes[place]).sum::<u64>() as usize
            });
            rows.extend(all.filter(|&rows| rows > 0));
        }
    }

    /// Has the workers decode, each the parts that were planned for it.
    fn decode(
        &mut self,
        mut window: &mut [WindowBlock],
        visits: &[usize],
        takes: &[Vec<u64>],
        held: u64,
    ) -> Result<Done, Option<Failed>> {
        let Memory {
            schedule,
            places,
            rows,
            slots: slot_memory,
            tasks: task_memory,
            ..
        } = &mut self.gear.memory;
        let mut slots = std::mem::take(slot_memory).map(reuse);
        let builders = self.gear.builders.iter_mut().zip(rows);
        for ((builder, rows), slots) in zip(builders, &mut slots).take(takes.len()) {
            builder.slots_into(rows, slots);
        }
        let mut tasks = reuse(std::mem::take(task_memory));
        {
            let mut slots = slots.each_mut().map(|slots| slots.drain(..));
            tasks.extend(zip(&schedule.chunks, places).map(|(chunk, places)| {
                let visits = &visits[chunk.clone()];
                let mut parts = Parts::default();
                for ((part, takes), slots) in zip(zip(&mut parts.0, takes), &mut slots) {
                    if visits.iter().any(|&place| takes[place] > 0) {
                        let takes = &takes[places.clone()];
                        *part = slots.next().map(|slots| Part { takes, slots });
                    }
                }
                Mutex::new(Task {
                    blocks: window.split_off_mut(..places.len()).unwrap_or_default(),
                    visits,
                    first: places.start,
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
                records_inflated: done.records_inflated,
                inflate_ns: done.inflate_ns,
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
