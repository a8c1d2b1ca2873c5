//! Finds the starts of varints from the bits of their ends, one after another.

use std::arch::x86_64::*;

use super::super::super::{Found, generic};
use super::super::memory::store_8_ints;
use super::super::run::Run;
use super::{Above, LOOKED_AT, store_longs, store_pairs};

super::kernels! {
    "avx2,bmi1"
}

pub(in super::super) use super::skip;

/// See [`kernels`](super::kernels).
#[inline]
#[target_feature(enable = "avx2,bmi1")]
fn group(bytes: &[u8; LOOKED_AT], n: usize) -> Option<(usize, __m256i)> {
    let ends = super::ends(bytes);
    let starts = starts(ends);
    let len = starts[n];
    // None of the first `len` bytes, at most 32, belongs to a varint of more than 4 bytes.
    let is_narrow = len <= 32 && u64::from(super::four_on(ends)) & ((1 << len) - 1) == 0;
    let [_, a, b, c, middle, d, e, f, _] = starts;
    let low = (a - 1) << 8 | (b - 1) << 16 | (c - 1) << 24;
    let [d, e, f] = [d, e, f].map(|start| (start - 1).wrapping_sub(middle) & 0xff);
    let high = d << 8 | e << 16 | f << 24;
    let before = u64::from(high) << 32 | u64::from(low);
    is_narrow.then(|| (len as usize, super::values(bytes, middle, before)))
}

/// The starts of the first 8 varints, and the end of the last; 33 if it is not in 32 bytes.
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
