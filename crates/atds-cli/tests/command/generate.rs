use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::{Generated, atds, text, write};

#[test]
fn splits_the_records_evenly_and_tells_the_sizes() {
    let dir = TempDir::new().unwrap();
    let folder = text(&dir.path().join("a/b"));
    let figures = atds(&[
        "generate",
        &folder,
        "--records",
        "100",
        "--files",
        "3",
        "--codec",
        "null",
        "--json",
    ])
    .json();
    assert_eq!(figures["files"], 3);
    assert_eq!(figures["records"], 100);
    let size = |i: usize| {
        fs::metadata(format!("{folder}/part-{i:05}.avro"))
            .unwrap()
            .len()
    };
    assert_eq!(figures["raw_bytes"], size(0) + size(1) + size(2));
    assert!(figures["decompressed_bytes"].as_u64() < figures["raw_bytes"].as_u64());

    let records = |i: usize| {
        let file = format!("{folder}/part-{i:05}.avro");
        atds(&["inspect", &file, "--json"]).json()["records"].clone()
    };
    assert_eq!(
        [records(0), records(1), records(2)],
        [33, 33, 34].map(|n| json!(n))
    );
}

#[test]
fn the_seed_fixes_every_byte() {
    let bytes = |seed| {
        let files = Generated::new(&["--records", "50", "--files", "2", "--seed", seed]);
        [0, 1].map(|i| fs::read(files.file(i)).unwrap())
    };
    assert_eq!(bytes("5"), bytes("5"));
    assert_ne!(bytes("5"), bytes("6"));
}

#[test]
fn every_preset_and_codec_is_read_back() {
    for preset in ["ads", "ads-nullable", "wide", "varlen", "strings", "people"] {
        let files = Generated::new(&["--records", "60", "--files", "1", "--preset", preset]);
        let found = atds(&["inspect", &files.file(0), "--json"]).json();
        assert_eq!(found["metadata"]["atds.preset"], preset);
        assert_eq!(found["left_out"], json!([]));
        assert_eq!(found["records"], 60);
    }
    for codec in ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"] {
        let files = Generated::new(&["--records", "60", "--files", "1", "--codec", codec]);
        let found = atds(&["inspect", &files.file(0), "--json"]).json();
        assert_eq!(found["codec"], codec);
        assert_eq!(found["records"], 60);
    }
}

#[test]
fn arrays_have_byte_sizes_only_if_asked_for() {
    let plain = Generated::new(&["--records", "60", "--files", "1"]);
    let sized = Generated::new(&["--records", "60", "--files", "1", "--byte-sizes"]);
    let bytes = |files: &Generated| {
        let found = atds(&["inspect", &files.file(0), "--json"]).json();
        found["decompressed_bytes"].as_u64().unwrap()
    };
    // An array of 64 bytes or more takes two bytes for its size, others take one.
    let arrays = 60 * (8 + 2 * 5);
    let more = bytes(&sized) - bytes(&plain);
    assert!((arrays..2 * arrays).contains(&more), "{more}");
    let head = |files: &Generated| atds(&["head", &files.file(0), "-n", "60"]).ok();
    assert_eq!(head(&plain), head(&sized));
}

#[test]
fn makes_records_that_a_features_file_can_read() {
    let dir = TempDir::new().unwrap();
    let features = r#"{
        "image": {"kind": "dense", "shape": [2, 3], "dtype": "float32"},
        "words": {"kind": "varlen", "shape": [-1], "dtype": "string", "layout": "ragged"},
        "ads": {"kind": "sparse", "shape": [50001], "dtype": "float32", "default": 0}
    }"#;
    let features = write(dir.path(), "f.json", features);
    let args = [
        "--files",
        "1",
        "--features",
        &features,
        "--mean-length",
        "40",
    ];
    let files = Generated::new(&args);
    let said = atds(&["head", &files.file(0), "-n", "100", "--features", &features]).ok();
    let tensors: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(tensors["image"]["shape"], json!([100, 2, 3]));
    for name in ["words", "ads"] {
        let values = tensors[name]["values"].as_array().unwrap().len();
        assert!((3_500..4_500).contains(&values), "{values} {name}");
    }
}

