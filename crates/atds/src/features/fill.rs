//! Defaults: a value, or nested lists of the shape.

use atds_features::feature::FeatureKind;
use atds_features::{Feature, Fill};
use serde_json::Value;
use tensor_batch::half::{bf16, f16};
use tensor_batch::{DType, Scalar};

use super::EntryErrorKind;

pub(super) fn zero(dtype: DType) -> Fill {
    Fill::Scalar(Scalar::zero(dtype))
}

/// The default of a feature of known kind and dtype.
pub(super) fn parse(json: &Value, feature: &Feature) -> Result<Fill, EntryErrorKind> {
    let dtype = feature.dtype;
    if !json.is_array() {
        return Ok(Fill::Scalar(scalar(json, dtype)?));
    }
    let FeatureKind::Dense { shape, reshape } = &feature.kind else {
        return Err(EntryErrorKind::wrong_type("default", "one value", json));
    };
    // A first dimension that varies may be the batch.
    let shape = match shape.split_first() {
        Some((None, rest)) if *reshape => rest,
        _ => shape,
    };
    let Some(shape) = shape.iter().copied().collect::<Option<Vec<usize>>>() else {
        let expected = "one value, since a dimension varies";
        return Err(EntryErrorKind::wrong_type("default", expected, json));
    };
    let mut values = Vec::new();
    flatten(json, &shape, &shape, dtype, &mut values)?;
    Ok(Fill::Tensor(values))
}

/// Appends the values of nested lists of the dimensions `dims`, the last of
/// `shape`.
fn flatten(
    json: &Value,
    dims: &[usize],
    shape: &[usize],
    dtype: DType,
    values: &mut Vec<Scalar>,
) -> Result<(), EntryErrorKind> {
    match (json, dims.split_first()) {
        (Value::Array(items), Some((&len, inner))) if items.len() == len => items
            .iter()
            .try_for_each(|item| flatten(item, inner, shape, dtype, values)),
        (Value::Array(_), _) | (_, Some(_)) => Err(other_shape(shape)),
        (json, None) => {
            values.push(scalar(json, dtype)?);
            Ok(())
        }
    }
}

fn scalar(json: &Value, dtype: DType) -> Result<Scalar, EntryErrorKind> {
    let scalar =
        match dtype {
            dtype if dtype.is_integer() => json
                .as_i64()
                .and_then(|number| Scalar::integer(dtype, number)),
            DType::Float16 => float(json, f64::from(f16::MAX))
                .map(|number| Scalar::Float16(f16::from_f64(number))),
            DType::BFloat16 => float(json, f64::from(bf16::MAX))
                .map(|number| Scalar::BFloat16(bf16::from_f64(number))),
            DType::Float32 => {
                float(json, f64::from(f32::MAX)).map(|number| Scalar::Float32(number as f32))
            }
            DType::Float64 => float(json, f64::MAX).map(Scalar::Float64),
            DType::Bool => json.as_bool().map(Scalar::Bool),
            DType::String => bytes(json).map(Scalar::String),
            _ => None,
        };
    scalar.ok_or_else(|| no_value(json, dtype))
}

/// A number no larger than `most`, or the name of a float that is no number.
fn float(json: &Value, most: f64) -> Option<f64> {
    match json.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => json.as_f64().filter(|number| number.abs() <= most),
    }
}

/// A string, or `{"bytes": ".."}` with a character for each byte.
pub(super) fn bytes(json: &Value) -> Option<Vec<u8>> {
    match json {
        Value::String(text) => Some(text.as_bytes().to_vec()),
        Value::Object(keys) if keys.len() == 1 => {
            let text = keys.get("bytes")?.as_str()?;
            text.chars().map(|c| u8::try_from(c).ok()).collect()
        }
        _ => None,
    }
}

#[cold]
fn other_shape(expected: &[usize]) -> EntryErrorKind {
    let expected = expected.to_vec();
    EntryErrorKind::DefaultShape { expected }
}

#[cold]
fn no_value(json: &Value, dtype: DType) -> EntryErrorKind {
    let found = super::error::short(json);
    EntryErrorKind::DefaultValue { found, dtype }
}
