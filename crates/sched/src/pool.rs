//! The pool: tasks with owners, stolen by whoever is idle.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::broadcast::{Broadcast, Called};
use crate::limits::{AWAKE_BY, LATE, MAX_THREADS};
use crate::queue::{Queue, Queues};
use crate::schedule::Schedule;

/// Threads that live as long as the pool, and the caller's, which takes part
/// as worker 0.
///
/// ```
/// let mut pool = atds_sched::Pool::new(2);
/// let names = ["ada", "grace", "mary"];
/// // Tasks and closure may borrow; the first task is meant for worker 0.
/// let tasks: Vec<&str> = names.iter().map(|name| &name[1..]).collect();
/// let (lengths, report) = pool.run(2, &[0, 1, 1], tasks, |_worker, name| name.len());
/// assert_eq!(lengths, [2, 4, 3]);
/// assert!(report.busy_ns.len() <= 2);
/// ```
#[derive(Debug)]
pub struct Pool {
    broadcast: Broadcast,
    queues: Vec<Queues>,
    /// What each worker told of its part of the last run.
    workers: Vec<WorkerReport>,
    report: RunReport,
}

/// How a run went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunReport {
    /// Workers that were called.
    pub threads: usize,
    /// Nanoseconds until the last of them had started; those of the whole run
    /// if all was done before one had.
    pub start_delay_ns: u64,
    /// Those of them that had not started when half of the run was over.
    pub late: usize,
    /// Nanoseconds each of them worked; 0 if it did not start in time.
    pub busy_ns: Vec<u64>,
    /// Tasks done by another worker than their owner.
    pub steals: u64,
    /// Nanoseconds of the whole run.
    pub wall_ns: u64,
}

impl Pool {
    /// A pool of `max_threads` workers, the caller's thread among them. It has
    /// fewer, at least the caller's, where the system does not let it start so
    /// many threads, and at most [`MAX_THREADS`].
    pub fn new(max_threads: usize) -> Self {
        let broadcast = Broadcast::new(max_threads.clamp(1, MAX_THREADS) - 1);
        let workers = 0..=broadcast.threads();
        Pool {
            queues: workers.clone().map(|_| Queues::default()).collect(),
            workers: workers.map(|_| WorkerReport::default()).collect(),
            report: RunReport::default(),
            broadcast,
        }
    }

    /// The most workers a run can have.
    pub fn max_threads(&self) -> usize {
        self.queues.len()
    }

    /// Runs every task once, as `work(worker, task)`, on `threads` workers, as
    /// far as the pool has them, and returns the results in the order of the
    /// tasks. `owners[i]` is the worker that task `i` is meant for, the
    /// remainder by the number of workers being taken. Workers do their own
    /// tasks in order, and then the last of that which has most left.
    ///
    /// A worker runs one task at a time: what is indexed by its number, from 0
    /// below `threads`, is its own.
    ///
    /// # Panics
    /// With the panic of a task, once all workers have stopped; tasks that were
    /// not begun by then are dropped. Also if there are not as many owners as
    /// tasks, or 2^32 tasks of one owner.
    pub fn run<T: Send, R: Send>(
        &mut self,
        threads: usize,
        owners: &[usize],
        tasks: Vec<T>,
        work: impl Fn(usize, T) -> R + Sync,
    ) -> (Vec<R>, RunReport) {
        assert_eq!(owners.len(), tasks.len(), "an owner for each task");
        let cells: Vec<_> = tasks.into_iter().map(Cell::new).collect();
        let work = |worker, task: usize| cells[task].fill(|task| work(worker, task));
        let report = self.run_numbers(threads, owners, work).clone();
        let results = cells.into_iter().map(Cell::into_result);
        (results.collect(), report)
    }

    /// The same for tasks that are only numbers, one for each owner. Allocates
    /// nothing.
    ///
    /// # Panics
    /// With the panic of a task.
    pub fn run_numbers(
        &mut self,
        threads: usize,
        owners: &[usize],
        work: impl Fn(usize, usize) + Sync,
    ) -> &RunReport {
        self.run_ordered(threads, owners, &[], 0..owners.len(), work)
    }

    /// The same for the numbers of a schedule's chunks. Before all others,
    /// workers do those that are to be begun first: their own, dearest first,
    /// and then the dearest of another's. Allocates nothing.
    ///
    /// # Panics
    /// With the panic of a task.
    pub fn run_schedule(
        &mut self,
        schedule: &Schedule,
        work: impl Fn(usize, usize) + Sync,
    ) -> &RunReport {
        let Schedule { owners, first, .. } = schedule;
        let rest = schedule.rest.iter().copied();
        self.run_ordered(schedule.threads, owners, first, rest, work)
    }

    fn run_ordered(
        &mut self,
        threads: usize,
        owners: &[usize],
        first: &[usize],
        rest: impl Iterator<Item = usize>,
        work: impl Fn(usize, usize) + Sync,
    ) -> &RunReport {
        let threads = threads.clamp(1, self.max_threads());
        let clock = Instant::now();
        if threads == 1 {
            let tasks = first.iter().copied().chain(rest);
            tasks.for_each(|task| work(0, task));
            self.report.alone(nanos(clock));
            return &self.report;
        }
        self.workers.iter_mut().for_each(WorkerReport::reset);
        let queues = &mut self.queues[..threads];
        distribute(queues, owners, first, rest);
        let run = Run {
            queues,
            work,
            clock,
            workers: &self.workers[..threads],
            failed: AtomicBool::new(false),
        };
        let part = |worker| run.take_part(worker, || {});
        let own_part = |called: Called<'_>| {
            let (mut called, clock) = (Some(called), Instant::now());
            run.take_part(0, || {
                if clock.elapsed() >= AWAKE_BY {
                    called.take().into_iter().for_each(Called::put_apart);
                }
            });
        };
        let result = self.broadcast.run(threads, &part, own_part);
        if let Err(panic) = result {
            resume_unwind(panic);
        }
        self.report.sum_up(&self.workers[..threads], nanos(clock));
        &self.report
    }
}

