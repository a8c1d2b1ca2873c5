//! Arguments that name data.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use tempfile::TempDir;

use super::{Generated, Ran, atds, command, misused, text};

/// Runs the command with `input` in a pipe as its standard input.
pub(crate) fn piped(args: &[&str], input: &[u8]) -> Ran {
    let mut command = command(args);
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The command may stop reading early.
    let _ = child.stdin.take().unwrap().write_all(input);
    Ran::new(child.wait_with_output().unwrap())
}

#[test]
#[cfg(unix)]
fn standard_input_is_read_by_every_command() {
    let files = Generated::new(&["--records", "300", "--files", "1"]);
    let bytes = fs::read(files.file(0)).unwrap();
    for stdin in ["-", "/dev/stdin"] {
        let lines = piped(&["head", stdin, "-n", "3"], &bytes).ok();
        assert_eq!(lines.lines().count(), 3);
        assert_eq!(
            piped(&["inspect", stdin, "--json"], &bytes).json()["records"],
            300
        );
        assert_eq!(
            piped(&["bench", stdin, "--json"], &bytes).json()["records"],
            300
        );
        for option in [
            &["--epochs", "2"][..],
            &["--mmap"],
            &["--shuffle-blocks"],
            &["--shuffle", "blocks"],
        ] {
            let args = [&["bench", stdin], option].concat();
            let message = piped(&args, &bytes).fails_with(2);
            assert!(
                message.contains("a pipe, which can be read only once"),
                "{message}"
            );
        }
    }
}

#[test]
#[cfg(unix)]
fn standard_input_is_given_once() {
    for (args, twice) in [
        (&["inspect", "-", "-"][..], "FILE names it twice"),
        (
            &["inspect", "-", "x.avro", "/dev/stdin"],
            "FILE names it twice",
        ),
        (&["bench", "-", "-"], "FILE names it twice"),
        (
            &["bench", "-", "--features", "-"],
            "both FILE and --features name it",
        ),
        (
            &["bench", "x", "--features", "-", "--reader-schema", "-"],
            "both --features and --reader-schema name it",
        ),
        (
            &["head", "-", "--features", "-"],
            "both FILE and --features name it",
        ),
        (
            &[
                "head",
                "-",
                "--features",
                "f",
                "--reader-schema",
                "/dev/stdin",
            ],
            "both FILE and --reader-schema name it",
        ),
    ] {
        let message = misused(args);
        assert_eq!(
            message,
            format!("standard input can be read only once, but {twice}"),
            "{args:?}"
        );
    }
}

/// Schemas and features may come from a pipe, like data.
#[test]
#[cfg(unix)]
fn schemas_and_features_are_read_from_standard_input() {
    let files = Generated::new(&["--records", "30", "--files", "1"]);
    let features = r#"{"s_label": {"kind": "dense", "dtype": "int64"}}"#;
    let features_file = files.write("f.json", features);
    let schema =
        r#"{"type": "record", "name": "ads", "fields": [{"name": "s_label", "type": "long"}]}"#;
    let file = files.file(0);
    for command in ["head", "bench"] {
        let args = [
            command,
            &file,
            "--features",
            &features_file,
            "--reader-schema",
            "-",
        ];
        piped(&args, schema.as_bytes()).ok();
        let message = piped(&args, b"{").fails_with(2);
        assert!(
            message.starts_with("reader schema of standard input: "),
            "{message}"
        );
        let schema_file = files.write("s.avsc", schema);
        let args = [
            command,
            &file,
            "--features",
            "-",
            "--reader-schema",
            &schema_file,
        ];
        piped(&args, features.as_bytes()).ok();
        let message = piped(&args, b"[]").fails_with(2);
        assert!(
            message.starts_with("features file of standard input: "),
            "{message}"
        );
    }
    let dir = text(&files.dir.path().join("new"));
    let args = ["generate", &dir, "--records", "5", "--features", "-"];
    piped(&args, features.as_bytes()).ok();
}

#[test]
fn folders_are_searched_recursively_on_request() {
    let files = Generated::new(&["--records", "30", "--files", "1"]);
    let dir = TempDir::new().unwrap();
    let below = dir.path().join("day=1");
    fs::create_dir(&below).unwrap();
    fs::copy(files.file(0), below.join("a.avro")).unwrap();
    let folder = text(dir.path());
    for name in ["bench", "inspect"] {
        let message = atds(&[name, &folder]).fails_with(1);
        assert!(message.contains("but 1 folder: give '"), "{message}");
        let found = atds(&[name, "--json", "--recursive", &folder]).json();
        assert_eq!(found["records"], 30);
        let url = format!("file://{folder}/*/a.avro");
        assert_eq!(atds(&[name, "--json", &url]).json()["records"], 30);
        let message = atds(&[name, "s3://bucket/a.avro"]).fails_with(2);
        assert!(message.contains("s3:// is not read yet"), "{message}");
    }
}

#[test]
fn what_is_skipped_is_a_warning() {
    let files = Generated::new(&["--records", "30", "--files", "1"]);
    let dir = TempDir::new().unwrap();
    for name in ["a.avro", "_b\u{1b}.avro"] {
        fs::copy(files.file(0), dir.path().join(name)).unwrap();
    }
    let folder = text(dir.path());
    let ran = atds(&["inspect", "--json", &folder]);
    assert_eq!(ran.code, 0);
    assert_eq!(
        ran.err,
        format!("atds: warning: {folder}: 1 hidden file was skipped, '_b\\u{{1b}}.avro'\n")
    );
}
