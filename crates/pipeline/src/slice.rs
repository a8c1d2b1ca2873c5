//! A slice of the records of an epoch, and what of each file and block is in it.

use std::ops::Range;
use std::sync::Arc;

/// The records of an epoch that are read. They count in the epoch's order of files and blocks.
#[derive(Clone, Debug)]
pub struct Slice {
    /// The records.
    pub records: Range<u64>,
    /// Number of records of each file, in the order in which the files were given.
    pub file_records: Arc<[u64]>,
}

/// What is read of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePart {
    /// The number of the file.
    pub(crate) file: usize,
    /// Records that the file had when they were counted; `None` if all of it is read.
    pub(crate) counted: Option<u64>,
    /// Those that are read, in the order of the epoch's blocks.
    pub(crate) records: Range<u64>,
}

impl FilePart {
    /// All of a file.
    pub(crate) fn whole(file: usize) -> Self {
        FilePart {
            file,
            counted: None,
            records: 0..u64::MAX,
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        let counted = self.counted;
        counted.is_none_or(|counted| self.records == (0..counted))
    }

    /// Whether more is read after the first `found` records. Where the last record is read, so is the end
    /// of the file.
    pub(crate) fn goes_on(&self, found: u64) -> bool {
        let counted = self.counted;
        found < self.records.end || counted.is_none_or(|counted| self.records.end >= counted)
    }
}

impl Slice {
    /// What is read of the files, which are read in this order.
    pub(crate) fn files(&self, order: &[usize]) -> Vec<FilePart> {
        let mut before = 0u64;
        let parts = order.iter().filter_map(|&file| {
            let counted = self.file_records[file];
            let records = overlap(&self.records, before, counted);
            before = before.saturating_add(counted);
            (!records.is_empty()).then_some(FilePart {
                file,
                counted: Some(counted),
                records,
            })
        });
        parts.collect()
    }
}

/// Of `count` records, which come after `before` others, those in `records`.
pub(crate) fn overlap(records: &Range<u64>, before: u64, count: u64) -> Range<u64> {
    let after = before.saturating_add(count);
    let [start, end] = [records.start, records.end].map(|at| at.clamp(before, after) - before);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_overlap_by_those_inside() {
        let found = |records| [0, 3, 7].map(|before| overlap(&records, before, 4));
        assert_eq!(found(0..11), [0..4, 0..4, 0..4]);
        assert_eq!(found(2..4), [2..4, 0..1, 0..0]);
        assert_eq!(found(8..u64::MAX), [4..4, 4..4, 1..4]);
        assert_eq!(overlap(&(2..2), 0, 4), 2..2);
        assert_eq!(overlap(&(7..8), 0, u64::MAX), 7..8);
        assert_eq!(overlap(&(7..u64::MAX), u64::MAX, 5), 0..0);
    }

    #[test]
    fn a_slice_names_files_in_the_order_of_the_epoch() {
        let slice = Slice {
            records: 4..7,
            file_records: [5, 3, 2].into(),
        };
        let part = |file, counted, records| FilePart {
            file,
            counted: Some(counted),
            records,
        };
        assert_eq!(
            slice.files(&[0, 1, 2]),
            [part(0, 5, 4..5), part(1, 3, 0..2)]
        );
        assert_eq!(
            slice.files(&[2, 1, 0]),
            [part(1, 3, 2..3), part(0, 5, 0..2)]
        );
        assert!(part(0, 5, 0..5).is_whole() && !part(0, 5, 0..4).is_whole());
        assert!(part(0, 5, 0..4).goes_on(3) && !part(0, 5, 0..4).goes_on(4));
        assert!(part(0, 5, 1..5).goes_on(5) && FilePart::whole(0).goes_on(u64::MAX));
    }
}
