//! The kernels in AVX-512: 64 bytes are looked at, and up to 16 values made, at
//! a time.
//!
//! The mask of a window's end bytes gives where its varints start. Their bytes
//! are then gathered into a lane for each, of 4 bytes as long as they all fit,
//! else of 8; what is behind the end of a varint is cleared, and groups of seven
//! bits are joined by multiplying and adding neighbours.

use std::arch::x86_64::*;

use super::super::Indices;
use super::super::word::{first, zigzag};
use super::memory::{load, load_some, store_ints, store_longs};

/// See [`Kernels::longs`](super::super::Kernels::longs).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn longs(data: &[u8], out: &mut [i64]) -> Option<usize> {
    each::<false>(data, out.len(), |i, values| {
        put_longs(&mut out[i..], values)
    })
}

/// See [`Kernels::ints`](super::super::Kernels::ints).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn ints(data: &[u8], out: &mut [i32]) -> Option<usize> {
    each::<true>(data, out.len(), |i, values| match values {
        Values::Narrow(n, values) => store_ints(&mut out[i..i + n], values),
        Values::Wide(n, values) => {
            let values = _mm512_castsi256_si512(_mm512_cvtepi64_epi32(values));
            store_ints(&mut out[i..i + n], values);
        }
        Values::One(value) => out[i] = value as i32,
    })
}

/// See [`Kernels::coordinates`](super::super::Kernels::coordinates).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn coordinates<const INT: bool>(
    data: &[u8],
    row: i64,
    end: u64,
    out: &mut [[i64; 2]],
) -> Option<Indices> {
    let mut max = Max::new();
    // The row, and zeros between for the indices.
    let rows = _mm512_maskz_set1_epi64(0b0101_0101, row);
    let len = each::<INT>(data, out.len(), |i, values| {
        max.raise(&values);
        match values {
            Values::Narrow(n, values) => {
                // The upper half of an index is zero: none is negative.
                let four = |i: i32| {
                    let lanes = _mm512_setr_epi32(
                        0,
                        0,
                        i,
                        0,
                        0,
                        0,
                        i + 1,
                        0,
                        0,
                        0,
                        i + 2,
                        0,
                        0,
                        0,
                        i + 3,
                        0,
                    );
                    _mm512_mask_permutexvar_epi32(rows, 0b0100_0100_0100_0100, lanes, values)
                };
                let out = out[i..i + n].as_flattened_mut();
                store_longs(out, [four(0), four(4), four(8), four(12)]);
            }
            Values::Wide(n, values) => {
                let four = |i: i64| {
                    let lanes = _mm512_setr_epi64(0, i, 0, i + 1, 0, i + 2, 0, i + 3);
                    _mm512_mask_permutexvar_epi64(rows, 0b1010_1010, lanes, values)
                };
                store_longs(out[i..i + n].as_flattened_mut(), [four(0), four(4)]);
            }
            Values::One(index) => out[i] = [row, index],
        }
    })?;
    Indices::new(len, out.len(), max.get(), end)
}

/// See [`Kernels::indices`](super::super::Kernels::indices).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn indices<const INT: bool>(data: &[u8], end: u64, out: &mut [i64]) -> Option<Indices> {
    let mut max = Max::new();
    let len = each::<INT>(data, out.len(), |i, values| {
        max.raise(&values);
        put_longs(&mut out[i..], values);
    })?;
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

#[inline]
#[target_feature(enable = "avx512f,bmi2")]
fn put_longs(out: &mut [i64], values: Values) {
    match values {
        Values::Narrow(n, values) => {
            let low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(values));
            let high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64::<1>(values));
            store_longs(&mut out[..n], [low, high]);
        }
        Values::Wide(n, values) => store_longs(&mut out[..n], [values]),
        Values::One(value) => out[0] = value,
    }
}

/// Values of a run.
enum Values {
    /// Up to 16, in lanes of 32 bits.
    Narrow(usize, __m512i),
    /// Up to 8, in lanes of 64 bits.
    Wide(usize, __m512i),
    One(i64),
}

