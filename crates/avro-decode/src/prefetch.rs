//! Asking for bytes before they are needed.
#![allow(unsafe_code)] // The instruction takes a pointer, though it never reads through it.

/// Bytes that the processor loads at a time.
const LINE: usize = 64;

/// Lines asked for at most: more would push out what is needed first.
const MOST_LINES: usize = 64;

/// Has the processor load the front of `bytes`, which are to be read soon, up to
/// 4 KiB of them, while other work goes on. Changes nothing else; on machines
/// other than x86-64 it does nothing.
#[inline]
pub fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(LINE).take(MOST_LINES) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the pointer is to a byte of the slice, and is not read through.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}
