//! The kernels in AVX-512: they read 64 bytes and decode up to 16 values at a time.

mod window;

use std::arch::x86_64::*;

use window::{Window, zigzag_wide};

use super::super::{Found, generic};
use super::memory::{load, store_ints, store_longs};
use super::run::Run;
use super::skip::skip_kernel;

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
    // The closure is not inlined, so it captures values in general registers.
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

pub(super) use skip_both_by_deposit as skip_both;
pub(super) use skip_by_deposit as skip;

skip_kernel! {
    "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt"
}

/// A mask with a bit for each byte that ends a varint.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn ends_of(bytes: &[u8; 64]) -> u64 {
    !_mm512_movepi8_mask(load(bytes))
}

/// Reads varints, each an `int` if `INT`, up to the end of `out`. It stops early at varints for the
/// generic kernels: those of more than 8 bytes, and all invalid ones.
///
/// `narrow` gets the next elements of `out`, up to 16, and their values in lanes of 32 bits. `wide`
/// gets up to 8, and values in lanes of 64 bits. Both return whether an index is at or above the
/// bound.
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

/// Continues after a varint of more than 4 bytes, and does not return to the narrow path: more long
/// varints are likely. It is not inlined, so that a short run does not pay for its setup.
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

/// Widens 16 values from 32 to 64 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn widened(values: __m512i) -> [__m512i; 2] {
    let low = _mm512_castsi512_si256(values);
    let high = _mm512_extracti64x4_epi64::<1>(values);
    [_mm512_cvtepi32_epi64(low), _mm512_cvtepi32_epi64(high)]
}

/// Interleaves the row with 8 indices.
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
    // Compared as unsigned, a negative index is above the bound too.
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
