//! What an executor keeps from one call to the next: memory, and what it has
//! learned of the data.

use std::fmt;

use tensor_batch::RowSlots;

use super::Plan;
use super::entries::EntryLists;
use super::fast_skip::PredictedLen;
use super::filter::Captured;
use super::prefetch::{NextBlockPrefetch, OutputPrefetch};
use super::state::State;

/// Memory of an executor, to be used by one call after another: with it,
/// [`Plan::execute_with`] allocates nothing once it has met the largest record.
/// It may serve one plan after another.
#[derive(Default)]
pub struct Scratch {
    /// The plan it served last.
    plan: Option<u64>,
    state: State,
    /// Whether a row may be left half-way, by an error.
    half_way: bool,
    /// The memory of a run's operands.
    operands: Vec<Captured<'static>>,
}

impl Scratch {
    /// Holds no memory yet.
    pub fn new() -> Self {
        Scratch::default()
    }

    /// Has the processor load the first few KB of `bytes` while the next call reads its
    /// records. Useful for the data of the call after that, if it is elsewhere in memory.
    /// On machines other than x86-64 it does nothing.
    #[doc(hidden)]
    pub fn load_meanwhile(&mut self, bytes: &[u8]) {
        self.state.next_block_prefetch = NextBlockPrefetch::of(bytes);
    }

    /// The state of a run of `plan`, and its operands; these come back by
    /// [`keep`](Self::keep).
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
            state.places.fill(0);
        }
        state.dropped = 0;
        state.truncated = 0;
        state.output_prefetch = OutputPrefetch::of(slots);
        if !state.entries.is_empty() {
            EntryLists::start(&mut state.entries, plan, slots);
        }
        // Few plans have any, and to load what was stored a moment ago, in parts, takes as
        // long as reading a value.
        let operands = match plan.operands {
            0 => Vec::new(),
            _ => std::mem::take(&mut self.operands),
        };
        (state, operands)
    }

    /// Makes the memory for another plan.
    #[cold]
    fn serve(&mut self, plan: &Plan) {
        self.plan = Some(plan.id);
        self.state.registers = vec![0; plan.registers];
        self.state.places = vec![0; plan.outputs.len()];
        self.state.entries = EntryLists::of_plan(plan);
        self.state.predicted = vec![PredictedLen::NONE; plan.predicted];
        self.operands = vec![Captured::Missing; plan.operands];
    }

    /// Keeps the memory of the operands, not what they are of the data, after a run all
    /// of whose rows are `whole`.
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
