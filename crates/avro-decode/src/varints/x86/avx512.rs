//! The kernels in AVX-512: 64 bytes are looked at, and up to 16 values made, at
//! a time.
//!
//! The mask of a window's end bytes gives where its varints start. Their bytes
//! are then gathered into a lane for each, of 4 bytes as long as they all fit,
//! else of 8; what is behind the end of a varint is cleared, and groups of seven
//! bits are joined by multiplying and adding neighbours.

use std::arch::x86_64::*;

use super::super::Indices;
use super::super::word::first;
use super::memory::{load, load_some, store_ints, store_longs};

/// See [`Kernels::longs`](super::super::Kernels::longs).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn longs(data: &[u8], out: &mut [i64]) -> Option<usize> {
    let narrow = |(), out: &mut [i64], values| store_longs(out, widened(values));
    let wide = |(), out: &mut [i64], values| store_longs(out, [values]);
    let (len, ()) = each::<false, _, _>(data, out, (), narrow, wide)?;
    Some(len)
}

/// See [`Kernels::ints`](super::super::Kernels::ints).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn ints(data: &[u8], out: &mut [i32]) -> Option<usize> {
    let narrow = |(), out: &mut [i32], values| store_ints(out, values);
    let wide = |(), out: &mut [i32], values| {
        store_ints(out, _mm512_castsi256_si512(_mm512_cvtepi64_epi32(values)));
    };
    let (len, ()) = each::<true, _, _>(data, out, (), narrow, wide)?;
    Some(len)
}

/// See [`Kernels::coordinates`](super::super::Kernels::coordinates).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn coordinates<const INT: bool>(
    data: &[u8],
    row: i64,
    end: u64,
    out: &mut [[i64; 2]],
) -> Option<Indices> {
    // The row, and zeros between.
    let rows = _mm512_maskz_set1_epi64(0b0101_0101, row);
    let narrow = |max: Max, out: &mut [[i64; 2]], indices| {
        let max = max.or_narrow(out.len(), indices);
        // The upper half of an index is zero: none is negative.
        let four = [0, 4, 8, 12].map(|i| {
            let lanes =
                _mm512_setr_epi32(0, 0, i, 0, 0, 0, i + 1, 0, 0, 0, i + 2, 0, 0, 0, i + 3, 0);
            _mm512_mask_permutexvar_epi32(rows, 0b0100_0100_0100_0100, lanes, indices)
        });
        store_longs(out.as_flattened_mut(), four);
        max
    };
    let wide = |max: Max, out: &mut [[i64; 2]], indices| {
        let max = max.or_wide(out.len(), indices);
        let four = [0, 4].map(|i| {
            let lanes = _mm512_setr_epi64(0, i, 0, i + 1, 0, i + 2, 0, i + 3);
            _mm512_mask_permutexvar_epi64(rows, 0b1010_1010, lanes, indices)
        });
        store_longs(out.as_flattened_mut(), four);
        max
    };
    let (len, max) = each::<INT, _, _>(data, out, Max::new(), narrow, wide)?;
    Indices::new(len, out.len(), max.get(), end)
}

/// See [`Kernels::indices`](super::super::Kernels::indices).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn indices<const INT: bool>(data: &[u8], end: u64, out: &mut [i64]) -> Option<Indices> {
    let narrow = |max: Max, out: &mut [i64], indices| {
        let max = max.or_narrow(out.len(), indices);
        store_longs(out, widened(indices));
        max
    };
    let wide = |max: Max, out: &mut [i64], indices| {
        let max = max.or_wide(out.len(), indices);
        store_longs(out, [indices]);
        max
    };
    let (len, max) = each::<INT, _, _>(data, out, Max::new(), narrow, wide)?;
    Indices::new(len, out.len(), max.get(), end)
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
/// and what has become of `state`.
///
/// `narrow` gets the next places in `out`, up to 16, with their values in lanes
/// of 32 bits; `wide` up to 8, with lanes of 64. Two functions so that each is
/// inlined, and so that the second's constants are not loaded for a short run.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn each<const INT: bool, T, S>(
    data: &[u8],
    out: &mut [T],
    mut state: S,
    narrow: impl Fn(S, &mut [T], __m512i) -> S,
    wide: impl Fn(S, &mut [T], __m512i) -> S,
) -> Option<(usize, S)> {
    let (mut position, mut done) = (0, 0);
    while done < out.len() {
        let out = &mut out[done..];
        let n = out.len().min(16);
        let window = Window::at(&data[position..]);
        let Some(len) = window.narrow(n) else {
            let (len, state) = each_wide::<INT, _, _>(&data[position..], out, state, wide)?;
            return Some((position + len, state));
        };
        state = narrow(state, &mut out[..n], window.narrow_values());
        position += len;
        done += n;
    }
    Some((position, state))
}

