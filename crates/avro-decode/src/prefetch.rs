//! Asking for bytes before they are needed.
#![allow(unsafe_code)] // The instruction takes a pointer, though it never reads through it.

/// Has the processor load the cache line of `bytes[place]`, if there is one, while
/// other work goes on. Changes nothing else; on machines other than x86-64 it does
/// nothing.
#[inline]
pub fn prefetch(bytes: &[u8], place: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(byte) = bytes.get(place) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the pointer is to a byte of the slice, and is not read through.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, place);
}
