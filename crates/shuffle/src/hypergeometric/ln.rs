//! Logarithms from additions, multiplications and divisions, which IEEE 754 rounds the same
//! on every platform. Library functions differ between platforms.

use std::f64::consts::{LN_2, SQRT_2};

/// The natural logarithm of a positive, normal number, within 10 units of
/// 2^-53 of its value.
pub(super) fn ln(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut fraction = f64::from_bits(bits & MANTISSA | 1023 << 52);
    if fraction > SQRT_2 {
        fraction /= 2.0;
        exponent += 1;
    }
    f64::from(exponent) * LN_2 + ln_near_one(fraction - 1.0)
}

/// `ln(1 + x)` for `x` from -0.293 to 0.415, within 6 units of 2^-53 of its
/// value.
pub(super) fn ln_near_one(x: f64) -> f64 {
    // ln(1 + x) = 2 artanh(s), |s| <= 0.172.
    let s = x / (2.0 + x);
    let square = s * s;
    2.0 * s * (1.0 + square * artanh_rest(square))
}

/// `a * phi(d / a)` with `phi(t) = (1 + t) ln(1 + t) - t`, the part of the
/// logarithm of a ratio of factorials that grows with `d^2`. Within 300 units
/// of 2^-53 of its value, for `a >= 1` and `a + d >= 1`, both exact or rounded.
pub(super) fn phi(a: f64, d: f64) -> f64 {
    let t = d / a;
    if t.abs() > 0.25 {
        let end = a + d;
        return end * ln(end / a) - d;
    }
    // With t = 2 s / (1 - s), the leading terms cancel exactly.
    let s = t / (2.0 + t);
    let square = s * s;
    let series = 1.0 + (1.0 + s) * s * artanh_rest(square);
    a * (2.0 * square / (1.0 - s)) * series
}

/// `(artanh(s) / s - 1) / s^2 = 1/3 + s^2/5 + s^4/7 + ..` for `square = s^2` up
/// to 0.0295; the rest of the series is below 2^-60.
fn artanh_rest(square: f64) -> f64 {
    // Two independent chains, which the processor can overlap.
    let fourth = square * square;
    let even = [3.0, 7.0, 11.0, 15.0, 19.0, 23.0];
    let odd = [5.0, 9.0, 13.0, 17.0, 21.0];
    let sum = |divisors: &[f64]| {
        let add = |sum: f64, divisor: &f64| sum * fourth + 1.0 / divisor;
        divisors.iter().rev().fold(0.0, add)
    };
    sum(&even) + square * sum(&odd)
}

/// The rest of Stirling's formula: `ln gamma(z) - (z - 1/2) ln z + z - ln(2 pi) / 2` for an
/// integer `z >= 1`, within 2^-52.
pub(super) fn stirling_rest(z: f64) -> f64 {
    const EXACT: [f64; 15] = [
        0.081_061_466_795_327_26,
        0.041_340_695_955_409_3,
        0.027_677_925_684_998_34,
        0.020_790_672_103_765_093,
        0.016_644_691_189_821_193,
        0.013_876_128_823_070_748,
        0.011_896_709_945_891_77,
        0.010_411_265_261_972_096,
        0.009_255_462_182_712_733,
        0.008_330_563_433_362_87,
        0.007_573_675_487_951_841,
        0.006_942_840_107_209_53,
        0.006_408_994_188_004_207,
        0.005_951_370_112_758_847_5,
        0.005_554_733_551_962_801,
    ];
    if z <= EXACT.len() as f64 {
        return EXACT[z as usize - 1];
    }
    let inverse = 1.0 / z;
    let square = inverse * inverse;
    let series = 1.0 / 1680.0 - square / 1188.0;
    let series = 1.0 / 1260.0 - square * series;
    let series = 1.0 / 360.0 - square * series;
    inverse * (1.0 / 12.0 - square * series)
}

#[cfg(test)]
mod tests;
