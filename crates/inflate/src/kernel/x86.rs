//! The loops for x86-64 with AVX2 and BMI2.
//!
//! BMI2 has shifts by any register that leave the flags alone; AVX2 sorts eight steps at a time.

// Loads, stores, and calls of functions for processors that have what they need.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{SPRINT, Steps, generic};
use crate::bits::Window;
use crate::entry::LEAST_TOKEN;
use crate::lane::Lane;
use crate::tokens::{CHUNK, ROOM, Tokens, WIDTH};

/// Steps that AVX2 sorts at a time.
const EIGHT: usize = 8;

const _: () = assert!(SPRINT.is_multiple_of(WIDTH));

/// Whether the processor has all that the others here need.
pub(super) fn is_supported() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}

/// Whether it has what [`split_by_masks`] needs, too.
pub(super) fn has_masks() -> bool {
    is_supported()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512vpopcntdq")
}

/// See [`Kernel::run`](super::Kernel::run). Only where [`is_supported`].
pub(super) fn run<const N: usize>(lanes: &mut [Lane; N], windows: &[&Window; N]) -> usize {
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn run<const N: usize>(lanes: &mut [Lane; N], windows: &[&Window; N]) -> usize {
        generic::run(lanes, windows)
    }
    debug_assert!(is_supported());
    // SAFETY: the kernel is only chosen where the processor has what it needs.
    unsafe { run(lanes, windows) }
}

/// See [`Kernel::split`](super::Kernel::split). Only where [`is_supported`].
pub(super) fn split(steps: &Steps, count: usize, tokens: &mut Tokens) {
    debug_assert!(is_supported());
    if !count.is_multiple_of(EIGHT) {
        // Of a stream that ends early.
        return generic::split(steps, count, tokens);
    }
    // SAFETY: the kernel is only chosen where the processor has what it needs.
    unsafe { split_avx2(steps, count, tokens) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn split_avx2(steps: &Steps, count: usize, tokens: &mut Tokens) {
    let ones = _mm256_set1_epi32(-1);
    // The byte of each entry that a literal is in, of either half.
    let literal_bytes = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        2, 6, 10, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
    ));
    // Bytes to the lowest of each number, and to the third.
    let to_lowest = numbers_of_bytes(0);
    let to_third = numbers_of_bytes(2);
    let (mut literals, mut found) = (0, tokens.token_count);
    let (entries, _) = steps.entries.as_flattened().as_chunks::<EIGHT>();
    let (words, _) = steps.words.as_flattened().as_chunks::<EIGHT>();
    for (entries, words) in entries.iter().zip(words).take(count / EIGHT) {
        let entries = load(entries);
        let words = load(words);
        let is_literal = _mm256_movemask_ps(_mm256_castsi256_ps(entries)) as u8;
        let is_token = _mm256_cmpgt_epi32(entries, _mm256_set1_epi32(LEAST_TOKEN - 1));
        let is_token = _mm256_movemask_ps(_mm256_castsi256_ps(is_token)) as u8;

        let bytes = _mm256_shuffle_epi8(entries, literal_bytes);
        let bytes = _mm_unpacklo_epi32(
            _mm256_castsi256_si128(bytes),
            _mm256_extracti128_si256::<1>(bytes),
        );
        let set_bits = i64::from_le_bytes(SET_BITS[is_literal as usize]);
        let bytes = _mm_shuffle_epi8(bytes, _mm_cvtsi64_si128(set_bits));
        let bytes = _mm_cvtsi128_si64(bytes) as u64;
        let place = literals % ROOM;
        tokens.literals[place..place + EIGHT].copy_from_slice(&bytes.to_le_bytes());

        // No entry consumes more than 31 bits.
        let consumed = _mm256_and_si256(entries, _mm256_set1_epi32(31));
        // Its lowest two bits are the highest of the first byte, the others of the second.
        let code = _mm256_and_si256(entries, _mm256_set1_epi32(0b1100_0000_1100_0000));
        let code = _mm256_maddubs_epi16(code, _mm256_set1_epi32(4 << 8 | 1));
        let code = _mm256_srli_epi32::<6>(code);
        let bits = _mm256_andnot_si256(_mm256_sllv_epi32(ones, consumed), words);
        let extra = _mm256_srlv_epi32(bits, code);
        let value = _mm256_add_epi32(_mm256_srli_epi32::<16>(entries), extra);
        let before = _mm256_shuffle_epi8(eight(&SET_BELOW[is_literal as usize]), to_third);
        let before = _mm256_add_epi32(before, _mm256_set1_epi32((literals << 16) as i32));
        let value = _mm256_add_epi32(value, before);
        let set_bits = _mm256_shuffle_epi8(eight(&SET_BITS[is_token as usize]), to_lowest);
        let value = _mm256_permutevar8x32_epi32(value, set_bits);
        let place = found % ROOM;
        let place = &mut tokens.tokens[place..place + EIGHT];
        store(place.try_into().expect("eight places"), value);

        literals += is_literal.count_ones() as usize;
        found += is_token.count_ones() as usize;
    }
    tokens.literal_count = literals;
    tokens.token_count = found;
}

