//! How long a run would take on a machine with more threads than there are.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::schedule::Schedule;

/// What the parts of a run take, but for the work itself, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The caller takes this to call another thread.
    pub call_ns: u64,
    /// A thread that was called starts after this.
    pub start_ns: u64,
    /// Each task takes this before its work begins.
    pub task_ns: u64,
    /// A worker whose tasks take twice as long as they would take the others.
    pub slow: Option<usize>,
}

/// The nanoseconds that [`Pool::run_schedule`](crate::Pool::run_schedule) would
/// take on `machine` if chunk `i` takes `chunk_ns[i]`: events by their time, no
/// clock. The caller calls the other threads one after another, then takes part
/// itself; what the workers take next is what those of the pool would take.
///
/// ```
/// use atds_sched::{Machine, Schedule, simulate};
///
/// let machine = Machine { start_ns: 30, ..Machine::default() };
/// // The caller does both of its tasks while the other thread is being woken.
/// let schedule = Schedule::of_owners(2, &[0, 0, 1]);
/// assert_eq!(simulate(&schedule, &[15, 15, 20], machine), 50);
/// ```
///
/// # Panics
/// If there are not as many times as chunks.
pub fn simulate(schedule: &Schedule, chunk_ns: &[u64], machine: Machine) -> u64 {
    assert_eq!(
        schedule.owners.len(),
        chunk_ns.len(),
        "a time for each chunk"
    );
    let threads = schedule.threads.max(1);
    let queues = |chunks: &[usize]| {
        let mut queues = vec![VecDeque::new(); threads];
        for &chunk in chunks {
            queues[schedule.owners[chunk] % threads].push_back(chunk_ns[chunk]);
        }
        queues
    };
    let (mut first, mut shares) = (queues(&schedule.first), queues(&schedule.rest));
    let mut take = |worker| {
        let first = next(&mut first, worker, VecDeque::pop_front);
        first.or_else(|| next(&mut shares, worker, VecDeque::pop_back))
    };
    let called = threads as u64 - 1;
    let begins = |worker| match worker {
        0 => called * machine.call_ns,
        _ => worker as u64 * machine.call_ns + machine.start_ns,
    };
    // When each worker is free next; of equals the first goes on.
    let free = (0..threads).map(|worker| Reverse((begins(worker), worker)));
    let mut free: BinaryHeap<_> = free.collect();
    let mut end = begins(0);
    while let Some(Reverse((now, worker))) = free.pop() {
        let Some(ns) = take(worker) else {
            continue;
        };
        let times = 1 + u64::from(machine.slow == Some(worker));
        let done = now + (machine.task_ns + ns) * times;
        end = end.max(done);
        free.push(Reverse((done, worker)));
    }
    end
}

/// The next of a worker's own queue, or what `steal` takes from that which has
/// the most left.
fn next(
    queues: &mut [VecDeque<u64>],
    worker: usize,
    steal: fn(&mut VecDeque<u64>) -> Option<u64>,
) -> Option<u64> {
    queues[worker].pop_front().or_else(|| {
        let (before, own_and_behind) = queues.split_at_mut(worker);
        let others = own_and_behind[1..].iter_mut().chain(before);
        steal(others.max_by_key(|queue| queue.len())?)
    })
}
