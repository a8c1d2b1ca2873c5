//! Features that are inferred from a sample: lists of one length become dense.

use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use atds::features::FeatureKind;
use atds::tensors::batch_to_json;
use atds::{Codec, ColumnKind, Dataset, avro};
use avro_decode::encode::{write_long, write_string};
use serde_json::json;

use crate::common::{CODECS, Folder, container};

const SCHEMA: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "v", "type": {"type": "array", "items": "long"}},
    {"name": "m", "type": {"type": "map", "values": "long"}}]}"#;

/// A record with a list of this length, and a map of one entry.
fn record(length: i64) -> Vec<u8> {
    let mut out = Vec::new();
    if length > 0 {
        write_long(&mut out, length);
        (0..length).for_each(|value| write_long(&mut out, value));
    }
    write_long(&mut out, 0);
    write_long(&mut out, 1);
    write_string(&mut out, "k");
    write_long(&mut out, 7);
    write_long(&mut out, 0);
    out
}

/// A file with a block for each inner slice of list lengths.
fn file(folder: &Folder, name: &str, codec: Codec, blocks: &[&[i64]]) -> PathBuf {
    let blocks = blocks.iter().map(|lengths| {
        let records = lengths.iter().flat_map(|&length| record(length));
        (lengths.len() as u64, records.collect())
    });
    folder.write(name, &container(SCHEMA, codec, blocks))
}

/// The inferred shape of `v`; `None` if its length varies.
fn shape(dataset: &Dataset) -> Option<Vec<usize>> {
    let columns = dataset.spec().columns().iter();
    let mut kinds = columns.filter(|one| one.name == "v").map(|one| &one.kind);
    match kinds.next().unwrap() {
        ColumnKind::Dense { shape } => Some(shape.clone()),
        _ => None,
    }
}

fn inferred(path: impl Into<atds::Files>) -> Option<Vec<usize>> {
    shape(&Dataset::builder(path, 8).build().unwrap())
}

#[test]
fn lists_of_one_length_are_dense() {
    let folder = Folder::new();
    for codec in CODECS {
        let path = file(&folder, "x.avro", codec, &[&[3, 3, 3]]);
        let dataset = Dataset::builder(&path, 8).build().unwrap();
        assert_eq!(shape(&dataset), Some(vec![3]), "{codec:?}");
        let batch = dataset.iter().next().unwrap().unwrap();
        let batch = batch_to_json(&batch);
        assert_eq!(
            batch["v"]["values"],
            json!([[0, 1, 2], [0, 1, 2], [0, 1, 2]])
        );
        // Maps do not become dense, even if all have one size.
        assert_eq!(batch["m[*]"]["indices"], json!([[0, 0], [1, 0], [2, 0]]));
        let sampled = &dataset.sampled()[0];
        let found = (&*sampled.feature, &*sampled.expression, sampled.records);
        assert_eq!(found, ("v", "v", 3));
    }
}

#[test]
fn what_the_first_block_with_records_says() {
    let folder = Folder::new();
    for (blocks, expected) in [
        (&[&[3, 3][..], &[4]][..], None),
        (&[&[], &[], &[2, 2, 2]], Some(vec![2])),
        (&[&[3, 3, 4]], None),
        // A dimension is never 0.
        (&[&[0, 0]], None),
        (&[&[], &[]], None),
        (&[], None),
        // A file with a single record.
        (&[&[5]], Some(vec![5])),
    ] {
        let path = file(&folder, "x.avro", Codec::Null, blocks);
        assert_eq!(inferred(&path), expected, "{blocks:?}");
        let dataset = Dataset::builder(&path, 8).build().unwrap();
        let read = dataset.iter().map(|batch| batch.unwrap().rows());
        let all: usize = blocks.iter().map(|block| block.len()).sum();
        assert_eq!(read.sum::<usize>(), all);
    }
    // If the first block is large enough, the sample ends with it.
    let same = vec![2; 20];
    let path = file(&folder, "x.avro", Codec::Deflate, &[&same, &[3]]);
    assert_eq!(inferred(&path), Some(vec![2]));
}

#[test]
fn at_most_so_many_records_are_looked_at() {
    let folder = Folder::new();
    let path = file(&folder, "x.avro", Codec::Null, &[&[3, 3, 4, 4]]);
    let of = |records| Dataset::builder(&path, 8).sample_records(records);
    assert_eq!(shape(&of(2).build().unwrap()), Some(vec![3]));
    assert_eq!(shape(&of(3).build().unwrap()), None);
    // A sample of one record among several does not make a feature dense.
    assert_eq!(shape(&of(1).build().unwrap()), None);
    let by_schema = of(0).infer().unwrap();
    assert!(by_schema.sampled.is_empty());
    assert!(matches!(
        by_schema.features[0].kind,
        FeatureKind::Varlen { .. }
    ));
}

