//! The kernels in AVX2, built like those in [`avx512`](super::avx512). They read 32 bytes (64 to
//! skip) and decode 8 values at a time. Varints of more than 4 bytes, and the data's end, are left
//! to the generic kernels.
//!
//! The starts of the varints are found in one of two ways, depending on the processor.

pub(super) mod bit_by_bit;
pub(super) mod by_deposit;

use std::arch::x86_64::*;

use super::super::{Found, generic};
use super::memory::{load_16, load_32, store_4_longs};
use super::skip::skip_kernel;

/// Number of bytes read to decode 8 values. If no value has more than 4 bytes, the fifth value
/// starts among the first 17. From its start on, 16 bytes are read.
const LOOKED_AT: usize = 48;

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

/// A mask with a bit for each byte that ends a varint.
#[inline]
#[target_feature(enable = "avx2")]
fn ends_of(bytes: &[u8; 64]) -> u64 {
    let (halves, _) = bytes.as_chunks();
    let [low, high] = [0, 1].map(|half| _mm256_movemask_epi8(load_32(&halves[half])) as u32);
    !(u64::from(high) << 32 | u64::from(low))
}

/// Kernels in a module, for the CPU features `$features`. The module's `group` takes some bytes and
/// `n`, 1 to 8, and decodes varints of at most 4 bytes each. It returns the size in bytes of the
/// first `n`, and 8 values in lanes of 32 bits, of which the first `n` are valid. This is a macro,
/// since a generic function is not compiled for its caller's CPU features.
macro_rules! kernels {
    ($features:literal) => {
        /// See [`Kernels::longs`](crate::varints::Kernels::longs).
        #[target_feature(enable = $features)]
        pub(in super::super) fn longs(data: &[u8], out: &mut [i64]) -> Option<usize> {
            let run = each(data, out, |out, _, values| store_longs(out, values));
            match run.rest(data, out) {
                None => Some(run.len),
                Some((data, out)) => Some(run.len + generic::longs(data, out)?),
            }
        }

        /// See [`Kernels::ints`](crate::varints::Kernels::ints).
        #[target_feature(enable = $features)]
        pub(in super::super) fn ints(data: &[u8], out: &mut [i32]) -> Option<usize> {
            let run = each(data, out, |out, _, values| store_8_ints(out, values));
            match run.rest(data, out) {
                None => Some(run.len),
                Some((data, out)) => Some(run.len + generic::ints(data, out)?),
            }
        }

        /// See [`Kernels::coordinates`](crate::varints::Kernels::coordinates).
        #[target_feature(enable = $features)]
        pub(in super::super) fn coordinates<const INT: bool>(
            data: &[u8],
            row: i64,
            bound: u64,
            out: &mut [[i64; 2]],
        ) -> Option<Found> {
            let mut above = Above::new(bound);
            let run = each(data, out, |out, n, indices| {
                store_pairs(out, row, indices);
                above.see(n, indices);
            });
            let found = above.found(run.len);
            match run.rest(data, out) {
                None => Some(found),
                Some((data, out)) => {
                    let rest = generic::coordinates::<INT>(data, row, bound, out)?;
                    Some(found.and(rest))
                }
            }
        }

        /// See [`Kernels::indices`](crate::varints::Kernels::indices).
        #[target_feature(enable = $features)]
        pub(in super::super) fn indices<const INT: bool>(
            data: &[u8],
            bound: u64,
            out: &mut [i64],
        ) -> Option<Found> {
            let mut above = Above::new(bound);
            let run = each(data, out, |out, n, indices| {
                store_longs(out, indices);
                above.see(n, indices);
            });
            let found = above.found(run.len);
            match run.rest(data, out) {
                None => Some(found),
                Some((data, out)) => {
                    let rest = generic::indices::<INT>(data, bound, out)?;
                    Some(found.and(rest))
                }
            }
        }

        /// Reads varints of at most 4 bytes, up to a longer one or near the end of the data. `put`
        /// gets 8 elements of the output, the number of valid values, and the values.
        #[inline]
        #[target_feature(enable = $features)]
        fn each<T: Copy + Default>(
            data: &[u8],
            out: &mut [T],
            mut put: impl FnMut(&mut [T; 8], usize, __m256i),
        ) -> Run {
            let mut run = Run::default();
            let (groups, tail) = out.as_chunks_mut();
            for out in groups {
                let bytes = data[run.len..].first_chunk();
                let Some((len, values)) = bytes.and_then(|bytes| group(bytes, 8)) else {
                    return run;
                };
                put(out, 8, values);
                run.n += 8;
                run.len += len;
            }
            if !tail.is_empty()
                && let Some(bytes) = data[run.len..].first_chunk()
                && let Some((len, values)) = group(bytes, tail.len())
            {
                let mut all = [T::default(); 8];
                put(&mut all, tail.len(), values);
                for (out, value) in tail.iter_mut().zip(all) {
                    *out = value;
                }
                run.n += tail.len();
                run.len += len;
            }
            run
        }
    };
}