impl RunReport {
    /// Of a run on the caller's thread.
    fn alone(&mut self, wall_ns: u64) {
        self.threads = 1;
        self.start_delay_ns = 0;
        self.late = 0;
        self.busy_ns.clear();
        self.busy_ns.push(wall_ns);
        self.steals = 0;
        self.wall_ns = wall_ns;
    }

    /// Of a run on several threads.
    fn sum_up(&mut self, workers: &[WorkerReport], wall_ns: u64) {
        let load = |part: fn(&WorkerReport) -> &AtomicU64| {
            workers.iter().map(move |worker| part(worker).load(Relaxed))
        };
        let started = || {
            let started = load(|worker| &worker.started_ns);
            started.map(|ns| if ns == 0 { wall_ns } else { ns })
        };
        self.threads = workers.len();
        self.start_delay_ns = started().max().unwrap_or(0);
        self.late = started().filter(|&ns| ns > wall_ns / LATE).count();
        self.busy_ns.clear();
        self.busy_ns.extend(load(|worker| &worker.busy_ns));
        self.steals = load(|worker| &worker.steals).sum();
        self.wall_ns = wall_ns;
    }
}

/// Hands the tasks to their owners, before any worker starts: what belongs to one
/// that starts late can be stolen at once.
fn distribute(
    queues: &mut [Queues],
    owners: &[usize],
    first: &[usize],
    rest: impl Iterator<Item = usize>,
) {
    queues.iter_mut().for_each(Queues::clear);
    let workers = queues.len();
    for &task in first {
        queues[owners[task] % workers].first.push(task);
    }
    for task in rest {
        queues[owners[task] % workers].share.push(task);
    }
}

/// A run on several workers.
struct Run<'a, F> {
    queues: &'a [Queues],
    work: F,
    clock: Instant,
    workers: &'a [WorkerReport],
    /// A task has panicked: nobody begins another.
    failed: AtomicBool,
}

/// What a worker tells of its part.
#[derive(Debug, Default)]
struct WorkerReport {
    /// When it started; 0 if it has not.
    started_ns: AtomicU64,
    busy_ns: AtomicU64,
    steals: AtomicU64,
}

impl WorkerReport {
    fn reset(&mut self) {
        *self = WorkerReport::default();
    }
}

impl<F: Fn(usize, usize)> Run<'_, F> {
    /// A worker's part. `ahead` is called before each task.
    fn take_part(&self, worker: usize, mut ahead: impl FnMut()) {
        let report = &self.workers[worker];
        let started = nanos(self.clock).max(1);
        report.started_ns.store(started, Relaxed);
        let _failing = Failing(&self.failed);
        let first = self.empty(
            worker,
            |queues| &queues.first,
            Queue::take_first,
            &mut ahead,
        );
        let share = self.empty(worker, |queues| &queues.share, Queue::take_last, &mut ahead);
        report.steals.store(first + share, Relaxed);
        report.busy_ns.store(nanos(self.clock) - started, Relaxed);
    }

    /// Does the tasks of a worker's own queue and then, one by one, what `steal` takes
    /// from others'; returns how many those were.
    fn empty(
        &self,
        worker: usize,
        queue: fn(&Queues) -> &Queue,
        steal: fn(&Queue) -> Option<usize>,
        ahead: &mut impl FnMut(),
    ) -> u64 {
        let own = queue(&self.queues[worker]);
        let mut steals = 0;
        while !self.failed.load(Relaxed) {
            let stolen = || self.stolen(worker, queue, steal).inspect(|_| steals += 1);
            let Some(task) = own.take_first().or_else(stolen) else {
                break;
            };
            ahead();
            (self.work)(worker, task);
        }
        steals
    }

    /// A task from that of the other workers' queues that has the most left.
    fn stolen(
        &self,
        worker: usize,
        queue: fn(&Queues) -> &Queue,
        steal: fn(&Queue) -> Option<usize>,
    ) -> Option<usize> {
        let others = || {
            let (before, own_and_behind) = self.queues.split_at(worker);
            let others = own_and_behind[1..].iter().chain(before);
            others.map(queue)
        };
        loop {
            let lens = others().map(|queue| (queue.len(), queue));
            let (len, fullest) = lens.max_by_key(|(len, _)| *len)?;
            if len == 0 {
                return None;
            }
            // Another may have been faster: there is less left now.
            if let Some(task) = steal(fullest) {
                return Some(task);
            }
        }
    }
}

/// Notes a panic if it is dropped by one.
struct Failing<'a>(&'a AtomicBool);

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}

/// A task, later its result. Only one worker ever has its number.
struct Cell<T, R>(Mutex<(Option<T>, Option<R>)>);

impl<T, R> Cell<T, R> {
    fn new(task: T) -> Self {
        Cell(Mutex::new((Some(task), None)))
    }

    fn fill(&self, work: impl FnOnce(T) -> R) {
        let mut cell = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let task = cell.0.take();
        cell.1 = task.map(work);
    }

    fn into_result(self) -> R {
        let cell = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        cell.1.expect("every task has been run")
    }
}

fn nanos(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
