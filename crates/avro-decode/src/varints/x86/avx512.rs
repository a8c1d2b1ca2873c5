//! The kernels in AVX-512: 64 bytes are looked at, and up to 16 values made, at
//! a time.
//!
//! The mask of a window's end bytes gives where its varints start. Their bytes
//! are then gathered into a lane for each, of 4 bytes as long as they all fit,
//! else of 8; what is behind the end of a varint is cleared, and groups of seven
//! bits are joined by multiplying and adding neighbours.

use std::arch::x86_64::*;

use super::super::word::first;
use super::memory::{load, load_some, store_ints, store_longs};

/// See [`Kernels::longs`](super::super::Kernels::longs).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn longs(data: &[u8], out: &mut [i64]) -> Option<usize> {
    let narrow = |out: &mut [i64], values| {
        store_longs(out, widened(values));
        false
    };
    let wide = |out: &mut [i64], values| {
        store_longs(out, [values]);
        false
    };
    let (len, _) = each::<false, _>(data, out, &IN_ORDER, narrow, wide)?;
    Some(len)
}

/// See [`Kernels::ints`](super::super::Kernels::ints).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn ints(data: &[u8], out: &mut [i32]) -> Option<usize> {
    let narrow = |out: &mut [i32], values| {
        store_ints(out, values);
        false
    };
    let wide = |out: &mut [i32], values| {
        store_ints(out, _mm512_castsi256_si512(_mm512_cvtepi64_epi32(values)));
        false
    };
    let (len, _) = each::<true, _>(data, out, &IN_ORDER, narrow, wide)?;
    Some(len)
}

/// See [`Kernels::coordinates`](super::super::Kernels::coordinates).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn coordinates<const INT: bool>(
    data: &[u8],
    row: i64,
    bound: u64,
    out: &mut [[i64; 2]],
) -> Option<(usize, bool)> {
    // The row, and zeros between.
    let rows = _mm512_maskz_set1_epi64(0b0101_0101, row);
    let narrow_bound = narrow_bound(bound);
    let narrow = |out: &mut [[i64; 2]], indices| {
        let n = _mm512_set1_epi32(out.len() as i32);
        let lanes = _mm512_cmplt_epu32_mask(
            _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
            n,
        );
        // Those of a vector stand in the same place of each four lanes. The upper
        // half of an index is zero: none is negative.
        const TO: __mmask16 = 0b0100_0100_0100_0100;
        let pairs = [
            _mm512_mask_shuffle_epi32::<0b00_00_00_00>(rows, TO, indices),
            _mm512_mask_shuffle_epi32::<0b00_01_00_00>(rows, TO, indices),
            _mm512_mask_shuffle_epi32::<0b00_10_00_00>(rows, TO, indices),
            _mm512_mask_shuffle_epi32::<0b00_11_00_00>(rows, TO, indices),
        ];
        store_longs(out.as_flattened_mut(), pairs);
        _mm512_mask_cmpge_epu32_mask(lanes, indices, narrow_bound) != 0
    };
    let wide = |out: &mut [[i64; 2]], indices| {
        let pairs = [0, 4].map(|i| {
            let lanes = _mm512_setr_epi64(0, i, 0, i + 1, 0, i + 2, 0, i + 3);
            _mm512_mask_permutexvar_epi64(rows, 0b1010_1010, lanes, indices)
        });
        let n = out.len();
        store_longs(out.as_flattened_mut(), pairs);
        is_any_wide_at(bound, n, indices)
    };
    each::<INT, _>(data, out, &BY_FOURS, narrow, wide)
}

