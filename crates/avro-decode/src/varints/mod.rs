//! Runs of zig-zag varints (Avro 1.12, "Primitive Types"), many at a time.
//!
//! Reading varints one by one has a long latency: load the bytes, find the end, then start the
//! next. The kernels here find the ends of all varints in a window of bytes at once, and decode
//! them in parallel.
//!
//! | kernel | window | values at a time | start of each value |
//! |---|---|---|---|
//! | AVX-512 | 64 bytes | 16 | byte permutations |
//! | AVX2 with BMI2 | 32 bytes (64 to skip) | 8 | `pdep` deposits and extracts bits |
//! | AVX2 | 32 bytes | 8 | bit by bit |
//! | generic | 8 bytes | 1 | – |
//!
//! On AMD's processors before Zen 3, `pdep` is slow microcode, so these use AVX2 alone. The
//! machine's kernel is detected once.
//!
//! A kernel accepts the same varints as reading one by one, padded ones included. Otherwise it
//! returns `None`, and its output is unspecified. The caller then reads one by one to find the
//! error.

mod generic;
mod word;
#[cfg(target_arch = "x86_64")]
mod x86;

/// Calls a kernel of the implementation.
macro_rules! with {
    ($kernels:ident, $($call:tt)*) => {
        match $kernels {
            Kernels::Generic => generic::$($call)*,
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx2(avx2) => avx2.$($call)*,
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx2Bmi2(avx2) => avx2.$($call)*,
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(avx512) => avx512.$($call)*,
        }
    };
}

/// An implementation of the kernels that this machine can run.
#[derive(Clone, Copy, Debug)]
pub enum Kernels {
    /// For any machine.
    Generic,
    /// For AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    /// For AVX2 with BMI2.
    #[cfg(target_arch = "x86_64")]
    Avx2Bmi2(x86::Avx2Bmi2),
    /// For AVX-512 with its byte permutations.
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
}

impl Kernels {
    /// The fastest implementation for this machine.
    #[inline]
    pub fn fastest() -> Self {
        #[cfg(target_arch = "x86_64")]
        let fastest = x86::fastest();
        #[cfg(not(target_arch = "x86_64"))]
        let fastest = Kernels::Generic;
        fastest
    }

    /// All implementations that this machine can run.
    pub fn available() -> impl Iterator<Item = Self> {
        let all = [
            Some(Kernels::Generic),
            #[cfg(target_arch = "x86_64")]
            x86::Avx2::detect().map(Kernels::Avx2),
            #[cfg(target_arch = "x86_64")]
            x86::Avx2Bmi2::detect().map(Kernels::Avx2Bmi2),
            #[cfg(target_arch = "x86_64")]
            x86::Avx512::detect().map(Kernels::Avx512),
        ];
        all.into_iter().flatten()
    }

    /// The name of the implementation.
    pub fn name(self) -> &'static str {
        match self {
            Kernels::Generic => "generic",
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx2(_) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx2Bmi2(_) => "AVX2 with BMI2",
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(_) => "AVX-512",
        }
    }

    /// Reads `out.len()` values of type `long` from the start of `data`. Returns their size in
    /// bytes.
    #[inline]
    pub fn longs(self, data: &[u8], out: &mut [i64]) -> Option<usize> {
        with!(self, longs(data, out))
    }

    /// Reads `out.len()` values of type `int` from the start of `data`, each of at most 5 bytes.
    /// Returns their size in bytes.
    #[inline]
    pub fn ints(self, data: &[u8], out: &mut [i32]) -> Option<usize> {
        with!(self, ints(data, out))
    }

    /// Reads `out.len()` indices from the start of `data`, as coordinates of the sparse vector in
    /// `row`. They are of type `int` if `INT`, otherwise `long`. They must not be negative, and
    /// must be below `end`, which is at most `i64::MAX`. Returns their size in bytes, and raises
    /// `extent` to the largest index + 1.
    #[inline]
    pub fn coordinates<const INT: bool>(
        self,
        data: &[u8],
        row: i64,
        end: u64,
        extent: &mut i64,
        out: &mut [[i64; 2]],
    ) -> Option<usize> {
        let bound = *extent as u64;
        let found = with!(self, coordinates::<INT>(data, row, bound, out))?;
        if found.at_bound {
            *extent = raised(out.iter().map(|[_, index]| *index), end)?;
        }
        Some(found.len)
    }

    /// As [`coordinates`](Self::coordinates), without the row.
    #[inline]
    pub fn indices<const INT: bool>(
        self,
        data: &[u8],
        end: u64,
        extent: &mut i64,
        out: &mut [i64],
    ) -> Option<usize> {
        let bound = *extent as u64;
        let found = with!(self, indices::<INT>(data, bound, out))?;
        if found.at_bound {
            *extent = raised(out.iter().copied(), end)?;
        }
        Some(found.len)
    }

    /// Runs `work`, compiled for the CPU features of these kernels.
    #[inline]
    pub(crate) fn run<W: Work>(self, work: W) -> W::Output {
        match self {
            Kernels::Generic => work.run(self),
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx2(avx2) => avx2.run(work),
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx2Bmi2(avx2) => avx2.run(work),
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(avx512) => avx512.run(work),
        }
    }

    /// The size in bytes of the first `n` varints of `data`, or `None` if `data` ends first. The
    /// varints are not checked.
    #[inline(always)]
    pub fn skip(self, data: &[u8], n: usize) -> Option<usize> {
        with!(self, skip(data, n))
    }

    /// The sizes in bytes of the first `n` varints of `data`, and of the first `n + more`. `None`
    /// if `data` ends first.
    #[inline(always)]
    pub fn skip_both(self, data: &[u8], n: usize, more: usize) -> Option<[usize; 2]> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx2Bmi2(avx2) => avx2.skip_both(data, n, more),
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(avx512) => avx512.skip_both(data, n, more),
            _ => Some([self.skip(data, n)?, self.skip(data, n.checked_add(more)?)?]),
        }
    }
}

/// Work that calls kernels so often that the cost of a call matters. It is not a closure, because
/// closures cannot be forced inline.
pub(crate) trait Work {
    /// The result.
    type Output;

    /// Does the work. Implement it as `inline(always)`: only inlined code is compiled for the CPU
    /// features, and can inline the kernels.
    fn run(self, kernels: Kernels) -> Self::Output;
}

/// The result of reading a run of indices.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// Size of the indices in bytes.
    len: usize,
    /// Whether an index, as `u64`, is at or above the bound.
    at_bound: bool,
}

impl Found {
    /// The result of a run and the run after it.
    fn and(self, next: Found) -> Found {
        Found {
            len: self.len + next.len,
            at_bound: self.at_bound | next.at_bound,
        }
    }
}

/// The extent of the indices, if at least one exists; `None` if an index is not below `end`. Cold,
/// since few runs raise the extent. Negative indices count as larger than any other.
#[cold]
fn raised(indices: impl Iterator<Item = i64>, end: u64) -> Option<i64> {
    let max = indices.map(|index| index as u64).max()?;
    if max < end {
        Some(max as i64 + 1)
    } else {
        None
    }
}
