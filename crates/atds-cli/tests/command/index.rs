//! `atds index`.

use std::fs;

use serde_json::{Value, json};

use super::{Generated, atds, misused};

fn files() -> Generated {
    Generated::new(&["--records", "100", "--files", "2", "--block-bytes", "3000"])
}

#[test]
fn the_counts_of_files_are_written() {
    let files = files();
    let index = files.write("index", "");
    fs::remove_file(&index).unwrap();
    let said = atds(&["index", &files.files(), "--output", &index]).ok();
    assert!(
        said.starts_with(&format!("{index}: 100 records in ")),
        "{said}"
    );
    assert!(said.contains(" blocks of 2 files, "), "{said}");
    assert!(
        fs::read_to_string(&index)
            .unwrap()
            .starts_with("atds index 3\n")
    );
    // It is replaced.
    let one = atds(&[
        "index",
        &files.file(0),
        "-o",
        &index,
        "--json",
        "--threads",
        "1",
    ])
    .ok();
    let one: Value = serde_json::from_str(&one).unwrap();
    assert_eq!((&one["files"], &one["records"]), (&json!(1), &json!(50)));
    assert_eq!(one["index"], json!(index));
    let size = fs::metadata(files.file(0)).unwrap().len();
    assert_eq!(one["file_bytes"], json!(size));
}

#[test]
fn a_damaged_file_is_named() {
    let files = files();
    let mut bytes = fs::read(files.file(1)).unwrap();
    bytes.pop();
    let cut = files.write("cut.avro", bytes);
    let index = files.write("index", "something else");
    let ran = atds(&["index", &files.file(0), "-o", &index]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("exists already"), "{}", ran.err);
    fs::remove_file(&index).unwrap();
    let ran = atds(&["index", &files.file(0), &cut, "-o", &index]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("cut.avro"), "{}", ran.err);
    assert!(fs::metadata(&index).is_err());
}

#[test]
fn what_cannot_be_indexed() {
    let files = files();
    let ran = atds(&["index", &files.files()]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("--output <INDEX>"), "{}", ran.err);
    let said = misused(&["index", &files.files(), "-o", "-"]);
    assert!(said.starts_with("--output must be a file"), "{said}");
    let ran = atds(&["index", "-", "-o", &files.write("index", "atds index 1\n")]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("can be read only once"), "{}", ran.err);
}
