//! Sorting with AVX2, eight lookups at a time.

// Loads and stores.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::{LOOKUPS_PER_CHECK, Lookups};
use crate::entry::LEAST_TOKEN;
use crate::tokens::{CAPACITY, Tokens};

/// Number of lookups that are sorted at a time.
pub(super) const EIGHT: usize = 8;

const _: () = assert!(LOOKUPS_PER_CHECK.is_multiple_of(EIGHT));

/// See [`Kernel::split`](crate::kernel::Kernel::split), of whole [`EIGHT`]s.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn split(lookups: &Lookups, count: usize, tokens: &mut Tokens) {
    let ones = _mm256_set1_epi32(-1);
    // The byte of each entry that a literal is in, of either half.
    let literal_bytes = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        2, 6, 10, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
    ));
    // Bytes to the lowest of each number, and to the third.
    let to_lowest = numbers_of_bytes(0);
    let to_third = numbers_of_bytes(2);
    let (mut literals, mut found) = (0, tokens.token_count);
    let (entries, _) = lookups.entries.as_flattened().as_chunks::<EIGHT>();
    let (words, _) = lookups.words.as_flattened().as_chunks::<EIGHT>();
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
        let slot = literals % CAPACITY;
        tokens.literals[slot..slot + EIGHT].copy_from_slice(&bytes.to_le_bytes());

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
        let slot = found % CAPACITY;
        let slot = &mut tokens.tokens[slot..slot + EIGHT];
        store(slot.try_into().expect("eight slots"), value);

        literals += is_literal.count_ones() as usize;
        found += is_token.count_ones() as usize;
    }
    tokens.literal_count = literals;
    tokens.token_count = found;
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(numbers: &[u32; EIGHT]) -> __m256i {
    // SAFETY: that many bytes are read, of any alignment.
    unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(slot: &mut [u32; EIGHT], numbers: __m256i) {
    // SAFETY: that many bytes are written, of any alignment.
    unsafe { _mm256_storeu_si256(slot.as_mut_ptr().cast(), numbers) }
}

/// Eight bytes, repeated four times.
#[inline]
#[target_feature(enable = "avx2")]
fn eight(bytes: &[u8; EIGHT]) -> __m256i {
    _mm256_set1_epi64x(i64::from_le_bytes(*bytes))
}

/// A shuffle for the result of [`eight`]: each byte becomes byte `slot` of a number, whose other
/// bytes are zero.
#[inline]
#[target_feature(enable = "avx2")]
fn numbers_of_bytes(slot: usize) -> __m256i {
    let mut shuffle = [[u8::MAX; 4]; EIGHT];
    for (nth, number) in shuffle.iter_mut().enumerate() {
        number[slot] = nth as u8;
    }
    load(&shuffle.map(u32::from_le_bytes))
}

/// For each byte: the numbers of its set bits, as indices of a permutation.
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

/// For each byte and each of its bits: the number of set bits below it.
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
