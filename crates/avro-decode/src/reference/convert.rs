//! Conversions of single values: the slow twin of [`convert`](crate::convert).
//!
//! Floats are found by the definition of rounding, among fractions of whole
//! numbers of any size; times are converted in 128 bits.

use num_bigint::{BigInt, BigUint, Sign};
use tensor_batch::half::{bf16, f16};
use tensor_batch::{DType, Scalar};

use super::round::{BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Format, Fraction};
use crate::convert::fingerprint64;
use crate::limits::MAX_DECIMAL_BYTES;
use crate::schema::{LogicalType, Node, NodeId, Schema};
use crate::{Convert, DecodeErrorKind, TimeUnit, Value};

/// The elements of `dtype` that `value`, of the type at `id`, becomes: three
/// for a duration, else one. A value that was written as another type is
/// resolved before.
///
/// # Errors
/// The value cannot be converted.
///
/// # Panics
/// If the type has no such conversion, or the value is not of the type.
pub(crate) fn convert(
    schema: &Schema,
    id: NodeId,
    value: &Value,
    dtype: DType,
    convert: &Convert,
) -> Result<Vec<Scalar>, DecodeErrorKind> {
    let logical = schema.logical(id);
    if let (Some(LogicalType::Duration), Value::Fixed(bytes)) = (logical, value) {
        let parts = bytes.chunks(4).map(|part| {
            let digits = part.iter().rev();
            let part = digits.fold(0, |sum, &byte| sum * 256 + i64::from(byte));
            Scalar::Int64(part)
        });
        return Ok(parts.collect());
    }
    let scalar = match convert {
        Convert::Exact | Convert::Cast => element(schema, id, value, dtype)?,
        Convert::HashBuckets(buckets) => {
            let hash = fingerprint64(&string(schema, id, value));
            Scalar::Int64((hash % buckets) as i64)
        }
        Convert::Vocabulary(vocabulary) => {
            let id = vocabulary.id(&string(schema, id, value));
            match dtype {
                DType::Int32 => Scalar::Int32(id as i32),
                _ => Scalar::Int64(id),
            }
        }
        Convert::Unit(unit) => Scalar::Int64(in_unit(logical, whole(value), *unit)?),
    };
    Ok(vec![scalar])
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
        // With every bit of a NaN.
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

/// What a value is as a string.
fn string(schema: &Schema, id: NodeId, value: &Value) -> Vec<u8> {
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
        _ => whole(value).to_string().into(),
    }
}

fn whole(value: &Value) -> i64 {
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
        DType::Int32 => match i32::try_from(value) {
            Ok(value) => Scalar::Int32(value),
            Err(_) => return Err(DecodeErrorKind::CastOverflow { value, dtype }),
        },
        DType::Int64 => Scalar::Int64(value),
        DType::Bool => Scalar::Bool(value != 0),
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
    /// A number of 1024 bytes has fewer than 2500 digits, and with so many
    /// behind the point it is nearest to 0, as it is with any more.
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

fn in_unit(
    logical: Option<&LogicalType>,
    value: i64,
    to: TimeUnit,
) -> Result<i64, DecodeErrorKind> {
    let name = logical.map_or("", LogicalType::name);
    let from = match name {
        "date" => TimeUnit::Days,
        _ if name.ends_with("-millis") => TimeUnit::Millis,
        _ if name.ends_with("-micros") => TimeUnit::Micros,
        _ if name.ends_with("-nanos") => TimeUnit::Nanos,
        _ => panic!("the type is a time"),
    };
    let time = i128::from(value) * nanos(from);
    let time = time.div_euclid(nanos(to));
    i64::try_from(time).map_err(|_| DecodeErrorKind::TimeOverflow { value, from, to })
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
