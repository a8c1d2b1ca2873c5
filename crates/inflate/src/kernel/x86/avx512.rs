//! Sorting with AVX-512, sixteen lookups at a time.

// Loads and stores.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::hint::black_box;

use super::super::{LOOKUPS_PER_CHECK, Lookups};
use crate::entry::LEAST_TOKEN;
use crate::tokens::{CAPACITY, CHUNK, Tokens, WIDTH};

const _: () = assert!(LOOKUPS_PER_CHECK.is_multiple_of(WIDTH) && WIDTH == CHUNK);

/// See [`Kernel::split`](crate::kernel::Kernel::split), of whole [`WIDTH`]s.
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,bmi1,bmi2,popcnt"
)]
pub(super) fn split(lookups: &Lookups, count: usize, tokens: &mut Tokens) {
    let ones = _mm512_set1_epi32(-1);
    // The byte of each entry that a literal is in.
    let literal_bytes = _mm512_zextsi128_si512(_mm_setr_epi8(
        2, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42, 46, 50, 54, 58, 62,
    ));
    // Hidden from the compiler, which would take two or three instructions for one.
    let (zero, literal_bytes) = black_box((_mm512_setzero_si512(), literal_bytes));
    // For each entry: the bits of the entries before it, in the half that counts literals.
    let before = load_all(&std::array::from_fn(|nth| ((1 << nth) - 1) << 16));
    let (mut literals, mut found) = (0, tokens.token_count);
    let (entries, _) = lookups.entries.as_flattened().as_chunks::<WIDTH>();
    let (words, _) = lookups.words.as_flattened().as_chunks::<WIDTH>();
    for (entries, words) in entries.iter().zip(words).take(count / WIDTH) {
        let entries = load_all(entries);
        let words = load_all(words);
        let is_literal = _mm512_movepi32_mask(entries);
        let is_token = _mm512_cmpge_epi32_mask(entries, _mm512_set1_epi32(LEAST_TOKEN));

        let bytes = _mm512_castsi512_si128(_mm512_permutexvar_epi8(literal_bytes, entries));
        let bytes = _mm_maskz_compress_epi8(is_literal, bytes);
        let slot = literals % CAPACITY;
        let slot = &mut tokens.literals[slot..slot + WIDTH];
        store_bytes(slot.try_into().expect("sixteen slots"), bytes);

        // As in AVX2. A shift of two numbers uses the lowest five bits of the third: no mask.
        let code = _mm512_and_si512(entries, _mm512_set1_epi32(0b1100_0000_1100_0000));
        let code = _mm512_maddubs_epi16(code, _mm512_set1_epi32(4 << 8 | 1));
        let code = _mm512_srli_epi32::<6>(code);
        let bits = _mm512_andnot_si512(_mm512_shldv_epi32(ones, zero, entries), words);
        let extra = _mm512_shrdv_epi32(bits, zero, code);
        let value = _mm512_add_epi32(_mm512_srli_epi32::<16>(entries), extra);
        let before = _mm512_and_si512(_mm512_set1_epi32(i32::from(is_literal) << 16), before);
        let value = _mm512_add_epi32(value, _mm512_popcnt_epi16(before));
        let value = _mm512_add_epi32(value, _mm512_set1_epi32((literals << 16) as i32));
        let value = _mm512_maskz_compress_epi32(is_token, value);
        let slot = found % CAPACITY;
        let slot = &mut tokens.tokens[slot..slot + WIDTH];
        store_all(slot.try_into().expect("sixteen slots"), value);

        literals += is_literal.count_ones() as usize;
        found += is_token.count_ones() as usize;
    }
    tokens.literal_count = literals;
    tokens.token_count = found;
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_all(numbers: &[u32; WIDTH]) -> __m512i {
    // SAFETY: that many bytes are read, of any alignment.
    unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_all(slot: &mut [u32; WIDTH], numbers: __m512i) {
    // SAFETY: that many bytes are written, of any alignment.
    unsafe { _mm512_storeu_si512(slot.as_mut_ptr().cast(), numbers) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_bytes(slot: &mut [u8; CHUNK], bytes: __m128i) {
    // SAFETY: that many bytes are written, of any alignment.
    unsafe { _mm_storeu_si128(slot.as_mut_ptr().cast(), bytes) }
}
