//! The kernels for x86-64 machines with more CPU features than the baseline.

mod avx2;
mod avx512;
mod dispatch;
mod memory;
mod run;
mod skip;

pub(super) use dispatch::{Avx2, Avx2Bmi2, Avx512, fastest};
