//! Where the reader's blocks come in.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use crate::Error;
use crate::block::WindowBlock;
use crate::budget::Budget;
use crate::reader::{Group, Groups, Message};
use crate::stats::Counters;

/// The blocks of an epoch that have been read, on their way to the window.
pub(crate) struct Intake {
    input: Receiver<Message>,
    groups: Arc<Groups>,
    budget: Arc<Budget>,
    counters: Arc<Counters>,
    queue: Group,
    /// How the epoch's blocks ended, once they have.
    end: Option<Result<(), Error>>,
}

/// The reader is gone, as it is only when told to stop.
pub(crate) struct Gone;

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
            end: None,
        }
    }

    pub(crate) fn begin_epoch(&mut self) {
        self.end = None;
    }

    /// The error that the epoch's blocks ended with, if they did.
    pub(crate) fn end_epoch(&mut self) -> Result<(), Error> {
        self.end.take().unwrap_or(Ok(()))
    }

    /// Ends the epoch with the block taken last, like damage that the reader finds.
    pub(crate) fn end_here(&mut self, error: Error) {
        self.end = Some(Err(error));
        self.queue.clear();
    }

    pub(crate) fn has_block(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(crate) fn next_block(&mut self) -> Option<WindowBlock> {
        self.queue.pop_front()
    }

    /// Whether nothing comes in the epoch behind the blocks that are here.
    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Takes in what the reader says next, and waits for it if need be.
    pub(crate) fn receive(&mut self) -> Result<(), Gone> {
        match self.message()? {
            Message::Blocks(blocks) => {
                let empty = std::mem::replace(&mut self.queue, blocks);
                self.groups.give(empty);
            }
            Message::EpochEnd => self.end = Some(Ok(())),
            Message::Failed(error) => self.end = Some(Err(error)),
        }
        Ok(())
    }

    fn message(&self) -> Result<Message, Gone> {
        if let Ok(message) = self.input.try_recv() {
            return Ok(message);
        }
        self.budget.starve(true);
        let message = self.counters.read_wait.time(|| self.input.recv());
        self.budget.starve(false);
        message.map_err(|_| Gone)
    }
}
