//! The kernels in AVX-512: 64 bytes are looked at, and up to 16 values made, at
//! a time.
//!
//! The mask of a window's end bytes gives where its varints start. Their bytes
//! are then gathered into a lane for each, of 4 bytes as long as they all fit,
//! else of 8; what is behind the end of a varint is cleared, and groups of seven
//! bits are joined by multiplying and adding neighbours.

use std::arch::x86_64::*;

use super::super::{Found, generic};
use super::memory::{load, load_some, store_ints, store_longs};
use super::run::Run;

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
    let run = each::<false, _>(data, out, narrow, wide);
    match run.rest(data, out) {
        None => Some(run.len),
        Some((data, out)) => Some(run.len + generic::longs(data, out)?),
    }
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
    let run = each::<true, _>(data, out, narrow, wide);
    match run.rest(data, out) {
        None => Some(run.len),
        Some((data, out)) => Some(run.len + generic::ints(data, out)?),
    }
}

/// See [`Kernels::coordinates`](super::super::Kernels::coordinates).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn coordinates<const INT: bool>(
    data: &[u8],
    row: i64,
    bound: u64,
    out: &mut [[i64; 2]],
) -> Option<Found> {
    let narrow = |out: &mut [[i64; 2]], indices| {
        let [low, high] = widened(indices);
        let ([a, b], [c, d]) = (pairs(row, low), pairs(row, high));
        store_longs(out.as_flattened_mut(), [a, b, c, d]);
        is_any_narrow_at(bound, out.len(), indices)
    };
    // What it needs is captured in general registers, as it is not inlined.
    let wide = move |out: &mut [[i64; 2]], indices| {
        store_longs(out.as_flattened_mut(), pairs(row, indices));
        is_any_wide_at(bound, out.len(), indices)
    };
    let run = each::<INT, _>(data, out, narrow, wide);
    match run.rest(data, out) {
        None => Some(run.found()),
        Some((data, out)) => {
            let rest = generic::coordinates::<INT>(data, row, bound, out)?;
            Some(run.found().and(rest))
        }
    }
}

/// See [`Kernels::indices`](super::super::Kernels::indices).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn indices<const INT: bool>(data: &[u8], bound: u64, out: &mut [i64]) -> Option<Found> {
    let narrow = |out: &mut [i64], indices| {
        store_longs(out, widened(indices));
        is_any_narrow_at(bound, out.len(), indices)
    };
    let wide = move |out: &mut [i64], indices| {
        store_longs(out, [indices]);
        is_any_wide_at(bound, out.len(), indices)
    };
    let run = each::<INT, _>(data, out, narrow, wide);
    match run.rest(data, out) {
        None => Some(run.found()),
        Some((data, out)) => Some(run.found().and(generic::indices::<INT>(data, bound, out)?)),
    }
}

/// See [`Kernels::skip`](super::super::Kernels::skip).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn skip(data: &[u8], mut n: usize) -> Option<usize> {
    let mut position = 0;
    // Those of up to four bytes: one window, two, or some more.
    while n > 32
        && let Some(windows) = data[position..].first_chunk()
    {
        match skip_in::<4, { 4 * 64 }>(windows, n) {
            Ok(len) => return Some(position + len),
            Err(missing) => n = missing,
        }
        position += 4 * 64;
    }
    if n > 16
        && let Some(windows) = data[position..].first_chunk()
    {
        match skip_in::<2, { 2 * 64 }>(windows, n) {
            Ok(len) => return Some(position + len),
            Err(missing) => n = missing,
        }
        position += 2 * 64;
    }
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

/// The bytes that `n` varints take in some windows, or how many go on behind
/// them. In which window they end is found without a branch: it is chance.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,popcnt")]
fn skip_in<const WINDOWS: usize, const BYTES: usize>(
    bytes: &[u8; BYTES],
    n: usize,
) -> Result<usize, usize> {
    let (windows, _) = bytes.as_chunks::<64>();
    let mut ends = [0; WINDOWS];
    let (mut place, mut seen, mut missing) = (0, 0, n);
    for (ends, window) in ends.iter_mut().zip(windows) {
        *ends = !_mm512_movepi8_mask(load(window));
        seen += ends.count_ones() as usize;
        let is_behind = seen < n;
        place += usize::from(is_behind);
        missing = if is_behind { n - seen } else { missing };
    }
    match ends.get(place) {
        Some(&ends) => Ok(64 * place + len_of(ends, missing)),
        None => Err(missing),
    }
}

