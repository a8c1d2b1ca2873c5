//! Reuses the memory of vectors of borrows.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Slot;
use crate::gather::Copy;

/// An empty vector in the memory of `used`, for elements of another lifetime. With it, one vector
/// can be passed to [`slots_into`](crate::BatchBuilder::slots_into) for each batch.
pub fn reuse<T, U>(mut used: Vec<T>) -> Vec<U> {
    used.clear();
    // The standard library collects in place. Otherwise this costs an allocation.
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
