//! One large piece of memory, which blocks that wait are given parts of.
#![allow(unsafe_code)] // Advice on memory takes a pointer.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::limits::{MAX_PART_BYTES, SLAB_BYTES};

/// Bytes of a page where this matters: x86-64, and most of ARM.
const PAGE: usize = 4 << 10;

/// Bytes of a huge page there.
const HUGE_PAGE: usize = 2 << 20;

/// Memory that is given away in parts, which come back to whoever uses them again,
/// not here. It is in huge pages where the system has them: records drawn at random
/// from tens of megabytes lie on another page each, and finding out where a small page
/// is takes as long as reading it.
#[derive(Debug, Default)]
pub(crate) struct Slab {
    /// What has not been given away.
    rest: BytesMut,
    /// Where all of it is; empty before the first part.
    addresses: Range<usize>,
}

impl Slab {
    /// Zeroed memory of `len` bytes; `None` if that is too much for a part, or if
    /// all is given away.
    pub(crate) fn part(&mut self, len: usize) -> Option<BytesMut> {
        if len > MAX_PART_BYTES {
            return None;
        }
        if self.addresses.is_empty() {
            self.reserve()?;
        }
        (len <= self.rest.len()).then(|| self.rest.split_to(len))
    }

    /// Whether `bytes` are in a part of it.
    pub(crate) fn have(&self, bytes: *const u8) -> bool {
        self.addresses.contains(&bytes.addr())
    }

    /// Has the system set addresses apart. Memory it takes where it is written to.
    fn reserve(&mut self) -> Option<()> {
        // The allocator adds some bytes, and what is whole huge pages then the system has
        // begin with one.
        let mut memory = bytemuck::allocation::try_zeroed_vec(SLAB_BYTES - PAGE).ok()?;
        ask_for_huge_pages(&mut memory);
        let Range { start, end } = memory.as_ptr_range();
        self.addresses = start.addr()..end.addr();
        self.rest = Bytes::from(memory).into();
        Some(())
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
        let mut slab = Slab::default();
        let mut parts = Vec::new();
        while let Some(mut part) = slab.part(MAX_PART_BYTES) {
            assert!(part.iter().step_by(4_096).all(|&byte| byte == 0));
            part[0] = 1;
            parts.push(part);
        }
        assert_eq!((parts.len() + 1) * MAX_PART_BYTES, SLAB_BYTES);
        assert!(parts.iter().all(|part| slab.have(part.as_ptr())));
        assert!(!slab.have([0u8].as_ptr()));
        // What is left is for smaller ones.
        let rest = std::iter::from_fn(|| slab.part(PAGE)).count();
        assert_eq!((rest + 1) * PAGE, MAX_PART_BYTES);
    }

    #[test]
    fn what_is_large_has_memory_of_its_own() {
        let mut slab = Slab::default();
        assert!(slab.part(MAX_PART_BYTES + 1).is_none());
        assert!(slab.addresses.is_empty());
    }
}
