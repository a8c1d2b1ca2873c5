//! State that an executor keeps from one call to the next: memory, and predictions.

use std::fmt;

use tensor_batch::RowSlots;

use super::Plan;
use super::entries::EntryLists;
use super::fast_skip::PredictedLen;
use super::filter::Captured;
use super::prefetch::{NextBlockPrefetch, OutputPrefetch};
use super::state::State;

/// Reusable memory of an executor. With it, [`Plan::execute_with`] allocates nothing once it has
/// read the largest record. It can serve different plans in turn.
#[derive(Default)]
pub struct Scratch {
    /// The last plan served.
    plan: Option<u64>,
    state: State,
    /// Whether an error may have left a row unfinished.
    half_way: bool,
    /// The memory of a run's operands.
    operands: Vec<Captured<'static>>,
}

impl Scratch {
    /// Creates a scratch without memory.
    pub fn new() -> Self {
        Scratch::default()
    }

    /// Prefetches the first few KB of `bytes` while the next call reads its records. This is useful
    /// if the following call's data is at another address. It does nothing on machines other than
    /// x86-64.
    #[doc(hidden)]
    pub fn prefetch_next(&mut self, bytes: &[u8]) {
        self.state.next_block_prefetch = NextBlockPrefetch::of(bytes);
    }

    /// The state of a run of `plan`, and its operands. Return the operands to [`keep`](Self::keep).
    #[inline]
    pub(super) fn begin<'x>(
        &mut self,
        plan: &Plan,
        slots: &mut RowSlots<'_>,
    ) -> (&mut State, Vec<Captured<'x>>) {
        if self.plan != Some(plan.id) {
            self.serve(plan);
        }
        let state = &mut self.state;
        if std::mem::replace(&mut self.half_way, true) {
            state.positions.fill(0);
        }
        state.dropped = 0;
        state.truncated = 0;
        state.output_prefetch = OutputPrefetch::of(slots);
        if !state.entries.is_empty() {
            EntryLists::start(&mut state.entries, plan, slots);
        }
        // Most plans have no operands. For them, taking the vector would take as long as reading a
        // value, since its parts were stored just before.
        let operands = match plan.operands {
            0 => Vec::new(),
            _ => std::mem::take(&mut self.operands),
        };
        (state, operands)
    }

    /// Prepares the memory for another plan.
    #[cold]
    fn serve(&mut self, plan: &Plan) {
        self.plan = Some(plan.id);
        self.state.registers = vec![0; plan.registers];
        self.state.positions = vec![0; plan.outputs.len()];
        self.state.entries = EntryLists::of_plan(plan);
        self.state.predicted = vec![PredictedLen::NONE; plan.predicted];
        self.operands = vec![Captured::Missing; plan.operands];
    }

    /// Keeps the memory of the operands, without their contents, after a run. `whole` tells whether
    /// all its rows are complete.
    pub(super) fn keep(&mut self, operands: Vec<Captured<'_>>, whole: bool) {
        self.half_way = !whole;
        if !operands.is_empty() {
            let forgotten = operands.into_iter().map(|_| Captured::Missing);
            self.operands = forgotten.collect();
        }
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}
