//! Flags that accept faults of files, raise limits, or leave out checks.

use std::fs;

use tempfile::TempDir;

use super::{Generated, atds, testdata, text, write};

/// Each command that reads data, with the arguments to read a file.
const READERS: [&[&str]; 3] = [
    &["bench", "--json"],
    &["inspect", "--json"],
    &["head", "-n", "1000"],
];

/// Runs a command on a file, with additional arguments.
fn run(command: &[&str], more: &[&str], file: &str) -> super::Ran {
    atds(&[command, more, &[file]].concat())
}

#[test]
fn tolerate_reads_what_else_is_an_error() {
    let files = Generated::new(&["--records", "300", "--files", "1", "--codec", "snappy"]);
    let whole = fs::read(files.file(0)).unwrap();
    let after = files.write("after.avro", [&whole[..], b"-- the end --\n"].concat());
    let mut damaged = whole.clone();
    // The position of the CRC-32 in the last block, before its sync marker.
    let checksum = damaged.len() - 17;
    damaged[checksum] ^= 1;
    let damaged = files.write("damaged.avro", damaged);
    for (file, name, counted) in [
        (
            &after,
            "trailing-file-bytes",
            "14 bytes after the last block",
        ),
        (&damaged, "checksum", "1 wrong or missing checksum"),
    ] {
        for command in READERS {
            let ran = run(command, &[], file);
            assert_eq!(ran.code, 1, "{command:?}: {}", ran.err);
            let remedy = format!("--tolerate '{name}'");
            assert!(ran.err.contains(&remedy), "{command:?}: {}", ran.err);

            let ran = run(command, &["--tolerate", name], file);
            assert_eq!(ran.code, 0, "{command:?}: {}", ran.err);
            assert!(ran.err.contains(counted), "{command:?}: {}", ran.err);
        }
        let all = [
            "--tolerate",
            "utf8,trailing-block-bytes,checksum,trailing-file-bytes",
        ];
        let figures = run(READERS[0], &all, file);
        let figures: serde_json::Value = serde_json::from_str(&figures.out).unwrap();
        assert_eq!(figures["records"], 300);
        let keys = ["trailing_file_bytes", "bad_checksums"];
        let passed = keys.map(|key| figures[key].as_u64().unwrap());
        assert_eq!(passed, if name == "checksum" { [0, 1] } else { [14, 0] });
    }
    let ran = run(READERS[0], &["--tolerate", "everything"], &after);
    assert_eq!(ran.code, 2);
    let names = "the names are trailing-block-bytes, trailing-file-bytes, checksum, utf8\n";
    assert!(ran.err.contains(names), "{}", ran.err);
}

#[test]
fn blocks_are_as_large_as_is_said() {
    let files = Generated::new(&["--records", "300", "--files", "1"]);
    let file = files.file(0);
    for command in READERS {
        // A block has about 16,000 bytes.
        let ran = run(command, &["--max-block-bytes", "4kB"], &file);
        assert_eq!(ran.code, 1, "{command:?}");
        assert!(
            ran.err.contains("raise --max-block-bytes"),
            "{command:?}: {}",
            ran.err
        );
        run(command, &["--max-block-bytes", "32KiB"], &file).ok();
    }
}

#[test]
fn values_are_as_deep_as_is_said() {
    let file = testdata("everything_fastavro.avro");
    for command in READERS {
        let ran = run(command, &["--max-depth", "1"], &file);
        assert_eq!(ran.code, 1, "{command:?}");
        assert!(
            ran.err.contains("raise --max-depth, to 300 at most"),
            "{command:?}: {}",
            ran.err
        );
        assert_eq!(
            run(command, &["--max-depth", "300"], &file).code,
            0,
            "{command:?}"
        );
        let ran = run(command, &["--max-depth", "301"], &file);
        assert!(
            ran.code == 2 && ran.err.contains("--max-depth must be"),
            "{command:?}: {}",
            ran.err
        );
    }
}

/// Without the check, the error of a bad file comes when the file is read.
#[test]
fn files_are_checked_first_unless_told_otherwise() {
    let files = Generated::new(&["--records", "300", "--files", "2"]);
    fs::write(files.file(1), "no Avro").unwrap();
    let message = atds(&["bench", &files.files()]).fails_with(1);
    assert!(message.starts_with(&files.file(1)), "{message}");
    let ran = atds(&[
        "bench",
        &files.files(),
        "--no-check-files",
        "--batch-size",
        "10",
    ]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.contains("\nrecords             150 in 15 steps\n"),
        "{}",
        ran.out
    );
    assert!(ran.err.contains(&files.file(1)), "{}", ran.err);

    let features = r#"{"s_label": {"kind": "dense", "dtype": "int32"}}"#;
    let features = files.write("f.json", features);
    let head = [
        "head",
        "--no-check-files",
        "--features",
        &features,
        &files.file(0),
    ];
    atds(&head).ok();
}

#[test]
fn folders_are_searched_as_deep_as_is_said() {
    let files = Generated::new(&["--records", "30", "--files", "1"]);
    let dir = TempDir::new().unwrap();
    for below in ["a", "a/b"] {
        fs::create_dir(dir.path().join(below)).unwrap();
        fs::copy(files.file(0), dir.path().join(below).join("x.avro")).unwrap();
    }
    let folder = text(dir.path());
    for command in ["bench", "inspect"] {
        let message = atds(&[command, &folder]).fails_with(1);
        assert!(message.contains(", or set --recursive"), "{message}");
        let said = atds(&[command, "--json", "--recursive", &folder]).ok();
        let last = said.lines().last().unwrap();
        let found: serde_json::Value = serde_json::from_str(last).unwrap();
        let records = found["total"].get("records").unwrap_or(&found["records"]);
        assert_eq!(*records, 60, "{command}");
    }
}

#[test]
fn strict_refuses_what_is_not_by_the_specification() {
    let dir = TempDir::new().unwrap();
    let good = Generated::new(&["--records", "30", "--files", "1"]);
    let odd = testdata("java/inner_inner_class.avro");
    for command in READERS {
        let ran = run(command, &["--strict"], &odd);
        assert_eq!(ran.code, 1, "{command:?}");
        assert!(
            ran.err.contains("is not a name"),
            "{command:?}: {}",
            ran.err
        );
        assert_eq!(run(command, &[], &odd).code, 0, "{command:?}");
        run(command, &["--strict"], &good.file(0)).ok();
    }
    // A file that is not Avro is an error with and without `--strict`.
    let text = write(dir.path(), "x.avro", "a,b\n1,2\n");
    for command in READERS {
        let ran = run(command, &[], &text);
        assert!(
            ran.err.contains("but text: only Avro files are read"),
            "{}",
            ran.err
        );
    }
}
