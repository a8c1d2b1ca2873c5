//! What the scheduler plans and the pool does.

use std::ops::Range;

/// Who works on which blocks.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Schedule {
    /// Threads that take part.
    pub threads: usize,
    /// Contiguous ranges of blocks, none of them empty, together all blocks, in
    /// order.
    pub chunks: Vec<Range<usize>>,
    /// The thread each chunk is meant for.
    pub owners: Vec<usize>,
    /// The chunks that are begun before all others, dearest first.
    pub first: Vec<usize>,
    /// All other chunks, in order.
    pub rest: Vec<usize>,
}

/// What a schedule is to heed besides what blocks cost, as far as that allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Wishes {
    /// So many blocks are decompressed faster together than one by one: of those that are to
    /// be decompressed, chunks hold whole groups. At least 1.
    pub together: usize,
    /// A block that one of the threads had better start its share with.
    pub start: Option<usize>,
}

impl Default for Wishes {
    /// None.
    fn default() -> Self {
        let (together, start) = (1, None);
        Wishes { together, start }
    }
}

impl Schedule {
    /// A schedule of one block a chunk, each meant for one of `owners`, none
    /// before the others.
    pub fn of_owners(threads: usize, owners: &[usize]) -> Self {
        Schedule {
            threads,
            chunks: (0..owners.len()).map(|block| block..block + 1).collect(),
            owners: owners.to_vec(),
            first: Vec::new(),
            rest: (0..owners.len()).collect(),
        }
    }

    pub(crate) fn clear(&mut self, threads: usize) {
        self.threads = threads;
        self.chunks.clear();
        self.owners.clear();
        self.first.clear();
        self.rest.clear();
    }

    /// Gives all of so many blocks to one thread.
    pub(crate) fn give_all(&mut self, blocks: usize) {
        self.clear(1);
        // In one chunk: nobody could steal a part.
        if blocks > 0 {
            let all = self.push(blocks, 0);
            self.rest.push(all);
        }
    }

    /// Adds a chunk of all blocks up to `end`; returns its number.
    pub(crate) fn push(&mut self, end: usize, owner: usize) -> usize {
        let start = self.chunks.last().map_or(0, |chunk| chunk.end);
        self.chunks.push(start..end);
        self.owners.push(owner);
        self.chunks.len() - 1
    }

    /// Adds a chunk of all blocks up to `end` that is not dear. There is none if
    /// they are no `work`.
    pub(crate) fn push_rest(&mut self, end: usize, owner: usize, work: bool) {
        if work {
            let chunk = self.push(end, owner);
            self.rest.push(chunk);
        } else {
            self.extend(end);
        }
    }

    /// Adds blocks that cost nothing: to the last chunk, or else to what will
    /// be the first.
    pub(crate) fn extend(&mut self, end: usize) {
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.end = end;
        }
    }
}
