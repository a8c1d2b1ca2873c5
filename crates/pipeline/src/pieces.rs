//! Large batches, of which several workers make a piece each.

use std::sync::{Arc, PoisonError, Weak};

use atds_format::Tally;
use tensor_batch::{BatchBuilder, BatchSpec, OwnedGatherTasks, OwnedRowSlots};

use crate::delays;
use crate::flow::Denied;
use crate::memory::{Cache, Lease, Memory};
use crate::planner::BatchPlan;
use crate::sync::{Mutex, MutexGuard};
use crate::tuning::KEPT_SHARE;
use crate::worker::{RowError, Written};

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
    /// Whether memory was missing, so that one op makes the whole batch later.
    is_given_up: bool,
    /// Number of pieces that have ended.
    ended: usize,
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
    /// The sum of the pieces; of payloads for one piece alone, the largest.
    pub(crate) written: Written,
}

/// The result of a piece.
#[derive(Debug)]
pub(crate) struct MadePiece {
    pub(crate) slots: OwnedRowSlots,
    pub(crate) result: Result<Tally, RowError>,
    pub(crate) lease: Lease,
    pub(crate) written: Written,
}

/// Lays some columns of a batch, all of whose pieces are made, end to end. A worker does it before any
/// op.
#[derive(Debug)]
pub(crate) struct Join {
    pub(crate) batch: Arc<PieceBatch>,
    /// The number of the batch's first op.
    pub(crate) seq: u64,
    pub(crate) tasks: OwnedGatherTasks,
    /// For the worker that does the last one.
    pub(crate) rest: Arc<Mutex<Option<Joined>>>,
}

/// What is needed to finish a batch whose columns lie end to end.
#[derive(Debug)]
pub(crate) struct Joined {
    pub(crate) made: Made,
    pub(crate) lease: Lease,
}

impl Join {
    /// Does it. Returns what is needed to finish the batch, if it was the last one.
    pub(crate) fn run(self) -> Option<(BatchBuilder, Joined)> {
        let builder = self.tasks.run()?;
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        rest.take().map(|joined| (builder, joined))
    }
}

