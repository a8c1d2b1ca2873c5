//! What an executor keeps from one call to the next: memory, and what it has
//! learned of the data.

use std::fmt;

use tensor_batch::RowSlots;

use super::Plan;
use super::entries::EntryLists;
use super::filter::Captured;
use super::hops::Guess;
use super::state::State;

/// Memory of an executor, to be used by one call after another: with it,
/// [`Plan::execute_with`] allocates nothing once it has met the largest record.
/// It may serve one plan after another.
#[derive(Default)]
pub struct Scratch {
    /// The plan it served last.
    plan: Option<u64>,
    state: State<'static>,
}

impl Scratch {
    /// Holds no memory yet.
    pub fn new() -> Self {
        Scratch::default()
    }

    /// The state of a run of `plan`; it comes back by [`end`](Self::end).
    pub(super) fn begin<'x>(&mut self, plan: &'x Plan, slots: &mut RowSlots<'_>) -> State<'x> {
        let mut state: State<'x> = std::mem::take(&mut self.state);
        if self.plan.replace(plan.id) != Some(plan.id) {
            state.registers = vec![0; plan.registers];
            state.operands = vec![Captured::Missing; plan.operands];
            state.entries = EntryLists::of_plan(plan);
            state.guesses = vec![Guess::NONE; plan.guesses];
        }
        // An error may have left a row half-way.
        state.places.clear();
        state.places.resize(plan.writers.len(), 0);
        state.dropped = 0;
        EntryLists::start(&mut state.entries, plan, slots);
        state
    }

    pub(super) fn end(&mut self, state: State<'_>) {
        self.state = State {
            registers: state.registers,
            places: state.places,
            // The same memory: what it held is of the data of that run.
            operands: state
                .operands
                .into_iter()
                .map(|_| Captured::Missing)
                .collect(),
            entries: state.entries,
            guesses: state.guesses,
            ahead: state.ahead,
            filled_parts: 0,
            dropped: 0,
        };
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}
