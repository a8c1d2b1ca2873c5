//! The queues of a run: what a worker owns and nobody has begun.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_deque::{Steal, Stealer, Worker};

/// A worker's tasks.
#[derive(Debug)]
pub(crate) struct Queues {
    /// Those begun before all others, the dearest first by the worker as by
    /// thieves.
    pub(crate) first: Queue,
    /// The others: the worker begins with the first, thieves take the last.
    pub(crate) share: Queue,
}

impl Queues {
    /// Empty ones.
    pub(crate) fn new() -> Self {
        Queues {
            first: Queue::new(Worker::new_fifo()),
            share: Queue::new(Worker::new_lifo()),
        }
    }

    /// Forgets what a run that panicked has left.
    pub(crate) fn clear(&self) {
        for queue in [&self.first, &self.share] {
            let own = queue.own();
            while own.pop().is_some() {}
        }
    }
}

/// The numbers of tasks that nobody has begun.
#[derive(Debug)]
pub(crate) struct Queue {
    /// Locked by the caller between runs, by the worker during one.
    own: Mutex<Worker<usize>>,
    stealer: Stealer<usize>,
}

impl Queue {
    fn new(own: Worker<usize>) -> Self {
        Queue {
            stealer: own.stealer(),
            own: Mutex::new(own),
        }
    }

    pub(crate) fn own(&self) -> MutexGuard<'_, Worker<usize>> {
        // A queue is whole after a panic between its operations.
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The task that was pushed first.
    pub(crate) fn steal(&self) -> Option<usize> {
        loop {
            match self.stealer.steal() {
                Steal::Success(task) => return Some(task),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }

    /// How many tasks there are; there may be fewer by now.
    pub(crate) fn len(&self) -> usize {
        self.stealer.len()
    }
}