#[test]
fn refuses_features_without_samples() {
    let dir = TempDir::new().unwrap();
    let folder = text(&dir.path().join("files"));
    let features = r#"{"x": {"kind": "dense", "expression": "a.b", "dtype": "int32"}}"#;
    let features = write(dir.path(), "f.json", features);
    let args = ["generate", &folder, "--features", &features];
    let expected =
        "feature 'x': 'a.b' is not the name of a field: samples are made for fields only";
    assert_eq!(
        atds(&args).fails_with(2),
        format!("features file {features}: {expected}")
    );
    let both = [&args[..], &["--preset", "ads"]].concat();
    assert_eq!(atds(&both).code, 2);
    assert_eq!(atds(&["generate", &folder, "--mean-length", "8"]).code, 2);
}

#[test]
fn block_bytes_bound_the_blocks_from_below() {
    let blocks = |bytes| {
        let files = Generated::new(&["--records", "60", "--files", "1", "--block-bytes", bytes]);
        atds(&["inspect", &files.file(0), "--json"]).json()["blocks"].clone()
    };
    assert_eq!(blocks("1"), 60);
    assert_eq!(blocks("1000000"), 1);
}

#[test]
fn says_what_it_made() {
    let dir = TempDir::new().unwrap();
    let said = atds(&["generate", &text(dir.path()), "--records", "1000"]).ok();
    assert!(
        said.starts_with("1,000 records in 8 files, 1.4 MB (2.0 MB decompressed), in "),
        "{said}"
    );
}

#[test]
fn refuses_what_cannot_be() {
    let dir = TempDir::new().unwrap();
    let folder = text(dir.path());
    for bad in [
        ["--preset", "tall"],
        ["--codec", "zip"],
        ["--files", "0"],
        ["--files", "100001"],
        ["--block-bytes", "0"],
        ["--mean-length", "501"],
        ["--records", "many"],
    ] {
        let ran = atds(&["generate", &folder, bad[0], bad[1]]);
        assert_eq!(ran.code, 2, "{bad:?}");
        assert!(
            ran.err.contains(bad[0]) && ran.err.contains(bad[1]),
            "{}",
            ran.err
        );
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn leaves_no_older_file_among_the_new_ones() {
    let files = Generated::new(&["--records", "10", "--files", "3"]);
    let folder = files.files();
    let message = atds(&["generate", &folder, "--records", "10", "--files", "2"]).fails_with(1);
    let older = files.file(2);
    let expected = "would stay beside the new files: remove it or choose another folder";
    assert_eq!(message, format!("{older} {expected}"));
}

#[test]
fn other_formats_have_the_same_records() {
    let options = [
        "--records",
        "50",
        "--files",
        "2",
        "--preset",
        "wide",
        "--seed",
        "3",
    ];
    let avro = Generated::new(&options);
    let dir = avro.dir.path().join("other");
    let dir = dir.to_str().unwrap();
    let make = |format: &str| {
        let args = [
            &["generate", dir, "--format", format, "--json"],
            &options[..],
        ]
        .concat();
        atds(&args)
    };
    let made = make("tfrecord").json();
    assert_eq!((&made["files"], &made["records"]), (&json!(2), &json!(50)));
    let losses = made["losses"].as_array().unwrap().iter();
    assert!(losses.clone().count() > 0);
    assert!(losses.clone().all(|loss| loss["kind"] == "rounded"));
    let second = format!("{dir}/part-00001.tfrecord");
    let records = atds(&["head", "-n", "1", &second]).json();
    let expected = atds(&["head", "-n", "1", &avro.file(1)]).json();
    for field in ["int_3", "long_0", "float_7"] {
        assert_eq!(records[field], json!([expected[field]]), "{field}");
    }
    assert_eq!(records["bytes_1"], json!([expected["bytes_1"]]));
    // The same bytes again, and no other format beside them.
    let before = std::fs::read(&second).unwrap();
    make("tfrecord").json();
    assert_eq!(std::fs::read(&second).unwrap(), before);
    let error = make("btable").fails_with(1);
    assert!(error.contains("the folder has other files"), "{error}");
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), 2);
    std::fs::remove_dir_all(dir).unwrap();
    make("btable").json();
    let table = format!("{dir}/part-00000.btable");
    let found = atds(&["inspect", "--json", &table]).json();
    assert_eq!(
        (&found["records"], &found["columns"]),
        (&json!(25), &json!(150))
    );
}
