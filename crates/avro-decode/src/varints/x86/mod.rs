//! The kernels for what some x86-64 machines have besides its baseline.

mod avx2;
mod avx512;
mod dispatch;
mod memory;
mod run;
mod skip;

pub(super) use dispatch::{Avx2, Avx2Bmi2, Avx512, fastest};
