//! `inspect`, `head` and `verify` of TFRecord files and BTables.

use std::fs;
use std::path::Path;

use atds_tfrecord::{Compression, Example, FeatureValues, Writer};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Generated, atds, text, write};

/// A TFRecord file of these records.
pub(crate) fn tfrecord(dir: &Path, name: &str, records: &[Vec<u8>]) -> String {
    let compression = match name.ends_with(".gz") {
        true => Compression::Gzip,
        false => Compression::None,
    };
    let mut writer = Writer::compressed(Vec::new(), compression, 6);
    for record in records {
        writer.write(record).unwrap();
    }
    write(dir, name, writer.finish().unwrap())
}

pub(crate) fn example(features: &[(&str, FeatureValues)]) -> Vec<u8> {
    let features = features.iter();
    let features = features.map(|(key, values)| ((*key).to_owned(), values.clone()));
    let example = Example {
        features: features.collect(),
        feature_lists: None,
    };
    encoded(&example)
}

pub(crate) fn encoded(example: &Example) -> Vec<u8> {
    let mut record = Vec::new();
    example.encode(&mut record);
    record
}

/// Records of an id, two floats, and a name that some lack.
pub(crate) fn examples(n: i64) -> Vec<Vec<u8>> {
    let records = (0..n).map(|i| {
        let mut features = vec![
            ("id", FeatureValues::Int64(vec![i])),
            ("pair", FeatureValues::Float(vec![0.5, i as f32])),
        ];
        if i % 2 == 0 {
            let name = format!("n\u{e4}me {i}").into_bytes();
            features.push(("name", FeatureValues::Bytes(vec![name])));
        }
        example(&features)
    });
    records.collect()
}

/// A BTable of these rows.
pub(crate) fn btable(dir: &Path, name: &str, labels: &[&str], rows: &[&[f64]]) -> String {
    let path = dir.join(name);
    let mut file = atds_btable::FileWriter::create(&path, labels).unwrap();
    for row in rows {
        file.writer().write_dense_row(row).unwrap();
    }
    file.finish().unwrap();
    text(&path)
}

fn lines(out: &str) -> Vec<Value> {
    let lines = out.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[test]
fn head_prints_examples() {
    let dir = TempDir::new().unwrap();
    for name in ["a.tfrecord", "a.tfrecord.gz", "unnamed"] {
        let path = tfrecord(dir.path(), name, &examples(5));
        let out = atds(&["head", "-n", "2", "--skip", "1", &path]).ok();
        let expected = [
            json!({"id": [1], "pair": [0.5, 1.0]}),
            json!({"id": [2], "pair": [0.5, 2.0], "name": ["n\u{c3}\u{a4}me 2"]}),
        ];
        assert_eq!(lines(&out), expected);
    }
}

#[test]
fn head_prints_sequence_examples() {
    let dir = TempDir::new().unwrap();
    let steps = vec![
        Some(FeatureValues::Int64(vec![1, 2])),
        None,
        Some(FeatureValues::Int64(vec![])),
    ];
    let record = encoded(&Example {
        features: vec![("id".to_owned(), FeatureValues::Int64(vec![7]))],
        feature_lists: Some(vec![("steps".to_owned(), steps)]),
    });
    let path = tfrecord(dir.path(), "a.tfrecord", &[record]);
    let expected = json!({"context": {"id": [7]}, "feature_lists": {"steps": [[1, 2], null, []]}});
    assert_eq!(lines(&atds(&["head", &path]).ok()), [expected]);
}

#[test]
fn head_says_that_a_record_is_no_message() {
    let dir = TempDir::new().unwrap();
    let records = [
        example(&[("a", FeatureValues::Float(vec![f32::NAN]))]),
        b"GIF89a".to_vec(),
        b"\xff".to_vec(),
    ];
    let path = tfrecord(dir.path(), "a.tfrecord", &records);
    let ran = atds(&["head", &path]);
    assert_eq!(ran.code, 0);
    let expected = [
        json!({"a": ["NaN"]}),
        json!({"@": "GIF89a"}),
        json!({"@": "\u{ff}"}),
    ];
    assert_eq!(lines(&ran.out), expected);
    let note = format!("atds: note: {path}: record 1 at byte ");
    assert!(ran.err.starts_with(&note), "{}", ran.err);
    assert!(ran.err.ends_with(": printed as bytes\n"), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1);
}

#[test]
fn head_prints_cells() {
    let dir = TempDir::new().unwrap();
    let rows: [&[f64]; 3] = [&[1.0, 0.0, 2.5], &[0.0; 3], &[f64::INFINITY, 1.0, 3.0]];
    for name in ["a.btable", "a.btable.zst", "unnamed"] {
        let path = btable(dir.path(), name, &["a", "b", "a"], &rows);
        let expected = [
            json!({"a": 1.0, "a[2]": 2.5}),
            json!({}),
            json!({"a": "Infinity", "b": 1.0, "a[2]": 3.0}),
        ];
        assert_eq!(lines(&atds(&["head", &path]).ok()), expected);
    }
    let path = dir.path().join("a.btable");
    let wrong = atds(&["head", "--format", "avro", &text(&path)]).fails_with(1);
    assert!(
        wrong.contains("not an Avro object container file"),
        "{wrong}"
    );
}

#[test]
fn inspect_tells_what_a_tfrecord_file_has() {
    let dir = TempDir::new().unwrap();
    let path = tfrecord(dir.path(), "a.tfrecord.gz", &examples(1001));
    let found = atds(&["inspect", "--json", &path]).json();
    assert_eq!(found["format"], "tfrecord");
    assert_eq!(found["packed"], "gzip");
    assert_eq!(found["records"], 1001);
    assert_eq!(found["message"], "Example");
    let data: usize = examples(1001).iter().map(Vec::len).sum();
    assert_eq!(found["data_bytes"], data);
    assert_eq!(found["unpacked_bytes"], data + 16 * 1001);
    let keys: Vec<_> = found["features"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "name", "pair"]);
    assert_eq!(
        found["seen"][1],
        "'name': 1 bytes value in 501 of 1001 records"
    );
    let shown = atds(&["inspect", &path]).ok();
    for expected in [
        "  format        TFRecord\n",
        "  packed        gzip\n",
        "  records       1,001\n",
        "  message       Example\n",
        "  features of 1,001 records\n",
        "    id    dense []          int64    1 int64 value in each of 1001 records\n",
        "    pair  dense [2]         float32  2 float values in each of 1001 records\n",
    ] {
        assert!(shown.contains(expected), "{expected} in {shown}");
    }
    // The features read the records.
    let features = write(
        dir.path(),
        "f.json",
        atds(&["inspect", "--features", &path]).ok(),
    );
    let tensors = atds(&["head", "-n", "3", "--features", &features, &path]).json();
    assert_eq!(tensors["id"]["values"], json!([0, 1, 2]));
}

