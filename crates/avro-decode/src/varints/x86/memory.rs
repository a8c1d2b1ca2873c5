//! Loads and stores of vectors, also for slices shorter than a vector.
#![allow(unsafe_code)] // The instructions that leave lanes out take pointers.

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _bzhi_u64, _mm_loadu_si128, _mm256_loadu_si256, _mm256_storeu_si256,
    _mm512_loadu_si512, _mm512_mask_loadu_epi8, _mm512_mask_storeu_epi32, _mm512_mask_storeu_epi64,
};

/// The vector of 16 bytes.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn load_16(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the reference is to 16 bytes; the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// The vector of 32 bytes.
#[inline]
#[target_feature(enable = "avx")]
pub(super) fn load_32(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the reference is to 32 bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// The vector of 64 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the reference is to 64 bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// The first bytes of `bytes`, up to 64, followed by those of `others`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
pub(super) fn load_some(bytes: &[u8], others: __m512i) -> __m512i {
    let lanes = first_lanes(bytes.len());
    // SAFETY: only the lanes of `lanes` are read, which are bytes of the slice.
    unsafe { _mm512_mask_loadu_epi8(others, lanes, bytes.as_ptr().cast()) }
}

/// Writes 8 lanes of 32 bits.
#[inline]
#[target_feature(enable = "avx")]
pub(super) fn store_8_ints(out: &mut [i32; 8], vector: __m256i) {
    // SAFETY: the reference is to 32 bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), vector) };
}

/// Writes 4 lanes of 64 bits.
#[inline]
#[target_feature(enable = "avx")]
pub(super) fn store_4_longs(out: &mut [i64; 4], vector: __m256i) {
    // SAFETY: as above.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), vector) };
}

/// Writes lanes of 64 bits from the vectors in order, until `out` is full.
#[inline]
#[target_feature(enable = "avx512f,bmi2")]
pub(super) fn store_longs<const N: usize>(out: &mut [i64], vectors: [__m512i; N]) {
    let lanes = first_lanes(out.len());
    let start = out.as_mut_ptr();
    for (i, vector) in vectors.into_iter().enumerate() {
        let lanes = (lanes >> (8 * i)) as u8;
        // SAFETY: only the lanes of `lanes` are written, which are elements of the slice. If
        // `lanes` is empty, the pointer may be outside the slice.
        unsafe { _mm512_mask_storeu_epi64(start.wrapping_add(8 * i), lanes, vector) };
    }
}

/// Writes lanes of 32 bits, at most 16, until `out` is full.
#[inline]
#[target_feature(enable = "avx512f,bmi2")]
pub(super) fn store_ints(out: &mut [i32], vector: __m512i) {
    let lanes = first_lanes(out.len()) as u16;
    // SAFETY: only the lanes of `lanes` are written, which are elements of the
    // slice.
    unsafe { _mm512_mask_storeu_epi32(out.as_mut_ptr(), lanes, vector) };
}

/// The mask of the first `n` lanes, at most 64.
#[inline]
#[target_feature(enable = "bmi2")]
fn first_lanes(n: usize) -> u64 {
    _bzhi_u64(u64::MAX, n.min(64) as u32)
}
