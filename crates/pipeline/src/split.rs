//! Splits: which records of the files an iteration reads, by a hash of each record's place.
//!
//! Planning counts the records of the split alone: blocks have as many records as are in the split, and no
//! file, slice, window or position knows of others. Only what decodes a block looks up which of its records
//! these are.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use atds_format::Pos;
use twox_hash::XxHash3_64;

use crate::{Error, ErrorKind};

/// The most records of a block that is split by record: looking up which of them are in the split takes a
/// second, and 64 MiB. Only false counts are larger.
const MAX_SPLIT_BLOCK_RECORDS: u64 = 1 << 28;

/// Number of records that are counted before it is asked whether to go on: a tenth of a millisecond.
const COUNTED_AT_ONCE: u64 = 1 << 16;

/// The records of a data set that are in one of several splits.
///
/// A record is in the split if the hash of its place is among [`hashes`](Self::hashes): XXH3, of 64 bits and
/// with seed 0, of 16 bytes, the key of its file and its number in the file, both as 8 bytes in
/// little-endian order. So membership depends on nothing else. With [`stored`](field@Self::stored) hashes, these
/// decide instead.
#[derive(Clone, Debug)]
pub struct Split {
    /// The hashes of the records in the split, of those from 0 to 2^64 - 1.
    pub hashes: Range<u128>,
    /// Whether the hash is that of a block's first record, and decides for all records of the block.
    pub by_block: bool,
    /// The key of each file, in the order in which the files were given: see [`file_key`](Self::file_key).
    pub file_keys: Arc<[u64]>,
    /// The hash of each record, where it is not that of its place.
    pub stored: Option<Arc<dyn StoredHashes>>,
}

/// Hashes of records that were computed before.
pub trait StoredHashes: Send + Sync + fmt::Debug {
    /// The hashes of the `records` records of file `file` from number `first` on. The planning thread calls
    /// it for each block.
    ///
    /// # Errors
    /// They cannot be read, or the file had fewer records.
    fn read(&self, file: usize, first: u64, records: u64) -> io::Result<Vec<u64>>;
}

impl Split {
    /// The key of the file of this name: XXH3, of 64 bits and with seed 0, of its bytes.
    pub fn file_key(name: &[u8]) -> u64 {
        XxHash3_64::oneshot(name)
    }

    /// The hash of the place of record `record` of the file with key `file_key`.
    pub fn hash(file_key: u64, record: u64) -> u64 {
        let mut place = [0; 16];
        place[..8].copy_from_slice(&file_key.to_le_bytes());
        place[8..].copy_from_slice(&record.to_le_bytes());
        XxHash3_64::oneshot(&place)
    }

    /// Whether a block without records that begins with record `record` of file `file` is in the split:
    /// it is in one.
    pub(crate) fn has_empty_block(&self, file: usize, record: u64) -> bool {
        match self.stored {
            Some(_) => self.hashes.start == 0,
            None => self.has(file, record),
        }
    }

    /// Whether the place of record `record` of file `file` is in the split, or the block that it begins.
    fn has(&self, file: usize, record: u64) -> bool {
        self.has_hash(Split::hash(self.file_keys[file], record))
    }

    /// The number of records of each block of file `file` that are in the split. `blocks` has the number of
    /// all records of each block, in file order. `None` if `is_cancelled` says so meanwhile: a false number
    /// takes as long as a true one.
    ///
    /// # Errors
    /// A block that has too many records to be split by record.
    pub fn count(
        &self,
        file: usize,
        blocks: &[u64],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<Arc<[u64]>>, Error> {
        let (mut counts, mut first) = (Vec::with_capacity(blocks.len()), 0_u64);
        for (block, &records) in (0..).zip(blocks) {
            let counted = self.count_block(file, first, records, is_cancelled);
            let counted = counted.map_err(|mut error| {
                error.place.block = Some(block);
                error
            });
            let Some(count) = counted? else {
                return Ok(None);
            };
            counts.push(count);
            first = first.saturating_add(records);
        }
        Ok(Some(counts.into()))
    }

    fn count_block(
        &self,
        file: usize,
        first: u64,
        records: u64,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<u64>, Error> {
        if self.by_block {
            return Ok(Some(if self.has(file, first) { records } else { 0 }));
        }
        self.check_records(records)?;
        if is_cancelled() {
            return Ok(None);
        }
        if let Some(stored) = self.stored(file, first, records)? {
            let members = stored.iter().filter(|&&hash| self.has_hash(hash));
            return Ok(Some(members.count() as u64));
        }
        let mut members = 0;
        for start in (0..records).step_by(COUNTED_AT_ONCE as usize) {
            if is_cancelled() {
                return Ok(None);
            }
            let part = start..records.min(start + COUNTED_AT_ONCE);
            let is_member = |at: &u64| self.has(file, first.saturating_add(*at));
            members += part.filter(is_member).count() as u64;
        }
        Ok(Some(members))
    }

    fn has_hash(&self, hash: u64) -> bool {
        self.hashes.contains(&u128::from(hash))
    }

    /// The stored hashes of a block's records, if hashes are stored.
    fn stored(&self, file: usize, first: u64, records: u64) -> Result<Option<Vec<u64>>, Error> {
        let Some(stored) = &self.stored else {
            return Ok(None);
        };
        let read = stored.read(file, first, records);
        read.map(Some)
            .map_err(|error| Error::new(ErrorKind::Io(Arc::new(error))))
    }

    /// An error if a block of so many records cannot be split.
    pub(crate) fn check_records(&self, records: u64) -> Result<(), Error> {
        match self.by_block || records <= MAX_SPLIT_BLOCK_RECORDS {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::BlockNotSplit { records })),
        }
    }