/// See [`Kernels::indices`](super::super::Kernels::indices).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn indices<const INT: bool>(
    data: &[u8],
    bound: u64,
    out: &mut [i64],
) -> Option<(usize, bool)> {
    let narrow_bound = narrow_bound(bound);
    let narrow = |out: &mut [i64], indices| {
        let lanes = ((1u32 << out.len()) - 1) as u16;
        store_longs(out, widened(indices));
        _mm512_mask_cmpge_epu32_mask(lanes, indices, narrow_bound) != 0
    };
    let wide = |out: &mut [i64], indices| {
        let n = out.len();
        store_longs(out, [indices]);
        is_any_wide_at(bound, n, indices)
    };
    each::<INT, _>(data, out, &IN_ORDER, narrow, wide)
}

/// What a lane of 32 bits is compared with: a negative index is larger, too.
#[inline]
#[target_feature(enable = "avx512f")]
fn narrow_bound(bound: u64) -> __m512i {
    _mm512_set1_epi32(bound.min(1 << 31) as u32 as i32)
}

/// Whether any of the first `n` indices is at or above `bound`, as `u64`.
#[inline]
#[target_feature(enable = "avx512f")]
fn is_any_wide_at(bound: u64, n: usize, indices: __m512i) -> bool {
    let lanes = ((1u32 << n) - 1) as u8;
    _mm512_mask_cmpge_epu64_mask(lanes, indices, _mm512_set1_epi64(bound as i64)) != 0
}

/// See [`Kernels::skip`](super::super::Kernels::skip).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn skip(data: &[u8], mut n: usize) -> Option<usize> {
    let mut position = 0;
    while n > 0 {
        let rest = &data[position..];
        let window = Window::at(rest);
        let ends = window.ends.count_ones() as usize;
        if ends >= n {
            return Some(position + window.len_of(n));
        }
        if rest.len() <= 64 {
            return None;
        }
        n -= ends;
        position += 64;
    }
    Some(position)
}

/// Reads `out.len()` varints, each an `int` if `INT`. Gives the bytes they take,
/// and whether any call of the two functions said so.
///
/// `narrow` gets the next places in `out`, up to 16, with their values in lanes
/// of 32 bits, in the order of `lanes`; `wide` up to 8, with lanes of 64.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn each<const INT: bool, T>(
    data: &[u8],
    out: &mut [T],
    lanes: &[u8; 64],
    narrow: impl Fn(&mut [T], __m512i) -> bool,
    wide: impl Fn(&mut [T], __m512i) -> bool,
) -> Option<(usize, bool)> {
    let (mut position, mut done, mut any) = (0, 0, false);
    while done < out.len() {
        let out = &mut out[done..];
        let n = out.len().min(16);
        let window = Window::at(&data[position..]);
        let Some(len) = window.narrow(n) else {
            let (len, any_wide) = each_wide::<INT, _>(&data[position..], out, wide)?;
            return Some((position + len, any | any_wide));
        };
        any |= narrow(&mut out[..n], window.narrow_values(lanes));
        position += len;
        done += n;
    }
    Some((position, any))
}

/// As [`each`], once a varint has more than 4 bytes. Apart, so that its constants
/// are not loaded for a short run.
#[cold]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn each_wide<const INT: bool, T>(
    data: &[u8],
    out: &mut [T],
    wide: impl Fn(&mut [T], __m512i) -> bool,
) -> Option<(usize, bool)> {
    let (mut position, mut done, mut any) = (0, 0, false);
    while done < out.len() {
        let out = &mut out[done..];
        let window = Window::at(&data[position..]);
        let (mut n, mut len) = window.wide(out.len().min(8));
        let mut bits = window.wide_bits();
        if n == 0 {
            let (only, only_len) = first(&data[position..])?;
            (n, len) = (1, only_len);
            bits = _mm512_set1_epi64(only as i64);
        }
        if INT && !window.are_ints(n, len, bits) {
            return None;
        }
        any |= wide(&mut out[..n], zigzag_wide(bits));
        position += len;
        done += n;
    }
    Some((position, any))
}

/// The next bytes of the data.
struct Window {
    bytes: __m512i,
    /// A bit for each byte that ends a varint.
    ends: u64,
}

