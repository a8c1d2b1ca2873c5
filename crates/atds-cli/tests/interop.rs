//! `atds head` prints the records that fastavro reads, for files by fastavro and by the Apache
//! `avro` package. `ATDS_TESTDATA` can name another folder of such files, made by
//! `scripts/make_testdata.py`.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

#[test]
fn head_prints_what_fastavro_reads() {
    let folder = match std::env::var_os("ATDS_TESTDATA") {
        Some(folder) => PathBuf::from(folder),
        None => testdata(),
    };
    let compared = compare_all(&folder);
    assert!(compared >= 10, "only {compared} files to compare");
}

/// Files of Avro for Java. Names in their schemas violate the specification.
#[test]
fn head_prints_what_java_wrote() {
    assert_eq!(compare_all(&testdata().join("java")), 2);
}

fn testdata() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// Compares each file of the folder that has rows. Returns their number.
fn compare_all(folder: &Path) -> usize {
    let mut compared = 0;
    for rows in fs::read_dir(folder.join("rows")).unwrap() {
        let rows = rows.unwrap().path();
        let avro = folder
            .join(rows.file_name().unwrap())
            .with_extension("avro");
        compare(&avro, &fs::read_to_string(&rows).unwrap());
        compared += 1;
    }
    compared
}

fn compare(avro: &Path, expected: &str) {
    let mut head = Command::new(env!("CARGO_BIN_EXE_atds"));
    let ran = head
        .arg("head")
        .arg(avro)
        .args(["-n", "1000000"])
        .output()
        .unwrap();
    let name = avro.display();
    assert!(
        ran.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(printed.lines().count(), expected.lines().count(), "{name}");
    for (i, (printed, expected)) in printed.lines().zip(expected.lines()).enumerate() {
        let [printed, expected] =
            [printed, expected].map(|line| serde_json::from_str::<Value>(line).unwrap());
        if let Err(position) = same(&printed, &expected) {
            panic!("{name}, record {i}: differs at {position}\n{printed}\n{expected}");
        }
    }
}

/// Compares two values. The error has the first difference.
fn same(printed: &Value, expected: &Value) -> Result<(), String> {
    match (printed, expected) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            // fastavro widens a float to a double; the command prints the shortest decimal of the
            // float.
            let widened = f64::from(b as f32) == b && a as f32 == b as f32;
            (a.to_bits() == b.to_bits() || widened).then_some(())
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                same(a, b).map_err(|position| format!("[{i}]{position}"))?;
            }
            Some(())
        }
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            for (key, a) in a {
                same(a, &b[key]).map_err(|position| format!(".{key}{position}"))?;
            }
            Some(())
        }
        (a, b) => (a == b).then_some(()),
    }
    .ok_or_else(|| format!(": {printed} where {expected} should be"))
}
