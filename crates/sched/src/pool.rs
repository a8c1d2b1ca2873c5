//! The pool: tasks with owners, stolen by whoever is idle.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crossbeam_deque::{Injector, Steal};

use crate::broadcast::Broadcast;

/// Threads that live as long as the pool, and the caller's, which takes part
/// as worker 0.
#[derive(Debug)]
pub struct Pool {
    broadcast: Broadcast,
    /// Per worker, the numbers of the tasks it owns and nobody has begun.
    queues: Vec<Injector<usize>>,
}

/// How a run went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunReport {
    /// Workers that took part.
    pub threads: usize,
    /// Nanoseconds until the last of them had started.
    pub start_delay_ns: u64,
    /// Nanoseconds each of them worked.
    pub busy_ns: Vec<u64>,
    /// Tasks done by another worker than their owner.
    pub steals: u64,
    /// Nanoseconds of the whole run.
    pub wall_ns: u64,
}

impl Pool {
    /// A pool of `max_threads` workers, the caller's thread among them.
    pub fn new(max_threads: usize) -> Self {
        let max_threads = max_threads.max(1);
        Pool {
            broadcast: Broadcast::new(max_threads - 1),
            queues: (0..max_threads).map(|_| Injector::new()).collect(),
        }
    }

    /// The most workers a run can have.
    pub fn max_threads(&self) -> usize {
        self.queues.len()
    }

    /// Runs every task once, as `work(worker, task)`, on `threads` workers and
    /// returns the results in the order of the tasks. `owners[i]` is the worker
    /// that task `i` is meant for; workers do their own tasks in order and then
    /// take what others have not begun.
    ///
    /// # Panics
    /// With the panic of a task, once all workers have stopped; if there are
    /// not as many owners as tasks, or an owner or `threads` above the pool's
    /// threads.
    pub fn run<T: Send, R: Send>(
        &mut self,
        threads: usize,
        owners: &[usize],
        tasks: Vec<T>,
        work: impl Fn(usize, T) -> R + Sync,
    ) -> (Vec<R>, RunReport) {
        assert_eq!(owners.len(), tasks.len(), "an owner for each task");
        let threads = threads.clamp(1, self.max_threads());
        let begun = Instant::now();
        if threads == 1 {
            let results = tasks.into_iter().map(|task| work(0, task)).collect();
            let wall_ns = nanos(begun);
            let report = RunReport {
                threads,
                busy_ns: vec![wall_ns],
                wall_ns,
                ..RunReport::default()
            };
            return (results, report);
        }

        let cells: Vec<Mutex<Cell<T, R>>> = tasks
            .into_iter()
            .map(|task| Mutex::new(Cell::Todo(task)))
            .collect();
        for (task, &owner) in owners.iter().enumerate() {
            self.queues[owner % threads].push(task);
        }
        let queues = &self.queues[..threads];
        let started: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
        let busy: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
        let steals = AtomicU64::new(0);
        let worker = |worker: usize| {
            let start = Instant::now();
            started[worker].store(nanos(begun), Relaxed);
            while let Some((task, stolen)) = next_task(queues, worker) {
                let mut cell = cells[task].lock().unwrap_or_else(PoisonError::into_inner);
                if let Cell::Todo(task) = std::mem::replace(&mut *cell, Cell::Begun) {
                    *cell = Cell::Done(work(worker, task));
                }
                steals.fetch_add(u64::from(stolen), Relaxed);
            }
            busy[worker].store(nanos(start), Relaxed);
        };
        // A panic leaves tasks in the queues; `Drain` empties them.
        let drain = Drain(queues);
        self.broadcast.run(threads, &worker);
        drop(drain);

        let results = cells.into_iter().map(|cell| {
            match cell.into_inner().unwrap_or_else(PoisonError::into_inner) {
                Cell::Done(result) => result,
                _ => unreachable!("every task has been run"),
            }
        });
        let report = RunReport {
            threads,
            start_delay_ns: started.iter().map(|ns| ns.load(Relaxed)).max().unwrap_or(0),
            busy_ns: busy.iter().map(|ns| ns.load(Relaxed)).collect(),
            steals: steals.into_inner(),
            wall_ns: nanos(begun),
        };
        (results.collect(), report)
    }
}

enum Cell<T, R> {
    Todo(T),
    Begun,
    Done(R),
}

/// A worker's next task and whether it is another's.
fn next_task(queues: &[Injector<usize>], worker: usize) -> Option<(usize, bool)> {
    let others = (1..queues.len()).map(|i| (worker + i) % queues.len());
    std::iter::once(worker).chain(others).find_map(|owner| {
        loop {
            match queues[owner].steal() {
                Steal::Success(task) => return Some((task, owner != worker)),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    })
}

/// Empties the queues when it is dropped.
struct Drain<'a>(&'a [Injector<usize>]);

impl Drop for Drain<'_> {
    fn drop(&mut self) {
        for queue in self.0 {
            while !matches!(queue.steal(), Steal::Empty) {}
        }
    }
}

fn nanos(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