/// As [`each`], once a varint has more than 4 bytes.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn each_wide<const INT: bool, T, S>(
    data: &[u8],
    out: &mut [T],
    mut state: S,
    wide: impl Fn(S, &mut [T], __m512i) -> S,
) -> Option<(usize, S)> {
    let (mut position, mut done) = (0, 0);
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
        state = wide(state, &mut out[..n], zigzag_wide(bits));
        position += len;
        done += n;
    }
    Some((position, state))
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

    /// The first 16 varints, of at most 4 bytes each.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn narrow_values(&self) -> __m512i {
        let lanes = load(&FOUR_TIMES);
        let first = _mm512_maskz_permutexvar_epi8(u64::MAX << 4, lanes, self.behind());
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
        let lanes = load(&EIGHT_TIMES);
        let first = _mm512_maskz_permutexvar_epi8(u64::MAX << 8, lanes, self.behind());
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
        let places = load(&PLACES);
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

/// The largest of the indices, compared as unsigned ones, so that a negative one
/// is larger than any other.
struct Max {
    narrow: __m512i,
    wide: u64,
}

impl Max {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> Self {
        let narrow = _mm512_setzero_si512();
        Max { narrow, wide: 0 }
    }

    /// The larger of it and the first `n` of 16 lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn or_narrow(self, n: usize, indices: __m512i) -> Self {
        let lanes = ((1u32 << n) - 1) as u16;
        let narrow = _mm512_mask_max_epu32(self.narrow, lanes, self.narrow, indices);
        Max { narrow, ..self }
    }

    /// The larger of it and the first `n` of 8 lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn or_wide(self, n: usize, indices: __m512i) -> Self {
        let lanes = ((1u32 << n) - 1) as u8;
        let wide = _mm512_mask_reduce_max_epu64(lanes, indices);
        Max {
            wide: wide.max(self.wide),
            ..self
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn get(&self) -> u64 {
        // A negative one of 32 bits is one of 64.
        let narrow = i64::from(_mm512_reduce_max_epu32(self.narrow) as i32) as u64;
        narrow.max(self.wide)
    }
}

/// Truth table of a vector where two others differ, and zero elsewhere.
const FIRST_IF_OTHERS_DIFFER: i32 = 0b0110_0000;
/// Truth table of a choice between two vectors.
const FIRST_IF_THIRD_ELSE_SECOND: i32 = 0b1110_0100;

/// 1, 2, 3 ..
static PLACES: [u8; 64] = counted_up::<1>(1);
/// For each byte of 16 values the number of the value before, of which there is
/// none for the first.
static FOUR_TIMES: [u8; 64] = counted_up::<4>(-1);
/// The same of 8 values.
static EIGHT_TIMES: [u8; 64] = counted_up::<8>(-1);

/// Numbers from `first` on, each `TIMES` times.
const fn counted_up<const TIMES: usize>(first: i8) -> [u8; 64] {
    let mut numbers = [0; 64];
    let mut i = 0;
    while i < 64 {
        numbers[i] = (first as u8).wrapping_add((i / TIMES) as u8);
        i += 1;
    }
    numbers
}