/// Reads `n` varints, each an `int` if `INT`, and gives `put` the values and the
/// number of those before; gives the bytes they take.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn each<const INT: bool>(
    data: &[u8],
    n: usize,
    mut put: impl FnMut(usize, Values),
) -> Option<usize> {
    let (mut position, mut done) = (0, 0);
    while done < n {
        let window = Window::at(&data[position..]);
        let narrow = (n - done).min(16);
        if let Some(len) = window.narrow(narrow) {
            put(done, Values::Narrow(narrow, window.narrow_values()));
            position += len;
            done += narrow;
            continue;
        }
        let (wide, len) = window.wide((n - done).min(8));
        if wide > 0 {
            let bits = window.wide_bits();
            if INT && !window.are_ints(wide, len, bits) {
                return None;
            }
            put(done, Values::Wide(wide, zigzag_wide(bits)));
            position += len;
            done += wide;
        } else if INT {
            return None;
        } else {
            let (bits, len) = first(&data[position..])?;
            put(done, Values::One(zigzag(bits)));
            position += len;
            done += 1;
        }
    }
    Some(position)
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
        match data.first_chunk() {
            Some(bytes) => {
                let bytes = load(bytes);
                let ends = !_mm512_movepi8_mask(bytes);
                Window { bytes, ends }
            }
            None => {
                let (bytes, lanes) = load_some(data);
                let ends = lanes & !_mm512_movepi8_mask(bytes);
                Window { bytes, ends }
            }
        }
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
        let first = _mm512_permutexvar_epi8(load(&FOUR_TIMES), self.starts());
        let places = _mm512_add_epi8(first, _mm512_set1_epi32(0x0302_0100));
        let bytes = _mm512_permutexvar_epi8(places, self.bytes);
        let ends = _mm512_andnot_si512(bytes, _mm512_set1_epi8(-0x80));
        let before = _mm512_add_epi32(ends, _mm512_set1_epi32(-1));
        let bits = join_sevens(up_to_end(bytes, ends, before));
        let sign = _mm512_and_si512(bits, _mm512_set1_epi32(1));
        let sign = _mm512_sub_epi32(_mm512_setzero_si512(), sign);
        _mm512_xor_si512(_mm512_srli_epi32::<1>(bits), sign)
    }

    /// The first 8 varints, of at most 8 bytes each, before their zig-zag coding
    /// is undone.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    fn wide_bits(&self) -> __m512i {
        let first = _mm512_permutexvar_epi8(load(&EIGHT_TIMES), self.starts());
        let places = _mm512_add_epi8(first, _mm512_set1_epi64(0x0706_0504_0302_0100));
        let bytes = _mm512_permutexvar_epi8(places, self.bytes);
        let ends = _mm512_andnot_si512(bytes, _mm512_set1_epi8(-0x80));
        let before = _mm512_add_epi64(ends, _mm512_set1_epi64(-1));
        let halves = join_sevens(up_to_end(bytes, ends, before));
        // The upper half's 28 bits go right behind the lower's.
        let upper = _mm512_srli_epi64::<4>(halves);
        let is_lower = _mm512_set1_epi64(0x0fff_ffff);
        _mm512_ternarylogic_epi64::<FIRST_IF_THIRD_ELSE_SECOND>(halves, upper, is_lower)
    }

    /// The places of the bytes that start a varint.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2")]
    fn starts(&self) -> __m512i {
        _mm512_maskz_compress_epi8(self.ends << 1 | 1, load(&PLACES))
    }
}

/// Seven bits of each byte up to that of the lowest bit of `ends`, for each lane;
/// `before` is `ends` - 1.
#[inline]
#[target_feature(enable = "avx512f")]
fn up_to_end(bytes: __m512i, ends: __m512i, before: __m512i) -> __m512i {
    let bytes = _mm512_ternarylogic_epi64::<FIRST_IF_OTHERS_DIFFER>(bytes, ends, before);
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
    wide: __m512i,
    one: u64,
}

impl Max {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> Self {
        Max {
            narrow: _mm512_setzero_si512(),
            wide: _mm512_setzero_si512(),
            one: 0,
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn raise(&mut self, values: &Values) {
        match *values {
            Values::Narrow(n, values) => {
                let lanes = ((1u32 << n) - 1) as u16;
                self.narrow = _mm512_mask_max_epu32(self.narrow, lanes, self.narrow, values);
            }
            Values::Wide(n, values) => {
                let lanes = ((1u32 << n) - 1) as u8;
                self.wide = _mm512_mask_max_epu64(self.wide, lanes, self.wide, values);
            }
            Values::One(value) => self.one = self.one.max(value as u64),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn get(&self) -> u64 {
        // A negative one of 32 bits is one of 64.
        let narrow = i64::from(_mm512_reduce_max_epu32(self.narrow) as i32) as u64;
        narrow.max(_mm512_reduce_max_epu64(self.wide)).max(self.one)
    }
}

/// Truth table of a vector where two others differ, and zero elsewhere.
const FIRST_IF_OTHERS_DIFFER: i32 = 0b0110_0000;
/// Truth table of a choice between two vectors.
const FIRST_IF_THIRD_ELSE_SECOND: i32 = 0b1110_0100;

/// 0, 1, 2 ..
static PLACES: [u8; 64] = repeated::<1>();
/// 0 four times, 1 four times ..
static FOUR_TIMES: [u8; 64] = repeated::<4>();
static EIGHT_TIMES: [u8; 64] = repeated::<8>();

const fn repeated<const TIMES: usize>() -> [u8; 64] {
    let mut numbers = [0; 64];
    let mut i = 0;
    while i < 64 {
        numbers[i] = (i / TIMES) as u8;
        i += 1;
    }
    numbers
}
