//! Large pieces of memory, which blocks that wait are given parts of.
#![allow(unsafe_code)] // Advice on memory takes a pointer.

use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};

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
        let slab = huge_pages(len)?;
        let Range { start, end } = slab.as_ptr_range();
        self.addresses.push(start.addr()..end.addr());
        self.bytes += len;
        Some(slab)
    }
}

/// Zeroed memory of a page less than `len` bytes, which are some huge pages, and in these if
/// the system has any. None of it is written to: what is not used takes no memory.
fn huge_pages(len: usize) -> Option<BytesMut> {
    // The allocator adds some bytes, and what is whole huge pages then the system has
    // begin with one,
    let mut memory: Vec<u8> = bytemuck::allocation::try_zeroed_vec(len - PAGE).ok()?;
    let mut before = 0;
    if first_page(&mut memory).addr().is_multiple_of(HUGE_PAGE) {
        ask_for_huge_pages(&mut memory);
    } else {
        // unless it lies among other memory, some of which is in small pages already.
        drop(memory);
        memory = bytemuck::allocation::try_zeroed_vec(len + HUGE_PAGE).ok()?;
        let start = memory.as_ptr().addr();
        before = start.next_multiple_of(HUGE_PAGE) - start;
        let pages = &mut memory[before..][..len];
        give_pages_back(pages);
        ask_for_huge_pages(pages);
    }
    let mut memory = BytesMut::from(Bytes::from(memory));
    memory.advance(before);
    memory.truncate(len - PAGE);
    Some(memory)
}

/// The page that `memory` begins in.
fn first_page(memory: &mut [u8]) -> *mut u8 {
    memory.as_mut_ptr().map_addr(|start| start / PAGE * PAGE)
}

/// Has the system take back the memory of `pages`, whole huge ones, until they are written
/// to again.
#[cfg(target_os = "linux")]
fn give_pages_back(pages: &mut [u8]) {
    let (start, len) = (pages.as_mut_ptr(), pages.len());
    if start.addr().is_multiple_of(HUGE_PAGE) && len.is_multiple_of(HUGE_PAGE) {
        // SAFETY: no page has anything but these bytes, which may be any: that they are
        // zeros is not relied upon.
        unsafe { libc::madvise(start.cast(), len, libc::MADV_DONTNEED) };
    }
}

#[cfg(not(target_os = "linux"))]
fn give_pages_back(_: &mut [u8]) {}

/// Has the system use huge pages for `memory`, if it can, where it is written to
/// from now on, and for the first of it now: that has been written to.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(memory: &mut [u8]) {
    /// From Linux 6.1 on. Not every C library has it.
    const MADV_COLLAPSE: libc::c_int = 25;

    // The allocator's own bytes come before the first, and its memory may begin with a
    // huge page.
    let start = first_page(memory);
    let len = memory.as_ptr_range().end.addr() - start.addr();
    // SAFETY: the advice changes nothing that is in the pages, whose ever it is. Where
    // it is not taken, they are as good as before.
    unsafe {
        libc::madvise(start.cast(), len, libc::MADV_HUGEPAGE);
        if start.addr() != memory.as_ptr().addr() {
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
        // Once that is freed, allocators keep what is smaller among other memory.
        drop(std::hint::black_box(vec![1u8; 24 << 20]));
        // As many as of the largest, but for a page of each slab.
        while let Some(mut part) = slabs.part(MAX_PART_BYTES - PAGE) {
            assert!(part.iter().step_by(4_096).all(|&byte| byte == 0));
            part[0] = 1;
            parts.push(part);
        }
        assert_eq!(parts.len() * MAX_PART_BYTES, MAX_SLABS_BYTES);
        assert!(parts.iter().all(|part| slabs.have(part.as_ptr())));
        assert!(!slabs.have([0u8].as_ptr()));
        for slab in &slabs.addresses {
            assert!((slab.start / PAGE * PAGE).is_multiple_of(HUGE_PAGE));
        }
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
