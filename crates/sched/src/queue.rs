//! The queues of a run: what a worker owns and nobody has begun.
//!
//! A run's tasks are known before it begins, so what is left of a queue is a range of
//! them, and all that is shared is its two ends. A deque that grows meanwhile needs
//! memory that is reclaimed for the whole process, and a process that is forked while
//! another thread makes that ready waits for this thread for ever.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A worker's tasks.
#[derive(Debug, Default)]
#[repr(align(128))] // Workers take from their own, and do not wait for each other's lines.
pub(crate) struct Queues {
    /// Those begun before all others, the dearest first by the worker as by
    /// thieves.
    pub(crate) first: Queue,
    /// The others: the worker begins with the first, thieves take the last.
    pub(crate) share: Queue,
}

impl Queues {
    /// Forgets what a run that panicked has left.
    pub(crate) fn clear(&mut self) {
        self.first.clear();
        self.share.clear();
    }
}

/// The numbers of tasks, and which of them nobody has begun.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    tasks: Vec<usize>,
    /// The places of those that are left: the first in the lower half, the end in the
    /// upper. It says nothing about other memory, so its order with that does not matter.
    left: AtomicU64,
}

impl Queue {
    fn clear(&mut self) {
        self.tasks.clear();
        *self.left.get_mut() = 0;
    }

    /// Adds a task at the end, of a queue that nobody has taken from.
    ///
    /// # Panics
    /// With the 2^32nd.
    pub(crate) fn push(&mut self, task: usize) {
        self.tasks.push(task);
        let to = u32::try_from(self.tasks.len()).expect("fewer than 2^32 tasks");
        debug_assert_eq!(*self.left.get_mut(), range(0, to - 1), "cleared since");
        *self.left.get_mut() = range(0, to);
    }

    /// The first of the tasks that are left.
    pub(crate) fn take_first(&self) -> Option<usize> {
        let left = self.shrink(|from, to| range(from + 1, to))?;
        Some(self.tasks[left.0 as usize])
    }

    /// The last of the tasks that are left.
    pub(crate) fn take_last(&self) -> Option<usize> {
        let left = self.shrink(|from, to| range(from, to - 1))?;
        Some(self.tasks[left.1 as usize - 1])
    }

    /// Takes from what is left, if there is something, and gives what was left before.
    fn shrink(&self, less: impl Fn(u32, u32) -> u64) -> Option<(u32, u32)> {
        let taken = self.left.fetch_update(Relaxed, Relaxed, |left| {
            let (from, to) = ends(left);
            (from < to).then(|| less(from, to))
        });
        taken.ok().map(ends)
    }

    /// How many tasks are left; there may be fewer by now.
    pub(crate) fn len(&self) -> usize {
        let (from, to) = ends(self.left.load(Relaxed));
        (to - from) as usize
    }
}

fn range(from: u32, to: u32) -> u64 {
    u64::from(to) << 32 | u64::from(from)
}

fn ends(range: u64) -> (u32, u32) {
    (range as u32, (range >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Barrier;

    use super::*;

    fn queue(tasks: impl IntoIterator<Item = usize>) -> Queue {
        let mut queue = Queue::default();
        tasks.into_iter().for_each(|task| queue.push(task));
        queue
    }

    #[test]
    fn tasks_are_taken_at_both_ends_as_of_a_deque() {
        let mut tasks: VecDeque<usize> = (10..30).rev().collect();
        let queue = queue(tasks.iter().copied());
        for turn in 0..25 {
            let (taken, expected) = match turn % 3 {
                0 => (queue.take_last(), tasks.pop_back()),
                _ => (queue.take_first(), tasks.pop_front()),
            };
            assert_eq!(taken, expected);
            assert_eq!(queue.len(), tasks.len());
        }
        assert_eq!(tasks.len(), 0);
    }

    #[test]
    fn each_task_is_taken_once_whoever_takes_it() {
        let tasks = if cfg!(miri) { 100 } else { 20_000 };
        for _ in 0..if cfg!(miri) { 2 } else { 50 } {
            let (queue, begin) = (&queue(0..tasks), &Barrier::new(3));
            let take = |first: bool| {
                move || {
                    let take = || {
                        if first {
                            queue.take_first()
                        } else {
                            queue.take_last()
                        }
                    };
                    begin.wait();
                    std::iter::from_fn(take).collect::<Vec<_>>()
                }
            };
            let mut taken: Vec<usize> = std::thread::scope(|scope| {
                let takers = [true, false, false].map(|first| scope.spawn(take(first)));
                let taken = takers.map(|taker| taker.join().expect("no panic"));
                taken.into_iter().flatten().collect()
            });
            taken.sort_unstable();
            assert!(taken.into_iter().eq(0..tasks));
        }
    }

    #[test]
    fn what_was_left_is_forgotten_when_cleared() {
        let mut queues = Queues::default();
        queues.first.push(1);
        queues.share.push(2);
        queues.clear();
        queues.share.push(3);
        assert_eq!(queues.first.take_first(), None);
        assert_eq!(queues.share.take_last(), Some(3));
        assert_eq!(queues.share.take_first(), None);
    }
}
