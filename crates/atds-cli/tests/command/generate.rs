use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::{Generated, atds, text};

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
    assert!(figures["inflated_bytes"].as_u64() < figures["raw_bytes"].as_u64());

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
    for preset in ["ads", "wide", "varlen", "strings"] {
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
        said.starts_with("1,000 records in 8 files, 1.4 MB (2.0 MB inflated), in "),
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
