//! Decimals: an unscaled big-endian two's complement number, whose last `scale` digits follow the
//! point (Avro 1.12, "Decimal"). An empty number is 0.

use atds_features::narrow::Float as _;
use num_bigint::BigInt;
use tensor_batch::half::{bf16, f16};

use super::chunks::each;
use super::text::Bytes;
use super::{Out, other_dtype};
use crate::DecodeErrorKind;
use crate::limits::MAX_DECIMAL_BYTES;
use crate::plan::cursor::{Cursor, Fault};

/// Reads decimals as the nearest float, or as the unscaled number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal {
    pub(super) bytes: Bytes,
    pub(super) scale: u32,
    /// Number of digits after the decimal point in the column. It is larger than `scale` if the
    /// union or another file has a type with a larger scale.
    pub(super) column_scale: u32,
}

impl Decimal {
    pub(super) fn read(self, cursor: &mut Cursor<'_>, out: Out<'_>) -> Result<(), Fault> {
        let float = |cursor: &mut Cursor<'_>| self.float(self.bytes.next(cursor)?);
        match out {
            Out::Int64(out) => each(cursor, out, |cursor| {
                self.unscaled(self.bytes.next(cursor)?)
            }),
            Out::Float64(out) => each(cursor, out, float),
            Out::Float32(out) => each(cursor, out, |cursor| Ok(float(cursor)? as f32)),
            Out::Float16(out) => each(cursor, out, |cursor| Ok(f16::of_f64(float(cursor)?))),
            Out::BFloat16(out) => each(cursor, out, |cursor| Ok(bf16::of_f64(float(cursor)?))),
            _ => other_dtype(),
        }
    }

    /// The number without its point, with the column's digits.
    fn unscaled(self, bytes: &[u8]) -> Result<i64, Fault> {
        let number = unscaled(bytes)?;
        if self.scale == self.column_scale {
            return Ok(number);
        }
        let digits = self.column_scale - self.scale;
        match 10i64.checked_pow(digits) {
            Some(power) => number.checked_mul(power),
            None => (number == 0).then_some(0),
        }
        .ok_or_else(|| self.overflow(number))
    }

    /// The float nearest to the number, ties to even.
    fn float(self, bytes: &[u8]) -> Result<f64, Fault> {
        if bytes.len() > MAX_DECIMAL_BYTES {
            return Err(too_long(bytes.len()));
        }
        let Some(number) = to_i128(bytes) else {
            return Ok(self.scaled(&BigInt::from_signed_bytes_be(bytes)));
        };
        match POWERS_OF_TEN.get(self.scale as usize) {
            // Both sides are exact, so the division rounds once.
            Some(power) if number.unsigned_abs() <= MAX_EXACT => Ok(number as f64 / power),
            _ => Ok(self.scaled(&number)),
        }
    }

    #[cold]
    fn overflow(self, value: i64) -> Fault {
        let (from, to) = (self.scale, self.column_scale);
        Box::new(DecodeErrorKind::DecimalOverflow { value, from, to })
    }

    /// Converts through text, which the standard library rounds correctly at any length and with
    /// any exponent.
    fn scaled(self, number: &impl ToString) -> f64 {
        let mut text = number.to_string();
        text.push_str("e-");
        text.push_str(&self.scale.to_string());
        text.parse().expect("digits and an exponent are a float")
    }
}

/// The largest number up to which f64 represents every integer.
const MAX_EXACT: u128 = 1 << f64::MANTISSA_DIGITS;

/// The powers of ten that f64 represents exactly.
const POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The number without its scale.
fn unscaled(bytes: &[u8]) -> Result<i64, Fault> {
    let number = to_i128(bytes).and_then(|number| i64::try_from(number).ok());
    number.ok_or_else(|| too_large(bytes.len()))
}

fn to_i128(bytes: &[u8]) -> Option<i128> {
    const LEN: usize = size_of::<i128>();
    let (high, low) = bytes.split_at(bytes.len().saturating_sub(LEN));
    let negative = low.first().is_some_and(|byte| byte & 0x80 != 0);
    let sign = if negative { 0xff } else { 0 };
    let mut extended = [sign; LEN];
    extended[LEN - low.len()..].copy_from_slice(low);
    let fits = high.iter().all(|&byte| byte == sign);
    fits.then(|| i128::from_be_bytes(extended))
}

#[cold]
fn too_large(length: usize) -> Fault {
    Box::new(DecodeErrorKind::DecimalTooLarge { length })
}

#[cold]
fn too_long(length: usize) -> Fault {
    Box::new(DecodeErrorKind::DecimalTooLong { length })
}
