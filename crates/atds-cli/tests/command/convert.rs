//! `atds convert`.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::formats::{btable, example, examples, tfrecord};
use super::{Generated, atds, misused, text, write};

#[test]
fn a_file_goes_there_and_back() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| text(&dir.path().join(name));
    let first = tfrecord(dir.path(), "a.tfrecord", &examples(300));
    let [avro, again] = [path("b.avro"), path("c.tfrecord.gz")];
    let size = |file: &str| fs::metadata(file).unwrap().len();
    let said = atds(&["convert", &first, &avro]).ok();
    assert!(
        said.starts_with(&format!("{avro}: written: 300 records, ")),
        "{said}"
    );
    let said = atds(&["convert", "--json", &avro, &again]).json();
    let expected = json!({
        "file": again, "from": "avro", "to": "tfrecord", "records": 300,
        "file_bytes": size(&again), "losses": [],
    });
    assert_eq!(said, expected);
    let all = |file: &str| atds(&["head", "-n", "1000", file]).ok();
    assert_eq!(all(&again), all(&first));
    assert_eq!(
        atds(&["inspect", "--json", &avro]).json()["codec"],
        "deflate"
    );
    let verified = atds(&["verify", &first, &avro, &again]).ok();
    assert!(
        verified.contains("total of 3 files: 3 well, 0 damaged; 900 records"),
        "{verified}"
    );

    // Other codecs and names.
    let other = path("other");
    atds(&[
        "convert", "--to", "avro", "--codec", "snappy", &first, &other,
    ])
    .ok();
    assert_eq!(
        atds(&["inspect", "--json", &other]).json()["codec"],
        "snappy"
    );
}

#[test]
fn losses_are_errors_or_counted() {
    let files = Generated::new(&["--records", "40", "--files", "1", "--preset", "people"]);
    let to = files.dir.path().join("x.tfrecord");
    let to = text(&to);
    let error = atds(&["convert", &files.file(0), &to]).fails_with(1);
    assert!(
        error.contains(": record 0: field '") || error.contains("record 0"),
        "{error}"
    );
    assert!(
        error.contains("has no place in TFRecord: --allow-loss leaves it out"),
        "{error}"
    );
    assert!(!fs::exists(&to).unwrap());
    let said = atds(&["convert", "--allow-loss", &files.file(0), &to]).ok();
    assert!(
        said.contains("a map: left out 40 times, first in record 0\n"),
        "{said}"
    );
    assert!(said.ends_with(&format!(
        "written: 40 records, {}\n",
        said.rsplit(", ").next().unwrap().trim_end()
    )));
}

#[test]
fn a_file_that_is_there_stays() {
    let dir = TempDir::new().unwrap();
    let table = btable(dir.path(), "a.btable", &["a"], &[&[1.0], &[0.0]]);
    let there = write(dir.path(), "there.avro", "precious");
    let error = atds(&["convert", &table, &there]).fails_with(1);
    let expected = "it exists already: give the name of a new file, or --force to replace it";
    assert_eq!(error, format!("{there}: {expected}"));
    assert_eq!(fs::read(&there).unwrap(), b"precious");
    atds(&["convert", "--force", &table, &there]).ok();
    assert_eq!(atds(&["head", &there]).ok(), "{\"a\":1.0}\n{\"a\":0.0}\n");
    // What is wrong with the command line.
    let message = misused(&["convert", &table, "-"]);
    assert!(message.contains("OUT must be a file"), "{message}");
    for (to, said) in [
        (
            "x",
            "its name tells no format: end it in .avro, .tfrecord or .btable, or give --to",
        ),
        (
            "x.btable",
            "both files have the format btable: nothing would be converted",
        ),
    ] {
        let to = text(&dir.path().join(to));
        let error = atds(&["convert", &table, &to]).fails_with(2);
        assert_eq!(error, format!("{to}: {said}"));
    }
}

#[test]
#[cfg(unix)]
fn pipes_are_converted() {
    let dir = TempDir::new().unwrap();
    let one = example(&[("k", atds_tfrecord::FeatureValues::Int64(vec![1]))]);
    let records = fs::read(tfrecord(dir.path(), "a.tfrecord", &[one])).unwrap();
    let schema = json!({"type": "record", "name": "R", "fields": [{"name": "k", "type": "int"}]});
    let schema = write(dir.path(), "s.avsc", schema.to_string());
    let to = text(&dir.path().join("a.avro"));
    let error = super::data::piped(&["convert", "-", &to], &records).fails_with(2);
    assert!(
        error.contains("a pipe, which can be read only once"),
        "{error}"
    );
    super::data::piped(&["convert", "--schema", &schema, "-", &to], &records).ok();
    assert_eq!(atds(&["head", &to]).ok(), "{\"k\":1}\n");
    let table = fs::read(btable(dir.path(), "b.btable", &["a"], &[&[1.0]])).unwrap();
    let to = text(&dir.path().join("b.avro"));
    super::data::piped(&["convert", "-", &to], &table).ok();
    let lines: Vec<Value> = atds(&["head", &to])
        .ok()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines, [json!({"a": 1.0})]);
}
