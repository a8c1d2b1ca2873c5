//! Runs of zig-zag varints (Avro 1.12, "Primitive Types"), many at a time.
//!
//! Read one by one, a varint costs the way from loading its bytes over finding
//! its end to where the next one starts. The kernels here find the ends of all
//! varints in a window of bytes at once, and make values of them side by side.
//!
//! | kernel | window | values at a time | start of each value |
//! |---|---|---|---|
//! | AVX-512 | 64 bytes | 16 | byte permutations |
//! | AVX2 with BMI2 | 32 bytes (64 to skip) | 8 | `pdep` deposits and extracts bits |
//! | AVX2 | 32 bytes | 8 | bit by bit |
//! | generic | 8 bytes | 1 | – |
//!
//! `pdep` is microcode in AMD's processors before Zen 3, which therefore use AVX2 alone.
//! The machine's kernel is detected once.
//!
//! A kernel reads what reading one by one reads, padded varints included, or
//! gives `None`: then the caller reads one by one to learn what is wrong, and
//! what the kernel wrote is unspecified.

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
    /// The fastest for this machine.
    #[inline]
    pub fn fastest() -> Self {
        #[cfg(target_arch = "x86_64")]
        let fastest = x86::fastest();
        #[cfg(not(target_arch = "x86_64"))]
        let fastest = Kernels::Generic;
        fastest
    }

    /// All that this machine can run.
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

    /// What it is for.
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

    /// Reads `out.len()` values of type `long` from the start of `data`. Gives
    /// the bytes they take.
    #[inline]
    pub fn longs(self, data: &[u8], out: &mut [i64]) -> Option<usize> {
        with!(self, longs(data, out))
    }

    /// Reads `out.len()` values of type `int` from the start of `data`, each of
    /// at most 5 bytes. Gives the bytes they take.
    #[inline]
    pub fn ints(self, data: &[u8], out: &mut [i32]) -> Option<usize> {
        with!(self, ints(data, out))
    }

    /// Reads `out.len()` indices from the start of `data`, places in the sparse
    /// vector of `row`. They are of type `int` if `INT`, else `long`; not
    /// negative, and below `end`, which is at most `i64::MAX`. Gives the bytes
    /// they take, and raises `extent` to the largest + 1.
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

    /// Runs `work`, compiled for the machine that these kernels are for.
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

    /// The bytes that `n` varints take at the start of `data`, or `None` if it
    /// ends before. That they are good is not checked.
    #[inline(always)]
    pub fn skip(self, data: &[u8], n: usize) -> Option<usize> {
        with!(self, skip(data, n))
    }

    /// The bytes that `n` varints take at the start of `data`, and those that these and
    /// `more` behind them do, or `None` if it ends before.
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

/// What calls kernels so often that the calls count. It is no closure, since
/// those cannot be told to be inlined.
pub(crate) trait Work {
    /// What it gives.
    type Output;

    /// Does it. To be `inline(always)`: only what is inlined is compiled for the
    /// machine, and then the kernels can be, too.
    fn run(self, kernels: Kernels) -> Self::Output;
}

/// What was read of a run of indices.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The bytes they take.
    len: usize,
    /// Whether one, as `u64`, is at or above the bound.
    at_bound: bool,
}

impl Found {
    /// Of a run and the one behind it.
    fn and(self, next: Found) -> Found {
        Found {
            len: self.len + next.len,
            at_bound: self.at_bound | next.at_bound,
        }
    }
}

/// The extent of indices of which one is above that of those before, as few are;
/// `None` if one is not below `end`. Negative ones are larger than any other.
#[cold]
fn raised(indices: impl Iterator<Item = i64>, end: u64) -> Option<i64> {
    let max = indices.map(|index| index as u64).max()?;
    if max < end {
        Some(max as i64 + 1)
    } else {
        None
    }
}
