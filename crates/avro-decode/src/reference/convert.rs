//! Conversions of single values: the slow twin of [`convert`](crate::convert).
//!
//! Floats are found by the definition of rounding, with fractions of arbitrarily large integers.
//! Times are converted in 128 bits.

use atds_features::{Convert, TimeUnit, fingerprint64};
use num_bigint::{BigInt, BigUint, Sign};
use tensor_batch::half::{bf16, f16};
use tensor_batch::{DType, Scalar};

use super::round::{BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Format, Fraction};
use crate::limits::MAX_DECIMAL_BYTES;
use crate::schema::{LogicalType, Node, NodeId, Schema};
use crate::{DecodeErrorKind, Meaning, Value};

/// The elements of `dtype` that `value`, of the type at `id`, becomes: three for a duration, one
/// per byte for uint8, and one otherwise. A value that was written as another type must be resolved
/// before. `column` is the meaning of its column's elements, if it differs from that of the type.
///
/// # Errors
/// If the value cannot be converted.
///
/// # Panics
/// If the type has no such conversion, or the value is not of the type.
pub(crate) fn convert(
    schema: &Schema,
    id: NodeId,
    value: &Value,
    dtype: DType,
    convert: &Convert,
    column: Option<&Meaning>,
) -> Result<Vec<Scalar>, DecodeErrorKind> {
    let logical = schema.logical(id);
    if let Some(number) = number(schema, id, value, dtype, convert, column)? {
        return Ok(vec![number]);
    }
    if let (Some(LogicalType::Duration), Value::Fixed(bytes)) = (logical, value) {
        let parts = bytes.chunks(4).map(|part| {
            let digits = part.iter().rev();
            let part = digits.fold(0, |sum, &byte| sum * 256 + i64::from(byte));
            Scalar::Int64(part)
        });
        return Ok(parts.collect());
    }
    if let (DType::UInt8, Value::Bytes(bytes) | Value::Fixed(bytes)) = (dtype, value)
        && matches!(logical, None | Some(LogicalType::Unknown(_)))
        && matches!(convert, Convert::Exact | Convert::Cast)
    {
        return Ok(bytes.iter().map(|&byte| Scalar::UInt8(byte)).collect());
    }
    let scalar = match convert {
        Convert::Exact | Convert::Cast => element(schema, id, value, dtype)?,
        Convert::HashBuckets(buckets) => {
            let hash = fingerprint64(&string(schema, id, value));
            Scalar::Int64((hash % buckets) as i64)
        }
        Convert::Vocabulary(vocabulary) => {
            let id = vocabulary.id(&string(schema, id, value));
            Scalar::integer(dtype, id).expect("the dtype has every id")
        }
        Convert::Unit(_) => panic!("the type is a time"),
    };
    Ok(vec![scalar])
}

/// The number of a time, decimal or symbol in the unit, scale or symbol list of the column, if that
/// is given.
fn number(
    schema: &Schema,
    id: NodeId,
    value: &Value,
    dtype: DType,
    convert: &Convert,
    column: Option<&Meaning>,
) -> Result<Option<Scalar>, DecodeErrorKind> {
    let logical = schema.logical(id);
    let unit = match (convert, column) {
        (&Convert::Unit(unit), _) | (_, Some(&Meaning::Time { unit, .. })) => Some(unit),
        _ => None,
    };
    let number = match (
        logical.and_then(unit_of),
        unit,
        column,
        value,
        schema.node(id),
    ) {
        (Some(from), Some(to), ..) => {
            let value = whole(value);
            let time = in_unit(value, from, to);
            time.ok_or(DecodeErrorKind::TimeOverflow { value, from, to })?
        }
        (_, _, Some(Meaning::Symbols(symbols)), &Value::Enum(index), Node::Enum(ty)) => {
            let symbol = &ty.symbols[index as usize];
            let position = symbols.iter().position(|known| known == symbol);
            position.expect("the column has all symbols") as i64
        }
        (
            _,
            _,
            Some(&Meaning::Decimal { scale: to }),
            Value::Bytes(bytes) | Value::Fixed(bytes),
            _,
        ) => {
            let Some(&LogicalType::Decimal { scale: from, .. }) = logical else {
                panic!("the type is a decimal");
            };
            let value = unscaled(bytes)?;
            let power = BigInt::from(10).pow(to - from);
            let number = i64::try_from(BigInt::from(value) * power);
            number.map_err(|_| DecodeErrorKind::DecimalOverflow { value, from, to })?
        }
        _ => return Ok(None),
    };
    Ok(Some(match convert {
        Convert::HashBuckets(buckets) => {
            let hash = fingerprint64(number.to_string().as_bytes());
            Scalar::Int64((hash % buckets) as i64)
        }
        Convert::Vocabulary(vocabulary) => {
            let id = vocabulary.id(number.to_string().as_bytes());
            Scalar::integer(dtype, id).expect("the dtype has every id")
        }
        _ => integer(number, dtype)?,
    }))
}

