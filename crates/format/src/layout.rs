use std::iter::FusedIterator;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::{BlockDesc, Payload};

/// Where the blocks of a file are, known before the file is read: an index has them. They follow one another
/// without a gap, up to the end of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The byte offset of the first block.
    start: u64,
    /// Number of records of each block, and its size in bytes.
    records: Arc<[u64]>,
    sizes: Arc<[u64]>,
}

impl Layout {
    /// The layout of a file whose first block begins at byte `start`. `records` and `sizes` have the number of
    /// records of each block and its size in bytes; `None` if they are of different lengths, or if the sizes
    /// have no sum.
    pub fn new(start: u64, records: Arc<[u64]>, sizes: Arc<[u64]>) -> Option<Self> {
        let mut all = sizes.iter();
        all.try_fold(start, |end, &size| end.checked_add(size))?;
        (records.len() == sizes.len()).then_some(Layout {
            start,
            records,
            sizes,
        })
    }

    /// The byte offset of the first block.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The size of each block in bytes.
    pub fn sizes(&self) -> &Arc<[u64]> {
        &self.sizes
    }

    /// Whether the layout may be of a file of `size` bytes, which a format cuts into blocks of `block_bytes`
    /// bytes; the last may be smaller.
    pub fn fits(&self, size: u64, block_bytes: RangeInclusive<u64>) -> bool {
        let Some((last, others)) = self.sizes.split_last() else {
            return self.start == size;
        };
        let end = self.start + self.sizes.iter().sum::<u64>();
        end == size
            && last <= block_bytes.end()
            && others.iter().all(|size| block_bytes.contains(size))
    }

    /// The blocks, with their bytes in the file as payloads.
    pub fn blocks(&self) -> LaidBlocks {
        LaidBlocks {
            layout: self.clone(),
            next: 0,
            offset: self.start,
        }
    }
}

/// The blocks of a [`Layout`], in file order.
#[derive(Clone, Debug)]
pub struct LaidBlocks {
    layout: Layout,
    next: usize,
    offset: u64,
}

impl Iterator for LaidBlocks {
    type Item = BlockDesc;

    fn next(&mut self) -> Option<BlockDesc> {
        let (index, offset) = (self.next, self.offset);
        let file_bytes = *self.layout.sizes.get(index)?;
        (self.next, self.offset) = (index + 1, offset + file_bytes);
        Some(BlockDesc {
            index: index as u64,
            offset,
            file_bytes,
            records: self.layout.records[index],
            start: 0,
            payload_offset: Some(offset),
            payload: Payload::Whole,
            max_prepared: None,
        })
    }
}

impl FusedIterator for LaidBlocks {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use super::*;

    fn layout(start: u64, records: &[u64], sizes: &[u64]) -> Option<Layout> {
        Layout::new(start, records.into(), sizes.into())
    }

    #[test]
    fn blocks_follow_one_another() {
        let layout = layout(7, &[2, 3, 1], &[10, 20, 5]).unwrap();
        let found = layout.blocks().map(|block| {
            assert!(matches!(block.payload, Payload::Whole));
            (block.index, block.records, block.offset, block.range())
        });
        let expected = [(0, 2, 7, 7..17), (1, 3, 17, 17..37), (2, 1, 37, 37..42)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_layout_fits_its_file_and_its_format() {
        let found = layout(7, &[2, 3, 1], &[10, 20, 5]).unwrap();
        assert!(found.fits(42, 10..=20));
        for (size, block_bytes) in [(41, 10..=20), (43, 10..=20), (42, 11..=20), (42, 10..=19)] {
            assert!(!found.fits(size, block_bytes));
        }
        assert!(!layout(7, &[2, 3], &[10, 21]).unwrap().fits(38, 10..=20));
        let empty = layout(7, &[], &[]).unwrap();
        assert!(empty.fits(7, 10..=20) && !empty.fits(8, 10..=20));
    }

    #[test]
    fn what_is_no_layout() {
        assert_eq!(layout(0, &[1, 2], &[10]), None);
        assert_eq!(layout(1, &[1, 2], &[u64::MAX - 1, 1]), None);
    }
}
