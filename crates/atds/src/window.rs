//! The window: blocks that take part in the next batches, each in its place.

use std::ops::{Index, IndexMut};

use avro_decode::prefetch_value;

use crate::block::WindowBlock;
use crate::limits::LOADED_AHEAD;
use crate::planner::Visit;

/// Blocks in the places that the planner gives them. There may be thousands, of
/// which a batch reads some, and only those are looked at for each batch.
#[derive(Debug, Default)]
pub(crate) struct Window {
    blocks: Vec<WindowBlock>,
    /// The place of the first.
    first: usize,
    /// Bytes of all blocks that have unread records.
    held: u64,
}

impl Window {
    /// Bytes of all blocks that have unread records.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Takes a block in, behind the last or in the place of one that is drained.
    pub(crate) fn put(&mut self, place: usize, block: WindowBlock) {
        self.held += block.bytes();
        match self.blocks.get_mut(place - self.first) {
            Some(drained) => *drained = block,
            None => self.blocks.push(block),
        }
    }

    /// Has the processor load the block in a place, if there is one.
    pub(crate) fn load(&self, place: usize) {
        if let Some(block) = self.blocks.get(place - self.first) {
            prefetch_value(block);
        }
    }

    /// The block in a place.
    pub(crate) fn block(&self, place: usize) -> &WindowBlock {
        &self.blocks[place - self.first]
    }

    /// All blocks, to be read.
    pub(crate) fn section(&mut self) -> Section<'_> {
        Section {
            first: self.first,
            blocks: &mut self.blocks,
        }
    }

    /// Puts the cursors of blocks back to where they stood before `visits`, of which
    /// some may not have been made.
    pub(crate) fn undo(&mut self, visits: &[Visit]) {
        for visit in visits {
            let block = &mut self.blocks[visit.place - self.first];
            if block.unread() != visit.unread {
                block.undo_visit();
            }
        }
        self.held = self.counted_anew();
    }

    /// Lets blocks go that have been read to their end in `visits`, by which those
    /// that wait have `grown`, and the places before `first`.
    pub(crate) fn finish(&mut self, visits: &[Visit], grown: i64, first: usize) {
        self.held = self.held.wrapping_add_signed(grown);
        for (nth, visit) in visits.iter().enumerate() {
            let later = visits.get(nth + LOADED_AHEAD);
            if let Some(later) = later.filter(|later| later.drains()) {
                self.load(later.place);
            }
            if visit.drains() {
                let block = &mut self.blocks[visit.place - self.first];
                self.held -= block.bytes();
                block.drain();
            }
        }
        self.blocks.drain(..first - self.first);
        self.first = first;
        debug_assert_eq!(self.held, self.counted_anew());
    }

    fn counted_anew(&self) -> u64 {
        let unread = self.blocks.iter().filter(|block| block.unread() > 0);
        unread.map(WindowBlock::bytes).sum()
    }

    /// Lets all blocks go.
    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        (self.first, self.held) = (0, 0);
    }
}

/// Neighbouring blocks of the window, by their places.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    first: usize,
    blocks: &'a mut [WindowBlock],
}

impl<'a> Section<'a> {
    /// Takes the blocks before `place` away, or all.
    pub(crate) fn split_before(&mut self, place: Option<usize>) -> Section<'a> {
        let first = self.first;
        let blocks = place.map_or(self.blocks.len(), |place| place - first);
        self.first += blocks;
        Section {
            first,
            blocks: self.blocks.split_off_mut(..blocks).unwrap_or_default(),
        }
    }
}

impl Index<usize> for Section<'_> {
    type Output = WindowBlock;

    fn index(&self, place: usize) -> &WindowBlock {
        &self.blocks[place - self.first]
    }
}

impl IndexMut<usize> for Section<'_> {
    fn index_mut(&mut self, place: usize) -> &mut WindowBlock {
        &mut self.blocks[place - self.first]
    }
}
