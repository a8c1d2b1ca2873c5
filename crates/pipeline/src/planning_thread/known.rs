//! What iterations have found of the blocks of files, for those that follow.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use atds_format::{BlockDesc, Layout};

use super::runs::FileRuns;

/// What iterations have found of the blocks of files, so that those that follow need not look for them in files
/// that have not changed: where they are, of at most a 64th of the memory limit, and the runs of blocks.
#[derive(Debug, Default)]
pub struct BlockCache(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Of each file, with its version.
    layouts: HashMap<usize, (u64, Layout)>,
    layout_bytes: u64,
    runs: HashMap<usize, (u64, FileRuns)>,
}

/// Where the blocks of a file are, as far as they were found. They are of the file as it was opened.
pub(super) struct FoundBlocks {
    version: u64,
    start: u64,
    /// The byte offset at which the last one ends.
    end: u64,
    records: Vec<u64>,
    sizes: Vec<u64>,
    /// The most bytes that they may take.
    most_bytes: u64,
}

impl FoundBlocks {
    /// The bytes that a block takes.
    const BLOCK: u64 = 2 * size_of::<u64>() as u64;

    pub(super) fn new(version: u64, most_bytes: u64) -> Self {
        FoundBlocks {
            version,
            start: 0,
            end: 0,
            records: Vec::new(),
            sizes: Vec::new(),
            most_bytes,
        }
    }

    /// Adds the next block. Whether they can be remembered.
    pub(super) fn add(&mut self, block: &BlockDesc) -> bool {
        if self.records.is_empty() {
            (self.start, self.end) = (block.offset, block.offset);
        }
        let follows = block.offset == self.end;
        self.end = block.offset.saturating_add(block.file_bytes);
        self.records.push(block.records);
        self.sizes.push(block.file_bytes);
        follows && self.bytes() <= self.most_bytes
    }

    fn bytes(&self) -> u64 {
        Self::BLOCK * self.records.len() as u64
    }
}

impl BlockCache {
    /// Where the blocks of a file of this version are.
    pub(super) fn layout(&self, file: usize, version: u64) -> Option<Layout> {
        let known = self.lock()?;
        let (then, layout) = known.layouts.get(&file)?;
        (*then == version).then(|| layout.clone())
    }

    /// Remembers the blocks of a file of `size` bytes that has now this version, unless it has changed.
    pub(super) fn add_layout(&self, file: usize, found: FoundBlocks, size: u64, version: u64) {
        let bytes = found.bytes();
        let is_whole = found.version == version && found.end == size;
        let layout = Layout::new(found.start, found.records.into(), found.sizes.into());
        let (Some(layout), true, Some(mut known)) = (layout, is_whole, self.lock()) else {
            return;
        };
        if let Some((_, before)) = known.layouts.remove(&file) {
            known.layout_bytes -= FoundBlocks::BLOCK * before.sizes().len() as u64;
        }
        if known.layout_bytes + bytes <= found.most_bytes {
            known.layout_bytes += bytes;
            known.layouts.insert(file, (version, layout));
        }
    }

    /// The runs of a file of this version.
    pub(super) fn runs(&self, file: usize, version: u64) -> Option<FileRuns> {
        let known = self.lock()?;
        let (then, runs) = known.runs.get(&file)?;
        (*then == version).then(|| runs.clone())
    }

    pub(super) fn add_runs(&self, file: usize, version: u64, runs: &FileRuns) {
        if let Some(mut known) = self.lock() {
            known.runs.insert(file, (version, runs.clone()));
        }
    }

    /// It does not wait: in a forked process, the thread that would unlock it does not exist.
    fn lock(&self) -> Option<MutexGuard<'_, Known>> {
        self.0.try_lock().ok()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use super::*;

    /// Blocks of 10 bytes from byte 7 on, some of `all` layouts.
    fn found(version: u64, blocks: u64, all: u64) -> FoundBlocks {
        let sizes: Vec<u64> = vec![10; blocks as usize];
        let layout = Layout::new(7, sizes.clone().into(), sizes.into()).unwrap();
        let mut found = FoundBlocks::new(version, all * FoundBlocks::BLOCK);
        layout.blocks().for_each(|block| assert!(found.add(&block)));
        found
    }

    #[test]
    fn a_file_is_known_by_its_version() {
        let cache = BlockCache::default();
        cache.add_layout(3, found(1, 5, 9), 57, 1);
        assert_eq!(cache.layout(3, 1).unwrap().sizes().len(), 5);
        assert_eq!((cache.layout(3, 2), cache.layout(2, 1)), (None, None));
        // It has changed while it was read, or does not end with a block.
        cache.add_layout(4, found(1, 5, 9), 57, 2);
        cache.add_layout(5, found(1, 5, 9), 58, 1);
        assert_eq!((cache.layout(4, 2), cache.layout(5, 1)), (None, None));
    }

    #[test]
    fn layouts_take_so_many_bytes_at_most() {
        let cache = BlockCache::default();
        let add = |file, version, blocks| {
            cache.add_layout(file, found(version, blocks, 9), 7 + 10 * blocks, version);
            cache.layout(file, version).is_some()
        };
        assert!(add(0, 1, 5));
        assert!(!add(1, 1, 5));
        assert!(add(1, 1, 4));
        // In place of the one before.
        assert!(add(0, 2, 5));
        assert!(!add(0, 3, 6));
        assert!(cache.layout(0, 2).is_none());
        assert!(add(2, 1, 5));
    }

    #[test]
    fn blocks_with_a_gap_are_not_remembered() {
        let mut found = found(1, 2, 9);
        let mut next = found_block(27);
        assert!(found.add(&next));
        next.offset = 38;
        assert!(!found.add(&next));
        let mut few = FoundBlocks::new(1, FoundBlocks::BLOCK);
        assert!(few.add(&found_block(0)) && !few.add(&found_block(10)));
    }

    fn found_block(offset: u64) -> BlockDesc {
        let layout = Layout::new(offset, [1].into(), [10].into()).unwrap();
        layout.blocks().next().unwrap()
    }
}
