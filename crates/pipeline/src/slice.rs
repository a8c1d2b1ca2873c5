//! Which records of an epoch are read: the part that a slice or a layer has, and what of each file and block
//! is in it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// A slice of the records of an epoch. They count in the epoch's order of files and blocks.
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
    /// The number of its first record in the epoch, if records were counted.
    pub(crate) start: u64,
    /// Those that are read, in the order of the epoch's blocks: one range or more.
    pub(crate) records: Vec<Range<u64>>,
}

impl FilePart {
    /// All of a file.
    pub(crate) fn whole(file: usize) -> Self {
        FilePart {
            file,
            counted: None,
            start: 0,
            records: std::iter::once(0..u64::MAX).collect(),
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        let counted = self.counted;
        counted.is_none_or(|counted| matches!(&*self.records, [all] if *all == (0..counted)))
    }

    /// Number of records that are read.
    pub(crate) fn count(&self) -> u64 {
        self.records.iter().map(len).fold(0, u64::saturating_add)
    }

    /// Whether more is read after the first `found` records. Where the last record is read, so is the end
    /// of the file.
    pub(crate) fn goes_on(&self, found: u64) -> bool {
        let end = self.records.last().map_or(0, |last| last.end);
        found < end || self.counted.is_none_or(|counted| end >= counted)
    }
}

/// The files of an epoch in its order, and where their records begin in it.
pub(crate) struct FileOrder<'a> {
    order: &'a [usize],
    file_records: &'a [u64],
    /// The number of the first record of each file in the order, and the number of all records.
    starts: Vec<u64>,
}

impl<'a> FileOrder<'a> {
    pub(crate) fn new(order: &'a [usize], file_records: &'a [u64]) -> Self {
        let mut starts = vec![0_u64];
        for &file in order {
            starts.push(starts[starts.len() - 1].saturating_add(file_records[file]));
        }
        FileOrder {
            order,
            file_records,
            starts,
        }
    }

    /// All of each file.
    pub(crate) fn whole(&self) -> Vec<FilePart> {
        let files = self.order.iter().zip(&self.starts);
        let parts = files.map(|(&file, &start)| {
            let counted = self.file_records[file];
            FilePart {
                file,
                counted: Some(counted),
                start,
                records: std::iter::once(0..counted).collect(),
            }
        });
        parts.collect()
    }

    /// All records.
    pub(crate) fn all(&self) -> Range<u64> {
        0..self.starts[self.order.len()]
    }

    /// What is read of the files, if `records` are read.
    pub(crate) fn parts(&self, records: &Records) -> Vec<FilePart> {
        let mut parts: Vec<FilePart> = Vec::new();
        // The last file that was looked at. The next range may begin in it, too.
        let mut at = 0;
        for range in &records.ranges {
            at += self.starts[at + 1..].partition_point(|&end| end <= range.start);
            while at < self.order.len() && self.starts[at] < range.end {
                let (file, start) = (self.order[at], self.starts[at]);
                let counted = self.file_records[file];
                let found = overlap(range, start, counted);
                match parts.last_mut() {
                    _ if found.is_empty() => {}
                    Some(part) if part.start == start && part.file == file => {
                        part.records.push(found);
                    }
                    _ => parts.push(FilePart {
                        file,
                        counted: Some(counted),
                        start,
                        records: vec![found],
                    }),
                }
                if self.starts[at + 1] > range.end {
                    break;
                }
                at += 1;
            }
        }
        parts
    }
}

/// Records of an epoch, by their numbers in its order of files and blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Records {
    /// Ranges in order, apart from one another.
    ranges: Vec<Range<u64>>,
    /// Number of records in the ranges before each.
    before: Vec<u64>,
}

impl Records {
    /// Adds records after all others.
    pub(crate) fn push(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        match self.ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => {
                self.before.push(self.count());
                self.ranges.push(range);
            }
        }
    }

    /// Number of records.
    pub(crate) fn count(&self) -> u64 {
        let last = self.ranges.last().zip(self.before.last());
        last.map_or(0, |(range, before)| before + len(range))
    }

    pub(crate) fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Those of the records that have the numbers `part` among them.
    pub(crate) fn part(&self, part: Range<u64>) -> Records {
        let first = self.before.partition_point(|&before| before <= part.start);
        let from = first.saturating_sub(1);
        let mut found = Records::default();
        for (range, &before) in self.ranges.iter().zip(&self.before).skip(from) {
            if before >= part.end {
                break;
            }
            let inside = overlap(&part, before, len(range));
            found.push(range.start + inside.start..range.start + inside.end);
        }
        found
    }

    /// The records from number `from` of the epoch on.
    pub(crate) fn since(&self, from: u64) -> impl Iterator<Item = Range<u64>> {
        let first = self.ranges.partition_point(|range| range.end <= from);
        let later = self.ranges[first..].iter();
        later.map(move |range| range.start.max(from)..range.end)
    }
}

impl From<Range<u64>> for Records {
    fn from(range: Range<u64>) -> Self {
        let mut records = Records::default();
        records.push(range);
        records
    }
}

/// Records of a block, mostly one range. They are read from the front.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockRecords {
    pub(crate) first: Range<u64>,
    /// The ranges after the first.
    pub(crate) later: VecDeque<Range<u64>>,
}