    /// The most bytes that the members of a block of `records` records take.
    pub(crate) fn member_bytes(&self, records: u64) -> u64 {
        match self.by_block {
            true => 0,
            false => records
                .div_ceil(64)
                .saturating_mul(size_of::<Word>() as u64),
        }
    }

    /// Whether so few blocks are in the split that reading the others is a waste.
    pub(crate) fn leaves_blocks_out(&self) -> bool {
        self.by_block && self.hashes.end - self.hashes.start <= 1 << 61
    }

    /// The members of a block of `records` records, the first of which is `first_record` in file `file`.
    pub(crate) fn members(
        &self,
        file: usize,
        first_record: u64,
        records: u64,
    ) -> Result<Members, Error> {
        if self.by_block {
            let is_in = self.has(file, first_record);
            return Ok(Members::all(if is_in { records } else { 0 }));
        }
        self.check_records(records)?;
        if let Some(stored) = self.stored(file, first_record, records)? {
            return Ok(Members::of(records, |record| {
                let hash = stored.get(record as usize);
                hash.is_some_and(|&hash| self.has_hash(hash))
            }));
        }
        Ok(Members::of(records, |record| {
            self.has(file, first_record.saturating_add(record))
        }))
    }
}

/// The records of a block that are in the split. They have two numbers: one in the block, and one among the
/// members.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    count: u64,
    /// `None` if the members are the first records of the block: all, or none.
    words: Option<Arc<[Word]>>,
}

/// 64 records of a block.
#[derive(Clone, Copy, Debug)]
struct Word {
    /// Number of members before them.
    before: u64,
    /// A bit for each, the lowest for the first: whether it is a member.
    bits: u64,
}

impl Members {
    /// All records of a block of `records` records.
    pub(crate) fn all(records: u64) -> Self {
        Members {
            count: records,
            words: None,
        }
    }

    fn of(records: u64, is_member: impl Fn(u64) -> bool) -> Self {
        let (mut words, mut count) = (Vec::with_capacity(records.div_ceil(64) as usize), 0);
        for first in (0..records).step_by(64) {
            let of_word = first..records.min(first + 64);
            let bits = of_word.fold(0, |bits, record| {
                bits | u64::from(is_member(record)) << (record - first)
            });
            words.push(Word {
                before: count,
                bits,
            });
            count += u64::from(bits.count_ones());
        }
        Members {
            count,
            words: (count > 0 && count < records).then(|| words.into()),
        }
    }

    /// Number of members.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The most bytes that the places of their runs take, if they are so few that their bytes alone are copied.
    pub(crate) fn run_bytes(&self) -> Option<u64> {
        let records = self.words.as_ref()?.len() as u64 * 64;
        (self.count <= records / 8)
            .then(|| self.count * (size_of::<Pos>() + size_of::<u64>()) as u64)
    }

    /// Size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.words.as_ref().map_or(0, |words| size_of_val(&**words)) as u64
    }

    /// The record that is number `member` of the members.
    pub(crate) fn record(&self, member: u64) -> u64 {
        let Some(words) = &self.words else {
            return member;
        };
        let at = words.partition_point(|word| word.before <= member) - 1;
        let Word { before, mut bits } = words[at];
        for _ in before..member {
            bits &= bits.wrapping_sub(1);
        }
        at as u64 * 64 + u64::from(bits.trailing_zeros())
    }

    /// Number of members before record `record`.
    pub(crate) fn before(&self, record: u64) -> u64 {
        let Some(words) = &self.words else {
            return record.min(self.count);
        };
        match words.get((record / 64) as usize) {
            Some(word) => {
                let earlier = word.bits & ((1 << (record % 64)) - 1);
                word.before + u64::from(earlier.count_ones())
            }
            None => self.count,
        }
    }

    /// The records of `count` members from number `first` on, as ranges apart from one another.
    pub(crate) fn runs(&self, first: u64, count: u64) -> Runs<'_> {
        Runs {
            members: self,
            next: match count {
                0 => 0,
                _ => self.record(first),
            },
            left: count,
        }
    }
}

