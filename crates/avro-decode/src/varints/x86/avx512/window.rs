//! Decodes the varints in 64 bytes in parallel.
//!
//! The mask of the bytes that end a varint gives the starts of the varints. The bytes of each
//! varint are gathered into a lane: of 4 bytes if all varints fit, otherwise of 8. Bytes after the
//! end of a varint are cleared. Groups of seven bits are joined by multiplying and adding
//! neighbours.

use std::arch::x86_64::*;

use super::super::memory::{load, load_some};
use super::super::skip::len_of;

/// The next bytes of the data.
pub(super) struct Window {
    bytes: __m512i,
    /// A mask with a bit for each byte that ends a varint.
    pub(super) ends: u64,
}

impl Window {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,bmi2")]
    pub(super) fn at(data: &[u8]) -> Self {
        let bytes = match data.first_chunk() {
            Some(bytes) => load(bytes),
            // Missing bytes are filled with bytes that do not end a varint.
            None => load_some(data, _mm512_set1_epi8(-0x80)),
        };
        let ends = !_mm512_movepi8_mask(bytes);
        Window { bytes, ends }
    }

    /// The size in bytes of the first `n` varints, 1 to 64; more than 64 if they do not end in the
    /// window.
    #[inline]
    #[target_feature(enable = "bmi1,bmi2")]
    pub(super) fn len_of(&self, n: usize) -> usize {
        len_of(self.ends, n)
    }

    /// A mask with a bit for each byte that does not end a varint, nor do the next three.
    #[inline]
    fn four_on(&self) -> u64 {
        let on = !self.ends;
        let two = on & (on >> 1);
        two & (two >> 2)
    }

    /// The size in bytes of the first `n` varints, if each has at most 4 bytes.
    #[inline]
    #[target_feature(enable = "bmi1,bmi2")]
    pub(super) fn narrow(&self, n: usize) -> Option<usize> {
        let len = self.len_of(n);
        (len <= 64 && _bzhi_u64(self.four_on(), len as u32) == 0).then_some(len)
    }

    /// The size in bytes of the first `n` varints, if each has at most 8 bytes.
    #[inline]
    #[target_feature(enable = "bmi1,bmi2")]
    pub(super) fn wide(&self, n: usize) -> Option<usize> {
        let len = self.len_of(n);
        let four_on = self.four_on();
        let eight_on = four_on & (four_on >> 4);
        (len <= 64 && _bzhi_u64(eight_on, len as u32) == 0).then_some(len)
    }

    /// Whether the first `n` varints are ints. They take `len` bytes, at most 8 each.
    #[inline]
    #[target_feature(enable = "avx512f,bmi2")]
    pub(super) fn are_ints(&self, n: usize, len: usize, bits: __m512i) -> bool {
        let five = self.four_on() & (!self.ends >> 4);
        let too_long = _bzhi_u64(five, len as u32);
        let max = _mm512_set1_epi64(i64::from(u32::MAX));
        let too_large = _mm512_cmpgt_epu64_mask(bits, max) & ((1u16 << n) - 1) as u8;
        too_long == 0 && too_large == 0
    }

