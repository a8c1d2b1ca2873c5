//! Kernels that may be called: where the machine has what they need.
#![allow(unsafe_code)] // Calls of functions that need features of the machine.

use super::super::{Found, Kernels, Work};
use super::{avx2, avx512};

/// A type that stands for a machine with some features, and with it for the
/// kernels of a module that need no others.
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

            /// Runs `work` compiled for the machine.
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
    /// The kernels of [`avx2`].
    Avx2, avx2, "avx2" "bmi1" "popcnt"
}

kernels! {
    /// The kernels of [`avx512`].
    Avx512, avx512,
    "avx512f" "avx512bw" "avx512vl" "avx512vbmi" "avx512vbmi2" "bmi1" "bmi2" "popcnt"
}
