//! Runs of zig-zag varints (Avro 1.12, "Primitive Types"), many at a time.
//!
//! Read one by one, a varint costs the way from loading its bytes over finding
//! its end to where the next one starts. The kernels here find the ends of all
//! varints in a window of bytes at once, and make values of them side by side.
//!
//! A kernel reads what reading one by one reads, padded varints included, or
//! gives `None`: then the caller reads one by one to learn what is wrong, and
//! what the kernel wrote is unspecified.

use std::sync::LazyLock;

mod generic;
mod word;
#[cfg(target_arch = "x86_64")]
mod x86;

/// An implementation of the kernels that this machine can run.
#[derive(Clone, Copy, Debug)]
pub enum Kernels {
    /// For any machine.
    Generic,
    /// For AVX-512 with its byte permutations.
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
}

impl Kernels {
    /// The fastest for this machine.
    #[inline]
    pub fn fastest() -> Self {
        static FASTEST: LazyLock<Kernels> = LazyLock::new(|| {
            #[cfg(target_arch = "x86_64")]
            if let Some(avx512) = x86::Avx512::detect() {
                return Kernels::Avx512(avx512);
            }
            Kernels::Generic
        });
        *FASTEST
    }

    /// All that this machine can run.
    pub fn available() -> impl Iterator<Item = Self> {
        let all = [
            Some(Kernels::Generic),
            #[cfg(target_arch = "x86_64")]
            x86::Avx512::detect().map(Kernels::Avx512),
        ];
        all.into_iter().flatten()
    }

    /// Reads `out.len()` values of type `long` from the start of `data`. Gives
    /// the bytes they take.
    #[inline]
    pub fn longs(self, data: &[u8], out: &mut [i64]) -> Option<usize> {
        match self {
            Kernels::Generic => generic::longs(data, out),
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(avx512) => avx512.longs(data, out),
        }
    }

    /// Reads `out.len()` values of type `int` from the start of `data`, each of
    /// at most 5 bytes. Gives the bytes they take.
    #[inline]
    pub fn ints(self, data: &[u8], out: &mut [i32]) -> Option<usize> {
        match self {
            Kernels::Generic => generic::ints(data, out),
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(avx512) => avx512.ints(data, out),
        }
    }

    /// Reads `out.len()` indices, each below `end` and not negative, from the
    /// start of `data`: places in the sparse vector of `row`. They are of type
    /// `int` if `INT`, else `long`.
    #[inline]
    pub fn coordinates<const INT: bool>(
        self,
        data: &[u8],
        row: i64,
        end: u64,
        out: &mut [[i64; 2]],
    ) -> Option<Indices> {
        match self {
            Kernels::Generic => generic::coordinates::<INT>(data, row, end, out),
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(avx512) => avx512.coordinates::<INT>(data, row, end, out),
        }
    }

    /// As [`coordinates`](Self::coordinates), without the row.
    #[inline]
    pub fn indices<const INT: bool>(
        self,
        data: &[u8],
        end: u64,
        out: &mut [i64],
    ) -> Option<Indices> {
        match self {
            Kernels::Generic => generic::indices::<INT>(data, end, out),
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(avx512) => avx512.indices::<INT>(data, end, out),
        }
    }

    /// The bytes that `n` varints take at the start of `data`, or `None` if it
    /// ends before. That they are good is not checked.
    #[inline]
    pub fn skip(self, data: &[u8], n: usize) -> Option<usize> {
        match self {
            Kernels::Generic => generic::skip(data, n),
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(avx512) => avx512.skip(data, n),
        }
    }
}

/// What was read of a run of indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indices {
    /// The bytes they take.
    pub len: usize,
    /// The largest index + 1, or 0 without any.
    pub extent: i64,
}

impl Indices {
    /// Of `n` indices of which `max` is the largest as `u64`, if it is below
    /// `end`: a negative one would not be.
    #[inline]
    fn new(len: usize, n: usize, max: u64, end: u64) -> Option<Self> {
        let extent = match n {
            0 => 0,
            // It fits: `end` is at most `i64::MAX`.
            _ if max < end => max as i64 + 1,
            _ => return None,
        };
        Some(Indices { len, extent })
    }
}

#[cfg(test)]
mod tests;
