//! The prefetch instruction, applied to lines of memory.
#![allow(unsafe_code)] // The instruction takes a pointer, though it never reads through it.

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Maximum number of lines prefetched at once. More would evict the first ones.
pub(crate) const MOST_LINES: usize = 128;

/// Maximum number of bytes prefetched after a write. For longer writes, the processor's own
/// prefetcher continues.
const MOST_AFTER: usize = 16 * LINE;

/// Prefetches `bytes` from `start` to `end` into the second-level cache, as far as these bytes
/// exist and up to a limit. It is only a hint, and does nothing on machines other than x86-64.
#[inline]
pub fn prefetch(bytes: &[u8], start: usize, end: usize) {
    let len = end.min(bytes.len()).saturating_sub(start);
    let lines = len.div_ceil(LINE).min(MOST_LINES);
    for line in 0..lines {
        prefetch_at::<false>(bytes.as_ptr().wrapping_add(start + line * LINE));
    }
}

/// Prefetches the memory after `written`, which is written next, into the first-level cache. It
/// prefetches the size of `written` in bytes, up to a limit. The memory need not belong to the
/// caller.
#[inline]
pub(crate) fn prefetch_after<T>(written: &[T]) {
    let len = size_of_val(written).min(MOST_AFTER);
    let end = written.as_ptr_range().end.cast::<u8>();
    // The line that `written` ends in is already in the cache.
    let mut offset = 0;
    while offset < len {
        prefetch_at::<true>(end.wrapping_add(LINE - 1 + offset));
        offset += LINE;
    }
}

/// Prefetches the line at `address` into the first-level cache. The memory need not belong to the
/// caller.
#[inline]
pub(crate) fn prefetch_address(address: usize) {
    prefetch_at::<true>(std::ptr::without_provenance(address));
}

#[inline]
fn prefetch_at<const FIRST: bool>(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let line = line.cast();
        // SAFETY: the pointer is not dereferenced, and the instruction ignores addresses without
        // memory.
        unsafe {
            if FIRST {
                _mm_prefetch::<_MM_HINT_T0>(line)
            } else {
                _mm_prefetch::<_MM_HINT_T1>(line)
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
