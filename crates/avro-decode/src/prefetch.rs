//! Software prefetching: the instruction, over lines of memory.
#![allow(unsafe_code)] // The instruction takes a pointer, though it never reads through it.

/// Bytes that the processor loads at a time.
pub(crate) const LINE: usize = 64;

/// Maximum number of lines prefetched in one go. More would push out the first ones.
pub(crate) const MOST_LINES: usize = 128;

/// Maximum number of bytes prefetched after a write. The processor itself sees where a
/// longer write goes on.
const MOST_AFTER: usize = 16 * LINE;

/// Has the processor load `bytes` from `start` to `end` into its second cache, as
/// far as there are any, while other work goes on, but not too many. Changes
/// nothing else; on machines other than x86-64 it does nothing.
#[inline]
pub fn prefetch(bytes: &[u8], start: usize, end: usize) {
    let len = end.min(bytes.len()).saturating_sub(start);
    let lines = len.div_ceil(LINE).min(MOST_LINES);
    for line in 0..lines {
        prefetch_line::<false>(bytes, start + line * LINE);
    }
}

/// Has the processor load the line at `place` into its first cache. `place` may be past
/// the end. The hint for the second cache did nothing on AMD's Zen 5 where the page had to
/// be looked up.
#[inline]
pub fn prefetch_place(bytes: &[u8], place: usize) {
    prefetch_line::<true>(bytes, place);
}

/// Has the processor load the memory after `written`, which is written next, into its
/// first cache: as many bytes as `written` has, up to a limit. The memory may belong to
/// anything.
#[inline]
pub(crate) fn prefetch_after<T>(written: &[T]) {
    let len = size_of_val(written).min(MOST_AFTER);
    let end = written.as_ptr_range().end.cast::<u8>();
    // The line that `written` ends in is in the cache.
    let mut place = 0;
    while place < len {
        prefetch_at::<true>(end.wrapping_add(LINE - 1 + place));
        place += LINE;
    }
}

/// Has the processor load `value` into its first cache, as [`prefetch_place`] does a place.
#[inline]
pub fn prefetch_value<T>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    for place in (0..size_of::<T>()).step_by(LINE) {
        prefetch_at::<true>(start.wrapping_add(place));
    }
}

/// Has the processor load the line at `address` into its first cache. Whose memory it is
/// does not matter.
#[inline]
pub(crate) fn prefetch_address(address: usize) {
    prefetch_at::<true>(std::ptr::without_provenance(address));
}

#[inline]
fn prefetch_line<const FIRST: bool>(bytes: &[u8], place: usize) {
    prefetch_at::<FIRST>(bytes.as_ptr().wrapping_add(place));
}

#[inline]
fn prefetch_at<const FIRST: bool>(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let line = line.cast();
        // SAFETY: the pointer is not read through, and the instruction does
        // nothing where there is no memory.
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
