//! Shared parts of the tests.
#![allow(clippy::unwrap_used)]

mod described;
mod distributions;
mod files;
mod people;
mod presets;

use std::collections::BTreeSet;
use std::ops::Range;

use atds_features::Features;
use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::{Schema, Value, reference};
use tensor_batch::{ColumnKind, ColumnSpec, UNKNOWN};

use super::*;

/// The records, decoded by the reference. Checks that encoding them again gives the same bytes.
fn decoded(shape: &RecordShape, records: Range<u64>) -> Vec<Value> {
    let schema = Schema::parse(&shape.schema()).unwrap();
    let decode = |byte_sizes| {
        let mut encoder = RecordEncoder::new(shape.clone(), SEED).with_byte_sizes(byte_sizes);
        let mut options = EncodeOptions::default();
        options.byte_sizes = byte_sizes;
        let decode = |index| {
            let (mut bytes, mut position) = (Vec::new(), 0);
            encoder.encode(index, &mut bytes);
            let record = reference::decode(&schema, schema.root(), &bytes, &mut position).unwrap();
            let mut again = Vec::new();
            encode(&schema, schema.root(), &record, &mut again, &options).unwrap();
            assert_eq!(bytes, again);
            record
        };
        records.clone().map(decode).collect::<Vec<Value>>()
    };
    let plain = decode(false);
    assert_eq!(plain, decode(true));
    plain
}

const SEED: u64 = 3;

/// Checks that records fit the shape's features, one for each field: the lengths, and distinct
/// cells within the bounds. A null fits.
fn assert_records_fit(shape: &RecordShape, records: &[Value]) {
    let features = Features::new(shape.features().to_vec()).unwrap();
    for record in records {
        for (field, value) in shape.fields.iter().zip(fields(record)) {
            let feature = shape
                .features()
                .iter()
                .find(|f| f.expression() == field.name);
            let position = features.spec().position(&feature.unwrap().name).unwrap();
            if let Some(value) = not_null(value) {
                assert_fits(value, &features.spec().columns()[position]);
            }
        }
    }
}

fn not_null(value: &Value) -> Option<&Value> {
    match value {
        Value::Union(0, _) => None,
        Value::Union(_, value) => Some(value),
        value => Some(value),
    }
}

fn fields(record: &Value) -> &[Value] {
    match record {
        Value::Record(fields) => fields,
        other => panic!("{} where a record should be", other.type_name()),
    }
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        other => panic!("{} where an array should be", other.type_name()),
    }
}

fn long(value: &Value) -> i64 {
    match value {
        Value::Long(value) => *value,
        other => panic!("{} where a long should be", other.type_name()),
    }
}

/// Checks the lengths of a field, and that its sparse cells are distinct and within the bounds.
fn assert_fits(field: &Value, feature: &ColumnSpec) {
    match &feature.kind {
        ColumnKind::Dense { shape } => {
            let shape: Vec<i64> = shape.iter().map(|&dim| dim as i64).collect();
            assert_lengths(field, &shape);
        }
        ColumnKind::Varlen { shape, .. } | ColumnKind::Padded { shape, .. } => {
            assert_lengths(field, shape);
        }
        ColumnKind::Sparse { shape, .. } => {
            let parts = fields(field);
            assert_eq!(parts.len(), shape.len() + 1);
            let indices: Vec<Vec<i64>> = parts[..shape.len()]
                .iter()
                .map(|part| items(part).iter().map(long).collect())
                .collect();
            let nnz = items(&parts[shape.len()]).len();
            let cells = (0..nnz).map(|i| indices.iter().map(|dim| dim[i]).collect::<Vec<_>>());
            for (dim, indices) in shape.iter().zip(&indices) {
                assert_eq!(indices.len(), nnz);
                let end = if *dim == UNKNOWN { 1_000 } else { *dim };
                assert!(indices.iter().all(|index| (0..end).contains(index)));
            }
            assert_eq!(cells.collect::<BTreeSet<_>>().len(), nnz);
        }
        other => panic!("unknown kind {other:?}"),
    }
}

fn assert_lengths(value: &Value, shape: &[i64]) {
    let [dim, inner @ ..] = shape else {
        assert!(!matches!(value, Value::Array(_)));
        return;
    };
    let items = items(value);
    assert!(*dim == UNKNOWN || items.len() as i64 == *dim);
    items.iter().for_each(|item| assert_lengths(item, inner));
}
