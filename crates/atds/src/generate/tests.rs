#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use avro_block::{BlockReader, InflateBuffer, Inflater};
use avro_decode::{Schema, Value, reference};
use tensor_batch::{ColumnKind, ColumnSpec};

use super::alias::{Alias, Thousandths, poisson};
use super::random::Random;
use super::*;

#[test]
#[cfg(feature = "deflate")]
fn ads_has_the_size_and_the_ratio_that_figures_are_compared_by() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = GenerateOptions::new(Preset::Ads, 4_096);
    options.codec = Codec::Deflate;
    let generated = generate(dir.path(), &options).unwrap();
    let record = generated.inflated_bytes as f64 / generated.records as f64;
    let ratio = generated.inflated_bytes as f64 / generated.raw_bytes as f64;
    assert!(
        (record / 1_990.0 - 1.0).abs() < 0.05,
        "{record} bytes a record"
    );
    assert!((ratio / 1.39 - 1.0).abs() < 0.05, "deflate reaches {ratio}");
}

#[test]
fn ads_has_the_fields_it_promises() {
    let names: Vec<String> = Preset::Ads.features().into_iter().map(|c| c.name).collect();
    let expected = "s_label s_weight s_member s_bid s_click s_country d0 d1 d2 d3 d4 d5 d6 d7 sp0 sp1 sp2 sp3 sp4";
    assert_eq!(names.join(" "), expected);

    let records = decoded(Preset::Ads, 0..400);
    let mut zeros = 0;
    let mut stored = [0; 5];
    for record in &records {
        let Value::Record(fields) = record else {
            panic!("not a record")
        };
        let &Value::Int(label) = &fields[0] else {
            panic!("not an int")
        };
        assert!((0..1_000).contains(&label));
        let &Value::Long(member) = &fields[2] else {
            panic!("not a long")
        };
        assert!((0..1 << 40).contains(&member));
        let lengths = fields[6..14].iter().map(|field| items(field).len());
        assert_eq!(
            lengths.collect::<Vec<_>>(),
            [8, 16, 16, 32, 32, 64, 64, 128]
        );
        for value in items(&fields[13]) {
            let &Value::Float(value) = value else {
                panic!("not a float")
            };
            zeros += usize::from(value == 0.0);
            assert!(value.abs() <= 6.0);
            assert_eq!((value * 1e3).round() / 1e3, value, "rounded to 3 decimals");
        }
        for (i, dim) in [50_001, 200_000, 1_000, 5_000_000, 100]
            .into_iter()
            .enumerate()
        {
            let Value::Record(parts) = &fields[14 + i] else {
                panic!("not a record")
            };
            let (indices, values) = (items(&parts[0]), items(&parts[1]));
            assert_eq!(indices.len(), values.len());
            let indices: Vec<i64> = indices.iter().map(long).collect();
            assert!(
                indices.windows(2).all(|pair| pair[0] < pair[1]),
                "sorted and distinct"
            );
            assert!(indices.iter().all(|index| (0..dim).contains(index)));
            assert!(!values.contains(&Value::Float(0.0)) && !values.contains(&Value::Long(0)));
            stored[i] += indices.len();
        }
    }
    let zeros = zeros as f64 / (400.0 * 128.0);
    assert!((zeros - 0.3).abs() < 0.01, "{zeros} of the floats are 0");
    for (stored, mean) in stored.into_iter().zip([12.0, 25.0, 6.0, 40.0, 4.0]) {
        let stored = f64::from(stored as u32) / 400.0;
        // Five standard deviations of the mean of 400 Poisson draws.
        assert!(
            (stored - mean).abs() < mean.sqrt() / 4.0,
            "{stored} for {mean}"
        );
    }
}

#[test]
fn each_preset_writes_what_its_schema_and_features_say() {
    for preset in Preset::ALL {
        let features = preset.features();
        for record in decoded(preset, 0..50) {
            let Value::Record(fields) = record else {
                panic!("not a record")
            };
            assert_eq!(fields.len(), features.len());
            for (field, feature) in fields.iter().zip(&features) {
                assert_fits(field, feature);
            }
        }
    }
}