fn element(
    schema: &Schema,
    id: NodeId,
    value: &Value,
    dtype: DType,
) -> Result<Scalar, DecodeErrorKind> {
    let decimal = match schema.logical(id) {
        Some(&LogicalType::Decimal { scale, .. }) => Some(scale),
        _ => None,
    };
    match (value, dtype) {
        // Keeps every bit of a NaN.
        (Value::Float(value), DType::Float32) => Ok(Scalar::Float32(*value)),
        (Value::Double(value), DType::Float64) => Ok(Scalar::Float64(*value)),
        (_, DType::String) => Ok(Scalar::String(string(schema, id, value))),
        (&Value::Boolean(value), DType::Bool) => Ok(Scalar::Bool(value)),
        (&Value::Float(value), _) => Ok(float(value.into(), dtype)),
        (&Value::Double(value), _) => Ok(float(value, dtype)),
        (Value::Bytes(bytes) | Value::Fixed(bytes), _) => {
            let scale = decimal.expect("only decimals are numbers");
            match dtype {
                DType::Int64 => unscaled(bytes).map(Scalar::Int64),
                DType::Float64 => scaled(bytes, scale).map(Scalar::Float64),
                _ => Ok(float(scaled(bytes, scale)?, dtype)),
            }
        }
        _ => integer(whole(value), dtype),
    }
}

/// The string that a value becomes.
pub(super) fn string(schema: &Schema, id: NodeId, value: &Value) -> Vec<u8> {
    match (value, schema.node(id)) {
        (Value::String(text), _) => text.clone().into(),
        (Value::Fixed(bytes), _) if schema.logical(id) == Some(&LogicalType::Uuid) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let groups = [0..8, 8..12, 12..16, 16..20, 20..32].map(|group| &digits[group]);
            groups.join("-").into()
        }
        (Value::Bytes(bytes) | Value::Fixed(bytes), _) => bytes.clone(),
        (&Value::Enum(index), Node::Enum(symbols)) => {
            symbols.symbols[index as usize].clone().into()
        }
        (Value::Float(value), _) => format!("{value:?}").into(),
        (Value::Double(value), _) => format!("{value:?}").into(),
        (Value::Boolean(value), _) => value.to_string().into(),
        _ => whole(value).to_string().into(),
    }
}

pub(super) fn whole(value: &Value) -> i64 {
    match *value {
        Value::Int(value) => value.into(),
        Value::Long(value) => value,
        Value::Boolean(value) => value.into(),
        Value::Enum(index) => index.into(),
        _ => panic!("the value is a whole number"),
    }
}

fn integer(value: i64, dtype: DType) -> Result<Scalar, DecodeErrorKind> {
    Ok(match dtype {
        DType::Bool => Scalar::Bool(value != 0),
        _ if dtype.is_integer() => {
            let number = Scalar::integer(dtype, value);
            number.ok_or(DecodeErrorKind::CastOverflow { value, dtype })?
        }
        _ => {
            let magnitude = Fraction {
                numerator: value.unsigned_abs().into(),
                denominator: 1u8.into(),
            };
            nearest(value < 0, &magnitude, dtype)
        }
    })
}

