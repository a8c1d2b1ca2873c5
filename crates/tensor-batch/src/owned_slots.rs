//! Row slots that own their batch, for threads that do not wait for one another.
#![allow(unsafe_code)] // Slots borrow from a builder that moves with them.

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::{BatchBuilder, RowSlots};

/// The slots of one run of a batch, which keep the batch's builder together with the slots of the
/// other runs. The last of them returns the builder.
///
/// ```
/// # use tensor_batch::{BatchBuilder, BatchSpec, ColumnKind, ColumnSpec, DType};
/// let label = ColumnSpec::new("label", DType::Int64, ColumnKind::Dense { shape: vec![] });
/// let builder = BatchBuilder::new(BatchSpec::new(vec![label])?);
/// let mut builders = builder.into_slots(&[2, 1]).into_iter().filter_map(|mut slots| {
///     slots.with(|slots| {
///         while slots.remaining() > 0 {
///             let row = slots.row();
///             slots.columns()[0].dense::<i64>().unwrap()[row] = 7;
///             slots.advance();
///         }
///     });
///     slots.end()
/// });
/// let mut builder = builders.next().expect("the last slots return it");
/// assert_eq!(builder.finish().rows(), 3);
/// # Ok::<(), tensor_batch::SpecError>(())
/// ```
pub struct OwnedRowSlots {
    /// Dropped before `owner`, from which it borrows.
    slots: ManuallyDrop<RowSlots<'static>>,
    owner: ManuallyDrop<Arc<Owner>>,
}

struct Owner(UnsafeCell<BatchBuilder>);

// SAFETY: the builder is reached through the cell in two places alone: before the first slots are
// given out, and by value once the last are dropped. Between, the slots borrow disjoint parts of it,
// and `RowSlots` is `Send`, which the assertion below has the compiler check.
unsafe impl Send for Owner {}
// SAFETY: as above; a shared `Owner` has no method.
unsafe impl Sync for Owner {}

const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<RowSlots<'static>>();
    is_send::<BatchBuilder>();
};

impl BatchBuilder {
    /// Starts a batch, as [`slots`](Self::slots), with slots that own the builder.
    pub fn into_slots(self, run_rows: &[usize]) -> Vec<OwnedRowSlots> {
        let owner = Arc::new(Owner(UnsafeCell::new(self)));
        // SAFETY: no other reference to the builder exists. It stays where it is and is not touched
        // until the last of the slots is dropped, since each holds the `Arc`.
        let builder: &'static mut BatchBuilder = unsafe { &mut *owner.0.get() };
        let slots = builder.slots(run_rows).into_iter();
        slots
            .map(|slots| OwnedRowSlots {
                slots: ManuallyDrop::new(slots),
                owner: ManuallyDrop::new(owner.clone()),
            })
            .collect()
    }
}

impl OwnedRowSlots {
    /// Calls `work` with the slots. They cannot be kept, since their lifetime is that of the call.
    pub fn with<T>(&mut self, work: impl for<'a> FnOnce(&mut RowSlots<'a>) -> T) -> T {
        work(&mut self.slots)
    }

    /// Ends the run. Returns the builder if all other slots of the batch were ended or dropped.
    pub fn end(self) -> Option<BatchBuilder> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: neither is used again, since `this` is not dropped.
        let owner = unsafe {
            ManuallyDrop::drop(&mut this.slots);
            ManuallyDrop::take(&mut this.owner)
        };
        Arc::into_inner(owner).map(|owner| owner.0.into_inner())
    }
}

impl Drop for OwnedRowSlots {
    fn drop(&mut self) {
        // SAFETY: neither is used again. The slots are dropped first, as they borrow from the owner.
        unsafe {
            ManuallyDrop::drop(&mut self.slots);
            ManuallyDrop::drop(&mut self.owner);
        }
    }
}

impl fmt::Debug for OwnedRowSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slots.fmt(f)
    }
}
