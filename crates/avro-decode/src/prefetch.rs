//! Asking for bytes before they are needed.
#![allow(unsafe_code)] // The instruction takes a pointer, though it never reads through it.

/// Bytes that the processor loads at a time.
const LINE: usize = 64;

/// Lines asked for in one go at most: more would push out what is needed first.
const MOST_LINES: usize = 128;

/// Has the processor load `bytes` from `start` to `end`, as far as there are any,
/// while other work goes on, but not too many: gives the place to go on from.
/// Changes nothing else; on machines other than x86-64 it does nothing.
#[inline]
pub fn prefetch(bytes: &[u8], start: usize, end: usize) -> usize {
    let end = end
        .min(bytes.len())
        .min(start.saturating_add(MOST_LINES * LINE));
    let mut place = start;
    while place < end {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            let line = std::ptr::from_ref(&bytes[place]);
            // SAFETY: the pointer is to a byte of the slice, and is not read through.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) };
        }
        place += LINE;
    }
    place
}