/// Reads varints, each an `int` if `INT`, up to the end of `out` or some that are
/// for the generic kernels: of more than 8 bytes, and all that are bad.
///
/// `narrow` gets the next places in `out`, up to 16, and their values in lanes of
/// 32 bits; `wide` up to 8, and lanes of 64. They say whether an index is at or
/// above the bound.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn each<const INT: bool, T>(
    data: &[u8],
    out: &mut [T],
    narrow: impl Fn(&mut [T], __m512i) -> bool,
    wide: impl Fn(&mut [T], __m512i) -> bool,
) -> Run {
    let (mut n, mut len, mut at_bound) = (0, 0, false);
    while n < out.len() {
        let window = Window::at(&data[len..]);
        let next = (out.len() - n).min(16);
        let Some(next_len) = window.narrow(next) else {
            let run = Run { n, len, at_bound };
            return each_wide::<INT, _>(data, out, run, wide);
        };
        at_bound |= narrow(&mut out[n..n + next], window.narrow_values());
        n += next;
        len += next_len;
    }
    Run { n, len, at_bound }
}

/// Goes on where a varint has more than 4 bytes, and does not go back: of such
/// there are more. Not inlined, so that a short run does not wait for what only
/// this needs.
#[cold]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn each_wide<const INT: bool, T>(
    data: &[u8],
    out: &mut [T],
    mut run: Run,
    wide: impl Fn(&mut [T], __m512i) -> bool,
) -> Run {
    while run.n < out.len() {
        let window = Window::at(&data[run.len..]);
        let next = (out.len() - run.n).min(8);
        let Some(len) = window.wide(next) else {
            break;
        };
        let bits = window.wide_bits();
        if INT && !window.are_ints(next, len, bits) {
            break;
        }
        run.at_bound |= wide(&mut out[run.n..run.n + next], zigzag_wide(bits));
        run.n += next;
        run.len += len;
    }
    run
}

/// The place behind bit `n` of `ends`, counted from 1; more than 64 if there are
/// not as many. `n` is 1 to 64.
#[inline]
#[target_feature(enable = "bmi1,bmi2")]
fn len_of(ends: u64, n: usize) -> usize {
    _tzcnt_u64(_pdep_u64(1 << (n - 1), ends)) as usize + 1
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
        len_of(self.ends, n)
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
        (len <= 64 && _bzhi_u64(self.four_on(), len as u32) == 0).then_some(len)
    }

    /// The bytes of the first `n` varints, if each has at most 8.
    #[inline]
    #[target_feature(enable = "bmi1,bmi2")]
    fn wide(&self, n: usize) -> Option<usize> {
        let len = self.len_of(n);
        let four_on = self.four_on();
        let eight_on = four_on & (four_on >> 4);
        (len <= 64 && _bzhi_u64(eight_on, len as u32) == 0).then_some(len)
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
        let first = _mm512_permutexvar_epi8(load(&BEFORE_FOUR), self.behind());
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
        let first = _mm512_permutexvar_epi8(load(&BEFORE_EIGHT), self.behind());
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

/// The row before each of 8 indices.
#[inline]
#[target_feature(enable = "avx512f")]
fn pairs(row: i64, indices: __m512i) -> [__m512i; 2] {
    let rows = _mm512_set1_epi64(row);
    let first = _mm512_setr_epi64(0, 8, 0, 9, 0, 10, 0, 11);
    let second = _mm512_setr_epi64(0, 12, 0, 13, 0, 14, 0, 15);
    [first, second].map(|lanes| _mm512_permutex2var_epi64(rows, lanes, indices))
}

/// Whether one of the first `n` of 16 indices is at or above the bound.
#[inline]
#[target_feature(enable = "avx512f")]
fn is_any_narrow_at(bound: u64, n: usize, indices: __m512i) -> bool {
    let lanes = ((1u32 << n) - 1) as u16;
    // Compared without sign, a negative index is above it, too.
    let bound = _mm512_set1_epi32(bound.min(1 << 31) as u32 as i32);
    _mm512_mask_cmpge_epu32_mask(lanes, indices, bound) != 0
}

/// Whether one of the first `n` of 8 indices is at or above the bound.
#[inline]
#[target_feature(enable = "avx512f")]
fn is_any_wide_at(bound: u64, n: usize, indices: __m512i) -> bool {
    let lanes = ((1u32 << n) - 1) as u8;
    _mm512_mask_cmpge_epu64_mask(lanes, indices, _mm512_set1_epi64(bound as i64)) != 0
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

/// For each byte of 16 values the number of the value before, modulo 64.
static BEFORE_FOUR: [u8; 64] = value_before::<4>();
/// The same of 8 values.
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