#[test]
fn inspect_tells_that_records_are_no_messages() {
    let dir = TempDir::new().unwrap();
    let records = [b"\x50\x01".to_vec(), b"x".to_vec()];
    let path = tfrecord(dir.path(), "a.tfrecord", &records);
    let shown = atds(&["inspect", &path]).ok();
    let expected = "  message       none that is read: record 0: the record has no features";
    assert!(shown.contains(expected), "{shown}");
    let none = atds(&["inspect", "--features", &path]).fails_with(1);
    assert!(none.contains("record 0 at byte 0"), "{none}");
}

#[test]
fn inspect_tells_what_a_btable_has() {
    let dir = TempDir::new().unwrap();
    let rows: [&[f64]; 2] = [&[1.0, 0.0, 2.5, 0.0], &[0.0, 0.0, 1.0, 0.0]];
    let labels = ["a", "b", "\u{1f642}", ""];
    let path = btable(dir.path(), "a.btable", &labels, &rows);
    let found = atds(&["inspect", "--json", &path]).json();
    assert_eq!(found["format"], "btable");
    assert_eq!(found["labels"], json!(labels));
    assert_eq!(found["column_non_zeros"], json!([1, 0, 2, 0]));
    assert_eq!(found["non_zeros"], 3);
    assert_eq!(found["density"], 3.0 / 8.0);
    let size = fs::metadata(&path).unwrap().len();
    assert_eq!(
        (&found["file_bytes"], &found["unpacked_bytes"]),
        (&json!(size), &json!(size))
    );
    let shown = atds(&["inspect", &path]).ok();
    assert!(
        shown.contains("  non-zeros     3, 37.500 % of all cells\n"),
        "{shown}"
    );
    assert!(
        shown.contains("  4 columns, and the non-zeros of each\n"),
        "{shown}"
    );
    let features = atds(&["inspect", "--features", &path]).ok();
    assert!(features.contains("\"@\""), "{features}");
}

#[test]
fn inspect_lists_files_of_several_formats() {
    let files = Generated::new(&["--records", "10", "--files", "1"]);
    let dir = files.dir.path();
    let paths = [
        files.file(0),
        tfrecord(dir, "b.tfrecord", &examples(3)),
        btable(dir, "c.btable.gz", &["a"], &[&[1.0]]),
    ];
    let args = paths.each_ref().map(String::as_str);
    let shown = atds(&[&["inspect"], &args[..]].concat()).ok();
    let lines: Vec<_> = shown.lines().collect();
    assert!(lines[2].contains("  tfrecord   "), "{shown}");
    assert!(lines[3].contains("  btable, gzip  "), "{shown}");
    assert!(shown.contains("  formats       avro (1 file), btable (1 file), tfrecord (1 file)"));
    let json = atds(&[&["inspect", "--json"], &args[..]].concat()).ok();
    let total: Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert_eq!(total["total"]["records"], 14);
    assert_eq!(
        total["total"]["formats"],
        json!({"avro": 1, "btable": 1, "tfrecord": 1})
    );
    // Verified alike.
    let verified = atds(&[&["verify"], &args[..]].concat()).ok();
    assert!(
        verified.contains("b.tfrecord: well: 3 records, "),
        "{verified}"
    );
    assert!(
        verified.contains("c.btable.gz: well: 1 record, "),
        "{verified}"
    );
    assert!(verified.contains("total of 3 files: 3 well, 0 damaged; 14 records in 2 blocks"));
}

