//! Bad files and features: the message names the file and the fault.

use tempfile::TempDir;

use super::{Generated, atds, text, write};

#[test]
fn a_missing_file_is_named() {
    let files = Generated::new(&["--records", "10", "--files", "1"]);
    let gone = text(&files.dir.path().join("gone.avro"));
    for args in [
        &["head", &gone][..],
        &["inspect", &gone],
        &["bench", &gone],
        &["bench", &files.file(0), &gone],
    ] {
        let message = atds(args).fails_with(1);
        assert!(message.starts_with(&format!("{gone}: ")), "{message}");
    }
}

#[test]
fn a_file_that_is_not_avro_is_named() {
    let dir = TempDir::new().unwrap();
    let not_avro = write(dir.path(), "text.avro", "PK\x03\x04 and more");
    let empty = write(dir.path(), "empty.avro", "");
    for command in ["head", "inspect", "bench"] {
        let message = atds(&[command, &not_avro]).fails_with(1);
        assert!(
            message.starts_with(&format!("{not_avro}: byte 0: not an Avro")),
            "{message}"
        );
        let message = atds(&[command, &empty]).fails_with(1);
        assert_eq!(message, format!("{empty}: byte 0: the file is empty"));
    }
}

#[test]
fn tensors_of_records_before_a_fault_are_printed_with_it() {
    let files = Generated::new(&["--records", "50", "--files", "1"]);
    let whole = std::fs::read(files.file(0)).unwrap();
    let cut = files.write("cut.avro", &whole[..whole.len() - 100]);
    let features = r#"{"s_label": {"kind": "dense", "dtype": "int32"}}"#;
    let features = files.write("f.json", features.as_bytes());
    let head = |n: &str| atds(&["head", "--features", &features, "-n", n, &cut]);
    let ran = head("50");
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains(r#""shape":[43]"#), "{}", ran.out);
    let expected = format!("atds: error: {cut}: block 5 at byte ");
    assert!(ran.err.starts_with(&expected), "{}", ran.err);
    // The records before the fault are enough for this request.
    assert!(head("8").ok().contains(r#""shape":[8]"#));
}

#[test]
fn a_cut_names_the_block() {
    let files = Generated::new(&["--records", "50", "--files", "1"]);
    let whole = std::fs::read(files.file(0)).unwrap();
    let cut = files.write("cut.avro", &whole[..whole.len() - 100]);
    for command in ["inspect", "bench"] {
        let ran = atds(&[command, &cut]);
        assert_eq!(ran.code, 1);
        let expected = format!("atds: error: {cut}: block 5 at byte ");
        assert!(ran.err.starts_with(&expected), "{}", ran.err);
    }
}

#[test]
fn damage_names_the_block() {
    let files = Generated::new(&["--records", "50", "--files", "1", "--codec", "snappy"]);
    let mut bytes = std::fs::read(files.file(0)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    let bad = files.write("bad.avro", &bytes);
    for args in [
        &["inspect", &bad][..],
        &["bench", &bad],
        &["head", &bad, "-n", "50"],
    ] {
        let ran = atds(args);
        assert_eq!(ran.code, 1);
        assert!(
            ran.err.starts_with(&format!("atds: error: {bad}: block ")),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_folder_without_avro_files_is_named() {
    let dir = TempDir::new().unwrap();
    let folder = text(dir.path());
    let message = atds(&["bench", "--format", "avro", &folder]).fails_with(1);
    assert!(
        message.starts_with(&format!("{folder}: no Avro files there")),
        "{message}"
    );
    let pattern = format!("{folder}/*.avro");
    let message = atds(&["bench", &pattern]).fails_with(1);
    assert!(
        message.starts_with(&format!("{pattern}: no file matches")),
        "{message}"
    );
}

#[test]
fn a_features_file_at_fault_is_a_fault_of_usage() {
    let files = Generated::new(&["--records", "10", "--files", "1"]);
    let run = |text: &str| {
        let path = files.write("f.json", text);
        let message = atds(&["bench", &files.files(), "--features", &path]).fails_with(2);
        message.replace(&path, "F")
    };
    assert!(run("{\"d0\": ").starts_with("features file F: the features: EOF while parsing"));
    let twice = r#"{"d0": {"kind": "dense", "dtype": "int32"},
        "d0": {"kind": "dense", "dtype": "int32"}}"#;
    assert_eq!(
        run(twice),
        "features file F: the features: feature 'd0' is there twice at line 2 column 12"
    );
    let kind = r#"{"d0": {"kind": "dance", "shape": [8], "dtype": "float32"}}"#;
    assert_eq!(
        run(kind),
        "features file F: feature 'd0': 'kind' is 'dance', which is none of 'dense', 'sparse', \
         'varlen', 'fixed_len', 'fixed_len_sequence', 'var_len'"
    );
    let dtype = r#"{"d0": {"kind": "dense", "shape": [8], "dtype": "int"}}"#;
    assert_eq!(
        run(dtype),
        "features file F: feature 'd0': 'dtype' is 'int', which is none of 'int8', 'int16', \
         'int32', 'int64', 'uint8', 'uint16', 'float16', 'bfloat16', 'float32', 'float64', \
         'bool', 'string'"
    );
    let dimension = r#"{"d0": {"kind": "dense", "shape": [0], "dtype": "float32"}}"#;
    assert!(run(dimension).contains("'d0'"));

    let gone = text(&files.dir.path().join("gone.json"));
    let message = atds(&["bench", &files.files(), "--features", &gone]).fails_with(2);
    assert!(
        message.starts_with(&format!("features file {gone}: ")),
        "{message}"
    );
}

#[test]
fn a_feature_that_the_file_does_not_have_is_named() {
    let files = Generated::new(&["--records", "10", "--files", "1"]);
    let run = |text: &str| {
        let path = files.write("f.json", text);
        atds(&["bench", &files.files(), "--features", &path]).fails_with(1)
    };
    let message = run(r#"{"d9": {"kind": "dense", "shape": [8], "dtype": "float32"}}"#);
    assert!(
        message.starts_with(&files.file(0)) && message.contains("d9"),
        "{message}"
    );
    let message = run(r#"{"d0": {"kind": "dense", "shape": [8], "dtype": "float64"}}"#);
    assert!(
        message.contains("d0") && message.contains("float64"),
        "{message}"
    );
    let message = run(r#"{"d0": {"kind": "dense", "shape": [9], "dtype": "float32"}}"#);
    assert!(
        message.contains("block 0") && message.contains("record 0"),
        "{message}"
    );
    assert!(message.contains("'d0'"), "{message}");
}

#[test]
fn a_reader_schema_at_fault_is_a_fault_of_usage() {
    let files = Generated::new(&["--records", "10", "--files", "1"]);
    let features = r#"{"d0": {"kind": "dense", "shape": [8], "dtype": "float32"}}"#;
    let features = files.write("f.json", features);
    for command in ["bench", "head"] {
        let run = |schema: &str| {
            let (file, of) = (files.file(0), ["--features", &features, "--reader-schema"]);
            atds(&[&[command, &file], &of[..], &[schema]].concat())
        };
        let schema = files.write("s.avsc", r#"{"type": "record", "name": "R"}"#);
        assert_eq!(
            run(&schema).fails_with(2),
            format!("reader schema {schema}: schema: the attribute \"fields\" is missing")
        );
        let gone = text(&files.dir.path().join("gone.avsc"));
        let message = run(&gone).fails_with(2);
        assert!(
            message.starts_with(&format!("reader schema {gone}: ")),
            "{message}"
        );
    }
}

#[test]
fn too_small_a_memory_limit_is_a_fault_of_usage() {
    let files = Generated::new(&["--records", "100", "--files", "1"]);
    let message = atds(&["bench", &files.files(), "--memory-limit", "1KiB"]).fails_with(2);
    assert!(
        message.contains("--memory-limit is 1024 bytes"),
        "{message}"
    );
    let advice = ": raise it, or lower --shuffle-buffer or --batch-size";
    assert!(message.ends_with(advice), "{message}");
}

/// `inspect` and `head` make no batches, but they also take a memory limit.
#[test]
fn a_file_too_large_to_look_at_is_no_fault_of_usage() {
    let files = Generated::new(&["--records", "100", "--files", "1"]);
    let file = files.file(0);
    let limit = ["--memory-limit", "1KiB"];
    let message = atds(&[&["inspect", &file], &limit[..]].concat()).fails_with(1);
    assert!(
        message.starts_with(&format!("{file}: --memory-limit is 1024 bytes, but")),
        "{message}"
    );
    assert!(message.ends_with(": raise it"), "{message}");

    let features = r#"{"s_label": {"kind": "dense", "dtype": "int32"}}"#;
    let features = files.write("f.json", features);
    let head = ["head", &file, "--features", &features];
    let message = atds(&[&head[..], &limit].concat()).fails_with(1);
    assert!(
        message.contains("--memory-limit is 1024 bytes, but"),
        "{message}"
    );
    assert!(
        message.ends_with(": raise it, or lower --records"),
        "{message}"
    );
    atds(&[&head[..], &["--memory-limit", "64MiB"]].concat()).ok();
}

#[test]
fn messages_name_the_keys_of_a_features_file() {
    let files = Generated::new(&["--records", "5", "--files", "1", "--preset", "ads-nullable"]);
    let file = files.file(0);
    let features = r#"{"s_label": {"kind": "dense", "dtype": "int64"}}"#;
    let features = files.write("f.json", features);
    let message = atds(&["bench", &file, "--features", &features]).fails_with(1);
    assert!(
        message.ends_with("; ask for it with \"cast\": true"),
        "{message}"
    );
}
