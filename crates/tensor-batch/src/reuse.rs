//! Vectors of borrows, whose memory is used again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Slot;
use crate::gather::Copy;

/// The memory of `used`, whose elements are dropped, for elements that differ
/// from them in a lifetime: what [`slots_into`](crate::BatchBuilder::slots_into)
/// fills for one batch can be kept and filled for the next.
pub fn reuse<T, U>(mut used: Vec<T>) -> Vec<U> {
    used.clear();
    // Collected in place. Should that ever not be so, it costs an allocation.
    let none = used.into_iter().map(|_| unreachable!("it is empty"));
    none.collect()
}

/// Emptied vectors of slots and copies.
#[derive(Debug, Default)]
pub(crate) struct Emptied(Mutex<Vectors>);

#[derive(Debug, Default)]
struct Vectors {
    slots: Vec<Vec<Slot<'static>>>,
    copies: Vec<Vec<Copy<'static>>>,
}

impl Emptied {
    pub(crate) fn slots<'a>(&self) -> Vec<Slot<'a>> {
        self.lock().slots.pop().map(reuse).unwrap_or_default()
    }

    pub(crate) fn give_slots(&self, used: Vec<Slot<'_>>) {
        let empty = reuse(used);
        self.lock().slots.push(empty);
    }

    pub(crate) fn copies<'a>(&self) -> Vec<Copy<'a>> {
        self.lock().copies.pop().map(reuse).unwrap_or_default()
    }

    pub(crate) fn give_copies(&self, used: Vec<Copy<'_>>) {
        let empty = reuse(used);
        self.lock().copies.push(empty);
    }

    fn lock(&self) -> MutexGuard<'_, Vectors> {
        // Nothing panics while the lock is held; the lists are whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
