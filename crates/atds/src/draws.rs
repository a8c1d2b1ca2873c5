//! What is drawn from the window, before it is read.

use atds_shuffle::{Sampler, take_in_order};

use crate::limits::TOGETHER_BATCHES;
use crate::window::WindowBlock;

/// How many records each block of the window gives to each of the batches that
/// are made next.
#[derive(Debug, Default)]
pub(crate) struct Draws {
    takes: [Vec<u64>; TOGETHER_BATCHES],
    /// What the blocks had, or have, besides.
    unread: Vec<u64>,
    /// Where the blocks' cursors stood before they were read.
    cursors: Vec<(u64, usize)>,
}

impl Draws {
    /// Draws `rows` records for the batch behind the `drawn` ones.
    pub(crate) fn draw(
        &mut self,
        drawn: usize,
        window: &[WindowBlock],
        sampler: Option<&mut Sampler>,
        rows: u64,
    ) {
        self.unread.clear();
        self.unread.extend(window.iter().map(WindowBlock::unread));
        self.cover(drawn, window);
        let [before @ .., takes] = &mut self.takes[..=drawn] else {
            return;
        };
        for before in before {
            for (unread, take) in self.unread.iter_mut().zip(before) {
                *unread -= *take;
            }
        }
        takes.clear();
        takes.resize(window.len(), 0);
        match sampler {
            Some(sampler) => sampler.draw(&self.unread, rows, takes),
            None => take_in_order(&self.unread, rows, takes),
        }
    }

    /// Records drawn for the first `batches` batches.
    pub(crate) fn records(&self, batches: usize) -> u64 {
        self.takes[..batches].iter().flatten().sum()
    }

    /// For each of the first `batches` batches, what each block of the window gives.
    pub(crate) fn takes(&self, batches: usize) -> &[Vec<u64>] {
        &self.takes[..batches]
    }

    /// Has the first `batches` batches take nothing from blocks that came into the
    /// window since they were drawn.
    pub(crate) fn cover(&mut self, batches: usize, window: &[WindowBlock]) {
        for takes in &mut self.takes[..batches] {
            takes.resize(window.len(), 0);
        }
    }

    pub(crate) fn note_cursors(&mut self, window: &[WindowBlock]) {
        self.cursors.clear();
        self.cursors.extend(window.iter().map(WindowBlock::cursor));
    }

    /// Puts all cursors back to where they stood when they were noted.
    pub(crate) fn restore_cursors(&self, window: &mut [WindowBlock]) {
        for (block, cursor) in window.iter_mut().zip(&self.cursors) {
            block.set_cursor(*cursor);
        }
    }

    /// Leaves only the first `rows` rows of the first batch.
    pub(crate) fn keep_rows_before(&mut self, rows: u64) {
        let mut left = rows;
        for take in &mut self.takes[0] {
            *take = left.min(*take);
            left -= *take;
        }
    }

    /// Notes which blocks have records left when the first batch is made.
    pub(crate) fn note_left(&mut self, window: &[WindowBlock]) {
        let blocks = window.iter().zip(&self.takes[0]);
        self.unread.clear();
        self.unread
            .extend(blocks.map(|(block, take)| block.unread() - take));
    }

    /// Goes on to the batch behind the first, which has been made, once drained
    /// blocks have left the window.
    pub(crate) fn go_on(&mut self) {
        self.takes.rotate_left(1);
        let mut unread = self.unread.iter();
        self.takes[0].retain(|_| unread.next().is_some_and(|&unread| unread > 0));
    }
}