impl Window {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,bmi2")]
    fn at(data: &[u8]) -> Self {
        let bytes = match data.first_chunk() {
            Some(bytes) => load(bytes),
            // What is not there goes on.
            None => load_some(data, _mm512_set1_epi8(-0x80)),
        };
        let ends = !_mm512_movepi8_mask(bytes);
        Window { bytes, ends }
    }

    /// The bytes of the first `n` varints, more than 64 if they go on behind the
    /// window. `n` is 1 to 64.
    #[inline]
    #[target_feature(enable = "bmi1,bmi2")]
    fn len_of(&self, n: usize) -> usize {
        _tzcnt_u64(_pdep_u64(1 << (n - 1), self.ends)) as usize + 1
    }

    /// A bit for each byte that goes on, as do the three behind it.
    #[inline]
    fn four_on(&self) -> u64 {
        let on = !self.ends;
        let two = on & (on >> 1);
        two & (two >> 2)
    }

    /// The bytes of the first `n` varints, if each has at most 4.
    #[inline]
    #[target_feature(enable = "bmi1,bmi2")]
    fn narrow(&self, n: usize) -> Option<usize> {
        let len = self.len_of(n);
        let all = len <= 64 && _bzhi_u64(self.four_on(), len as u32) == 0;
        all.then_some(len)
    }

    /// How many varints, at most `n`, there are before one of more than 8 bytes,
    /// and their bytes.
    #[inline]
    #[target_feature(enable = "bmi1,bmi2,popcnt")]
    fn wide(&self, n: usize) -> (usize, usize) {
        let four = self.four_on();
        let eight = four & (four >> 4);
        let before = _bzhi_u64(self.ends, _tzcnt_u64(eight) as u32);
        let n = n.min(before.count_ones() as usize);
        match n {
            0 => (0, 0),
            n => (n, self.len_of(n)),
        }
    }

    /// Whether the first `n` varints, of `len` bytes, each of at most 8, are
    /// ints.
    #[inline]
    #[target_feature(enable = "avx512f,bmi2")]
    fn are_ints(&self, n: usize, len: usize, bits: __m512i) -> bool {
        let five = self.four_on() & (!self.ends >> 4);
        let too_long = _bzhi_u64(five, len as u32);
        let max = _mm512_set1_epi64(i64::from(u32::MAX));
        let too_large = _mm512_cmpgt_epu64_mask(bits, max) & ((1u16 << n) - 1) as u8;
        too_long == 0 && too_large == 0
    }

    /// The first 16 varints, of at most 4 bytes each, in the order of `lanes`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn narrow_values(&self, lanes: &[u8; 64]) -> __m512i {
        let first = _mm512_permutexvar_epi8(load(lanes), self.behind());
        let places = _mm512_add_epi8(first, _mm512_set1_epi32(0x0302_0100));
        let bytes = _mm512_permutexvar_epi8(places, self.bytes);
        let filled = _mm512_or_si512(bytes, _mm512_set1_epi8(0x7f));
        let next = _mm512_sub_epi32(filled, _mm512_set1_epi32(-1));
        let bits = join_sevens(up_to_end(bytes, filled, next));
        let sign = _mm512_srai_epi32::<31>(_mm512_slli_epi32::<31>(bits));
        _mm512_xor_si512(_mm512_srli_epi32::<1>(bits), sign)
    }

    /// The first 8 varints, of at most 8 bytes each, before their zig-zag coding
    /// is undone.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn wide_bits(&self) -> __m512i {
        let first = _mm512_permutexvar_epi8(load(&EIGHTS_IN_ORDER), self.behind());
        let places = _mm512_add_epi8(first, _mm512_set1_epi64(0x0706_0504_0302_0100));
        let bytes = _mm512_permutexvar_epi8(places, self.bytes);
        let filled = _mm512_or_si512(bytes, _mm512_set1_epi8(0x7f));
        let next = _mm512_sub_epi64(filled, _mm512_set1_epi64(-1));
        let halves = join_sevens(up_to_end(bytes, filled, next));
        // The upper half's 28 bits go right behind the lower's.
        let upper = _mm512_srli_epi64::<4>(halves);
        let is_lower = _mm512_set1_epi64(0x0fff_ffff);
        _mm512_ternarylogic_epi64::<FIRST_IF_THIRD_ELSE_SECOND>(halves, upper, is_lower)
    }

    /// The places behind the ends of the varints; others behind them.
    ///
    /// Zeros there would do, but the instruction that writes them waits on Zen 4
    /// for what its destination held before: all the work on the last window.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2")]
    fn behind(&self) -> __m512i {
        let places = load(&BEHIND);
        _mm512_mask_compress_epi8(places, self.ends, places)
    }
}

