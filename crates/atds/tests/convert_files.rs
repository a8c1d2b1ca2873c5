//! Conversion of files: what is at the new name, and what schemas and numbers may ask for.

#![allow(clippy::unwrap_used)]
#![cfg(all(feature = "btable", feature = "tfrecord"))]

#[path = "common/convert.rs"]
mod common;

use std::fs;
use std::path::{Path, PathBuf};

use atds::ErrorKind;
use atds::convert::{ConvertError, ConvertOptions, LossKind};
use atds::write::Value;
use common::{all, avro, fault, with};
use serde_json::json;
use tempfile::TempDir;

/// A file of one record with the double `x`.
fn one(dir: &Path, x: f64) -> PathBuf {
    let schema =
        json!({"type": "record", "name": "R", "fields": [{"name": "x", "type": "double"}]});
    avro(
        dir,
        "a.avro",
        &schema,
        &[Value::Record(vec![Value::Double(x)])],
    )
}

#[test]
#[cfg(unix)]
fn with_force_links_stay_and_devices_too() {
    let dir = TempDir::new().unwrap();
    let input = one(dir.path(), 0.5);
    let force = |options: &mut ConvertOptions| options.force = true;

    let (file, link) = (
        dir.path().join("v1.tfrecord"),
        dir.path().join("latest.tfrecord"),
    );
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink("v1.tfrecord", &link).unwrap();
    with(&input, &link, force).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_ne!(fs::read(&file).unwrap(), b"old");

    let nowhere = dir.path().join("nowhere.tfrecord");
    std::os::unix::fs::symlink("missing.tfrecord", &nowhere).unwrap();
    let pipe = dir.path().join("pipe.tfrecord");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for path in [&nowhere, &pipe] {
        let error = with(&input, path, force).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::NotReplaced), "{error}");
    }
    assert!(!dir.path().join("missing.tfrecord").exists());
    with(&input, &nowhere, |_| ()).expect_err("the link is there");
}

#[test]
fn flattening_is_bounded() {
    let dir = TempDir::new().unwrap();
    // Each type has two fields of the next one.
    let mut schema =
        json!({"type": "record", "name": "R30", "fields": [{"name": "x", "type": "double"}]});
    for n in (0..30).rev() {
        let next = format!("R{}", n + 1);
        let fields = json!([{"name": "a", "type": schema}, {"name": "b", "type": next}]);
        schema = json!({"type": "record", "name": format!("R{n}"), "fields": fields});
    }
    let input = avro(dir.path(), "a.avro", &schema, &[]);
    for name in ["a.tfrecord", "a.btable"] {
        let error = with(&input, &dir.path().join(name), |options| {
            (options.flatten, options.allow_loss) = (true, true);
        });
        match error.unwrap_err().kind {
            ErrorKind::Convert(kind) => {
                assert!(
                    matches!(*kind, ConvertError::TooManyFields { .. }),
                    "{kind}"
                );
            }
            kind => panic!("{kind}"),
        }
    }
}

/// A reader of TFRecord sees the last value of a key alone.
#[test]
fn a_key_that_a_recursive_record_makes_again_is_an_error() {
    let dir = TempDir::new().unwrap();
    let schema = json!({"type": "record", "name": "R", "fields": [
        {"name": "next", "type": ["null", "R"]},
        {"name": "x", "type": "long"},
        {"name": "named", "type": "long", "atds.name": "next.next.x"},
    ]});
    let record = |next: Option<Value>| {
        let next = match next {
            Some(next) => Value::Union(1, Box::new(next)),
            None => Value::Union(0, Box::new(Value::Null)),
        };
        Value::Record(vec![next, Value::Long(1), Value::Long(2)])
    };
    let two = record(Some(record(None)));
    let records = [record(None), two.clone(), record(Some(two))];
    let output = dir.path().join("a.tfrecord");
    let whole = avro(dir.path(), "a.avro", &schema, &records[..2]);
    let flatten = |options: &mut ConvertOptions| options.flatten = true;
    with(&whole, &output, flatten).unwrap();
    assert_eq!(all(&output)[1]["next.x"], json!([1]));
    let deep = avro(dir.path(), "deep.avro", &schema, &records);
    let (error, record, field) = fault(with(&deep, &dir.path().join("b.tfrecord"), flatten));
    assert!(matches!(error, ConvertError::SameKey { .. }), "{error}");
    assert_eq!((record, field.as_deref()), (Some(2), Some("next.next.x")));
}

#[test]
fn a_number_that_becomes_infinite_is_told_apart() {
    let dir = TempDir::new().unwrap();
    for (x, kind) in [(0.1, LossKind::Rounded), (1e300, LossKind::Infinite)] {
        let input = one(dir.path(), x);
        let output = dir.path().join("a.tfrecord");
        let converted = with(&input, &output, |options| {
            (options.force, options.allow_loss) = (true, true);
        });
        let kinds: Vec<_> = converted
            .unwrap()
            .losses
            .iter()
            .map(|loss| loss.kind)
            .collect();
        assert_eq!(kinds, [kind]);
    }
}

#[test]
fn the_number_of_a_shard_does_not_hide_a_packing() {
    let dir = TempDir::new().unwrap();
    let input = one(dir.path(), 0.5);
    for name in ["a.tfrecord.gz-00000-of-00128", "a.btable.gz-00000-of-00128"] {
        let output = dir.path().join(name);
        with(&input, &output, |_| ()).unwrap();
        assert!(
            fs::read(&output).unwrap().starts_with(&[0x1f, 0x8b]),
            "{name}"
        );
    }
}