    /// The first 16 varints, of at most 4 bytes each.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    pub(super) fn narrow_values(&self) -> __m512i {
        let first = _mm512_permutexvar_epi8(load(&BEFORE_FOUR), self.behind());
        let positions = _mm512_add_epi8(first, _mm512_set1_epi32(0x0302_0100));
        let bytes = _mm512_permutexvar_epi8(positions, self.bytes);
        let filled = _mm512_or_si512(bytes, _mm512_set1_epi8(0x7f));
        let next = _mm512_sub_epi32(filled, _mm512_set1_epi32(-1));
        let bits = join_sevens(up_to_end(bytes, filled, next));
        let sign = _mm512_srai_epi32::<31>(_mm512_slli_epi32::<31>(bits));
        _mm512_xor_si512(_mm512_srli_epi32::<1>(bits), sign)
    }

    /// The first 8 varints, of at most 8 bytes each, still zig-zag coded.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    pub(super) fn wide_bits(&self) -> __m512i {
        let first = _mm512_permutexvar_epi8(load(&BEFORE_EIGHT), self.behind());
        let positions = _mm512_add_epi8(first, _mm512_set1_epi64(0x0706_0504_0302_0100));
        let bytes = _mm512_permutexvar_epi8(positions, self.bytes);
        let filled = _mm512_or_si512(bytes, _mm512_set1_epi8(0x7f));
        let next = _mm512_sub_epi64(filled, _mm512_set1_epi64(-1));
        let halves = join_sevens(up_to_end(bytes, filled, next));
        // Shift the upper half's 28 bits next to the lower half's.
        let upper = _mm512_srli_epi64::<4>(halves);
        let is_lower = _mm512_set1_epi64(0x0fff_ffff);
        _mm512_ternarylogic_epi64::<FIRST_IF_THIRD_ELSE_SECOND>(halves, upper, is_lower)
    }

    /// The positions after the ends of the varints, followed by other positions.
    ///
    /// Zeros would do as the other positions. But on Zen 4, the instruction that writes zeros waits
    /// for the old contents of its destination. It would wait for all work on the last window.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2")]
    fn behind(&self) -> __m512i {
        let positions = load(&BEHIND);
        _mm512_mask_compress_epi8(positions, self.ends, positions)
    }
}

/// Seven bits of each byte of a varint, and zeros after its end. `filled` is `bytes` with these
/// bits set. `next` is one more than `filled`, so it differs from it in all bytes of the varint.
#[inline]
#[target_feature(enable = "avx512f")]
fn up_to_end(bytes: __m512i, filled: __m512i, next: __m512i) -> __m512i {
    let bytes = _mm512_ternarylogic_epi64::<FIRST_IF_OTHERS_DIFFER>(bytes, filled, next);
    _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f))
}

/// Joins seven bits of each of four bytes to 28 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn join_sevens(bytes: __m512i) -> __m512i {
    // Multiplies unsigned by signed bytes, 1 and 0x80, and adds pairs.
    let fourteens = _mm512_maddubs_epi16(_mm512_set1_epi16(0x80_01u16 as i16), bytes);
    _mm512_madd_epi16(fourteens, _mm512_set1_epi32(0x4000_0001))
}

/// Undoes the zig-zag coding of 8 values.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn zigzag_wide(bits: __m512i) -> __m512i {
    let sign = _mm512_and_si512(bits, _mm512_set1_epi64(1));
    let sign = _mm512_sub_epi64(_mm512_setzero_si512(), sign);
    _mm512_xor_si512(_mm512_srli_epi64::<1>(bits), sign)
}

/// Truth table: the first vector where the two others differ, and zero elsewhere.
const FIRST_IF_OTHERS_DIFFER: i32 = 0b0110_0000;
/// Truth table: the first vector where the third is set, and the second elsewhere.
const FIRST_IF_THIRD_ELSE_SECOND: i32 = 0b1110_0100;

/// The positions after those of a window's bytes: 1 to 64. 64 stands for the window's start, since
/// positions count modulo 64.
static BEHIND: [u8; 64] = {
    let mut positions = [0; 64];
    let mut i = 0;
    while i < 64 {
        positions[i] = i as u8 + 1;
        i += 1;
    }
    positions
};

/// For each byte of 16 values, the index of the previous value, modulo 64.
static BEFORE_FOUR: [u8; 64] = value_before::<4>();
/// For each byte of 8 values, the index of the previous value, modulo 64.
static BEFORE_EIGHT: [u8; 64] = value_before::<8>();

const fn value_before<const BYTES: usize>() -> [u8; 64] {
    let mut before = [0; 64];
    let mut i = 0;
    while i < 64 {
        before[i] = (i / BYTES + 63) as u8 % 64;
        i += 1;
    }
    before
}