#[test]
fn a_list_of_another_length_is_an_error_that_says_so() {
    let folder = Folder::new();
    let same = vec![2; 20];
    for length in [1, 3] {
        file(&folder, "0.avro", Codec::Null, &[&same]);
        let later = file(&folder, "1.avro", Codec::Null, &[&[2, length]]);
        let dataset = Dataset::builder(folder.path(), 4).build().unwrap();
        let batches: Vec<_> = dataset.iter().collect();
        // The 21 records before the error are read.
        assert_eq!(batches.len(), 7);
        let error = batches.last().unwrap().as_ref().unwrap_err();
        assert!(matches!(
            error.kind.avro(),
            Some(avro::ErrorKind::SampledLength {
                expected: 2,
                records: 20,
                ..
            })
        ));
        let text = error.to_string();
        let expected = format!(
            "record 1: field 'v': an array of {length} values; the feature was inferred as \
             dense because all arrays of the 20 sampled records have 2: name the column in \
             `features`, as varlen, or dense with `truncate` or a `default`"
        );
        assert!(text.ends_with(&expected), "{text}");
        assert!(text.starts_with(&*later.to_string_lossy()), "{text}");
        // Without a sample, features come from the schema alone and read all lists.
        let dataset = Dataset::builder(folder.path(), 4).sample_records(0).build();
        assert!(dataset.unwrap().iter().all(|batch| batch.is_ok()));
    }
}

#[test]
fn first_files_without_records_are_passed_over() {
    let folder = Folder::new();
    file(&folder, "0.avro", Codec::Null, &[]);
    file(&folder, "1.avro", Codec::Null, &[&[]]);
    file(&folder, "2.avro", Codec::Null, &[&[4, 4]]);
    assert_eq!(inferred(folder.path()), Some(vec![4]));
}

/// Damage in the sampled records is an error only when they are read.
#[test]
fn damage_in_the_sample() {
    let folder = Folder::new();
    let mut bytes = container(SCHEMA, Codec::Null, [(2, [record(3), record(3)].concat())]);
    let end = bytes.len() - 1;
    bytes[end] ^= 1;
    let path = folder.write("x.avro", &bytes);
    let dataset = Dataset::builder(&path, 8).build().unwrap();
    assert_eq!(shape(&dataset), None);
    assert!(dataset.iter().next().unwrap().is_err());
    let bad_block = container(SCHEMA, Codec::Null, [(2, vec![0xff; 40])]);
    let path = folder.write("y.avro", &bad_block);
    let dataset = Dataset::builder(&path, 8).build().unwrap();
    assert!(dataset.iter().next().unwrap().is_err());
}

#[test]
fn lists_that_may_be_null() {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "v", "type": ["null", {"type": "array", "items": "long"}]}]}"#;
    let of = |length: i64| {
        let mut out = vec![2];
        write_long(&mut out, length);
        (0..length).for_each(|value| write_long(&mut out, value));
        out.push(0);
        out
    };
    let folder = Folder::new();
    let first = (20, (0..20).flat_map(|_| of(2)).collect());
    let later = (3, [of(2), vec![0], of(1)].concat());
    let path = folder.write("x.avro", &container(schema, Codec::Null, [first, later]));
    let dataset = Dataset::builder(&path, 23).build().unwrap();
    assert_eq!(shape(&dataset), Some(vec![2]));
    // The mask marks the missing lists.
    let batch = dataset.iter().next().unwrap().unwrap();
    let masks = batch_to_json(&batch)["v.mask"]["values"].clone();
    assert_eq!(masks[19], json!([true, true]));
    assert_eq!(masks[21], json!([false, false]));
    assert_eq!(masks[22], json!([true, false]));
}

#[cfg(unix)]
#[test]
fn a_pipe_loses_nothing() {
    let folder = Folder::new();
    let same = vec![2; 20];
    let path = file(&folder, "x.avro", Codec::Snappy, &[&[], &same, &[2, 2]]);
    let pipe = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo, of the system, is there").success());
    let mut writer = Command::new("cp").arg(&path).arg(&pipe).spawn().unwrap();
    let dataset = Dataset::builder(&pipe, 100).build().unwrap();
    assert_eq!(shape(&dataset), Some(vec![2]));
    let rows = dataset.iter().map(|batch| batch.unwrap().rows());
    assert_eq!(rows.collect::<Vec<_>>(), [22]);
    assert!(writer.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_pipe_is_closed_with_the_iterator() {
    let folder = Folder::new();
    let path = file(&folder, "x.avro", Codec::Null, &[&[2; 20], &[2, 2]]);
    let pipe = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo, of the system, is there").success());
    let endless = r#"cat "$0" /dev/zero > "$1""#;
    let mut writer = Command::new("sh");
    writer.args(["-c", endless]).arg(&path).arg(&pipe);
    let mut writer = writer.spawn().unwrap();
    let dataset = Dataset::builder(&pipe, 4).build().unwrap();
    assert_eq!(dataset.iter().next().unwrap().unwrap().rows(), 4);
    // The data set is still there.
    let begun = Instant::now();
    while writer.try_wait().unwrap().is_none() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "the pipe has a reader"
        );
        thread::sleep(Duration::from_millis(10));
    }
    drop(dataset);
}

#[test]
fn with_a_readers_schema() {
    let folder = Folder::new();
    let path = file(&folder, "x.avro", Codec::Null, &[&[3, 3]]);
    let reader = r#"{"type": "record", "name": "R", "fields": [
        {"name": "v", "type": {"type": "array", "items": "double"}},
        {"name": "new", "type": {"type": "array", "items": "int"}, "default": [1, 2]}]}"#;
    let reader = atds::avro::Schema::parse(reader).unwrap();
    let dataset = Dataset::builder(&path, 8).reader_schema(reader).build();
    let batch = dataset.unwrap().iter().next().unwrap().unwrap();
    let batch = batch_to_json(&batch);
    assert_eq!(
        batch["v"]["values"],
        json!([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
    );
    assert_eq!(batch["new"]["values"], json!([[1, 2], [1, 2]]));
}
