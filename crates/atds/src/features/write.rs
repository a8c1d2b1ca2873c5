//! Converts features to JSON.

use atds_features::feature::{Extents, FeatureKind, Partition, SparseKeys};
use atds_features::{Feature, Fill};
use serde_json::{Map, Value, json};
use tensor_batch::{DType, Layout, Scalar, UNKNOWN};

use super::convert;
use super::entry::BYTES;
use crate::json;

pub(super) fn features(features: &[Feature]) -> Value {
    let entries = features
        .iter()
        .map(|feature| (feature.name.clone(), entry(feature)));
    Value::Object(entries.collect())
}

fn entry(feature: &Feature) -> Value {
    let mut keys = Map::new();
    let mut set = |key: &str, value: Value| {
        keys.insert(key.to_owned(), value);
    };
    set("kind", kind(&feature.kind).into());
    if let Some(expression) = &feature.expression {
        set("expression", expression.as_str().into());
    }
    match &feature.kind {
        FeatureKind::Dense { shape, .. } => set("shape", json!(shape)),
        FeatureKind::Varlen { shape, extents, .. } => match shape {
            None => {}
            Some(shape)
                if *extents == Extents::Lengths && shape.iter().all(|&dim| dim == UNKNOWN) =>
            {
                set("rank", shape.len().into());
            }
            Some(shape) => set("shape", json!(shape)),
        },
        FeatureKind::Sparse {
            keys: SparseKeys::Record,
            shape,
            ..
        } => set("shape", json!(shape)),
        FeatureKind::Sparse {
            keys: SparseKeys::Named { index, value },
            shape,
            sort,
            ..
        } => {
            set("index_key", one_or_all(index));
            set("value_key", value.as_str().into());
            set("size", one_or_all(shape));
            if !sort {
                set("already_sorted", true.into());
            }
        }
    }
    let dtype = match feature.dtype {
        DType::String if feature.any_bytes => BYTES,
        dtype => dtype.name(),
    };
    set("dtype", dtype.into());
    if let FeatureKind::Varlen { layout, .. } | FeatureKind::Sparse { layout, .. } = &feature.kind
        && *layout == Layout::Ragged
    {
        set("layout", "ragged".into());
    }
    if !feature.partitions.is_empty() {
        let of = |partition: &Partition| match partition {
            Partition::UniformRowLength(length) => json!([partition.name(), length]),
            keyed => json!([keyed.name(), keyed.key()]),
        };
        set(
            "partitions",
            feature.partitions.iter().map(of).collect::<Value>(),
        );
    }
    if feature.truncate {
        set("truncate", true.into());
    }
    if let Some(default) = &feature.missing.default {
        set("default", fill(default, &feature.kind));
    }
    if let Some(mask) = &feature.missing.mask {
        set("mask", mask.as_str().into());
    }
    if let Some(row_mask) = &feature.missing.row_mask {
        set("row_mask", row_mask.as_str().into());
    }
    convert::add(&feature.convert, &mut keys);
    Value::Object(keys)
}

fn kind(kind: &FeatureKind) -> &'static str {
    match kind {
        FeatureKind::Dense { reshape: false, .. } => "dense",
        FeatureKind::Dense { reshape: true, .. } => "fixed_len",
        FeatureKind::Varlen {
            extents: Extents::Values,
            ..
        } => "varlen",
        FeatureKind::Varlen {
            extents: Extents::Lengths,
            ..
        } => "var_len",
        _ => "sparse",
    }
}

/// A list, or its one item.
fn one_or_all<T: Clone + Into<Value>>(items: &[T]) -> Value {
    match items {
        [item] => item.clone().into(),
        items => items.to_vec().into(),
    }
}

fn fill(fill: &Fill, kind: &FeatureKind) -> Value {
    let values = match fill {
        Fill::Scalar(value) => return scalar(value),
        Fill::Tensor(values) => values,
    };
    // With a value for each place, the dimension that varies is the batch.
    let dims: Vec<usize> = match kind {
        FeatureKind::Dense { shape, .. } => shape.iter().flatten().copied().collect(),
        _ => Vec::new(),
    };
    let mut json = values.iter().map(scalar);
    let mut sizes = dims.iter();
    match sizes.try_fold(1usize, |count, &dim| count.checked_mul(dim)) {
        Some(count) if count == values.len() => json::nested(&mut json, &dims),
        // No feature can be like that; all of it is shown.
        _ => json.collect(),
    }
}

fn scalar(value: &Scalar) -> Value {
    match value {
        Scalar::String(value) => bytes(value),
        value => json::scalar(value),
    }
}

pub(super) fn bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({"bytes": json::latin1(bytes)}),
    }
}
