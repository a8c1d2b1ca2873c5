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
    /// Records that the file had when they were counted.
    pub(crate) counted: u64,
    /// Those of them that are read, in the order of the epoch's blocks.
    pub(crate) records: Range<u64>,
}

impl FilePart {
    /// Whether all of the file is read.
    pub(crate) fn is_whole(&self) -> bool {
        self.records == (0..self.counted)
    }
}

impl Slice {
    /// The files, of `order`, that have records in the slice.
    pub(crate) fn files(&self, order: &[usize]) -> Vec<(usize, FilePart)> {
        let counts = order.iter().map(|&file| self.file_records[file]);
        let parts = overlaps(counts, &self.records);
        parts
            .map(|(place, counted, records)| (order[place], FilePart { counted, records }))
            .collect()
    }
}

/// Of pieces with so many records each, one behind the other, those that have any
/// in `records`: their places, their counts, and the records within them.
pub(crate) fn overlaps(
    counts: impl Iterator<Item = u64>,
    records: &Range<u64>,
) -> impl Iterator<Item = (usize, u64, Range<u64>)> {
    let Range { start, end } = *records;
    let mut next = 0u64;
    counts.enumerate().filter_map(move |(place, count)| {
        let first = next;
        next = next.saturating_add(count);
        let inside = start.clamp(first, next) - first..end.clamp(first, next) - first;
        (!inside.is_empty()).then_some((place, count, inside))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_overlap_by_the_records_inside() {
        let found = |records| overlaps([3, 0, 4, 1, 2].into_iter(), &records).collect::<Vec<_>>();
        assert_eq!(
            found(0..10),
            [(0, 3, 0..3), (2, 4, 0..4), (3, 1, 0..1), (4, 2, 0..2)]
        );
        assert_eq!(found(2..4), [(0, 3, 2..3), (2, 4, 0..1)]);
        assert_eq!(found(5..6), [(2, 4, 2..3)]);
        assert_eq!(found(9..u64::MAX), [(4, 2, 1..2)]);
        assert_eq!(found(3..3), []);
        assert_eq!(found(10..12), []);
        let huge = overlaps([u64::MAX, 5].into_iter(), &(7..8)).collect::<Vec<_>>();
        assert_eq!(huge, [(0, u64::MAX, 7..8)]);
    }

    #[test]
    fn a_slice_names_files_in_the_order_of_the_epoch() {
        let slice = Slice {
            records: 4..7,
            file_records: [5, 3, 2].into(),
        };
        let part = |counted, records| FilePart { counted, records };
        assert_eq!(
            slice.files(&[0, 1, 2]),
            [(0, part(5, 4..5)), (1, part(3, 0..2))]
        );
        assert_eq!(
            slice.files(&[2, 1, 0]),
            [(1, part(3, 2..3)), (0, part(5, 0..2))]
        );
        assert!(part(5, 0..5).is_whole());
    }
}
