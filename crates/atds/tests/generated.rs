//! Generated files hold what the reference decoder makes of the generated records.
#![allow(clippy::unwrap_used)]

use atds::avro::Schema;
use atds::{Batch, Column, Dataset, Features, features};
use atds_generate::{GenerateOptions, Preset, RecordEncoder, RecordShape, generate};
use avro_decode::PlanOptions;
use avro_decode::reference::{self, ReferenceColumn};
use tensor_batch::Values;

const SEED: u64 = 3;

#[test]
fn each_preset_is_read_back_by_its_features() {
    for preset in Preset::ALL {
        assert_reads_back(&preset.into(), 60);
    }
}

#[test]
fn a_features_file_of_every_kind_is_read_back() {
    let features = features::from_json(
        r#"{
            "scalar": {"kind": "dense", "shape": [], "dtype": "int32"},
            "image": {"kind": "dense", "shape": [4, 5, 1], "dtype": "float32"},
            "flags": {"kind": "dense", "shape": [3], "dtype": "bool", "default": true},
            "padded": {"kind": "dense", "shape": [null, 2], "dtype": "int64", "mask": "is_padded"},
            "pixels": {"kind": "varlen", "shape": [-1], "dtype": "uint8", "cast": true},
            "small": {"kind": "dense", "shape": [], "dtype": "int16", "cast": true},
            "half": {"kind": "dense", "shape": [2], "dtype": "float16", "cast": true},
            "lists": {"kind": "varlen", "shape": [-1, 2, -1], "dtype": "string", "layout": "ragged"},
            "pairs": {"kind": "sparse", "shape": [100, -1], "dtype": "float64", "mask": "has"},
            "bucket": {"kind": "fixed_len", "shape": [], "dtype": "int64", "hash_buckets": 100},
            "one": {"kind": "var_len", "expression": "single", "dtype": "string"}
        }"#,
    );
    let features = Features::new(features.unwrap()).unwrap();
    assert_reads_back(&RecordShape::of_features(&features, 3.0).unwrap(), 300);
}

/// Checks that the batch that is read from files equals the reference's columns of the same records.
fn assert_reads_back(shape: &RecordShape, records: u64) {
    let batch = read(shape, records);
    let schema = Schema::parse(&shape.schema()).unwrap();
    let mut encoder = RecordEncoder::new(shape.clone(), SEED);
    let decode = |index| {
        let (mut bytes, mut position) = (Vec::new(), 0);
        encoder.encode(index, &mut bytes);
        reference::decode(&schema, schema.root(), &bytes, &mut position).unwrap()
    };
    let values: Vec<_> = (0..records).map(decode).collect();
    let features = Features::new(shape.features().to_vec()).unwrap();
    let expected = reference::tensors(&schema, &values, &features, &PlanOptions::default());
    let expected = expected.unwrap().columns;
    assert_eq!(batch.columns().count(), expected.len());
    for ((spec, column), expected) in batch.columns().zip(expected) {
        assert_same(&spec.name, &column, &expected);
    }
}

/// A batch of all records, read from files by the features of the shape.
fn read(shape: &RecordShape, records: u64) -> Batch {
    let dir = tempfile::tempdir().unwrap();
    let mut options = GenerateOptions::new(shape.clone(), records);
    (options.files, options.seed) = (3, SEED);
    generate(dir.path(), &options).unwrap();
    let dataset =
        Dataset::builder(dir.path(), records as usize).features(shape.features().to_vec());
    let mut batches = dataset.build().unwrap().iter();
    batches.next().unwrap().unwrap()
}

fn assert_same(name: &str, column: &Column, expected: &ReferenceColumn) {
    let same = |values: &Values, scalars: &[_]| {
        assert!(!values.is_empty(), "{name} is empty");
        assert_eq!(
            *values,
            Values::from_scalars(values.dtype(), scalars),
            "{name}"
        );
    };
    match (column, expected) {
        (Column::Dense(column), ReferenceColumn::Dense { values, shape }) => {
            same(column.values, values);
            assert_eq!(column.shape, shape, "{name}");
        }
        (
            Column::Sparse(column),
            ReferenceColumn::Sparse {
                indices,
                values,
                dense_shape,
            },
        ) => {
            same(column.values, values);
            assert_eq!(column.indices, indices, "{name}");
            assert_eq!(column.dense_shape, dense_shape, "{name}");
        }
        (Column::Ragged(column), ReferenceColumn::Ragged { values, row_splits }) => {
            same(column.values, values);
            let splits: Vec<&[i64]> = column
                .row_splits
                .iter()
                .map(|splits| splits.as_slice())
                .collect();
            assert_eq!(splits, *row_splits, "{name}");
        }
        (column, _) => panic!("{name}: {column:?}"),
    }
}
