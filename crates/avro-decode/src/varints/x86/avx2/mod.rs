//! The kernels in AVX2: 32 bytes are looked at, or 64 to skip, and 8 values made,
//! at a time, in the way of [`avx512`](super::avx512). What that has no time for
//! here, varints of more than 4 bytes and the data's end, is left to the generic
//! kernels.
//!
//! Where the varints start is found in two ways, after the machine.

pub(super) mod bit_by_bit;
pub(super) mod by_deposit;

use std::arch::x86_64::*;

use super::super::{Found, generic};
use super::memory::{load_16, load_32, store_4_longs};
use super::skip::skip_kernel;

/// Bytes that may be looked at to make 8 values: 16 from the fifth of them on,
/// which starts among the first 17 if none has more than 4.
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

/// A bit for each byte that ends a varint.
#[inline]
#[target_feature(enable = "avx2")]
fn ends_of(bytes: &[u8; 64]) -> u64 {
    let (halves, _) = bytes.as_chunks();
    let [low, high] = [0, 1].map(|half| _mm256_movemask_epi8(load_32(&halves[half])) as u32);
    !(u64::from(high) << 32 | u64::from(low))
}

/// Kernels in a module for a machine with `$features`, whose `group` gives the bytes
/// that the first `n` varints of some take, 1 to 8 of at most 4 bytes each, and 8
/// values in lanes of 32 bits, of which the first `n` are theirs. A macro, since what
/// is generic is not compiled for the features of what it is called by.
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

        /// Reads varints of at most 4 bytes, up to one that has more, or near the end
        /// of the data. `put` gets 8 places, how many of them count, and the values.
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

/// A bit for each of the first 32 bytes that ends a varint.
#[inline]
#[target_feature(enable = "avx2")]
fn ends(bytes: &[u8; LOOKED_AT]) -> u32 {
    let bytes = load_32(bytes.first_chunk().expect("32 are fewer than 48"));
    !_mm256_movemask_epi8(bytes) as u32
}

/// A bit for each byte that goes on, as do the three behind it.
#[inline]
fn four_on(ends: u32) -> u32 {
    let on = !ends;
    let two_on = on & (on >> 1);
    two_on & (two_on >> 2)
}

/// 8 varints, of at most 4 bytes each, of which the fifth starts at `middle`. The
/// lower half of `before` has in each byte, from its second on, the place of the end
/// of one of the first four; the upper half that of one of the others, counted from
/// `middle`. The first byte of each half is zero.
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
    // Each starts behind the end of the one before, the first at once.
    let (first, next) = (0x0302_0100, 0x0403_0201);
    let behind = _mm256_setr_epi32(first, next, next, next, first, next, next, next);
    let places = _mm256_add_epi8(_mm256_shuffle_epi8(before, four_times), behind);
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

/// Writes the row before each of 8 indices, and these.
#[inline]
#[target_feature(enable = "avx2")]
fn store_pairs(out: &mut [[i64; 2]; 8], row: i64, indices: __m256i) {
    let rows = _mm256_set1_epi64x(row);
    for (out, indices) in out.as_chunks_mut::<4>().0.iter_mut().zip(widened(indices)) {
        // Of each half the first, and the second.
        let even = _mm256_unpacklo_epi64(rows, indices);
        let odd = _mm256_unpackhi_epi64(rows, indices);
        let out = out.as_flattened_mut().as_chunks_mut::<4>().0;
        store_4_longs(&mut out[0], _mm256_permute2x128_si256::<0x20>(even, odd));
        store_4_longs(&mut out[1], _mm256_permute2x128_si256::<0x31>(even, odd));
    }
}

/// Whether indices are at or above a bound.
struct Above {
    /// What a lane of 32 bits is compared with: a negative index is larger, too.
    bounds: __m256i,
    /// Lanes that had one.
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

    /// Looks at the first `n` indices.
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

    /// What was found in `len` bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn found(&self, len: usize) -> Found {
        let at_bound = _mm256_testz_si256(self.seen, self.seen) == 0;
        Found { len, at_bound }
    }
}
