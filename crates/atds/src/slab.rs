//! Large pieces of memory, which blocks that wait are given parts of.
#![allow(unsafe_code)] // Advice on memory takes a pointer.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::limits::{MAX_PART_BYTES, MAX_SLABS_BYTES, MIN_SLAB_BYTES};

/// Bytes of a page where this matters: x86-64, and most of ARM.
const PAGE: usize = 4 << 10;

/// Bytes of a huge page there.
const HUGE_PAGE: usize = 2 << 20;

/// Memory that is given away in parts, which come back to whoever uses them again,
/// not here. It is asked for in ever larger pieces, and in huge pages where the
/// system has them: records drawn at random from tens of megabytes lie on another
/// page each, and finding out where a small page is takes as long as reading it.
#[derive(Debug, Default)]
pub(crate) struct Slabs {
    /// What is left of the last one.
    rest: BytesMut,
    /// Where they all are.
    addresses: Vec<Range<usize>>,
    /// Bytes of them all.
    bytes: usize,
}

impl Slabs {
    /// Zeroed memory of `len` bytes; `None` if that is too much for a part, or if
    /// all is given away.
    pub(crate) fn part(&mut self, len: usize) -> Option<BytesMut> {
        if len > MAX_PART_BYTES {
            return None;
        }
        if len > self.rest.len() {
            self.rest = self.another()?;
        }
        Some(self.rest.split_to(len))
    }

    /// Whether `bytes` are in a part of these.
    pub(crate) fn have(&self, bytes: *const u8) -> bool {
        let has = |slab: &Range<usize>| slab.contains(&bytes.addr());
        self.addresses.iter().any(has)
    }

    /// Half as large as all before it together.
    fn another(&mut self) -> Option<BytesMut> {
        let len = (self.bytes / 2).next_multiple_of(HUGE_PAGE);
        let len = len.max(MIN_SLAB_BYTES).min(MAX_SLABS_BYTES - self.bytes);
        if len == 0 {
            return None;
        }
        // The allocator adds some bytes, and what is whole huge pages then the system has
        // begin with one. None of it is written to: what is not used takes no memory.
        let mut slab = bytemuck::allocation::try_zeroed_vec(len - PAGE).ok()?;
        ask_for_huge_pages(&mut slab);
        let Range { start, end } = slab.as_ptr_range();
        self.addresses.push(start.addr()..end.addr());
        self.bytes += len;
        Some(Bytes::from(slab).into())
    }
}

/// Has the system use huge pages for `memory`, if it can, where it is written to
/// from now on, and for the first of it now: that has been written to.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(memory: &mut [u8]) {
    /// From Linux 6.1 on. Not every C library has it.
    const MADV_COLLAPSE: libc::c_int = 25;

    // The allocator's own bytes come before the first, and its memory may begin with a
    // huge page.
    let start = memory.as_mut_ptr().map_addr(|start| start / PAGE * PAGE);
    let len = memory.as_ptr_range().end.addr() - start.addr();
    // SAFETY: the advice changes nothing that is in the pages, whose ever it is. Where
    // it is not taken, they are as good as before.
    unsafe {
        libc::madvise(start.cast(), len, libc::MADV_HUGEPAGE);
        if start.addr().is_multiple_of(HUGE_PAGE) {
            libc::madvise(start.cast(), HUGE_PAGE, MADV_COLLAPSE);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_: &mut [u8]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_distinct_and_known_until_all_is_given_away() {
        let mut slabs = Slabs::default();
        let mut parts = Vec::new();
        // As many as of the largest, but for a page of each slab.
        while let Some(mut part) = slabs.part(MAX_PART_BYTES - PAGE) {
            assert!(part.iter().step_by(4_096).all(|&byte| byte == 0));
            part[0] = 1;
            parts.push(part);
        }
        assert_eq!(parts.len() * MAX_PART_BYTES, MAX_SLABS_BYTES);
        assert!(parts.iter().all(|part| slabs.have(part.as_ptr())));
        assert!(!slabs.have([0u8].as_ptr()));
        let rest = std::iter::from_fn(|| slabs.part(PAGE)).count();
        assert!((rest + 1) * PAGE < MAX_PART_BYTES);
    }

    #[test]
    fn what_is_large_has_memory_of_its_own() {
        let mut slabs = Slabs::default();
        assert!(slabs.part(MAX_PART_BYTES + 1).is_none());
        assert_eq!(slabs.bytes, 0);
    }
}