/// The damage that verify finds in a file, and its exit code.
fn verify(path: &str) -> (i32, Value) {
    let ran = atds(&["verify", "--json", path]);
    (ran.code, serde_json::from_str(&ran.out).unwrap())
}

/// Offset, bytes, records and cause of each damage.
fn damages(found: &Value) -> Vec<(u64, u64, Option<u64>, String)> {
    let damages = found["damages"].as_array().unwrap().iter();
    let damages = damages.map(|damage| {
        let number = |key: &str| damage[key].as_u64();
        let cause = damage["cause"].as_str().unwrap().to_owned();
        (
            number("offset").unwrap(),
            number("bytes").unwrap(),
            number("records"),
            cause,
        )
    });
    damages.collect()
}

#[test]
fn verify_finds_damage_of_tfrecord_files() {
    let dir = TempDir::new().unwrap();
    let records = examples(100);
    let path = tfrecord(dir.path(), "a.tfrecord", &records);
    let bytes = fs::read(&path).unwrap();
    let (code, found) = verify(&path);
    assert_eq!(
        (code, &found["records"], &found["well"]),
        (0, &json!(100), &json!(true))
    );
    assert_eq!(found["decompressed_bytes"], bytes.len());
    let sizes: Vec<u64> = records
        .iter()
        .map(|record| record.len() as u64 + 16)
        .collect();
    let start = |record: usize| sizes[..record].iter().sum::<u64>();

    // The data of record 3, the length of record 50, and the end.
    let mut bad = bytes.clone();
    bad[start(3) as usize + 20] ^= 1;
    bad[start(50) as usize + 2] ^= 1;
    bad.truncate(bad.len() - 5);
    let bad = write(dir.path(), "bad.tfrecord", bad);
    let (code, found) = verify(&bad);
    assert_eq!(code, 1);
    assert_eq!(found["records"], 97);
    assert_eq!(
        damages(&found),
        [
            (start(3), sizes[3], Some(1), "overwritten".to_owned()),
            (start(50), sizes[50], None, "overwritten".to_owned()),
            (start(99), sizes[99] - 5, Some(1), "cut".to_owned()),
        ]
    );
    assert_eq!(found["damages"][0]["record"], 3);
    let shown = atds(&["verify", &bad]);
    assert_eq!(shown.code, 1);
    let first = format!(
        "{bad}: record 3 at byte {}: the data has the checksum ",
        start(3)
    );
    assert!(shown.out.starts_with(&first), "{}", shown.out);
    assert!(
        shown.out.contains(": damaged: 97 records are well; lost: "),
        "{}",
        shown.out
    );

    // Checksums of data are tolerated by choice.
    let mut bad = bytes.clone();
    bad[start(3) as usize + 20] ^= 1;
    let bad = write(dir.path(), "bad2.tfrecord", bad);
    let tolerated = atds(&["verify", "--json", "--tolerate", "checksum", &bad]).json();
    assert_eq!(
        (&tolerated["records"], &tolerated["bad_checksums"]),
        (&json!(100), &json!(1))
    );
    let head = atds(&["head", "-n", "200", "--tolerate", "checksum", &bad]);
    assert_eq!((head.code, head.out.lines().count()), (0, 100));
    assert!(head.err.contains("passed over: 1 "), "{}", head.err);

    // A part of zeros, as after a crash.
    let mut zeros = bytes.clone();
    let (from, to) = (start(20) as usize, start(60) as usize);
    zeros[from..to].fill(0);
    let zeros = write(dir.path(), "zeros.tfrecord", zeros);
    let expected = (
        start(20),
        start(60) - start(20),
        None,
        "zero-filled".to_owned(),
    );
    assert_eq!(damages(&verify(&zeros).1), [expected]);

    let other = write(dir.path(), "other.tfrecord", "id,name\n1,a\n2,b\n");
    assert_eq!(
        damages(&verify(&other).1),
        [(0, 16, None, "not-tfrecord".to_owned())]
    );
    let empty = write(dir.path(), "empty.tfrecord", "");
    assert_eq!(verify(&empty).0, 0);
    let long = atds(&["verify", "--json", "--max-block-bytes", "10", &path]);
    let found: Value = serde_json::from_str(&long.out).unwrap();
    assert_eq!(found["damages"][0]["cause"], "not-checked");
}

