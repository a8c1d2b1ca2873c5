//! One large piece of memory, which is lent in parts.
#![allow(unsafe_code)] // Advice on memory takes a pointer.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};
#[cfg(target_os = "linux")]
use rustix::mm::{Advice, madvise};

/// A cache line: the lengths of parts are multiples of it, so that two threads with neighbouring parts share none.
const UNIT: usize = 64;

/// A large piece of memory that is lent in parts, which come back. It is in huge pages where the system has them: records
/// that are drawn at random from tens of megabytes lie on another small page each, and the processor takes as long to find
/// such a page as to read the record.
///
/// Free parts are memory that nobody counts, so make an arena small beside the memory limit.
#[derive(Default)]
pub struct Arena {
    bytes: usize,
    /// The bytes that were never lent.
    rest: BytesMut,
    /// Where all of it is, once it was reserved.
    addresses: Range<usize>,
    /// Parts that were given back, by their length. The last one may still be in a cache.
    free: HashMap<usize, Vec<BytesMut>>,
}

impl Arena {
    /// An arena of `bytes` bytes, which are reserved with the first part. Most systems provide memory for them once they
    /// are written to.
    pub fn new(bytes: usize) -> Self {
        Arena {
            bytes,
            ..Arena::default()
        }
    }

    /// The length of a part for `len` bytes: one of few lengths, so that others can use the part again. It is larger by an
    /// eighth at most, or by less than 64.
    pub fn rounded(len: usize) -> usize {
        let step = (len.checked_next_power_of_two().unwrap_or(0) / 16).max(UNIT);
        len.checked_next_multiple_of(step).unwrap_or(len)
    }

    /// Lends a part of `len` bytes, which are zeros or what the last user has left. `None` if none is free, or if `len` is
    /// not a multiple of 64. A part keeps its length, so [round](Self::rounded) lengths.
    pub fn take(&mut self, len: usize) -> Option<BytesMut> {
        if !len.is_multiple_of(UNIT) || !(1..=self.bytes).contains(&len) {
            return None;
        }
        if let Some(part) = self.free.get_mut(&len).and_then(Vec::pop) {
            return Some(part);
        }
        if self.is_empty() {
            self.reserve()?;
        }
        (len <= self.rest.len()).then(|| self.rest.split_to(len))
    }

    /// Whether it has no memory yet.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Whether `memory` is a part of it.
    pub fn has(&self, memory: &[u8]) -> bool {
        self.addresses.contains(&memory.as_ptr().addr())
    }

    /// Takes a part back.
    pub fn give_back(&mut self, part: BytesMut) {
        self.free.entry(part.len()).or_default().push(part);
    }

    fn reserve(&mut self) -> Option<()> {
        let memory = bytemuck::allocation::try_zeroed_vec::<u8>(self.bytes);
        let mut memory = memory.inspect_err(|()| self.bytes = 0).ok()?;
        ask_for_huge_pages(&mut memory);
        let Range { start, end } = memory.as_ptr_range();
        self.addresses = start.addr()..end.addr();
        let before = memory.as_ptr().align_offset(UNIT);
        self.rest = BytesMut::from(Bytes::from(memory));
        self.rest.advance(before.min(self.rest.len()));
        Some(())
    }
}

/// Has the system use huge pages where all of one is in `memory`, once it is written to.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(memory: &mut [u8]) {
    /// Bytes of a huge page: x86-64, and most of ARM.
    const HUGE_PAGE: usize = 2 << 20;

    let before = memory.as_ptr().align_offset(HUGE_PAGE);
    let whole = memory.get_mut(before..).unwrap_or_default();
    let len = whole.len() / HUGE_PAGE * HUGE_PAGE;
    // SAFETY: the pages are of `memory` alone. The advice changes nothing that is in them; if it is not taken, they are
    // as good as before.
    let _ = unsafe { madvise(whole.as_mut_ptr().cast(), len, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_: &mut [u8]) {}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = self.addresses.len() - self.rest.len();
        f.debug_struct("Arena")
            .field("bytes", &self.bytes)
            .field("parts", &given)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use super::*;

    #[test]
    fn parts_are_distinct_and_taken_again() {
        // Some bytes before the first part are unused.
        let mut arena = Arena::new(1_024 + 63);
        let mut parts: Vec<_> = std::iter::from_fn(|| arena.take(320)).collect();
        assert_eq!(parts.len(), 3);
        for (number, part) in (1..).zip(&mut parts) {
            assert!(arena.has(part) && part.iter().all(|&byte| byte == 0));
            assert_eq!(part.as_ptr().align_offset(UNIT), 0);
            part.fill(number);
        }
        assert!(
            (1..)
                .zip(&parts)
                .all(|(number, part)| part[..] == [number; 320])
        );
        // What is left is for smaller ones.
        let small = arena.take(64).unwrap();
        assert!(arena.take(64).is_none());
        let last = parts.pop().unwrap();
        let at = last.as_ptr();
        arena.give_back(last);
        assert!(
            arena.take(256).is_none(),
            "what it counts for is its length"
        );
        assert_eq!(arena.take(320).unwrap().as_ptr(), at);
        arena.give_back(small);
        assert_eq!(arena.take(64).unwrap().len(), 64);
    }

    #[test]
    fn an_arena_has_no_parts_of_other_memory() {
        let mut arena = Arena::new(1_024);
        assert!(!arena.has(&[]) && !arena.has(&[0; 64]));
        assert!(arena.take(100).is_none() && arena.take(2_048).is_none());
        assert!(Arena::default().take(64).is_none());
        let part = arena.take(64).unwrap();
        assert!(arena.has(&part) && !Arena::new(64).has(&part));
        assert!(!arena.has(&[0; 64]));
    }
}