fn float(value: f64, dtype: DType) -> Scalar {
    if dtype == DType::Bool {
        return Scalar::Bool(value != 0.0);
    }
    if value.is_finite() {
        let magnitude = FLOAT64.fraction_of(value.to_bits());
        return nearest(value.is_sign_negative(), &magnitude, dtype);
    }
    match dtype {
        DType::Float16 => Scalar::Float16(f16::from_f32(value as f32)),
        DType::BFloat16 => Scalar::BFloat16(bf16::from_f32(value as f32)),
        DType::Float32 => Scalar::Float32(value as f32),
        _ => Scalar::Float64(value),
    }
}

fn nearest(negative: bool, magnitude: &Fraction, dtype: DType) -> Scalar {
    let bits = |format: Format| format.nearest(negative, magnitude);
    match dtype {
        DType::Float16 => Scalar::Float16(f16::from_bits(bits(FLOAT16) as u16)),
        DType::BFloat16 => Scalar::BFloat16(bf16::from_bits(bits(BFLOAT16) as u16)),
        DType::Float32 => Scalar::Float32(f32::from_bits(bits(FLOAT32) as u32)),
        DType::Float64 => Scalar::Float64(f64::from_bits(bits(FLOAT64))),
        _ => panic!("the dtype is a float"),
    }
}

fn unscaled(bytes: &[u8]) -> Result<i64, DecodeErrorKind> {
    let number = BigInt::from_signed_bytes_be(bytes);
    i64::try_from(number).map_err(|_| DecodeErrorKind::DecimalTooLarge {
        length: bytes.len(),
    })
}

fn scaled(bytes: &[u8], scale: u32) -> Result<f64, DecodeErrorKind> {
    /// Upper bound on the scale that is computed. A number of 1024 bytes has fewer than 2500
    /// digits. So at this scale it rounds to 0, as at any larger scale.
    const ENOUGH: u32 = 4000;
    if bytes.len() > MAX_DECIMAL_BYTES {
        let length = bytes.len();
        return Err(DecodeErrorKind::DecimalTooLong { length });
    }
    let number = BigInt::from_signed_bytes_be(bytes);
    let magnitude = Fraction {
        numerator: number.magnitude().clone(),
        denominator: BigUint::from(10u8).pow(scale.min(ENOUGH)),
    };
    let bits = FLOAT64.nearest(number.sign() == Sign::Minus, &magnitude);
    Ok(f64::from_bits(bits))
}

/// A time in another unit, rounded down; `None` outside 64 bits.
pub(crate) fn in_unit(value: i64, from: TimeUnit, to: TimeUnit) -> Option<i64> {
    let time = i128::from(value) * nanos(from);
    time.div_euclid(nanos(to)).try_into().ok()
}

/// The unit of a logical type, by its name.
pub(super) fn unit_of(logical: &LogicalType) -> Option<TimeUnit> {
    let name = logical.name();
    match (name, logical) {
        (_, LogicalType::Unknown(_)) => None,
        ("date", _) => Some(TimeUnit::Days),
        _ if name.ends_with("-millis") => Some(TimeUnit::Millis),
        _ if name.ends_with("-micros") => Some(TimeUnit::Micros),
        _ if name.ends_with("-nanos") => Some(TimeUnit::Nanos),
        _ => None,
    }
}

fn nanos(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Days => 24 * nanos(TimeUnit::Hours),
        TimeUnit::Hours => 60 * nanos(TimeUnit::Minutes),
        TimeUnit::Minutes => 60 * nanos(TimeUnit::Seconds),
        TimeUnit::Seconds => 1000 * nanos(TimeUnit::Millis),
        TimeUnit::Millis => 1000 * nanos(TimeUnit::Micros),
        TimeUnit::Micros => 1000 * nanos(TimeUnit::Nanos),
        TimeUnit::Nanos => 1,
    }
}
