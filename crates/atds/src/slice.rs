//! A slice of the records of an epoch, and what of each file and block is in it.

use std::ops::Range;
use std::sync::Arc;

/// Which records of an epoch are read, in the order that its files and their
/// blocks have in it.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) records: Range<u64>,
    /// Records of each file, in the order in which they were given.
    pub(crate) file_records: Arc<[u64]>,
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

/// The records of one of `count` shards of `records` records: shards are as equal
/// as can be, and one begins where another ends.
pub(crate) fn shard(records: u64, index: u64, count: u64) -> Range<u64> {
    let bound = |shard: u64| {
        let bound = u128::from(records) * u128::from(shard) / u128::from(count);
        // No more than there are, since there are no more shards than `count`.
        u64::try_from(bound).unwrap_or(records)
    };
    bound(index)..bound(index + 1)
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
    fn shards_are_as_equal_as_can_be() {
        for (records, count) in [(0, 1), (0, 3), (2, 5), (10, 3), (10, 10), (u64::MAX, 7)] {
            let shards: Vec<_> = (0..count).map(|i| shard(records, i, count)).collect();
            let mut next = 0;
            for shard in &shards {
                assert_eq!(shard.start, next);
                assert!((shard.end - shard.start).abs_diff(records / count) <= 1);
                next = shard.end;
            }
            assert_eq!(next, records);
        }
        assert_eq!(
            shard(u64::MAX, u64::MAX - 1, u64::MAX),
            u64::MAX - 1..u64::MAX
        );
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
