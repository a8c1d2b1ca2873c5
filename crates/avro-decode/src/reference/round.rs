//! Rounds to a float by definition: to the float nearest to a fraction. Of two equally near floats,
//! the one with an even last bit.

use std::cmp::Ordering;

use num_bigint::BigUint;

/// An IEEE 754 binary format.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    /// Number of bits of the fraction, without the hidden bit.
    fraction: u32,
    /// Number of bits of the exponent.
    exponent: u32,
}

pub(crate) const FLOAT16: Format = Format::new(10, 5);
pub(crate) const BFLOAT16: Format = Format::new(7, 8);
pub(crate) const FLOAT32: Format = Format::new(23, 8);
pub(crate) const FLOAT64: Format = Format::new(52, 11);

/// A fraction that is not negative.
pub(crate) struct Fraction {
    pub(crate) numerator: BigUint,
    pub(crate) denominator: BigUint,
}

impl Format {
    const fn new(fraction: u32, exponent: u32) -> Self {
        Format { fraction, exponent }
    }

    /// The bits of the float nearest to `magnitude`, or to `-magnitude` if `negative`.
    pub(crate) fn nearest(self, negative: bool, magnitude: &Fraction) -> u64 {
        let sign = u64::from(negative) << (self.fraction + self.exponent);
        sign | self.nearest_magnitude(magnitude)
    }

    /// Floats that are not negative have the same order as their bits. Infinity stands for the next
    /// float after the largest.
    fn nearest_magnitude(self, magnitude: &Fraction) -> u64 {
        let infinity = ((1 << self.exponent) - 1) << self.fraction;
        if self.value(infinity).cmp(magnitude).is_le() {
            return infinity;
        }
        let (mut below, mut above) = (0, infinity);
        while above - below > 1 {
            let middle = (below + above) / 2;
            match self.value(middle).cmp(magnitude) {
                Ordering::Greater => above = middle,
                _ => below = middle,
            }
        }
        let Binary { whole, power } = self.value(below);
        let half_way = Binary {
            whole: 2 * whole + 1,
            power: power - 1,
        };
        match half_way.cmp(magnitude) {
            Ordering::Greater => below,
            Ordering::Equal => below + below % 2,
            Ordering::Less => above,
        }
    }

    /// The number that the bits of a finite float represent.
    pub(crate) fn fraction_of(self, bits: u64) -> Fraction {
        let magnitude = bits & ((1 << (self.fraction + self.exponent)) - 1);
        let Binary { whole, power } = self.value(magnitude);
        Fraction {
            numerator: BigUint::from(whole) << power.max(0) as u32,
            denominator: BigUint::from(1u8) << (-power).max(0) as u32,
        }
    }

    fn value(self, bits: u64) -> Binary {
        let bias = (1 << (self.exponent - 1)) - 1;
        let fraction = bits & ((1 << self.fraction) - 1);
        let (whole, exponent) = match bits >> self.fraction {
            0 => (fraction, 1),
            exponent => (fraction | 1 << self.fraction, exponent as i32),
        };
        let power = exponent - bias - self.fraction as i32;
        Binary { whole, power }
    }
}

/// `whole * 2^power`
struct Binary {
    whole: u64,
    power: i32,
}

impl Binary {
    fn cmp(&self, other: &Fraction) -> Ordering {
        let (up, down) = (self.power.max(0) as u32, (-self.power).max(0) as u32);
        let left = (&other.denominator * self.whole) << up;
        let right = &other.numerator << down;
        left.cmp(&right)
    }
}
