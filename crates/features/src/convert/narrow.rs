//! Rounding to floats, also to those of 2 bytes: to the nearest, ties to even.
//!
//! Rounding in two steps, first to float32, can give a wrong result: the first step may produce a
//! tie that the value is not. Rounding the first step to odd prevents this: a number between two
//! floats becomes the one whose last bit is 1. Such a float is never a tie for fewer bits (Boldo
//! and Melquiond, "When double rounding is odd", 2005). The conversions of `half` from f64 are not
//! used. They round in two steps or drop bits, differently on each machine.

use tensor_batch::half::{bf16, f16};

/// A float that other numbers are rounded to.
pub trait Float {
    /// The float nearest to `value`.
    fn of_i32(value: i32) -> Self;
    /// The float nearest to `value`.
    fn of_i64(value: i64) -> Self;
    /// The float nearest to `value`.
    fn of_f32(value: f32) -> Self;
    /// The float nearest to `value`.
    fn of_f64(value: f64) -> Self;
}

macro_rules! by_hardware {
    ($($float:ty)*) => {$(
        impl Float for $float {
            #[inline]
            fn of_i32(value: i32) -> Self {
                value as $float
            }
            #[inline]
            fn of_i64(value: i64) -> Self {
                value as $float
            }
            #[inline]
            fn of_f32(value: f32) -> Self {
                value as $float
            }
            #[inline]
            fn of_f64(value: f64) -> Self {
                value as $float
            }
        }
    )*};
}
by_hardware!(f32 f64);

macro_rules! by_odd {
    ($($float:ty)*) => {$(
        impl Float for $float {
            #[inline]
            fn of_i32(value: i32) -> Self {
                Self::of_f64(value.into())
            }
            #[inline]
            fn of_i64(value: i64) -> Self {
                Self::of_f64(f64_to_odd(value))
            }
            #[inline]
            fn of_f32(value: f32) -> Self {
                <$float>::from_f32(value)
            }
            #[inline]
            fn of_f64(value: f64) -> Self {
                <$float>::from_f32(f32_to_odd(value))
            }
        }
    )*};
}
by_odd!(f16 bf16);

#[inline]
fn f32_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    if back == value || value.is_nan() {
        return nearest;
    }
    // Of the two floats around the value take the one closer to 0, then set its last bit.
    let toward_zero = nearest.to_bits() - u32::from(back.abs() > value.abs());
    f32::from_bits(toward_zero | 1)
}

#[inline]
fn f64_to_odd(value: i64) -> f64 {
    /// Number of bits that an i64 has more than an f64.
    const EXTRA: u32 = i64::BITS - f64::MANTISSA_DIGITS;
    if value.unsigned_abs() < 1 << f64::MANTISSA_DIGITS {
        return value as f64;
    }
    let lost = value & ((1 << EXTRA) - 1) != 0;
    let kept = value >> EXTRA | i64::from(lost);
    kept as f64 * f64::from(1 << EXTRA)
}