#[test]
fn verify_finds_damage_of_packed_tfrecord_files() {
    let dir = TempDir::new().unwrap();
    let path = tfrecord(dir.path(), "a.tfrecord.gz", &examples(2000));
    assert_eq!(verify(&path).0, 0);
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(bytes.len() / 2);
    let cut = write(dir.path(), "cut.tfrecord.gz", bytes);
    let (code, found) = verify(&cut);
    assert_eq!((code, &found["damages"][0]["cause"]), (1, &json!("cut")));
    assert!(found["records"].as_u64().unwrap() > 100, "{found}");
}

#[test]
fn verify_finds_damage_of_btables() {
    let dir = TempDir::new().unwrap();
    let rows: [&[f64]; 3] = [&[1.0, 2.0], &[0.0, 3.0], &[4.0, 5.0]];
    let path = btable(dir.path(), "a.btable", &["a", "b"], &rows);
    let bytes = fs::read(&path).unwrap();
    let (code, found) = verify(&path);
    assert_eq!(
        (code, &found["records"], &found["blocks"]),
        (0, &json!(3), &json!(0))
    );
    // A header of 14 bytes, rows of 28, 16 and 28.
    assert_eq!(bytes.len(), 14 + 28 + 16 + 28);

    // The second column of the first row is the first again: the rows after it are read.
    let mut bad = bytes.clone();
    bad[14 + 4 + 12 + 3] = 0;
    let twice = write(dir.path(), "twice.btable", &bad);
    let (code, found) = verify(&twice);
    assert_eq!((code, &found["records"]), (1, &json!(2)));
    assert_eq!(
        damages(&found),
        [(14, 28, Some(1), "overwritten".to_owned())]
    );
    assert_eq!(found["damages"][0]["error"], "column 0 comes twice");
    assert_eq!(found["damages"][0]["record"], 0);

    // A wrong number of cells: nothing tells where the next row is.
    bad = bytes.clone();
    bad[14 + 28] = 0x80;
    let wrong = write(dir.path(), "wrong.btable", &bad);
    let (_, found) = verify(&wrong);
    assert_eq!(damages(&found), [(42, 44, None, "overwritten".to_owned())]);
    assert_eq!(found["records"], 1);

    let cut = write(dir.path(), "cut.btable", &bytes[..bytes.len() - 1]);
    assert_eq!(
        damages(&verify(&cut).1),
        [(58, 27, Some(1), "cut".to_owned())]
    );
    let header = write(dir.path(), "header.btable", &bytes[..9]);
    assert_eq!(
        damages(&verify(&header).1),
        [(0, 9, None, "cut".to_owned())]
    );
    let empty = write(dir.path(), "empty.btable", "");
    assert_eq!(
        damages(&verify(&empty).1),
        [(0, 0, None, "never-written".to_owned())]
    );
    let other = write(dir.path(), "other.btable", "a,b\n1,2\n");
    assert_eq!(
        damages(&verify(&other).1),
        [(0, 8, None, "not-btable".to_owned())]
    );
}

#[test]
#[cfg(unix)]
fn pipes_of_every_format_are_told_by_their_first_bytes() {
    let dir = TempDir::new().unwrap();
    let table = btable(dir.path(), "a.btable", &["a", "b"], &[&[1.0, 2.0]]);
    let records = tfrecord(dir.path(), "a.tfrecord.gz", &examples(3));
    let files = Generated::new(&["--records", "3", "--files", "1"]);
    for (path, format, n) in [
        (table, "btable", 1),
        (records, "tfrecord", 3),
        (files.file(0), "avro", 3),
    ] {
        let run = |command: &str| {
            let mut command = super::command(&[command, "--json", "-"]);
            let command = command.stdin(fs::File::open(&path).unwrap());
            super::Ran::new(command.output().unwrap()).json()
        };
        for command in ["inspect", "verify"] {
            let found = run(command);
            assert_eq!(
                (&found["format"], &found["records"]),
                (&json!(format), &json!(n))
            );
        }
        let bytes = fs::read(&path).unwrap();
        let piped = super::data::piped(&["verify", "--json", "-"], &bytes).json();
        assert_eq!(
            (&piped["format"], &piped["records"]),
            (&json!(format), &json!(n))
        );
        assert_eq!(piped["file_bytes"], bytes.len());
        let piped = super::data::piped(&["inspect", "--json", "-"], &bytes).json();
        assert_eq!(
            (&piped["format"], &piped["records"]),
            (&json!(format), &json!(n))
        );
        let piped = super::data::piped(&["head", "-"], &bytes).ok();
        assert_eq!(piped.lines().count(), n);
    }
}
