//! Large batches, of which several workers make a piece each.

use std::sync::{Mutex, MutexGuard, PoisonError};

use atds_format::Tally;
use tensor_batch::{BatchBuilder, BatchSpec, OwnedRowSlots};

use crate::memory::Lease;
use crate::planner::BatchPlan;
use crate::worker::RowError;

/// A batch whose rows are written by several ops, in place.
#[derive(Debug)]
pub(crate) struct PieceBatch {
    /// The number of the batch.
    pub(crate) number: u64,
    /// Consecutive rows of the batch, those of each op.
    pub(crate) pieces: Vec<BatchPlan>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    has_begun: bool,
    /// The memory of the pieces that have not begun.
    slots: Vec<Option<OwnedRowSlots>>,
    made: Made,
}

/// What the pieces have made.
#[derive(Debug, Default)]
pub(crate) struct Made {
    pub(crate) tally: Tally,
    /// The first bad row.
    pub(crate) failed: Option<RowError>,
    pub(crate) leases: Vec<Lease>,
}

impl PieceBatch {
    pub(crate) fn new(number: u64, pieces: Vec<BatchPlan>) -> Self {
        PieceBatch {
            number,
            pieces,
            state: Mutex::default(),
        }
    }

    /// All rows as one plan.
    pub(crate) fn plan(&self) -> BatchPlan {
        BatchPlan {
            rows: self.pieces.iter().map(|piece| piece.rows).sum(),
            reads: self
                .pieces
                .iter()
                .flat_map(|piece| piece.reads.clone())
                .collect(),
        }
    }

    /// The memory of a piece. The first piece makes that of the whole batch, with a builder and the
    /// lease of `begin`.
    pub(crate) fn begin(
        &self,
        piece: usize,
        begin: impl FnOnce() -> (BatchBuilder, Lease),
    ) -> Option<OwnedRowSlots> {
        let mut state = self.lock();
        if !state.has_begun {
            let (builder, lease) = begin();
            let rows: Vec<usize> = self
                .pieces
                .iter()
                .map(|piece| piece.rows as usize)
                .collect();
            let slots = builder.into_slots(&rows).into_iter();
            state.slots = slots.map(Some).collect();
            state.made.leases.push(lease);
            state.has_begun = true;
        }
        state.slots.get_mut(piece)?.take()
    }

    /// Ends a piece. The last one gets the builder, and what all pieces have made.
    pub(crate) fn end(
        &self,
        slots: OwnedRowSlots,
        result: Result<Tally, RowError>,
        lease: Lease,
    ) -> Option<(BatchBuilder, Made)> {
        let mut state = self.lock();
        let made = &mut state.made;
        made.leases.push(lease);
        match result {
            Ok(tally) => made.tally.add(&tally),
            Err(error) => {
                let is_first = |failed: &RowError| error.row < failed.row;
                if made.failed.as_ref().is_none_or(is_first) {
                    made.failed = Some(error);
                }
            }
        }
        let builder = slots.end()?;
        Some((builder, std::mem::take(&mut state.made)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The builders of batches in pieces, used again for their memory.
#[derive(Debug)]
pub(crate) struct Builders {
    spec: BatchSpec,
    free: Mutex<Vec<BatchBuilder>>,
}

impl Builders {
    pub(crate) fn new(spec: BatchSpec) -> Self {
        Builders {
            spec,
            free: Mutex::default(),
        }
    }

    pub(crate) fn take(&self) -> BatchBuilder {
        let builder = self.lock().pop();
        builder.unwrap_or_else(|| BatchBuilder::new(self.spec.clone()))
    }

    pub(crate) fn give_back(&self, builder: BatchBuilder) {
        self.lock().push(builder);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<BatchBuilder>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
