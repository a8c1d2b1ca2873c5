use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use super::{Generated, Ran, atds, command, testdata};

#[test]
fn json_has_the_promised_keys() {
    let files = Generated::new(&["--records", "2500", "--files", "3"]);
    let figures = atds(&["bench", &files.files(), "--json"]).json();
    let keys: Vec<&str> = figures
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys.join(" "),
        "records steps seconds records_per_s raw_bytes inflated_bytes ms_per_step threads \
         read_wait_s inflate_s decode_s consumer_wait_s \
         trailing_block_bytes trailing_file_bytes bad_checksums replaced_texts epoch_seconds"
    );
    assert_eq!(figures["records"], 2_500);
    assert_eq!(figures["steps"], 3);
    let get = |key: &str| figures[key].as_f64().unwrap();
    assert!((get("records_per_s") * get("seconds") / 2_500.0 - 1.0).abs() < 1e-6);
    assert!((get("ms_per_step") * 3.0 / get("seconds") / 1e3 - 1.0).abs() < 1e-6);
    assert!(get("inflate_s") > 0.0 && get("decode_s") > 0.0);

    let inspected = (0..3).map(|i| atds(&["inspect", &files.file(i), "--json"]).json());
    let inflated = inspected.map(|found| found["inflated_bytes"].as_u64().unwrap());
    assert_eq!(figures["inflated_bytes"], inflated.sum::<u64>());
    let raw = figures["raw_bytes"].as_u64().unwrap();
    let sizes = (0..3).map(|i| std::fs::metadata(files.file(i)).unwrap().len());
    let size: u64 = sizes.sum();
    assert!(raw <= size && raw > size * 9 / 10, "{raw} of {size}");
}

#[test]
fn every_option_reads_every_record() {
    let files = Generated::new(&["--records", "2500", "--files", "3"]);
    let folder = files.files();
    for options in [
        &["--threads", "1"][..],
        &["--threads", "3"],
        &["--threads", "auto", "--mmap"],
        &[
            "--shuffle-buffer",
            "700",
            "--seed",
            "3",
            "--shuffle-files",
            "--shuffle-blocks",
        ],
        &[
            "--prefetch",
            "1",
            "--layout",
            "ragged",
            "--reader-buffer",
            "64KiB",
        ],
        &[
            "--memory-limit",
            "64MiB",
            "--drop-out-of-bounds",
            "--layout",
            "coo",
        ],
    ] {
        let args = [
            &["bench", &folder, "--json", "--batch-size", "500"],
            options,
        ]
        .concat();
        let figures = atds(&args).json();
        assert_eq!(
            (&figures["records"], &figures["steps"]),
            (&2_500.into(), &5.into()),
            "{args:?}"
        );
    }
    let epochs = atds(&["bench", &files.files(), "--json", "--epochs", "3"]).json();
    assert_eq!(
        (&epochs["records"], &epochs["steps"]),
        (&7_500.into(), &9.into())
    );
}

#[test]
fn epochs_are_timed_one_by_one() {
    let files = Generated::new(&["--records", "2500", "--files", "3"]);
    let figures = atds(&["bench", &files.files(), "--json", "--epochs", "4"]).json();
    let seconds = figures["epoch_seconds"].as_array().unwrap();
    let seconds: Vec<f64> = seconds.iter().map(|s| s.as_f64().unwrap()).collect();
    assert_eq!(seconds.len(), 4);
    assert!(seconds.iter().all(|&s| s > 0.0), "{seconds:?}");
    assert!(seconds.iter().sum::<f64>() <= figures["seconds"].as_f64().unwrap());

    // Fewer records than a batch has, and those left out: epochs without a step.
    let arguments = [
        "--json",
        "--epochs",
        "2",
        "--batch-size",
        "5000",
        "--drop-remainder",
    ];
    let ran = atds(&[&["bench", &files.files()], &arguments[..]].concat());
    let figures: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(figures["epoch_seconds"], Value::Array(Vec::new()));
}

#[test]
fn threads_asked_for_are_threads_used() {
    let files = Generated::new(&["--records", "2000", "--files", "1"]);
    let figures = atds(&["bench", &files.files(), "--json", "--threads", "3"]).json();
    assert_eq!(figures["threads"], 3);
}

