//! What is drawn from the window, before it is read.

use atds_shuffle::{Sampler, take_in_order};

use crate::limits::TOGETHER_BATCHES;

/// How many records each block of the window gives to each of the batches that
/// are made next.
#[derive(Debug, Default)]
pub(crate) struct Draws {
    takes: [Vec<u64>; TOGETHER_BATCHES],
    /// What the batches before leave of each block.
    left: Vec<u64>,
}

impl Draws {
    /// Draws `rows` of the `unread` records of each block for the batch behind the
    /// `drawn` ones.
    pub(crate) fn draw(
        &mut self,
        drawn: usize,
        unread: &[u64],
        sampler: Option<&mut Sampler>,
        rows: u64,
    ) {
        let [before @ .., takes] = &mut self.takes[..=drawn] else {
            return;
        };
        let mut unread = unread;
        if !before.is_empty() {
            self.left.clear();
            self.left.extend(unread);
            for takes in before {
                let both = self.left.iter_mut().zip(takes);
                both.for_each(|(left, take)| *left -= *take);
            }
            unread = &self.left;
        }
        // All of them are written.
        takes.resize(unread.len(), 0);
        match sampler {
            Some(sampler) => sampler.draw(unread, rows, takes),
            None => take_in_order(unread, rows, takes),
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

    /// Has the first `batches` batches take nothing from those of the window's
    /// `blocks` blocks that came in since they were drawn.
    pub(crate) fn cover(&mut self, batches: usize, blocks: usize) {
        for takes in &mut self.takes[..batches] {
            takes.resize(blocks, 0);
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

    /// Goes on to the batch behind the first, once that has been made in the order of
    /// the blocks, the last `blocks` of which are left.
    pub(crate) fn go_on(&mut self, blocks: usize) {
        self.takes.rotate_left(1);
        let drained = self.takes[0].len() - blocks;
        self.takes[0].drain(..drained);
    }
}
