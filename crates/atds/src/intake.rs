//! Where the reader's steps come in.

use std::sync::Arc;

use crate::budget::Budget;
use crate::handoff::{Gone, Receiver};
use crate::limits::LOADED_AHEAD;
use crate::outlet::{End, Group, Groups, Message, Step};
use crate::planner::Visit;
use crate::stats::Counters;

/// The steps of an epoch, on their way to the engine.
pub(crate) struct Intake {
    input: Receiver<Message>,
    groups: Arc<Groups>,
    budget: Arc<Budget>,
    counters: Arc<Counters>,
    queue: Group,
    /// Visits of the queue's batches that have been taken.
    visited: usize,
    /// How the epoch's steps ended, once they have.
    end: Option<End>,
}

impl Intake {
    /// Emptied groups go back through `groups`.
    pub(crate) fn new(
        input: Receiver<Message>,
        groups: Arc<Groups>,
        budget: Arc<Budget>,
        counters: Arc<Counters>,
    ) -> Self {
        Intake {
            input,
            groups,
            budget,
            counters,
            queue: Group::default(),
            visited: 0,
            end: None,
        }
    }

    /// How the epoch's steps ended, all of which have been taken: those that come
    /// are of the next.
    pub(crate) fn end_epoch(&mut self) -> Option<End> {
        self.end.take()
    }

    /// Whether there is no step that need not be waited for.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.steps.is_empty()
    }

    /// Whether nothing comes in the epoch behind the steps that are here.
    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// The next of the steps that are here.
    pub(crate) fn next_step(&mut self) -> Option<Step> {
        self.queue.steps.pop_front()
    }

    /// The place of a block some steps behind the next.
    pub(crate) fn later_place(&self) -> Option<usize> {
        match self.queue.steps.get(LOADED_AHEAD)? {
            Step::Put(place, _) => Some(*place),
            Step::Make(_) => None,
        }
    }

    /// The next visits that are here: those of the batch taken last, so many of them.
    pub(crate) fn next_visits(&mut self, count: usize) -> &[Visit] {
        let first = self.visited;
        self.visited += count;
        &self.queue.visits[first..self.visited]
    }

    /// Takes in what the reader says next, and waits for it if need be. The reader is
    /// gone only when told to stop.
    pub(crate) fn receive(&mut self) -> Result<(), Gone> {
        match self.message()? {
            Message::Steps(group) => {
                let empty = std::mem::replace(&mut self.queue, group);
                self.visited = 0;
                self.groups.give(empty);
            }
            Message::End(end) => self.end = Some(end),
        }
        Ok(())
    }

    fn message(&self) -> Result<Message, Gone> {
        let message = match self.input.try_recv() {
            Ok(message) => message,
            Err(_) => {
                self.budget.starve();
                let received = self.counters.read_wait.time(|| self.input.recv());
                received?
            }
        };
        self.budget.received();
        Ok(message)
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.groups.give_last(std::mem::take(&mut self.queue));
    }
}