impl BlockRecords {
    pub(crate) fn push(&mut self, range: Range<u64>) {
        if range.is_empty() {
        } else if self.first.is_empty() {
            self.first = range;
        } else {
            self.later.push_back(range);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Number of records.
    pub(crate) fn count(&self) -> u64 {
        let later = self.later.iter().map(len);
        later.fold(len(&self.first), u64::saturating_add)
    }

    /// Passes over the first `records` records.
    pub(crate) fn pass(&mut self, mut records: u64) {
        loop {
            let passed = records.min(len(&self.first));
            self.first.start += passed;
            records -= passed;
            if !self.first.is_empty() {
                return;
            }
            match self.later.pop_front() {
                Some(next) => self.first = next,
                None => return,
            }
        }
    }

    pub(crate) fn ranges(&self) -> impl Iterator<Item = &Range<u64>> {
        std::iter::once(&self.first).chain(&self.later)
    }

    /// Has the records come after `before` others.
    pub(crate) fn move_by(&mut self, before: u64) {
        for range in std::iter::once(&mut self.first).chain(&mut self.later) {
            *range = range.start + before..range.end + before;
        }
    }
}

impl From<Range<u64>> for BlockRecords {
    fn from(range: Range<u64>) -> Self {
        BlockRecords {
            first: range,
            later: VecDeque::new(),
        }
    }
}

/// Number of records of a range.
fn len(range: &Range<u64>) -> u64 {
    range.end - range.start
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

    fn part(file: usize, counted: u64, start: u64, records: &[Range<u64>]) -> FilePart {
        FilePart {
            file,
            counted: Some(counted),
            start,
            records: records.to_vec(),
        }
    }

    #[test]
    fn parts_name_files_in_the_order_of_the_epoch() {
        let parts = |order: &[usize], ranges: &[Range<u64>]| {
            let mut records = Records::default();
            ranges.iter().for_each(|range| records.push(range.clone()));
            FileOrder::new(order, &[5, 3, 0, 2]).parts(&records)
        };
        let one = |range: Range<u64>| vec![range];
        assert_eq!(
            parts(&[0, 1, 2, 3], &one(4..7)),
            [part(0, 5, 0, &one(4..5)), part(1, 3, 5, &one(0..2))]
        );
        assert_eq!(
            parts(&[3, 2, 1, 0], &one(4..7)),
            [part(1, 3, 2, &one(2..3)), part(0, 5, 5, &one(0..2))]
        );
        assert_eq!(
            parts(&[0, 1, 2, 3], &[0..1, 2..3, 4..8, 9..10]),
            [
                part(0, 5, 0, &[0..1, 2..3, 4..5]),
                part(1, 3, 5, &one(0..3)),
                part(3, 2, 8, &one(1..2)),
            ]
        );
        assert_eq!(
            parts(&[0, 1, 2, 3], &one(5..8)),
            [part(1, 3, 5, &one(0..3))]
        );
        assert_eq!(parts(&[0, 1, 2, 3], &[]), []);
        assert_eq!(parts(&[], &[]), []);
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "lists of ranges")]
    fn parts_know_where_they_end() {
        let whole = part(0, 5, 0, &[0..5]);
        assert!(whole.is_whole() && whole.goes_on(5) && whole.count() == 5);
        let some = part(0, 5, 0, &[0..1, 2..4]);
        assert!(!some.is_whole() && some.goes_on(3) && !some.goes_on(4) && some.count() == 3);
        assert!(part(0, 5, 0, &[1..5]).goes_on(5) && FilePart::whole(0).goes_on(u64::MAX));
    }

    #[test]
    fn parts_of_records_count_among_them() {
        let mut records = Records::from(3..5);
        records.push(7..7);
        records.push(9..12);
        records.push(12..13);
        assert_eq!((records.count(), records.ranges()), (6, &[3..5, 9..13][..]));
        let numbers = |records: &Records| -> Vec<u64> {
            records.ranges().iter().cloned().flatten().collect()
        };
        let all = numbers(&records);
        for start in 0..7 {
            for end in start..8 {
                let found = numbers(&records.part(start as u64..end as u64));
                let expected = &all[start.min(6)..end.min(6)];
                assert_eq!(found, expected, "{start}..{end}");
            }
        }
        for from in 0..14 {
            let found: Vec<u64> = records.since(from).flatten().collect();
            let expected: Vec<u64> = all.iter().copied().filter(|&n| n >= from).collect();
            assert_eq!(found, expected, "from {from}");
        }
    }

    #[test]
    fn records_of_a_block_are_read_from_the_front() {
        let mut records = BlockRecords::default();
        for range in [2..2, 1..3, 5..9, 9..9, 20..21] {
            records.push(range);
        }
        assert_eq!(records.count(), 7);
        records.pass(1);
        assert_eq!(
            records.ranges().cloned().collect::<Vec<_>>(),
            [2..3, 5..9, 20..21]
        );
        records.pass(3);
        assert_eq!(
            records.ranges().cloned().collect::<Vec<_>>(),
            [7..9, 20..21]
        );
        records.pass(2);
        assert_eq!((records.count(), records.is_empty()), (1, false));
        records.pass(1);
        assert!(records.is_empty());
    }
}
