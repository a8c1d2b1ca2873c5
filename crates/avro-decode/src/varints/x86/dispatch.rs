//! Safe calls of kernels, on machines that have their CPU features.
#![allow(unsafe_code)] // Calls of functions that need features of the machine.

use std::arch::x86_64::__cpuid;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use super::super::{Found, Kernels, Work};
use super::avx2::{bit_by_bit, by_deposit};
use super::avx512;

/// A type that proves that the machine has some CPU features, and gives access to the kernels of a
/// module that needs no others.
macro_rules! kernels {
    ($(#[$doc:meta])* $name:ident, $module:ident, $($feature:tt)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(());

        impl $name {
            pub fn detect() -> Option<Self> {
                let has_all = $(is_x86_feature_detected!($feature))&&*;
                has_all.then_some($name(()))
            }

            #[inline]
            pub fn longs(self, data: &[u8], out: &mut [i64]) -> Option<usize> {
                // SAFETY: `self` is made only where the features were detected.
                unsafe { $module::longs(data, out) }
            }

            #[inline]
            pub fn ints(self, data: &[u8], out: &mut [i32]) -> Option<usize> {
                // SAFETY: as above.
                unsafe { $module::ints(data, out) }
            }

            #[inline]
            pub(in super::super) fn coordinates<const INT: bool>(
                self,
                data: &[u8],
                row: i64,
                bound: u64,
                out: &mut [[i64; 2]],
            ) -> Option<Found> {
                // SAFETY: as above.
                unsafe { $module::coordinates::<INT>(data, row, bound, out) }
            }

            #[inline]
            pub(in super::super) fn indices<const INT: bool>(
                self,
                data: &[u8],
                bound: u64,
                out: &mut [i64],
            ) -> Option<Found> {
                // SAFETY: as above.
                unsafe { $module::indices::<INT>(data, bound, out) }
            }

            #[inline]
            pub fn skip(self, data: &[u8], n: usize) -> Option<usize> {
                // SAFETY: as above.
                unsafe { $module::skip(data, n) }
            }

            /// Runs `work`, compiled for the CPU features.
            #[inline]
            pub(in super::super) fn run<W: Work>(self, work: W) -> W::Output {
                $(#[target_feature(enable = $feature)])*
                fn compiled<W: Work>(work: W, kernels: $name) -> W::Output {
                    work.run(Kernels::$name(kernels))
                }
                // SAFETY: as above.
                unsafe { compiled(work, self) }
            }
        }
    };
}

kernels! {
    /// The kernels of [`bit_by_bit`].
    Avx2, bit_by_bit, "avx2" "bmi1" "popcnt"
}

kernels! {
    /// The kernels of [`by_deposit`], for processors on which [that is fast](Self::deposits_fast).
    Avx2Bmi2, by_deposit, "avx2" "bmi1" "bmi2" "popcnt"
}

/// A kernel for processors that deposit bits fast.
macro_rules! skip_both {
    ($name:ident, $module:ident) => {
        impl $name {
            #[inline]
            pub(in super::super) fn skip_both(
                self,
                data: &[u8],
                n: usize,
                more: usize,
            ) -> Option<[usize; 2]> {
                // SAFETY: `self` is made only where the features were detected.
                unsafe { $module::skip_both(data, n, more) }
            }
        }
    };
}

skip_both!(Avx2Bmi2, by_deposit);
skip_both!(Avx512, avx512);

impl Avx2Bmi2 {
    /// Whether the processor deposits bits in a few cycles. AMD's processors before Zen 3 (family
    /// 0x19) did it in microcode, in some cycles per bit.
    pub fn deposits_fast(self) -> bool {
        #[allow(unused_unsafe)] // It is not unsafe from Rust 1.94 on.
        // SAFETY: every x86-64 machine has the instruction, and these leaves of it.
        let (names, version) = unsafe { (__cpuid(0), __cpuid(1).eax) };
        let vendor = names.ebx.to_le_bytes();
        let family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
        // AuthenticAMD, HygonGenuine.
        let is_amd = matches!(&vendor, b"Auth" | b"Hygo");
        !is_amd || family >= 0x19
    }
}

kernels! {
    /// The kernels of [`avx512`].
    Avx512, avx512,
    "avx512f" "avx512bw" "avx512vl" "avx512vbmi" "avx512vbmi2" "bmi1" "bmi2" "popcnt"
}

/// The fastest kernels for this machine, detected once. If several threads need it first, none
/// waits for another. In a forked process, such a thread would not exist.
#[inline]
pub(in super::super) fn fastest() -> Kernels {
    match FASTEST.load(Relaxed) {
        GENERIC => Kernels::Generic,
        AVX2 => Kernels::Avx2(Avx2(())),
        AVX2_BMI2 => Kernels::Avx2Bmi2(Avx2Bmi2(())),
        AVX512 => Kernels::Avx512(Avx512(())),
        _ => find_fastest(),
    }
}

/// The result of [`find_fastest`].
static FASTEST: AtomicU8 = AtomicU8::new(u8::MAX);
const GENERIC: u8 = 0;
const AVX2: u8 = 1;
const AVX2_BMI2: u8 = 2;
const AVX512: u8 = 3;

#[cold]
fn find_fastest() -> Kernels {
    let (fastest, found) = if let Some(avx512) = Avx512::detect() {
        (Kernels::Avx512(avx512), AVX512)
    } else if let Some(avx2) = Avx2Bmi2::detect().filter(|avx2| avx2.deposits_fast()) {
        (Kernels::Avx2Bmi2(avx2), AVX2_BMI2)
    } else if let Some(avx2) = Avx2::detect() {
        (Kernels::Avx2(avx2), AVX2)
    } else {
        (Kernels::Generic, GENERIC)
    };
    FASTEST.store(found, Relaxed);
    fastest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_first_is_given_from_then_on() {
        let found = find_fastest();
        assert_eq!(fastest().name(), found.name());
        assert!(Kernels::available().any(|kernels| kernels.name() == found.name()));
    }
}