/// What is left to do after a piece.
#[derive(Debug)]
pub(crate) enum Ended {
    /// Others make more pieces.
    More,
    /// All pieces are made.
    Made(Box<(BatchBuilder, Made)>),
    /// The batch is made again.
    Again,
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
        let first = self.pieces.first();
        BatchPlan {
            rows: self.rows(),
            reads: self
                .pieces
                .iter()
                .flat_map(|piece| piece.reads.clone())
                .collect(),
            window: first.map(|piece| piece.window.clone()).unwrap_or_default(),
        }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.rows).sum()
    }

    /// The memory of a piece. The first one to begin makes that of the whole batch, with the builder of
    /// `begin`, the lease of its memory, and one for the batch's columns.
    pub(crate) fn begin(
        &self,
        piece: usize,
        begin: impl FnOnce() -> Result<(BatchBuilder, Lease, Lease), Denied>,
    ) -> Result<OwnedRowSlots, Denied> {
        let mut state = self.lock();
        if state.is_given_up {
            return Err(Denied::Again);
        }
        if !state.has_begun {
            let (builder, kept, mut lease) = begin()?;
            let rows: Vec<usize> = self
                .pieces
                .iter()
                .map(|piece| piece.rows as usize)
                .collect();
            let mut slots = builder.into_slots(&rows);
            let bytes = slots
                .first_mut()
                .map(|first| first.with(|first| first.batch_bytes()));
            if !lease.try_grow(bytes.unwrap_or(0) as u64) {
                return Err(Denied::Again);
            }
            lease.join(kept);
            state.slots = slots.into_iter().map(Some).collect();
            state.made.leases.push(lease);
            state.has_begun = true;
        }
        let slots = state.slots.get_mut(piece).and_then(Option::take);
        slots.ok_or(Denied::Cancelled)
    }

    /// Gives back what the pieces have made: one op makes the whole batch later.
    pub(crate) fn give_up(&self) {
        let mut state = self.lock();
        state.is_given_up = true;
        let given_up = (
            std::mem::take(&mut state.slots),
            std::mem::take(&mut state.made),
        );
        drop(state);
        drop(given_up);
    }

    /// Ends a piece; without `made`, since memory was missing. The last one gets the builder, and what
    /// all pieces have made.
    pub(crate) fn end(&self, made: Option<MadePiece>) -> Ended {
        let mut state = self.lock();
        state.ended += 1;
        let is_last = state.ended == self.pieces.len();
        let mut builder = None;
        match made {
            Some(piece) if !state.is_given_up => {
                let made = &mut state.made;
                made.leases.push(piece.lease);
                made.written.variable += piece.written.variable;
                made.written.only = made.written.only.max(piece.written.only);
                match piece.result {
                    Ok(tally) => made.tally.add(&tally),
                    Err(error) => {
                        let is_first = |failed: &RowError| error.row < failed.row;
                        if made.failed.as_ref().is_none_or(is_first) {
                            made.failed = Some(error);
                        }
                    }
                }
                builder = piece.slots.end();
            }
            _ => {
                state.is_given_up = true;
                state.slots.clear();
                state.made = Made::default();
            }
        }
        match builder {
            _ if !is_last => Ended::More,
            Some(builder) if !state.is_given_up => {
                Ended::Made(Box::new((builder, std::mem::take(&mut state.made))))
            }
            _ => Ended::Again,
        }
    }

    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, State> {
        delays::hand_over();
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The builders of batches. All share the memory of dropped batches, and those of large batches that of
/// their pieces.
#[derive(Debug)]
pub(crate) struct Builders {
    memory: Arc<Memory>,
    /// Made no batch.
    first: BatchBuilder,
    /// The most bytes of its own that a builder keeps which does not count.
    most: u64,
    free: Mutex<Vec<FreeBuilder>>,
}

/// A builder of batches in pieces.
#[derive(Debug)]
struct FreeBuilder {
    builder: BatchBuilder,
    /// Its memory, if that is enough to count.
    lease: Lease,
}

impl Builders {
    /// Builders for `workers` workers.
    pub(crate) fn new(memory: Arc<Memory>, spec: BatchSpec, workers: usize) -> Arc<Self> {
        let mut first = BatchBuilder::new(spec);
        first.set_keeper(memory.clone());
        Arc::new_cyclic(|builders: &Weak<Builders>| {
            memory.add_cache(builders.clone());
            Builders {
                most: memory.limit() / KEPT_SHARE / workers as u64,
                memory,
                first,
                free: Mutex::default(),
            }
        })
    }

    pub(crate) fn spec(&self) -> &BatchSpec {
        self.first.spec()
    }

    pub(crate) fn make(&self) -> BatchBuilder {
        self.first.another()
    }

    /// A builder of a batch in pieces, and the lease of its memory.
    pub(crate) fn take(&self) -> (BatchBuilder, Lease) {
        match self.lock().pop() {
            Some(free) => (free.builder, free.lease),
            None => (self.make(), Lease::none(&self.memory)),
        }
    }

    pub(crate) fn give_back(&self, mut builder: BatchBuilder) {
        let mut lease = Lease::none(&self.memory);
        let bytes = builder.capacity_bytes() as u64;
        if bytes > self.most && !lease.try_keep(bytes) {
            builder.shrink();
        }
        self.lock().push(FreeBuilder { builder, lease });
    }

    /// Frees the memory of a builder that has much of its own, which does not count between two batches.
    pub(crate) fn shrink(&self, builder: &mut BatchBuilder) {
        if builder.capacity_bytes() as u64 > self.most {
            builder.shrink();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<FreeBuilder>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache for Builders {
    fn clear(&self) {
        let free = std::mem::take(&mut *self.lock());
        drop(free);
        self.first.kept().clear();
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use tensor_batch::{ColumnKind, ColumnSpec, DType};

    use super::*;
    use crate::planner::WindowSize;

    #[test]
    fn pieces_that_are_given_up_give_their_memory_back() {
        let memory = Arc::new(Memory::new(1 << 20));
        let column = ColumnSpec::new("id", DType::Int64, ColumnKind::Dense { shape: vec![] });
        let spec = BatchSpec::new(vec![column]).unwrap();
        let builders = Builders::new(memory.clone(), spec, 2);
        let piece = || BatchPlan {
            rows: 100,
            reads: Vec::new(),
            window: WindowSize::default(),
        };
        let batch = PieceBatch::new(0, vec![piece(), piece()]);
        let begin = || {
            let (builder, kept) = builders.take();
            Ok((builder, kept, Lease::try_new(&memory, 1_600).unwrap()))
        };
        let slots = batch.begin(0, begin).unwrap();
        let made = MadePiece {
            slots,
            result: Ok(Tally::default()),
            lease: Lease::try_new(&memory, 1_000).unwrap(),
            written: Written::default(),
        };
        assert!(matches!(batch.end(Some(made)), Ended::More));
        assert!(memory.held() >= 2_600);
        batch.give_up();
        assert_eq!(memory.held(), 0);
        // The last piece has one op make the whole batch.
        let begun = batch.begin(1, || Err(Denied::Exceeded));
        assert_eq!(begun.err(), Some(Denied::Again));
        assert!(matches!(batch.end(None), Ended::Again));
    }
}
