//! Skipping where bits are deposited fast: of the ends in 64 bytes, the one that is
//! looked for is found at once.

use std::arch::x86_64::*;

/// The place behind bit `n` of `ends`, counted from 1; more than 64 if there are
/// not as many. `n` is 1 to 64.
#[inline]
#[target_feature(enable = "bmi1,bmi2")]
pub(super) fn len_of(ends: u64, n: usize) -> usize {
    _tzcnt_u64(_pdep_u64(1 << (n - 1), ends)) as usize + 1
}

/// Skips varints in a module for a machine with `$features`, whose `ends_of` gives a
/// bit for each of 64 bytes that ends a varint. A macro, since what is generic is not
/// compiled for the features of what it is called by.
macro_rules! skip_kernel {
    ($features:literal) => {
        /// See [`Kernels::skip`](crate::varints::Kernels::skip).
        #[inline]
        #[target_feature(enable = $features)]
        pub(in crate::varints::x86) fn skip_by_deposit(data: &[u8], n: usize) -> Option<usize> {
            // Those of up to four bytes.
            if (1..=16).contains(&n)
                && let Some(window) = data.first_chunk()
            {
                let len = $crate::varints::x86::skip::len_of(ends_of(window), n);
                if len <= 64 {
                    return Some(len);
                }
            }
            skip_many(data, n)
        }

        /// As [`skip_by_deposit`], of varints in several windows or near the end of the
        /// data.
        #[inline(never)]
        #[target_feature(enable = $features)]
        fn skip_many(data: &[u8], mut n: usize) -> Option<usize> {
            let mut position = 0;
            // Those of up to four bytes: one window, three, or some more.
            while n > 48
                && let Some(windows) = data[position..].first_chunk()
            {
                match skip_in::<4, { 4 * 64 }>(windows, n) {
                    Ok(len) => return Some(position + len),
                    Err(missing) => n = missing,
                }
                position += 4 * 64;
            }
            if n > 16
                && let Some(windows) = data[position..].first_chunk()
            {
                match skip_in::<3, { 3 * 64 }>(windows, n) {
                    Ok(len) => return Some(position + len),
                    Err(missing) => n = missing,
                }
                position += 3 * 64;
            }
            while n > 0
                && let Some(window) = data[position..].first_chunk()
            {
                match skip_in::<1, 64>(window, n) {
                    Ok(len) => return Some(position + len),
                    Err(missing) => n = missing,
                }
                position += 64;
            }
            Some(position + generic::skip(&data[position..], n)?)
        }

        /// The bytes that `n` varints take in some windows, or how many go on behind
        /// them. In which window they end is found without a branch: it is chance.
        #[inline]
        #[target_feature(enable = $features)]
        fn skip_in<const WINDOWS: usize, const BYTES: usize>(
            bytes: &[u8; BYTES],
            n: usize,
        ) -> Result<usize, usize> {
            let (windows, _) = bytes.as_chunks::<64>();
            let mut ends = [0; WINDOWS];
            for (ends, window) in ends.iter_mut().zip(windows) {
                *ends = ends_of(window);
            }
            // The window where they end, the bytes before it, and how many end in it.
            let (mut last, mut before, mut missing) = (ends[0], 0, n);
            let mut seen = 0;
            for i in 0..WINDOWS {
                seen += ends[i].count_ones() as usize;
                let next = ends.get(i + 1).copied().unwrap_or(0);
                let is_behind = seen < n;
                last = std::hint::select_unpredictable(is_behind, next, last);
                before = std::hint::select_unpredictable(is_behind, 64 * (i + 1), before);
                missing = std::hint::select_unpredictable(is_behind, n.wrapping_sub(seen), missing);
            }
            match seen < n {
                false => Ok(before + $crate::varints::x86::skip::len_of(last, missing)),
                true => Err(missing),
            }
        }
    };
}

pub(super) use skip_kernel;
