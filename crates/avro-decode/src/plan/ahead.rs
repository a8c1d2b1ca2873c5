//! Asking for data before records are moved past.
//!
//! A processor has only so many loads from memory under way: with one more it
//! stands still, and so would the way past a record if all of a later record
//! were asked for at its start. The requests are therefore spread over the hops
//! that take longest.

use crate::prefetch::{LINE, prefetch, prefetch_address};

/// Bytes from the start of a record to what is asked for during it: a few
/// records of usual size, since memory takes as long as one of them.
const DISTANCE: usize = 6_144;

/// Bytes of a pair of lines.
const PAIR: usize = 2 * LINE;

/// Pairs of lines of a request at most: a larger record is seen to go straight
/// ahead.
const MOST_PAIRS: usize = 8;

/// How far data has been asked for: up to `next`, but not beyond `end`. Both are addresses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ahead {
    /// Where the next request starts.
    next: usize,
    /// How many bytes it is for, whole pairs of lines.
    bytes: usize,
    /// Where requests end.
    end: usize,
    /// Whether a record makes one request only, at its start.
    at_start: bool,
    /// About how long records are; 0 as long as none is known.
    record_len: usize,
}

impl Ahead {
    /// Begins with the next `records` records of `data`. Each makes as many requests
    /// as it has hops that take a while, or one at its start.
    pub(crate) fn begin(&mut self, data: &[u8], start: usize, records: usize, slow_hops: usize) {
        let pairs = self.record_len.div_ceil(PAIR);
        self.bytes = pairs.div_ceil(slow_hops.max(1)).min(MOST_PAIRS) * PAIR;
        self.at_start = slow_hops == 0;
        let left = self.record_len.saturating_mul(records);
        let here = data.as_ptr().addr() + start;
        let asked = self.asked().wrapping_sub(here);
        // Behind a block that is read to its end is, in a file read front to
        // back, the next. That there are such bytes does not matter.
        let is_all = data.len() - start < left.saturating_add(self.record_len);
        self.end = match is_all {
            true => usize::MAX,
            false => here + left,
        };
        let known = if asked < DISTANCE { asked } else { 0 };
        prefetch(data, start + known, start + DISTANCE.min(left));
    }

    /// The address behind all that was asked for.
    fn asked(&self) -> usize {
        self.next.min(self.end)
    }

    /// Asks for nothing.
    pub(crate) fn rest(&mut self) {
        self.end = 0;
    }

    /// Begins with the record at `start` of `data`.
    #[inline]
    pub(crate) fn begin_record(&mut self, data: &[u8], start: usize) {
        self.next = data.as_ptr().addr().wrapping_add(start + DISTANCE);
        if self.at_start {
            self.ask();
        }
    }

    /// Makes the next request.
    #[inline(always)] // Some of them are made for every record.
    pub(crate) fn ask(&mut self) {
        let end = self.end.min(self.next.wrapping_add(self.bytes));
        while self.next < end {
            prefetch_address(self.next);
            prefetch_address(self.next.wrapping_add(LINE));
            self.next = self.next.wrapping_add(PAIR);
        }
    }

    /// Ends with a record of `len` bytes.
    #[inline]
    pub(crate) fn end_record(&mut self, len: usize) {
        self.record_len = match self.record_len {
            0 => len,
            mean => mean - mean / 8 + len / 8,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After records of `len` bytes.
    fn after_records_of(len: usize) -> Ahead {
        let mut ahead = Ahead::default();
        (0..3).for_each(|_| ahead.end_record(len));
        ahead
    }

    #[test]
    fn the_requests_of_a_record_cover_as_many_bytes() {
        let data = vec![0; 16_000];
        for (slow_hops, asks) in [(0, 0), (1, 1), (5, 5), (8, 8)] {
            let mut ahead = after_records_of(2_000);
            ahead.begin(&data, 0, 8, slow_hops);
            ahead.begin_record(&data, 100);
            (0..asks).for_each(|_| ahead.ask());
            let asked = ahead.next - data.as_ptr().addr() - 100 - DISTANCE;
            let most = MOST_PAIRS * PAIR * slow_hops.max(1);
            assert!(asked >= most.min(2_000), "{asked} by {slow_hops}");
            assert!(
                asked < 2_000 + slow_hops.max(1) * PAIR,
                "{asked} by {slow_hops}"
            );
        }
    }

    #[test]
    fn nothing_is_asked_for_behind_the_records_that_are_read() {
        let data = vec![0; 16_000];
        let here = data.as_ptr().addr();
        for (records, end) in [(1, here + 2_000), (3, here + 6_000), (8, usize::MAX)] {
            let mut ahead = after_records_of(2_000);
            ahead.begin(&data, 0, records, 8);
            assert_eq!(ahead.end, end);
            ahead.begin_record(&data, 0);
            ahead.ask();
            let first = here + DISTANCE;
            assert_eq!(ahead.next > first, end > first);
        }
    }

    #[test]
    fn what_was_not_asked_for_is_not_taken_for_known() {
        let data = vec![0; 16_000];
        let here = data.as_ptr().addr();
        // Records one by one: what is behind the first is not asked for.
        let mut ahead = after_records_of(2_000);
        ahead.begin(&data, 0, 1, 8);
        ahead.begin_record(&data, 0);
        ahead.ask();
        assert_eq!(ahead.asked(), here + 2_000);
        // Nor is anything by a plan that asks for nothing.
        ahead.rest();
        ahead.begin_record(&data, 2_000);
        assert_eq!(ahead.asked(), 0);
        // Of many it is.
        ahead.begin(&data, 0, 8, 1);
        ahead.begin_record(&data, 0);
        ahead.ask();
        assert_eq!(ahead.asked(), here + DISTANCE + MOST_PAIRS * PAIR);
    }
}
