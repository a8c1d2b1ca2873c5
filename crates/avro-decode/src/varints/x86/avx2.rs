//! The kernels in AVX2: 32 bytes are looked at, or 64 to skip, and 8 values made,
//! at a time, in the way of [`avx512`](super::avx512). What that has no time for
//! here, varints of more than 4 bytes and the data's end, is left to the generic
//! kernels.

use std::arch::x86_64::*;

use super::super::{Found, generic};
use super::memory::{load_16, load_32, store_4_longs, store_8_ints};
use super::run::Run;
use super::skip::skip_kernel;

/// See [`Kernels::longs`](super::super::Kernels::longs).
#[target_feature(enable = "avx2,bmi1")]
pub(super) fn longs(data: &[u8], out: &mut [i64]) -> Option<usize> {
    let run = each(data, out, |out, _, values| {
        store_longs(out, values);
        false
    });
    match run.rest(data, out) {
        None => Some(run.len),
        Some((data, out)) => Some(run.len + generic::longs(data, out)?),
    }
}

/// See [`Kernels::ints`](super::super::Kernels::ints).
#[target_feature(enable = "avx2,bmi1")]
pub(super) fn ints(data: &[u8], out: &mut [i32]) -> Option<usize> {
    let run = each(data, out, |out, _, values| {
        store_8_ints(out, values);
        false
    });
    match run.rest(data, out) {
        None => Some(run.len),
        Some((data, out)) => Some(run.len + generic::ints(data, out)?),
    }
}

/// See [`Kernels::coordinates`](super::super::Kernels::coordinates).
#[target_feature(enable = "avx2,bmi1")]
pub(super) fn coordinates<const INT: bool>(
    data: &[u8],
    row: i64,
    bound: u64,
    out: &mut [[i64; 2]],
) -> Option<Found> {
    let rows = _mm256_set1_epi64x(row);
    let bounds = narrow_bounds(bound);
    let run = each(data, out, |out, n, indices| {
        for (out, indices) in out.as_chunks_mut::<4>().0.iter_mut().zip(widened(indices)) {
            // Of each half the first, and the second.
            let even = _mm256_unpacklo_epi64(rows, indices);
            let odd = _mm256_unpackhi_epi64(rows, indices);
            let out = out.as_flattened_mut().as_chunks_mut::<4>().0;
            store_4_longs(&mut out[0], _mm256_permute2x128_si256::<0x20>(even, odd));
            store_4_longs(&mut out[1], _mm256_permute2x128_si256::<0x31>(even, odd));
        }
        is_any_at(bounds, n, indices)
    });
    match run.rest(data, out) {
        None => Some(run.found()),
        Some((data, out)) => {
            let rest = generic::coordinates::<INT>(data, row, bound, out)?;
            Some(run.found().and(rest))
        }
    }
}

/// See [`Kernels::indices`](super::super::Kernels::indices).
#[target_feature(enable = "avx2,bmi1")]
pub(super) fn indices<const INT: bool>(data: &[u8], bound: u64, out: &mut [i64]) -> Option<Found> {
    let bounds = narrow_bounds(bound);
    let run = each(data, out, |out, n, indices| {
        store_longs(out, indices);
        is_any_at(bounds, n, indices)
    });
    match run.rest(data, out) {
        None => Some(run.found()),
        Some((data, out)) => Some(run.found().and(generic::indices::<INT>(data, bound, out)?)),
    }
}

/// See [`Kernels::skip`](super::super::Kernels::skip).
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn skip(data: &[u8], mut n: usize) -> Option<usize> {
    let mut position = 0;
    while n > 0 {
        let rest = &data[position..];
        let Some(bytes) = rest.first_chunk() else {
            return Some(position + generic::skip(rest, n)?);
        };
        let ends = ends(bytes);
        let count = ends.count_ones() as usize;
        if count >= n {
            let before = (1..n).fold(ends, |ends, _| _blsr_u32(ends));
            return Some(position + _tzcnt_u32(before) as usize + 1);
        }
        n -= count;
        position += 32;
    }
    Some(position)
}

skip_kernel! {
    "avx2,bmi1,bmi2,popcnt"
}

/// A bit for each byte that ends a varint.
#[inline]
#[target_feature(enable = "avx2")]
fn ends_of(bytes: &[u8; 64]) -> u64 {
    let (halves, _) = bytes.as_chunks();
    let [low, high] = [0, 1].map(|half| _mm256_movemask_epi8(load_32(&halves[half])) as u32);
    !(u64::from(high) << 32 | u64::from(low))
}

/// Reads varints of at most 4 bytes, up to one that has more, or near the end of
/// the data. `put` gets 8 places, how many of them count, and the values in
/// lanes of 32 bits.
#[inline]
#[target_feature(enable = "avx2,bmi1")]
fn each<T: Copy + Default>(
    data: &[u8],
    out: &mut [T],
    mut put: impl FnMut(&mut [T; 8], usize, __m256i) -> bool,
) -> Run {
    let mut run = Run::default();
    while let (Some(bytes), Some(out)) = (data[run.len..].first_chunk(), next(out, run.n)) {
        let ends = ends(bytes);
        let starts = starts(ends);
        let n = out.len().min(8);
        let len = starts[n];
        if len > 32 || is_any_wide(ends, len) {
            break;
        }
        let values = values(bytes, &starts);
        run.at_bound |= match out.first_chunk_mut() {
            Some(out) => put(out, 8, values),
            None => {
                let mut all = [T::default(); 8];
                let at_bound = put(&mut all, n, values);
                for (out, value) in out.iter_mut().zip(all) {
                    *out = value;
                }
                at_bound
            }
        };
        run.n += n;
        run.len += len as usize;
    }
    run
}

