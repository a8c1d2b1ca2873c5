//! Tensors as JSON, for reading by people.

use avro_decode::{double_to_json, float_to_json};
use serde_json::{Value, json};
use tensor_batch::{Batch, Column, Scalar, Values, fixed_width_dtypes};

/// The columns of a batch as a JSON object, for looking at data and for tests.
///
/// | column | object |
/// |---|---|
/// | dense | `dtype`, `shape`, `values` as nested lists |
/// | sparse | `dtype`, `dense_shape`, `indices` (a list for each value), `values` |
/// | ragged | `dtype`, `row_splits` (a list for each level), `values` |
/// | ragged sparse | `dtype`, `dense_shape`, `row_splits`, `indices`, `values` |
///
/// Strings that are not UTF-8 have a character of U+0000 to U+00FF for each
/// byte, as in [`Records`](crate::avro::records::Records); NaN and infinities are strings.
pub fn batch_to_json(batch: &Batch) -> Value {
    let columns = batch.columns().map(|(spec, view)| {
        let mut column = json!({"dtype": spec.dtype.name()});
        match view {
            Column::Dense(tensor) => {
                let dims: Vec<usize> = tensor.shape.iter().map(|&dim| dim as usize).collect();
                column["shape"] = json!(tensor.shape);
                column["values"] = nested(&mut all(tensor.values), &dims);
            }
            Column::Sparse(tensor) => {
                column["dense_shape"] = json!(tensor.dense_shape);
                column["indices"] = rows(tensor.indices, tensor.dense_shape.len());
                column["values"] = all(tensor.values).collect();
            }
            Column::Ragged(tensor) => {
                let levels = tensor.row_splits.iter();
                column["row_splits"] = levels.map(|splits| json!(splits.as_slice())).collect();
                column["values"] = all(tensor.values).collect();
            }
            Column::RaggedSparse(tensor) => {
                column["dense_shape"] = json!(tensor.dense_shape);
                column["row_splits"] = json!(tensor.row_splits);
                column["indices"] = rows(tensor.indices, tensor.dense_shape.len() - 1);
                column["values"] = all(tensor.values).collect();
            }
            _ => unreachable!("every form of this version is above"),
        }
        (spec.name.clone(), column)
    });
    Value::Object(columns.collect())
}

/// Value `i` as JSON, as in [`batch_to_json`].
///
/// # Panics
/// If `i` is out of range.
pub fn value_to_json(values: &Values, i: usize) -> Value {
    macro_rules! json {
        ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
            match values {
                $(Values::$variant(values) => json!(@$class values.as_slice()[i]),)*
                Values::String(values) => string(values.get(i).expect("there are so many")),
                _ => unreachable!("every dtype of this version is above"),
            }
        };
        (@integer $value:expr) => (Value::from($value));
        (@float $value:expr) => (float($value));
        (@boolean $value:expr) => (Value::from($value == 1));
    }
    fixed_width_dtypes!(json)
}

/// One value as JSON, as in [`batch_to_json`].
pub(crate) fn scalar(scalar: &Scalar) -> Value {
    let values = Values::from_scalars(scalar.dtype(), std::slice::from_ref(scalar));
    value_to_json(&values, 0)
}

/// Values in row-major order as nested lists of the dimensions `dims`.
pub(crate) fn nested(values: &mut impl Iterator<Item = Value>, dims: &[usize]) -> Value {
    match dims.split_first() {
        None => values.next().unwrap_or_default(),
        Some((&len, inner)) => (0..len).map(|_| nested(values, inner)).collect(),
    }
}

fn all(values: &Values) -> impl Iterator<Item = Value> {
    (0..values.len()).map(|i| value_to_json(values, i))
}

/// Lists of `len` numbers each.
fn rows(numbers: &[i64], len: usize) -> Value {
    numbers.chunks(len).map(|row| json!(row)).collect()
}

fn string(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => latin1(bytes).into(),
    }
}

/// A string with one character for each byte.
pub(crate) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// The shortest decimal that is this float. Floats of 2 bytes are read as float32.
fn float<T: Copy + Into<f64>>(value: T) -> Value {
    if size_of::<T>() < size_of::<f64>() {
        float_to_json(value.into() as f32)
    } else {
        double_to_json(value.into())
    }
}
