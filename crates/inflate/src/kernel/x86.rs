//! The loops for x86-64.
//!
//! BMI2's shifts do not touch the flags, and the masks of BMI1 and BMI2 do not overwrite their
//! operands. AVX2 sorts eight lookups at a time, AVX-512 sixteen.

// Calls of functions for certain processors, and loads without a bounds check each.
#![allow(unsafe_code)]

mod avx2;
mod avx512;

use std::arch::x86_64::{_andn_u32, _bzhi_u32};
use std::hint::black_box;

use super::{
    LOOKUPS_PER_CHECK, LOOKUPS_PER_ROUND, Lookups, MAX_CHECKS, MAX_ROUNDS, ROUNDS_PER_CHECK,
    generic,
};
use crate::bits::{SPAN_BYTES, Span};
use crate::entry::{NEXT, TABLE_BITS, TABLE_LEN, TABLES, consumed};
use crate::lane::Lane;
use crate::tokens::{Tokens, WIDTH};

/// Whether the processor has the instructions of [`run`] and [`split`].
pub(super) fn is_supported() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}

/// Whether the processor has the instructions of [`split_by_masks`] as well.
pub(super) fn has_masks() -> bool {
    is_supported()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512bitalg")
}

/// See [`Kernel::run`](super::Kernel::run). Only where [`is_supported`].
pub(super) fn run<const N: usize>(lanes: &mut [Lane; N], spans: &[&Span; N]) -> usize {
    debug_assert!(is_supported());
    // SAFETY: the kernel is only chosen where the processor has what it needs.
    unsafe { run_bmi(lanes, spans) }
}

/// The generic loop with fewer instructions. It goes lane by lane, so that registers suffice. The
/// processor works on the next lanes while one waits.
#[target_feature(enable = "bmi1,bmi2")]
fn run_bmi<const N: usize>(lanes: &mut [Lane; N], spans: &[&Span; N]) -> usize {
    // Hidden from the compiler, which would copy the masked values first.
    let (index_bits, no_next) = black_box((TABLE_BITS, !NEXT));
    let mut bits: [_; N] = std::array::from_fn(|lane| lanes[lane].position.bit);
    let mut tables: [_; N] = std::array::from_fn(|lane| lanes[lane].table & NEXT);
    const { assert!(7 + 63 * MAX_ROUNDS < 8 * SPAN_BYTES) };
    assert!(bits.iter().all(|&bit| bit < 8));
    let mut checks = 0;
    while checks < MAX_CHECKS {
        for round in 0..ROUNDS_PER_CHECK {
            for nth in 0..N {
                let lane = &mut lanes[nth];
                // SAFETY: each of the rounds before has added 63 at most to what was less than 8.
                let mut word = unsafe { word(spans[nth], bits[nth]) };
                let mut sum = 0u32;
                for step in round * LOOKUPS_PER_ROUND..(round + 1) * LOOKUPS_PER_ROUND {
                    let index = tables[nth] | _bzhi_u32(word as u32, index_bits);
                    const { assert!(NEXT | ((1 << TABLE_BITS) - 1) < (TABLES * TABLE_LEN) as u32) };
                    // SAFETY: it has no other bits than these.
                    let entry = unsafe { *lane.tables.get_unchecked(index as usize) };
                    lane.lookups.entries[checks][step] = entry;
                    lane.lookups.words[checks][step] = word as u32;
                    word >>= entry & 63;
                    sum = sum.wrapping_add(entry);
                    tables[nth] = _andn_u32(no_next, entry);
                }
                // Together they consume less than 64 bits, so a sum is enough.
                bits[nth] += consumed(sum) as usize;
            }
        }
        checks += 1;
        if tables.iter().any(|&table| Lane::is_halted(table)) {
            break;
        }
    }
    for lane in 0..N {
        lanes[lane].position.bit = bits[lane];
        lanes[lane].table = tables[lane];
    }
    checks * LOOKUPS_PER_CHECK
}

/// The bits of `span` from `bit` on.
///
/// # Safety
///
/// `bit / 8` is less than [`SPAN_BYTES`].
#[inline(always)]
unsafe fn word(span: &Span, bit: usize) -> u64 {
    debug_assert!(bit / 8 < SPAN_BYTES);
    // SAFETY: a span has eight bytes more than `SPAN_BYTES`.
    let bytes = unsafe { span.as_ptr().add(bit / 8).cast::<[u8; 8]>().read() };
    u64::from_le_bytes(bytes) >> (bit % 8)
}

/// See [`Kernel::split`](super::Kernel::split). Only where [`is_supported`].
pub(super) fn split(lookups: &Lookups, count: usize, tokens: &mut Tokens) {
    debug_assert!(is_supported());
    if !count.is_multiple_of(avx2::EIGHT) {
        // The stream ends early.
        return generic::split(lookups, count, tokens);
    }
    // SAFETY: the kernel is only chosen where the processor has what it needs.
    unsafe { avx2::split(lookups, count, tokens) }
}

/// See [`Kernel::split`](super::Kernel::split). Only where [`has_masks`].
pub(super) fn split_by_masks(lookups: &Lookups, count: usize, tokens: &mut Tokens) {
    debug_assert!(has_masks());
    if !count.is_multiple_of(WIDTH) {
        return generic::split(lookups, count, tokens);
    }
    // SAFETY: the kernel is only chosen where the processor has what it needs.
    unsafe { avx512::split(lookups, count, tokens) }
}