/// Seven bits of each byte of a varint, and zeros behind it. `filled` has them
/// set, so that `next`, which is one more, differs in all bytes of the varint.
#[inline]
#[target_feature(enable = "avx512f")]
fn up_to_end(bytes: __m512i, filled: __m512i, next: __m512i) -> __m512i {
    let bytes = _mm512_ternarylogic_epi64::<FIRST_IF_OTHERS_DIFFER>(bytes, filled, next);
    _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f))
}

/// Joins, for each four bytes, their seven bits to 28.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn join_sevens(bytes: __m512i) -> __m512i {
    // Unsigned bytes times signed ones, pairs added: 1 and 0x80.
    let fourteens = _mm512_maddubs_epi16(_mm512_set1_epi16(0x80_01u16 as i16), bytes);
    _mm512_madd_epi16(fourteens, _mm512_set1_epi32(0x4000_0001))
}

/// 16 values of 32 bits as 64.
#[inline]
#[target_feature(enable = "avx512f")]
fn widened(values: __m512i) -> [__m512i; 2] {
    let low = _mm512_castsi512_si256(values);
    let high = _mm512_extracti64x4_epi64::<1>(values);
    [_mm512_cvtepi32_epi64(low), _mm512_cvtepi32_epi64(high)]
}

/// Undoes the zig-zag coding of 8 values.
#[inline]
#[target_feature(enable = "avx512f")]
fn zigzag_wide(bits: __m512i) -> __m512i {
    let sign = _mm512_and_si512(bits, _mm512_set1_epi64(1));
    let sign = _mm512_sub_epi64(_mm512_setzero_si512(), sign);
    _mm512_xor_si512(_mm512_srli_epi64::<1>(bits), sign)
}

/// Truth table of a vector where two others differ, and zero elsewhere.
const FIRST_IF_OTHERS_DIFFER: i32 = 0b0110_0000;
/// Truth table of a choice between two vectors.
const FIRST_IF_THIRD_ELSE_SECOND: i32 = 0b1110_0100;

/// The places behind those of a window: 1 to 64. The last stands for the window's
/// start, as places count modulo 64.
static BEHIND: [u8; 64] = {
    let mut places = [0; 64];
    let mut i = 0;
    while i < 64 {
        places[i] = i as u8 + 1;
        i += 1;
    }
    places
};

/// For each byte of lanes of 4 the number of the value before theirs, modulo 64.
static IN_ORDER: [u8; 64] =
    values_before::<4, 16>([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
/// Every fourth value next to another.
static BY_FOURS: [u8; 64] =
    values_before::<4, 16>([0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]);
/// Of lanes of 8.
static EIGHTS_IN_ORDER: [u8; 64] = values_before::<8, 8>([0, 1, 2, 3, 4, 5, 6, 7]);

const fn values_before<const BYTES: usize, const LANES: usize>(values: [u8; LANES]) -> [u8; 64] {
    let mut before = [0; 64];
    let mut i = 0;
    while i < 64 {
        before[i] = (values[i / BYTES] + 63) % 64;
        i += 1;
    }
    before
}