#[test]
#[cfg(feature = "deflate")]
fn the_seed_fixes_the_files() {
    let write = |seed| {
        let dir = tempfile::tempdir().unwrap();
        let mut options = GenerateOptions::new(Preset::Strings, 100);
        options.files = 3;
        options.codec = Codec::Deflate;
        options.seed = seed;
        let generated = generate(dir.path(), &options).unwrap();
        let files = generated.files.iter().map(|path| fs::read(path).unwrap());
        files.collect::<Vec<_>>()
    };
    assert_eq!(write(7), write(7));
    let (a, b) = (write(7), write(8));
    assert!(a.iter().zip(&b).all(|(a, b)| a != b));
    assert_ne!(
        a[0][a[0].len() - 16..],
        a[1][a[1].len() - 16..],
        "sync markers"
    );
}

#[test]
#[cfg(feature = "deflate")]
fn the_records_do_not_depend_on_files_codec_and_blocks() {
    let write = |files, codec, block_bytes| {
        let dir = tempfile::tempdir().unwrap();
        let mut options = GenerateOptions::new(Preset::Varlen, 101);
        (options.files, options.codec, options.block_bytes) = (files, codec, block_bytes);
        let generated = generate(dir.path(), &options).unwrap();
        let contents: Vec<_> = generated.files.iter().map(|path| contents(path)).collect();
        let counts: Vec<u64> = contents.iter().map(|(count, _)| *count).collect();
        let bytes: Vec<u8> = contents.into_iter().flat_map(|(_, bytes)| bytes).collect();
        assert_eq!(bytes.len() as u64, generated.inflated_bytes);
        let sizes = generated
            .files
            .iter()
            .map(|path| fs::metadata(path).unwrap().len());
        assert_eq!(sizes.sum::<u64>(), generated.raw_bytes);
        (counts, bytes)
    };
    let (counts, one) = write(1, Codec::Null, 16_000);
    assert_eq!(counts, [101]);
    let (counts, many) = write(4, Codec::Deflate, 100);
    assert_eq!(counts, [25, 25, 25, 26]);
    assert!(one == many);
}

#[test]
fn progress_ends_with_all_records() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = GenerateOptions::new(Preset::Varlen, 1_000);
    options.files = 3;
    let mut told = Vec::new();
    generate_with_progress(dir.path(), &options, |records| told.push(records)).unwrap();
    assert!(told.is_sorted());
    assert!(told.len() > 3);
    assert_eq!(told.last(), Some(&1_000));
}

#[test]
fn more_files_than_records_are_files_without_records() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = GenerateOptions::new(Preset::Wide, 2);
    options.files = 5;
    let generated = generate(dir.path(), &options).unwrap();
    let counts = generated.files.iter().map(|path| contents(path).0);
    assert_eq!(counts.sum::<u64>(), 2);
}

#[test]
fn errors_say_what_and_where() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = GenerateOptions::new(Preset::Ads, 1);
    options.files = 0;
    let error = generate(dir.path(), &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write records to 0 files: there must be 1 to 100000"
    );

    options.files = 2;
    generate(dir.path(), &options).unwrap();
    generate(dir.path(), &options).expect("files of the same names are written anew");
    options.files = 1;
    let error = generate(dir.path(), &options).unwrap_err();
    let left = dir.path().join("part-00001.avro");
    assert!(matches!(&error, GenerateError::FolderInUse { path } if *path == left));
    let expected = "would stay beside the new files: remove it or choose another folder";
    assert_eq!(error.to_string(), format!("{} {expected}", left.display()));

    let error = generate(&left, &options).unwrap_err();
    assert!(matches!(&error, GenerateError::Io { path, .. } if *path == left));
}

