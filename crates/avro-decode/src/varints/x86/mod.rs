//! The kernels for what some x86-64 machines have besides its baseline.

mod avx512;
mod memory;

pub(super) use dispatch::Avx512;

mod dispatch {
    #![allow(unsafe_code)] // Only the proof that the machine has the features makes the calls sound.

    use super::super::Found;
    use super::avx512;

    /// The kernels of [`avx512`], on a machine that has what they need.
    #[derive(Clone, Copy, Debug)]
    pub struct Avx512(());

    impl Avx512 {
        pub fn detect() -> Option<Self> {
            let has_all = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vbmi")
                && is_x86_feature_detected!("avx512vbmi2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt");
            has_all.then_some(Avx512(()))
        }

        #[inline]
        pub fn longs(self, data: &[u8], out: &mut [i64]) -> Option<usize> {
            // SAFETY: `self` is made only where all the features were detected.
            unsafe { avx512::longs(data, out) }
        }

        #[inline]
        pub fn ints(self, data: &[u8], out: &mut [i32]) -> Option<usize> {
            // SAFETY: as above.
            unsafe { avx512::ints(data, out) }
        }

        #[inline]
        pub fn coordinates<const INT: bool>(
            self,
            data: &[u8],
            row: i64,
            bound: u64,
            out: &mut [[i64; 2]],
        ) -> Option<Found> {
            // SAFETY: as above.
            unsafe { avx512::coordinates::<INT>(data, row, bound, out) }
        }

        #[inline]
        pub fn indices<const INT: bool>(
            self,
            data: &[u8],
            bound: u64,
            out: &mut [i64],
        ) -> Option<Found> {
            // SAFETY: as above.
            unsafe { avx512::indices::<INT>(data, bound, out) }
        }

        #[inline]
        pub fn skip(self, data: &[u8], n: usize) -> Option<usize> {
            // SAFETY: as above.
            unsafe { avx512::skip(data, n) }
        }
    }
}
