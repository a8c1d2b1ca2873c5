//! Finds the starts of several varints at once by depositing and extracting bits, for processors
//! with fast instructions for that.

use std::arch::x86_64::*;

use super::super::super::{Found, generic};
use super::super::memory::store_8_ints;
use super::super::run::Run;
use super::{Above, LOOKED_AT, store_longs, store_pairs};

super::kernels! {
    "avx2,bmi1,bmi2"
}

pub(in super::super) use super::skip_both_by_deposit as skip_both;
pub(in super::super) use super::skip_by_deposit as skip;

/// See [`kernels`](super::kernels).
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn group(bytes: &[u8; LOOKED_AT], n: usize) -> Option<(usize, __m256i)> {
    let ends = super::ends(bytes);
    let len = len_of(ends, n);
    // If fewer than `n` varints end in 32 bytes, one of them is long, and `len` is 33, so all 32
    // bytes are checked.
    if _bzhi_u32(super::four_on(ends), len) != 0 {
        return None;
    }
    let middle = len_of(ends, 4);
    let ends = u64::from(ends);
    let low = _pdep_u64(positions(ends), 0x0f0f_0f00);
    let high = _pdep_u64(positions(ends >> middle), 0x0f0f_0f00 << 32);
    Some((len as usize, super::values(bytes, middle, low | high)))
}

/// The size in bytes of the first `n` varints, 1 to 8; 33 if they do not end in 32 bytes.
#[inline]
#[target_feature(enable = "bmi1,bmi2")]
fn len_of(ends: u32, n: usize) -> u32 {
    _tzcnt_u32(_pdep_u32(1 << (n - 1), ends)) + 1
}

/// The positions of the ends in the first 16 bytes, four bits each.
#[inline]
#[target_feature(enable = "bmi2")]
fn positions(ends: u64) -> u64 {
    let one_each = _pdep_u64(ends, 0x1111_1111_1111_1111);
    _pext_u64(0xfedc_ba98_7654_3210, one_each * 0xf)
}
