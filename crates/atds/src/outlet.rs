//! Where the reader's blocks go out, each batch behind the last that it is drawn from.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Error;
use crate::block::WindowBlock;
use crate::budget::Budget;
use crate::handoff::Sender;
use crate::limits::{GROUP_BYTES, GROUP_VISITS, MAX_GROUPS, MAX_KEPT_STEPS, MAX_KEPT_VISITS};
use crate::planner::{Drawn, Planner, Visit};

/// What the engine does next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Puts a block into a place of the window.
    Put(usize, WindowBlock),
    /// Makes a batch.
    Make(Drawn),
}

/// Steps on their way from the reader to the engine.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) steps: VecDeque<Step>,
    /// The visits of all batches, one batch behind the other.
    pub(crate) visits: Vec<Visit>,
}

/// Emptied groups, which go back to the reader for the next steps, of the next iteration
/// too.
#[derive(Debug, Default)]
pub(crate) struct Groups(Mutex<Vec<Group>>);

impl Groups {
    fn take(&self) -> Group {
        self.lock().pop().unwrap_or_default()
    }

    pub(crate) fn give(&self, mut group: Group) {
        group.steps.clear();
        group.visits.clear();
        let mut groups = self.lock();
        if groups.len() < MAX_GROUPS {
            groups.push(group);
        }
    }

    /// The same at the end of an iteration: the next is to find no more memory than is
    /// worth keeping.
    pub(crate) fn give_last(&self, group: Group) {
        self.give(group);
        let mut groups = self.lock();
        groups.retain(|group| {
            group.steps.capacity() <= MAX_KEPT_STEPS && group.visits.capacity() <= MAX_KEPT_VISITS
        });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Group>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the reader tells the engine, in order.
#[derive(Debug)]
pub(crate) enum Message {
    Steps(Group),
    /// The epoch has no other step.
    End(End),
}

/// How an epoch's steps end.
#[derive(Debug)]
pub(crate) struct End {
    /// Records that no batch has been drawn of.
    pub(crate) remainder: u64,
    /// Why the next block cannot be had, if it cannot: nothing follows.
    pub(crate) result: Result<(), Error>,
}

/// The engine is gone: reading is over.
#[derive(Debug)]
pub(crate) struct Over;

/// The reader's end of the way to the engine.
pub(crate) struct Outlet {
    planner: Planner,
    budget: Arc<Budget>,
    groups: Arc<Groups>,
    out: Sender<Message>,
    /// Steps that have not been handed over.
    group: Group,
    /// Bytes of their blocks.
    bytes: u64,
}

impl Outlet {
    pub(crate) fn new(
        planner: Planner,
        budget: Arc<Budget>,
        groups: Arc<Groups>,
        out: Sender<Message>,
    ) -> Self {
        Outlet {
            planner,
            budget,
            group: groups.take(),
            groups,
            out,
            bytes: 0,
        }
    }

    pub(crate) fn begin_epoch(&mut self, epoch: u64) {
        self.planner.begin_epoch(epoch);
    }

    /// Sends a block on its way, with the batches that can be drawn now.
    pub(crate) fn push(&mut self, block: WindowBlock) -> Result<(), Over> {
        let place = self.planner.push(block.unread(), block.to_decompress());
        self.bytes += block.bytes();
        self.group.steps.push_back(Step::Put(place, block));
        while self.planner.is_full() {
            self.draw()?;
        }
        match self.bytes >= self.most_bytes() {
            true => self.hand_over(),
            false => self.attend(),
        }
    }

    /// Hands over what the engine waits for, if it is here. To be called now and then
    /// where no block is pushed for long.
    pub(crate) fn attend(&mut self) -> Result<(), Over> {
        // Blocks alone are no help to an engine that waits for a batch.
        let has_batch = !self.group.visits.is_empty();
        if has_batch && self.budget.has_starved() {
            return self.hand_over();
        }
        match self.budget.stopped() {
            true => Err(Over),
            false => Ok(()),
        }
    }

    /// Ends the epoch, with the batches that can be drawn of what is left.
    pub(crate) fn end_epoch(&mut self, result: Result<(), Error>) -> Result<(), Over> {
        while self.planner.has_batch() {
            self.draw()?;
        }
        self.hand_over()?;
        let remainder = self.planner.remainder();
        self.send(Message::End(End { remainder, result }))
    }

    fn draw(&mut self) -> Result<(), Over> {
        let drawn = self.planner.draw(&mut self.group.visits);
        self.group.steps.push_back(Step::Make(drawn));
        if self.group.visits.len() >= GROUP_VISITS {
            self.hand_over()?;
        }
        Ok(())
    }

    /// Several groups fit into what may be read ahead.
    fn most_bytes(&self) -> u64 {
        GROUP_BYTES.min(self.budget.read_ahead() / 4)
    }

    /// Hands all steps over, as soon as there is room for their blocks.
    pub(crate) fn hand_over(&mut self) -> Result<(), Over> {
        if self.group.steps.is_empty() {
            return self.attend();
        }
        let bytes = mem::take(&mut self.bytes);
        if bytes == 0 || self.budget.admit_group(bytes) {
            return self.send_group();
        }
        // What the engine needs to go on may be just the first of the blocks.
        let mut all = mem::replace(&mut self.group, self.groups.take());
        let mut visits = all.visits.drain(..);
        for step in all.steps.drain(..) {
            match &step {
                Step::Put(_, block) => {
                    self.send_group()?;
                    self.budget.admit_block(block.bytes());
                }
                Step::Make(drawn) => {
                    let visits = visits.by_ref().take(drawn.visits);
                    self.group.visits.extend(visits);
                }
            }
            self.group.steps.push_back(step);
        }
        drop(visits);
        self.groups.give(all);
        self.send_group()
    }

    fn send_group(&mut self) -> Result<(), Over> {
        if self.group.steps.is_empty() {
            return Ok(());
        }
        let group = mem::replace(&mut self.group, self.groups.take());
        self.send(Message::Steps(group))
    }

    fn send(&self, message: Message) -> Result<(), Over> {
        if self.budget.stopped() {
            return Err(Over);
        }
        self.budget.sending();
        self.out.send(message).map_err(|_| Over)
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.groups.give_last(mem::take(&mut self.group));
    }
}