/// See [`Kernel::split`](super::Kernel::split). Only where [`has_masks`].
pub(super) fn split_by_masks(steps: &Steps, count: usize, tokens: &mut Tokens) {
    debug_assert!(has_masks());
    if !count.is_multiple_of(WIDTH) {
        return generic::split(steps, count, tokens);
    }
    // SAFETY: the kernel is only chosen where the processor has what it needs.
    unsafe { split_avx512(steps, count, tokens) }
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq,bmi1,bmi2,popcnt"
)]
fn split_avx512(steps: &Steps, count: usize, tokens: &mut Tokens) {
    let ones = _mm512_set1_epi32(-1);
    // The byte of each entry that a literal is in, of each of them.
    let literal_bytes = _mm512_castsi128_si512(_mm_setr_epi8(
        2, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42, 46, 50, 54, 58, 62,
    ));
    // Of each entry, the bits of those before it.
    let before = load_all(&std::array::from_fn(|nth| (1 << nth) - 1));
    let (mut literals, mut found) = (0, tokens.token_count);
    let (entries, _) = steps.entries.as_flattened().as_chunks::<WIDTH>();
    let (words, _) = steps.words.as_flattened().as_chunks::<WIDTH>();
    for (entries, words) in entries.iter().zip(words).take(count / WIDTH) {
        let entries = load_all(entries);
        let words = load_all(words);
        let is_literal = _mm512_movepi32_mask(entries);
        let is_token = _mm512_cmpge_epi32_mask(entries, _mm512_set1_epi32(LEAST_TOKEN));

        let bytes = _mm512_castsi512_si128(_mm512_permutexvar_epi8(literal_bytes, entries));
        let bytes = _mm_maskz_compress_epi8(is_literal, bytes);
        let place = literals % ROOM;
        let place = &mut tokens.literals[place..place + WIDTH];
        store_bytes(place.try_into().expect("sixteen places"), bytes);

        // As in AVX2.
        let consumed = _mm512_and_si512(entries, _mm512_set1_epi32(31));
        let code = _mm512_and_si512(entries, _mm512_set1_epi32(0b1100_0000_1100_0000));
        let code = _mm512_maddubs_epi16(code, _mm512_set1_epi32(4 << 8 | 1));
        let code = _mm512_srli_epi32::<6>(code);
        let bits = _mm512_andnot_si512(_mm512_sllv_epi32(ones, consumed), words);
        let extra = _mm512_srlv_epi32(bits, code);
        let value = _mm512_add_epi32(_mm512_srli_epi32::<16>(entries), extra);
        let before = _mm512_and_si512(_mm512_set1_epi32(is_literal.into()), before);
        let before = _mm512_popcnt_epi32(before);
        let before = _mm512_add_epi32(before, _mm512_set1_epi32(literals as i32));
        let value = _mm512_add_epi32(value, _mm512_slli_epi32::<16>(before));
        let value = _mm512_maskz_compress_epi32(is_token, value);
        let place = found % ROOM;
        let place = &mut tokens.tokens[place..place + WIDTH];
        store_all(place.try_into().expect("sixteen places"), value);

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
fn store_all(place: &mut [u32; WIDTH], numbers: __m512i) {
    // SAFETY: that many bytes are written, of any alignment.
    unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), numbers) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_bytes(place: &mut [u8; CHUNK], bytes: __m128i) {
    // SAFETY: that many bytes are written, of any alignment.
    unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), bytes) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(numbers: &[u32; EIGHT]) -> __m256i {
    // SAFETY: that many bytes are read, of any alignment.
    unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(place: &mut [u32; EIGHT], numbers: __m256i) {
    // SAFETY: that many bytes are written, of any alignment.
    unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), numbers) }
}

/// Eight bytes, four times over.
#[inline]
#[target_feature(enable = "avx2")]
fn eight(bytes: &[u8; EIGHT]) -> __m256i {
    _mm256_set1_epi64x(i64::from_le_bytes(*bytes))
}

/// A shuffle of what [`eight`] gives: each of the bytes becomes one byte of a number, the others
/// zero.
#[inline]
#[target_feature(enable = "avx2")]
fn numbers_of_bytes(place: usize) -> __m256i {
    let mut shuffle = [[u8::MAX; 4]; EIGHT];
    for (nth, number) in shuffle.iter_mut().enumerate() {
        number[place] = nth as u8;
    }
    load(&shuffle.map(u32::from_le_bytes))
}

/// Of every byte, the numbers of its bits that are set: where a permutation takes what it keeps.
static SET_BITS: [[u8; EIGHT]; 256] = {
    let mut all = [[0; EIGHT]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut set) = (0, 0);
        while bit < EIGHT {
            if byte >> bit & 1 == 1 {
                all[byte][set] = bit as u8;
                set += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    all
};

/// Of every byte and each of its bits, how many bits below are set.
static SET_BELOW: [[u8; EIGHT]; 256] = {
    let mut all = [[0; EIGHT]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut set) = (0, 0);
        while bit < EIGHT {
            all[byte][bit] = set;
            set += (byte >> bit & 1) as u8;
            bit += 1;
        }
        byte += 1;
    }
    all
};