/// Runs of members that follow one another in a block.
pub(crate) struct Runs<'a> {
    members: &'a Members,
    /// The first record that may be one of the members to come.
    next: u64,
    /// Number of these members.
    left: u64,
}

impl Iterator for Runs<'_> {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        if self.left == 0 {
            return None;
        }
        let Some(words) = &self.members.words else {
            let left = std::mem::take(&mut self.left);
            return Some(self.next..self.next + left);
        };
        // The bits of the record and of those after it in its word; `others` flips them.
        let from = |record: u64, others: bool| {
            let word = words.get((record / 64) as usize)?;
            let bits = if others { !word.bits } else { word.bits };
            Some(bits >> (record % 64))
        };
        let find = |mut record: u64, others: bool| {
            while let Some(bits) = from(record, others) {
                if bits != 0 {
                    return record + u64::from(bits.trailing_zeros());
                }
                record = (record / 64 + 1) * 64;
            }
            record
        };
        let start = find(self.next, false);
        let end = find(start, true).min(start + self.left);
        self.left -= end - start;
        self.next = end;
        Some(start..end)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn split(hashes: Range<u128>, by_block: bool) -> Split {
        Split {
            hashes,
            by_block,
            file_keys: [Split::file_key(b"a.avro"), Split::file_key(b"b/a.avro")].into(),
            stored: None,
        }
    }

    #[test]
    fn members_are_counted_and_found() {
        let patterns: [fn(u64) -> bool; 6] = [
            |_| true,
            |_| false,
            |record| record % 2 == 0,
            |record| record % 7 < 5,
            |record| record == 130,
            |record| !(60..=200).contains(&record),
        ];
        for is_member in patterns {
            for records in [0, 1, 63, 64, 65, 128, 131, 300] {
                let members = Members::of(records, is_member);
                let all: Vec<u64> = (0..records).filter(|&record| is_member(record)).collect();
                assert_eq!(members.count(), all.len() as u64);
                for (number, &record) in (0..).zip(&all) {
                    assert_eq!(members.record(number), record);
                }
                for record in 0..=records {
                    let before = all.iter().filter(|&&member| member < record).count();
                    assert_eq!(members.before(record), before as u64);
                }
                for first in 0..all.len() {
                    for count in [0, 1, 2, 50, all.len() - first] {
                        let count = count.min(all.len() - first);
                        let runs: Vec<_> = members.runs(first as u64, count as u64).collect();
                        assert!(runs.windows(2).all(|two| two[0].end < two[1].start));
                        let found: Vec<u64> = runs.into_iter().flatten().collect();
                        assert_eq!(found, all[first..first + count]);
                    }
                }
            }
        }
    }

    #[test]
    fn splits_are_apart_and_have_all() {
        let bounds = [0, 1 << 60, 1 << 63, 1 << 64];
        for by_block in [false, true] {
            let splits: Vec<_> = bounds
                .windows(2)
                .map(|bounds| split(bounds[0]..bounds[1], by_block))
                .collect();
            let blocks = [100, 1, 0, 64, 1_000];
            let mut first_record = 0;
            let counts = |file| {
                splits
                    .iter()
                    .map(move |split| split.count(file, &blocks, &|| false))
            };
            for (number, records) in blocks.into_iter().enumerate() {
                let mut seen = vec![0; records as usize];
                for (split, counts) in splits.iter().zip(counts(1)) {
                    let members = split.members(1, first_record, records).unwrap();
                    assert_eq!(members.count(), counts.unwrap().unwrap()[number]);
                    let runs = members.runs(0, members.count());
                    runs.flatten().for_each(|record| seen[record as usize] += 1);
                }
                assert_eq!(seen, vec![1; records as usize]);
                first_record += records;
            }
        }
    }

    #[test]
    fn a_block_with_a_false_count_is_no_endless_loop() {
        let all = split(0..1 << 64, false);
        let many = MAX_SPLIT_BLOCK_RECORDS + 1;
        assert!(all.count(0, &[many], &|| false).is_err());
        assert!(all.members(0, 0, many).is_err());
        let by_block = split(0..1 << 64, true);
        let counted = by_block.count(0, &[u64::MAX, 5], &|| false).unwrap();
        assert_eq!(*counted.unwrap(), [u64::MAX, 5]);
    }

    #[test]
    fn a_false_count_can_be_cancelled() {
        let all = split(0..1 << 64, false);
        let calls = Cell::new(0);
        let is_cancelled = || {
            calls.set(calls.get() + 1);
            calls.get() == 5
        };
        // All of them would take minutes.
        let blocks = [MAX_SPLIT_BLOCK_RECORDS; 1_000];
        assert_eq!(all.count(0, &blocks, &is_cancelled).unwrap(), None);
        assert_eq!(calls.get(), 5);
    }
}
