//! The memory of a running op.

use std::sync::Arc;

use crate::flow::{Denied, Flow};
use crate::memory::Lease;
use crate::tuning::MUCH_MEMORY;

/// What a running op holds, of a lease that grows where it needs more.
#[derive(Debug)]
pub(crate) struct Account {
    flow: Arc<Flow>,
    lease: Lease,
    /// Whether no other op runs.
    pub(crate) is_alone: bool,
    /// Whether it is of payloads that stay when the op ends. They count as made early, unless the op is
    /// alone.
    is_shared: bool,
    used: u64,
    /// Bytes of the batch that is being made, which are used.
    batch: u64,
    /// Bytes that were used and have a lease of their own since, and the most with them.
    split: u64,
    most: u64,
}

impl Account {
    pub(crate) fn new(flow: Arc<Flow>, lease: Lease, is_alone: bool) -> Self {
        Account {
            flow,
            lease,
            is_alone,
            is_shared: false,
            used: 0,
            batch: 0,
            split: 0,
            most: 0,
        }
    }

    /// An account of payloads that other ops read, too. An op that is not alone uses what there is for
    /// what is made early.
    pub(crate) fn of_shared(flow: &Arc<Flow>, is_alone: bool) -> Self {
        let lease = Lease::none(&flow.memory);
        Account {
            is_shared: true,
            ..Account::new(flow.clone(), lease, is_alone)
        }
    }

    fn is_early(&self) -> bool {
        self.is_shared && !self.is_alone
    }

    /// Lets the watch see what the op has leased.
    fn show(&self) {
        if !self.is_shared {
            self.flow.watch.set_leased(self.lease.bytes());
        }
    }

    /// Bytes that are used.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Uses `bytes` more.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<(), Denied> {
        let (memory, used) = (&self.flow.memory, self.used.saturating_add(bytes));
        if used > self.lease.bytes() {
            if self.is_early() && !memory.try_add_early(bytes) {
                return Err(Denied::Again);
            }
            let grown = self.flow.grow(&mut self.lease, used, self.is_alone);
            if self.is_early() && grown.is_err() {
                memory.remove_early(bytes);
            }
            grown?;
            self.show();
        }
        self.used = used;
        self.most = self.most.max(self.split + used);
        Ok(())
    }

    /// Uses `bytes` more, or what is left if the op is alone and that is less. Returns how much.
    pub(crate) fn take_some(&mut self, bytes: u64) -> Result<u64, Denied> {
        let mut some = bytes;
        loop {
            match self.take(some) {
                // The planning thread may take some in between.
                Err(Denied::Exceeded) if some > 0 => some = self.flow.memory.left().min(some - 1),
                taken => return taken.map(|()| some),
            }
        }
    }

    /// Uses `bytes` in place of `held`, or what is left as [`take_some`](Self::take_some) does. Returns
    /// how much.
    pub(crate) fn set(&mut self, held: u64, bytes: u64) -> Result<u64, Denied> {
        if bytes > held {
            return Ok(held + self.take_some(bytes - held)?);
        }
        self.give(held - bytes);
        Ok(bytes)
    }

    /// Bytes that the op may write before it counts them; `bytes` or more, if there is memory. One that is
    /// alone may write all that is left. Others lease what they may write: each would see the same
    /// memory.
    pub(crate) fn room(&mut self, bytes: u64) -> u64 {
        let memory = &self.flow.memory;
        if self.is_alone {
            memory.clear_caches();
            return (self.lease.bytes() - self.used).saturating_add(memory.left());
        }
        let share = memory.left() / (8 * self.flow.options.threads as u64);
        let wanted = self.used.saturating_add(bytes.max(share.min(MUCH_MEMORY)));
        if wanted > self.lease.bytes() && self.lease.try_grow(wanted) {
            self.show();
        }
        self.lease.bytes() - self.used
    }

    /// Uses `bytes` less.
    pub(crate) fn give(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
        if self.is_early() {
            self.flow.memory.remove_early(bytes);
        }
        if self.is_alone || self.is_shared {
            // Others keep their estimate, which will do for the next block, too.
            self.shrink();
        }
    }

    /// Uses at least `bytes` for the batch.
    pub(crate) fn hold_batch(&mut self, bytes: u64) -> Result<(), Denied> {
        if bytes > self.batch {
            self.take(bytes - self.batch)?;
            self.batch = bytes;
        }
        Ok(())
    }

    /// Uses at least `bytes` for the batch, which are counted already: its builder has the memory of dropped
    /// batches, which counts as kept.
    pub(crate) fn adopt_batch(&mut self, bytes: u64) {
        let leased = self.lease.bytes();
        self.lease.adopt(bytes);
        let more = bytes.saturating_sub(self.batch);
        self.used += more;
        self.batch += more;
        self.most = self.most.max(self.split + self.used);
        self.lease.shrink(self.used.max(leased));
        self.show();
    }

    /// The lease of what the batch uses.
    pub(crate) fn split_batch(&mut self) -> Lease {
        let bytes = std::mem::take(&mut self.batch);
        self.split(bytes)
    }

    /// A lease of `bytes` that are used. Those that are early stay so.
    pub(crate) fn split(&mut self, bytes: u64) -> Lease {
        self.used -= bytes;
        self.split += bytes;
        let lease = self.lease.split(bytes);
        self.show();
        lease
    }

    /// The most that was used at a time since this was called last.
    pub(crate) fn take_most(&mut self) -> u64 {
        self.split = 0;
        std::mem::take(&mut self.most)
    }

    /// Gives back what is not used.
    pub(crate) fn shrink(&mut self) {
        self.lease.shrink(self.used);
        self.show();
    }

    /// Gives back all.
    pub(crate) fn clear(&mut self) {
        (self.used, self.batch) = (0, 0);
        self.take_most();
        self.shrink();
    }
}
