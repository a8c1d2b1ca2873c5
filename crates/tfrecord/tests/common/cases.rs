//! Features in the words of TensorFlow, and batches as JSON: of cases that are compared with TensorFlow's.

// Each binary uses a part of this module.
#![allow(dead_code, unreachable_pub)]

use atds_features::feature::{Extents, FeatureKind};
use atds_features::{Feature, Features, Fill};
use atds_tfrecord::{Plan, Scratch, Writer};
use serde_json::{Map, Value, json};
use tensor_batch::{Batch, BatchBuilder, Column, DType, Layout, Scalar, Values};

/// The batch of a case: `{"columns": {name: ..}}`, or `{"error": text, "record": number}`.
pub fn decode(case: &Value) -> Value {
    try_decode(case).unwrap_or_else(|error| error)
}

fn try_decode(case: &Value) -> Result<Value, Value> {
    let features = case["features"].as_array().expect("a list");
    let wrong = |error: &dyn std::fmt::Display| json!({"error": error.to_string()});
    let features = Features::new(features.iter().map(feature)).map_err(|error| wrong(&error))?;
    let plan = Plan::of(&features).map_err(|error| wrong(&error))?;
    let mut writer = Writer::new(Vec::new());
    let records = case["records"].as_array().expect("a list");
    for record in records {
        let record = from_hex(record.as_str().expect("text"));
        writer.write(&record).expect("memory takes bytes");
    }
    let payload = writer.finish().expect("memory takes bytes");
    let mut builder = BatchBuilder::new(features.spec().clone());
    let mut slots = builder.slots(&[records.len()]);
    let mut scratch = Scratch::default();
    let done = plan.execute(&mut scratch, &payload, (0, 0), records.len(), &mut slots[0]);
    done.map_err(|error| json!({"error": error.to_string(), "record": error.record}))?;
    drop(slots);
    builder.gather().into_iter().for_each(|task| task.run());
    Ok(json!({"columns": columns(&builder.finish())}))
}

/// A feature in the words of TensorFlow.
fn feature(json: &Value) -> Feature {
    let text = |key: &str| json[key].as_str().expect("text").to_owned();
    let dtype = DType::from_name(&text("dtype")).expect("a dtype");
    let name = text("name");
    let dims = || -> Vec<i64> {
        let dims = json["shape"].as_array().expect("a shape").iter();
        dims.map(|dim| dim.as_i64().expect("a number")).collect()
    };
    let part = json["part"].as_str().unwrap_or("");
    let path = |rank: usize| format!("{part}'{}'{}", text("key"), "[*]".repeat(rank));
    let default = || match &json["default"] {
        Value::Null => None,
        Value::Array(values) => Some(Fill::Tensor(
            values.iter().map(|v| scalar(dtype, v)).collect(),
        )),
        value => Some(Fill::Scalar(scalar(dtype, value))),
    };
    match &*text("type") {
        "fixed" => {
            let shape: Vec<_> = dims().iter().map(|&dim| Some(dim as usize)).collect();
            let feature = Feature::fixed_len(name, &shape, dtype).at(path(shape.len()));
            match default() {
                Some(default) => feature.with_default(default),
                None => feature,
            }
        }
        "sequence" => {
            let mut shape = vec![None];
            shape.extend(dims().iter().map(|&dim| Some(dim as usize)));
            let default = default().map(|fill| match fill {
                Fill::Scalar(scalar) => scalar,
                Fill::Tensor(_) => panic!("one value"),
            });
            let allow_missing = json["allow_missing"] == json!(true);
            Feature::fixed_len_sequence(name, &shape, dtype, default, allow_missing)
                .at(path(shape.len()))
        }
        "sparse" => {
            let keys = json["index_keys"].as_array().expect("a list").iter();
            let keys: Vec<String> = keys
                .map(|key| format!("@'{}'", key.as_str().expect("text")))
                .collect();
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let value = format!("@'{}'", text("key"));
            let feature = Feature::sparse_keys(name, &keys, &value, &dims(), dtype);
            match json["already_sorted"] == json!(true) {
                true => feature.already_sorted(),
                false => feature,
            }
        }
        kind => {
            let rank = if part == "feature_lists." { 2 } else { 1 };
            let mut feature = Feature::var_len_of_rank(name, dtype, rank).at(path(rank));
            if let FeatureKind::Varlen { extents, .. } = &mut feature.kind {
                *extents = Extents::Lengths;
            }
            match kind {
                "ragged" => feature.with_layout(Layout::Ragged),
                _ => feature,
            }
        }
    }
}

fn scalar(dtype: DType, value: &Value) -> Scalar {
    match dtype {
        DType::Int64 => Scalar::Int64(value.as_i64().expect("an integer")),
        DType::Float32 => Scalar::Float32(value.as_f64().expect("a number") as f32),
        _ => Scalar::String(from_hex(value.as_str().expect("text"))),
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let byte = |i| u8::from_str_radix(&text[i..i + 2], 16).expect("hex");
    (0..text.len()).step_by(2).map(byte).collect()
}

fn columns(batch: &Batch) -> Map<String, Value> {
    let mut map = Map::new();
    for (spec, column) in batch.columns() {
        let value = match column {
            Column::Dense(tensor) => {
                json!({"shape": tensor.shape, "values": values(tensor.values)})
            }
            Column::Sparse(tensor) => json!({
                "indices": tensor.indices,
                "values": values(tensor.values),
                "shape": tensor.dense_shape,
            }),
            Column::Ragged(tensor) => {
                let splits = tensor.row_splits.iter();
                let splits: Vec<&[i64]> = splits.map(|splits| splits.as_slice()).collect();
                json!({"splits": splits, "values": values(tensor.values)})
            }
            other => panic!("no column of {other:?}"),
        };
        map.insert(spec.name.clone(), value);
    }
    map
}

/// Integers as numbers, floats by their bits, strings in hex.
fn values(values: &Values) -> Vec<Value> {
    let one = |i| match values.get(i) {
        Some(Scalar::Int64(value)) => json!(value),
        Some(Scalar::Float32(value)) => json!(value.to_bits()),
        Some(Scalar::String(text)) => {
            let hex: Vec<String> = text.iter().map(|byte| format!("{byte:02x}")).collect();
            json!(hex.concat())
        }
        other => panic!("no value of TensorFlow: {other:?}"),
    };
    (0..values.len()).map(one).collect()
}
