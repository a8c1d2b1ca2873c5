//! How long a run would take on a machine with more threads than there are.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What the parts of a run take, but for the work itself, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The caller takes this to call another thread.
    pub call_ns: u64,
    /// A thread that was called starts after this.
    pub start_ns: u64,
    /// Each task takes this before its work begins.
    pub task_ns: u64,
}

/// The nanoseconds that a [`Pool`](crate::Pool) of `threads` workers would take
/// on `machine` for tasks that take `task_ns[i]` and belong to `owners[i]`:
/// events by their time, no clock. The caller calls the other threads one after
/// another, then takes part itself; a worker does its own tasks from the front,
/// then takes the last of another's.
///
/// ```
/// use atds_sched::{Machine, simulate};
///
/// let machine = Machine { start_ns: 30, ..Machine::default() };
/// // The caller does both of its tasks while the other thread is being woken.
/// assert_eq!(simulate(2, &[0, 0, 1], &[15, 15, 20], machine), 50);
/// ```
///
/// # Panics
/// If there are not as many owners as tasks.
pub fn simulate(threads: usize, owners: &[usize], task_ns: &[u64], machine: Machine) -> u64 {
    assert_eq!(owners.len(), task_ns.len(), "an owner for each task");
    let threads = threads.max(1);
    let mut queues = vec![VecDeque::new(); threads];
    for (&owner, &ns) in owners.iter().zip(task_ns) {
        queues[owner % threads].push_back(ns);
    }
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
        let own = queues[worker].pop_front();
        let mut others = (worker + 1..threads).chain(0..worker);
        let Some(ns) = own.or_else(|| others.find_map(|other| queues[other].pop_back())) else {
            continue;
        };
        let done = now + machine.task_ns + ns;
        end = end.max(done);
        free.push(Reverse((done, worker)));
    }
    end
}