use kernels;

/// A mask with a bit for each of the first 32 bytes that ends a varint.
#[inline]
#[target_feature(enable = "avx2")]
fn ends(bytes: &[u8; LOOKED_AT]) -> u32 {
    let bytes = load_32(bytes.first_chunk().expect("32 are fewer than 48"));
    !_mm256_movemask_epi8(bytes) as u32
}

/// A mask with a bit for each byte that does not end a varint, nor do the next three.
#[inline]
fn four_on(ends: u32) -> u32 {
    let on = !ends;
    let two_on = on & (on >> 1);
    two_on & (two_on >> 2)
}

/// Decodes 8 varints of at most 4 bytes each, the fifth of which starts at `middle`. `before` has a
/// zero byte, then the positions of the ends of the first three varints, in its lower half. The
/// upper half has the same for the other four varints, counted from `middle`.
#[inline]
#[target_feature(enable = "avx2")]
fn values(bytes: &[u8; LOOKED_AT], middle: u32, before: u64) -> __m256i {
    let upper = &bytes[middle as usize % 32..];
    let data = _mm256_set_m128i(load_16(first_16(upper)), load_16(first_16(bytes)));
    let before = _mm256_set1_epi64x(before as i64);
    #[rustfmt::skip]
    let four_times = _mm256_setr_epi8(
        0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3,
        4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7,
    );
    // Each varint starts after the end of the previous one; the first starts at 0.
    let (first, next) = (0x0302_0100, 0x0403_0201);
    let behind = _mm256_setr_epi32(first, next, next, next, first, next, next, next);
    let positions = _mm256_add_epi8(_mm256_shuffle_epi8(before, four_times), behind);
    let bytes = _mm256_shuffle_epi8(data, positions);

    // Adding 1 to the filled bytes carries up to the first end.
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

/// Widens 8 values from 32 to 64 bits.
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

/// Writes each of 8 indices after its row.
#[inline]
#[target_feature(enable = "avx2")]
fn store_pairs(out: &mut [[i64; 2]; 8], row: i64, indices: __m256i) {
    let rows = _mm256_set1_epi64x(row);
    for (out, indices) in out.as_chunks_mut::<4>().0.iter_mut().zip(widened(indices)) {
        // The first index of each half, and the second.
        let even = _mm256_unpacklo_epi64(rows, indices);
        let odd = _mm256_unpackhi_epi64(rows, indices);
        let out = out.as_flattened_mut().as_chunks_mut::<4>().0;
        store_4_longs(&mut out[0], _mm256_permute2x128_si256::<0x20>(even, odd));
        store_4_longs(&mut out[1], _mm256_permute2x128_si256::<0x31>(even, odd));
    }
}

/// Whether indices are at or above a bound.
struct Above {
    /// The bound in each lane of 32 bits. Negative indices compare as larger.
    bounds: __m256i,
    /// Lanes that had an index at or above the bound.
    seen: __m256i,
}

impl Above {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(bound: u64) -> Self {
        Above {
            bounds: _mm256_set1_epi32(bound.min(1 << 31) as u32 as i32),
            seen: _mm256_setzero_si256(),
        }
    }

    /// Checks the first `n` indices.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn see(&mut self, n: usize, indices: __m256i) {
        let largest = _mm256_max_epu32(indices, self.bounds);
        let mut here = _mm256_cmpeq_epi32(largest, indices);
        if n < 8 {
            let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let counts = _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), lanes);
            here = _mm256_and_si256(here, counts);
        }
        self.seen = _mm256_or_si256(self.seen, here);
    }

    /// The result for `len` bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn found(&self, len: usize) -> Found {
        let at_bound = _mm256_testz_si256(self.seen, self.seen) == 0;
        Found { len, at_bound }
    }
}