#[test]
fn dropped_remainders_are_told() {
    let files = Generated::new(&["--records", "2500", "--files", "2"]);
    let ran = atds(&[
        "bench",
        &files.files(),
        "--json",
        "--drop-remainder",
        "--epochs",
        "2",
    ]);
    assert_eq!(ran.code, 0);
    let figures: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&figures["records"], &figures["steps"]),
        (&4_096.into(), &4.into())
    );
    let expected = "atds: dropped 904 records at the end of an epoch, too few for a batch\n";
    assert_eq!(ran.err, expected);
}

#[test]
fn dropped_entries_are_told() {
    let files = Generated::new(&["--records", "200", "--files", "1"]);
    let features = r#"{"sp4": {"kind": "sparse", "shape": [50], "dtype": "float64"}}"#;
    let features = files.write("f.json", features);
    let folder = files.files();
    let args = ["bench", &folder, "--features", &features, "--json"];
    let failed = atds(&args).fails_with(1);
    assert!(
        failed.contains("record ") && failed.contains("field 'sp4'"),
        "{failed}"
    );
    let ran = atds(&[&args[..], &["--drop-out-of-bounds"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told = ran.err.strip_prefix("atds: dropped ").unwrap();
    let (n, what) = told.split_once(' ').unwrap();
    assert_eq!(
        what,
        "sparse entries with an index outside their dimension\n"
    );
    // Half of about 4 in each of 200 records.
    assert!((250..550).contains(&n.parse::<u32>().unwrap()), "{n}");
}

#[test]
fn prints_for_people() {
    let files = Generated::new(&["--records", "2500", "--files", "3"]);
    let said = atds(&["bench", &files.files(), "--batch-size", "1000"]).ok();
    assert!(
        said.starts_with("3 files, 19 columns, batches of 1,000\n"),
        "{said}"
    );
    assert!(
        said.contains("\nrecords             2,500 in 3 steps\n"),
        "{said}"
    );
    for line in [
        "seconds",
        "records/s",
        "raw",
        "inflated",
        "step",
        "threads",
        "memory",
    ] {
        assert!(said.contains(&format!("\n{line:<20}")), "{line} in {said}");
    }
    for line in [
        "waiting for bytes",
        "inflating",
        "decoding",
        "waiting for caller",
    ] {
        // How long it takes is the machine's.
        let name = format!("{line:<20}");
        let mut seconds = said.lines().filter_map(|line| line.strip_prefix(&name));
        assert!(
            seconds.any(|seconds| seconds.contains(" s")
                && seconds.starts_with(|c: char| c.is_ascii_digit())),
            "{line} in {said}"
        );
    }
}

#[test]
fn reads_the_features_that_inspect_prints() {
    let files = Generated::new(&["--records", "300", "--files", "1", "--preset", "strings"]);
    let features = atds(&["inspect", "--features", &files.file(0)]).ok();
    assert!(
        features.starts_with("{\n  \"s_country\": {\"kind\":\"dense\",\"shape\":[],"),
        "{features}"
    );
    let path = files.write("f.json", &features);
    let said = atds(&["bench", &files.files(), "--features", &path]).ok();
    assert!(said.starts_with("1 file, 10 columns"), "{said}");

    let mut piped = command(&["bench", &files.files(), "--features", "-", "--json"]);
    piped
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut running = piped.spawn().unwrap();
    running
        .stdin
        .take()
        .unwrap()
        .write_all(features.as_bytes())
        .unwrap();
    let figures = Ran::new(running.wait_with_output().unwrap()).json();
    assert_eq!(figures["records"], 300);
}

#[test]
fn lists_fields_that_are_left_out() {
    let ran = atds(&["bench", &testdata("everything_fastavro.avro")]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let expected = "atds: warning: left out 'u_null' (null): it holds no value\n";
    assert!(ran.err.contains(expected), "{}", ran.err);
}

#[test]
fn files_without_records_have_no_steps() {
    let figures = atds(&["bench", &testdata("no_record_fastavro.avro"), "--json"]).json();
    for key in ["records", "steps", "records_per_s", "ms_per_step"] {
        assert_eq!(figures[key].as_f64(), Some(0.0), "{key}");
    }
}