#[test]
fn alias_draws_in_proportion_to_the_weights() {
    let weights = [1.0, 0.0, 5.0, 2.0, 0.25];
    let alias = Alias::new(&weights);
    let mut random = Random::new(0, 0);
    let mut counts = [0u32; 5];
    for _ in 0..100_000 {
        counts[alias.draw(&mut random)] += 1;
    }
    assert_eq!(counts[1], 0);
    for (count, weight) in counts.into_iter().zip(weights) {
        let expected = 100_000.0 * weight / 8.25;
        assert!(
            (f64::from(count) - expected).abs() <= 5.0 * expected.sqrt(),
            "{counts:?}"
        );
    }
}

#[test]
fn distributions_have_their_mean_and_variance() {
    let mut random = Random::new(1, 0);
    let mut moments = |draw: &dyn Fn(&mut Random) -> f64| {
        let draws: Vec<f64> = (0..100_000).map(|_| draw(&mut random)).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 1e5;
        (mean, variance)
    };
    let counts = poisson(40.0);
    let (mean, variance) = moments(&|random| counts.draw(random) as f64);
    assert!(
        (mean - 40.0).abs() < 0.2 && (variance - 40.0).abs() < 1.5,
        "{mean}, {variance}"
    );

    let normal = Thousandths::new(0.0);
    let (mean, variance) = moments(&|random| f64::from(normal.draw(random)) / 1e3);
    assert!(
        mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03,
        "{mean}, {variance}"
    );
}

/// A file's records: how many, and their bytes end to end.
fn contents(path: &Path) -> (u64, Vec<u8>) {
    let blocks = BlockReader::new(fs::File::open(path).unwrap()).unwrap();
    let codec = blocks.header().codec();
    let (mut inflater, mut inflated) = (Inflater::new(), InflateBuffer::new());
    let (mut count, mut bytes) = (0, Vec::new());
    for block in blocks {
        let block = block.unwrap();
        inflater
            .inflate(codec, &block.payload, &mut inflated, 1 << 20)
            .unwrap();
        count += block.count;
        bytes.extend_from_slice(&inflated);
    }
    (count, bytes)
}

fn decoded(preset: Preset, records: std::ops::Range<u64>) -> Vec<Value> {
    let schema = Schema::parse(&preset.schema()).unwrap();
    let mut encoder = RecordEncoder::new(preset, 3);
    let decode = |index| {
        let (mut bytes, mut position) = (Vec::new(), 0);
        encoder.encode(index, &mut bytes);
        let record = reference::decode(&schema, schema.root(), &bytes, &mut position).unwrap();
        assert_eq!(position, bytes.len());
        record
    };
    records.map(decode).collect()
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

/// The field's lengths are those of the feature, its sparse cells are distinct and inside.
fn assert_fits(field: &Value, feature: &ColumnSpec) {
    match &feature.kind {
        ColumnKind::Dense { shape } => {
            let shape: Vec<i64> = shape.iter().map(|&dim| dim as i64).collect();
            assert_lengths(field, &shape);
        }
        ColumnKind::Varlen { shape, .. } => assert_lengths(field, shape),
        ColumnKind::Sparse { shape, .. } => {
            let Value::Record(parts) = field else {
                panic!("not a record")
            };
            assert_eq!(parts.len(), shape.len() + 1);
            let indices: Vec<Vec<i64>> = parts[..shape.len()]
                .iter()
                .map(|part| items(part).iter().map(long).collect())
                .collect();
            let nnz = items(&parts[shape.len()]).len();
            let cells = (0..nnz).map(|i| indices.iter().map(|dim| dim[i]).collect::<Vec<_>>());
            for (dim, indices) in shape.iter().zip(&indices) {
                assert_eq!(indices.len(), nnz);
                assert!(indices.iter().all(|index| (0..*dim).contains(index)));
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
    assert!(*dim == -1 || items.len() as i64 == *dim);
    items.iter().for_each(|item| assert_lengths(item, inner));
}
