//! Row slots and gather tasks that own their batch, for threads that do not wait for one another.
#![allow(unsafe_code)] // They borrow from a builder that moves with them.

#[cfg(all(test, loom))]
mod models;

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::ManuallyDrop;
#[cfg(not(all(test, loom)))]
use std::sync::Arc;

#[cfg(all(test, loom))]
use models::Arc;

use crate::gather::Copy;
use crate::{BatchBuilder, GatherTask, RowSlots};

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
pub struct OwnedRowSlots(Part<RowSlots<'static>>);

/// Parts of gather tasks that keep the batch's builder together with the other parts. The last of them
/// returns the builder.
pub struct OwnedGatherTasks(Part<Vec<Copy<'static>>>);

/// What borrows from a builder, and a share of the builder.
struct Part<T, B = BatchBuilder> {
    /// Dropped before `owner`, from which it borrows.
    value: ManuallyDrop<T>,
    owner: ManuallyDrop<Arc<Owner<B>>>,
}

struct Owner<B>(UnsafeCell<B>);

// SAFETY: a shared `Owner` has no method. The builder is reached through the cell in two places alone:
// before the parts are given out, and by value once the last of them is dropped, on whichever thread
// that is: so it is `Send`. Between, the parts alone reach it, and each may leave its thread only if
// what it borrows may.
unsafe impl<B: Send> Sync for Owner<B> {}

impl BatchBuilder {
    /// Starts a batch, as [`slots`](Self::slots), with slots that own the builder. Without runs, the
    /// builder is dropped.
    pub fn into_slots(self, run_rows: &[usize]) -> Vec<OwnedRowSlots> {
        let slots = Part::of(self, |builder| builder.slots(run_rows));
        slots.into_iter().map(OwnedRowSlots).collect()
    }

    /// As [`gather`](Self::gather), with tasks that own the builder: at least one, so that the last
    /// returns it. Each copies about `bytes` bytes: of several columns, or of a part of one.
    ///
    /// # Panics
    /// As [`gather`](Self::gather).
    pub fn into_gather(self, bytes: usize) -> Vec<OwnedGatherTasks> {
        let tasks = Part::of(self, |builder| {
            let (mut parts, mut part, mut sum) = (Vec::new(), Vec::new(), 0);
            let tasks = builder.gather().into_iter();
            for copy in tasks.flat_map(GatherTask::into_copies) {
                sum += copy.bytes();
                part.push(copy);
                if sum >= bytes {
                    parts.push(std::mem::take(&mut part));
                    sum = 0;
                }
            }
            if !part.is_empty() || parts.is_empty() {
                parts.push(part);
            }
            parts
        });
        tasks.into_iter().map(OwnedGatherTasks).collect()
    }
}

impl OwnedRowSlots {
    /// Calls `work` with the slots. They cannot be kept, since their lifetime is that of the call:
    ///
    /// ```compile_fail
    /// # fn keep(mut slots: tensor_batch::OwnedRowSlots) {
    /// let mut kept = None;
    /// slots.with(|slots| kept = Some(slots.columns()));
    /// # }
    /// ```
    ///
    /// Nor can they be swapped with those of another batch:
    ///
    /// ```compile_fail
    /// # fn swap(mut one: tensor_batch::OwnedRowSlots, mut other: tensor_batch::OwnedRowSlots) {
    /// one.with(|one| other.with(|other| std::mem::swap(one, other)));
    /// # }
    /// ```
    pub fn with<T>(&mut self, work: impl for<'a> FnOnce(&mut RowSlots<'a>) -> T) -> T {
        work(&mut self.0.value)
    }

    /// Ends the run. Returns the builder if all other slots of the batch were ended or dropped.
    pub fn end(self) -> Option<BatchBuilder> {
        self.0.end()
    }
}

impl OwnedGatherTasks {
    /// Runs the tasks. Returns the builder if all others of the batch have run.
    pub fn run(mut self) -> Option<BatchBuilder> {
        let copies = std::mem::take(&mut *self.0.value);
        copies.into_iter().for_each(Copy::run);
        self.0.end()
    }
}

impl<T, B> Part<T, B> {
    /// The parts that `make` makes of a builder. `make` keeps nothing else of it.
    fn of(builder: B, make: impl FnOnce(&'static mut B) -> Vec<T>) -> Vec<Self>
    where
        B: 'static,
    {
        let owner = Arc::new(Owner(UnsafeCell::new(builder)));
        // SAFETY: no other reference to the builder exists. It stays where it is and is not touched
        // until the last of the parts is dropped, since each holds the `Arc`. The callers are above: by
        // their types, all they can keep of the builder is in the parts.
        let parts = make(unsafe { &mut *owner.0.get() }).into_iter();
        parts
            .map(|part| Part {
                value: ManuallyDrop::new(part),
                owner: ManuallyDrop::new(owner.clone()),
            })
            .collect()
    }

    /// Ends the borrow. Returns the builder if all other parts were ended or dropped.
    fn end(self) -> Option<B> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: neither is used again, since `this` is not dropped.
        let owner = unsafe {
            ManuallyDrop::drop(&mut this.value);
            ManuallyDrop::take(&mut this.owner)
        };
        Arc::into_inner(owner).map(|owner| owner.0.into_inner())
    }
}

impl<T, B> Drop for Part<T, B> {
    fn drop(&mut self) {
        // SAFETY: neither is used again. The value is dropped first, as it borrows from the owner.
        unsafe {
            ManuallyDrop::drop(&mut self.value);
            ManuallyDrop::drop(&mut self.owner);
        }
    }
}

impl fmt::Debug for OwnedRowSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.value.fmt(f)
    }
}

impl fmt::Debug for OwnedGatherTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.value.fmt(f)
    }
}
