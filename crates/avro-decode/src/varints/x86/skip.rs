//! Skips varints on processors that deposit bits fast: the end of a given varint among 64 bytes is
//! found without a loop.

use std::arch::x86_64::*;

/// The position after the `n`th set bit of `ends`; more than 64 if there are fewer bits. `n` is 1
/// to 64.
#[inline]
#[target_feature(enable = "bmi1,bmi2")]
pub(super) fn len_of(ends: u64, n: usize) -> usize {
    _tzcnt_u64(_pdep_u64(1 << (n - 1), ends)) as usize + 1
}

/// Kernels in a module that skip varints, for the CPU features `$features`. The module's `ends_of`
/// gives a bit for each of 64 bytes that ends a varint. This is a macro, since a generic function
/// is not compiled for its caller's CPU features.
macro_rules! skip_kernel {
    ($features:literal) => {
        /// See [`Kernels::skip`](crate::varints::Kernels::skip).
        #[inline]
        #[target_feature(enable = $features)]
        pub(in crate::varints::x86) fn skip_by_deposit(data: &[u8], n: usize) -> Option<usize> {
            // Varints of up to four bytes on average fit in one window.
            if (1..=16).contains(&n)
                && let Some(window) = data.first_chunk()
            {
                let len = $crate::varints::x86::skip::len_of(ends_of(window), n);
                if len <= 64 {
                    return Some(len);
                }
            }
            // The same for three windows, without a call.
            if (17..=48).contains(&n)
                && let Some(windows) = data.first_chunk::<{ 3 * 64 }>()
                && let Ok(len) = Ends::<3>::of(windows).behind(n)
            {
                return Some(len);
            }
            skip_many(data, n)
        }

        /// See [`Kernels::skip_both`](crate::varints::Kernels::skip_both).
        #[inline]
        #[target_feature(enable = $features)]
        pub(in crate::varints::x86) fn skip_both_by_deposit(
            data: &[u8],
            n: usize,
            more: usize,
        ) -> Option<[usize; 2]> {
            if n > 0
                && let Some(windows) = data.first_chunk::<{ 4 * 64 }>()
            {
                let ends = Ends::<4>::of(windows);
                if let (Ok(both), Ok(first)) = (ends.behind(n.checked_add(more)?), ends.behind(n)) {
                    return Some([first, both]);
                }
            }
            Some([skip_many(data, n)?, skip_many(data, n.checked_add(more)?)?])
        }

        /// As [`skip_by_deposit`], for varints in several windows or near the end of the data.
        #[inline(never)]
        #[target_feature(enable = $features)]
        fn skip_many(data: &[u8], mut n: usize) -> Option<usize> {
            let mut position = 0;
            // For varints of up to four bytes, one window, three, or a few more suffice.
            while n > 48
                && let Some(windows) = data[position..].first_chunk::<{ 4 * 64 }>()
            {
                match Ends::<4>::of(windows).behind(n) {
                    Ok(len) => return Some(position + len),
                    Err(missing) => n = missing,
                }
                position += 4 * 64;
            }
            if n > 16
                && let Some(windows) = data[position..].first_chunk::<{ 3 * 64 }>()
            {
                match Ends::<3>::of(windows).behind(n) {
                    Ok(len) => return Some(position + len),
                    Err(missing) => n = missing,
                }
                position += 3 * 64;
            }
            while n > 0
                && let Some(window) = data[position..].first_chunk::<64>()
            {
                match Ends::<1>::of(window).behind(n) {
                    Ok(len) => return Some(position + len),
                    Err(missing) => n = missing,
                }
                position += 64;
            }
            Some(position + generic::skip(&data[position..], n)?)
        }

        /// The ends of varints in some windows.
        struct Ends<const WINDOWS: usize> {
            ends: [u64; WINDOWS],
            /// Number of ends in each window and before it.
            seen: [usize; WINDOWS],
        }

        impl<const WINDOWS: usize> Ends<WINDOWS> {
            #[inline]
            #[target_feature(enable = $features)]
            fn of<const BYTES: usize>(bytes: &[u8; BYTES]) -> Self {
                let (windows, _) = bytes.as_chunks::<64>();
                let (mut ends, mut seen, mut all) = ([0; WINDOWS], [0; WINDOWS], 0);
                for (i, window) in windows.iter().enumerate() {
                    ends[i] = ends_of(window);
                    all += ends[i].count_ones() as usize;
                    seen[i] = all;
                }
                Ends { ends, seen }
            }

            /// The size in bytes of `n` varints, at least one. `Err` has the number of varints that
            /// end after the windows. The window is found without a branch, which could not be
            /// predicted.
            #[inline]
            #[target_feature(enable = $features)]
            fn behind(&self, n: usize) -> Result<usize, usize> {
                // The window of the last varint, the bytes before it, and the number of ends before
                // it.
                let (mut last, mut bytes, mut before) = (self.ends[0], 0, 0);
                for i in 1..WINDOWS {
                    let is_behind = self.seen[i - 1] < n;
                    last = std::hint::select_unpredictable(is_behind, self.ends[i], last);
                    bytes = std::hint::select_unpredictable(is_behind, 64 * i, bytes);
                    before = std::hint::select_unpredictable(is_behind, self.seen[i - 1], before);
                }
                if self.seen[WINDOWS - 1] < n {
                    Err(n - self.seen[WINDOWS - 1])
                } else {
                    Ok(bytes + $crate::varints::x86::skip::len_of(last, n - before))
                }
            }
        }
    };
}

pub(super) use skip_kernel;