/// The places not written yet, if there are any.
#[inline]
fn next<T>(out: &mut [T], n: usize) -> Option<&mut [T]> {
    out.get_mut(n..).filter(|out| !out.is_empty())
}

/// A bit for each of the first 32 bytes that ends a varint.
#[inline]
#[target_feature(enable = "avx2")]
fn ends(bytes: &[u8; 48]) -> u32 {
    let bytes = load_32(bytes.first_chunk().expect("32 are fewer than 48"));
    !_mm256_movemask_epi8(bytes) as u32
}

/// Where the first 8 varints start, and what is behind them; 33 for what is not
/// in 32 bytes.
#[inline]
#[target_feature(enable = "bmi1")]
fn starts(mut ends: u32) -> [u32; 9] {
    let mut starts = [0; 9];
    for start in &mut starts[1..] {
        *start = _tzcnt_u32(ends) + 1;
        ends = _blsr_u32(ends);
    }
    starts
}

/// Whether any of the varints of the first `len` bytes, at most 32, has more than
/// 4.
#[inline]
fn is_any_wide(ends: u32, len: u32) -> bool {
    let on = !ends;
    let two_on = on & (on >> 1);
    let four_on = two_on & (two_on >> 2);
    u64::from(four_on) & ((1 << len) - 1) != 0
}

/// The first 8 varints, of at most 4 bytes each.
#[inline]
#[target_feature(enable = "avx2")]
fn values(bytes: &[u8; 48], starts: &[u32; 9]) -> __m256i {
    let &[_, a, b, c, middle, d, e, f, _] = starts;
    let upper = &bytes[middle as usize % 32..];
    let data = _mm256_set_m128i(load_16(first_16(upper)), load_16(first_16(bytes)));
    // Where each varint starts in its half.
    let low = (a << 8 | b << 16 | c << 24) as i32;
    let high = ((d - middle) << 8 | (e - middle) << 16 | (f - middle) << 24) as i32;
    let starts = _mm256_setr_epi32(low, 0, 0, 0, high, 0, 0, 0);
    let four_times = _mm256_setr_epi32(
        0,
        0x0101_0101,
        0x0202_0202,
        0x0303_0303,
        0,
        0x0101_0101,
        0x0202_0202,
        0x0303_0303,
    );
    let starts = _mm256_shuffle_epi8(starts, four_times);
    let places = _mm256_add_epi8(starts, _mm256_set1_epi32(0x0302_0100));
    let bytes = _mm256_shuffle_epi8(data, places);

    // Ones added to the seven bits of each byte carry up to the first end.
    let sevens = _mm256_set1_epi8(0x7f);
    let filled = _mm256_or_si256(bytes, sevens);
    let next = _mm256_sub_epi32(filled, _mm256_set1_epi32(-1));
    let up_to_end = _mm256_and_si256(_mm256_xor_si256(filled, next), sevens);
    let bytes = _mm256_and_si256(bytes, up_to_end);
    let fourteens = _mm256_maddubs_epi16(_mm256_set1_epi16(0x8001u16 as i16), bytes);
    let bits = _mm256_madd_epi16(fourteens, _mm256_set1_epi32(0x4000_0001));
    let sign = _mm256_srai_epi32::<31>(_mm256_slli_epi32::<31>(bits));
    _mm256_xor_si256(_mm256_srli_epi32::<1>(bits), sign)
}

#[inline]
fn first_16(bytes: &[u8]) -> &[u8; 16] {
    bytes
        .first_chunk()
        .expect("16 of 48 are behind the first 32")
}

/// 8 values of 32 bits as 64.
#[inline]
#[target_feature(enable = "avx2")]
fn widened(values: __m256i) -> [__m256i; 2] {
    let low = _mm256_castsi256_si128(values);
    let high = _mm256_extracti128_si256::<1>(values);
    [_mm256_cvtepi32_epi64(low), _mm256_cvtepi32_epi64(high)]
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_longs(out: &mut [i64; 8], values: __m256i) {
    for (out, values) in out.as_chunks_mut::<4>().0.iter_mut().zip(widened(values)) {
        store_4_longs(out, values);
    }
}

/// What a lane of 32 bits is compared with: a negative index is larger, too.
#[inline]
#[target_feature(enable = "avx2")]
fn narrow_bounds(bound: u64) -> __m256i {
    _mm256_set1_epi32(bound.min(1 << 31) as u32 as i32)
}

/// Whether one of the first `n` indices is at or above the bound.
#[inline]
#[target_feature(enable = "avx2")]
fn is_any_at(bounds: __m256i, n: usize, indices: __m256i) -> bool {
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let counts = _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), lanes);
    let at_bound = _mm256_cmpeq_epi32(_mm256_max_epu32(indices, bounds), indices);
    _mm256_testz_si256(at_bound, counts) == 0
}
