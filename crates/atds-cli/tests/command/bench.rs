use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

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
        "records steps seconds records_per_s raw_bytes decompressed_bytes ms_per_step threads \
         thread_records read_wait_s decompress_s decode_s consumer_wait_s \
         trailing_block_bytes trailing_file_bytes bad_checksums replaced_texts \
         raw_bytes_per_s decompressed_bytes_per_s memory_peak memory_limit last_schedule \
         dropped_records dropped_entries truncated_lists skipped_records skipped_bytes \
         thread_time epoch_seconds files columns batch_size \
         stopped_early"
    );
    // The page's table has the same keys.
    let page = include_str!("../../../../docs/command.md");
    let (_, table) = page.split_once("\n| keys | what they are |\n").unwrap();
    let rows = table.lines().take_while(|row| row.starts_with('|'));
    let named = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    let (named, keys): (BTreeSet<&str>, BTreeSet<&str>) =
        (named.collect(), keys.into_iter().collect());
    assert_eq!(named, keys);
    assert_eq!(figures["records"], 2_500);
    assert_eq!(figures["steps"], 3);
    let get = |key: &str| figures[key].as_f64().unwrap();
    assert!((get("records_per_s") * get("seconds") / 2_500.0 - 1.0).abs() < 1e-6);
    assert!((get("ms_per_step") * 3.0 / get("seconds") / 1e3 - 1.0).abs() < 1e-6);
    assert!(get("decompress_s") > 0.0 && get("decode_s") > 0.0);
    assert_eq!(
        (
            &figures["files"],
            &figures["columns"],
            &figures["batch_size"]
        ),
        (&3.into(), &19.into(), &1_024.into())
    );
    assert_eq!(figures["stopped_early"], Value::Null);
    let threads = figures["threads"].as_f64().unwrap();
    let parts = figures["thread_time"].as_object().unwrap();
    let keys: Vec<&str> = parts.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "read_wait",
            "decompress",
            "decode",
            "consumer_wait",
            "other"
        ]
    );
    let sum = |key: &str| {
        parts
            .values()
            .map(|part| part[key].as_f64().unwrap())
            .sum::<f64>()
    };
    assert_eq!(sum("percent"), 100.0);
    assert!(sum("seconds") > 0.99 * get("seconds") * threads);

    let inspected = (0..3).map(|i| atds(&["inspect", &files.file(i), "--json"]).json());
    let decompressed = inspected.map(|found| found["decompressed_bytes"].as_u64().unwrap());
    assert_eq!(figures["decompressed_bytes"], decompressed.sum::<u64>());
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
        &["--shuffle", "blocks", "--seed", "3"],
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

    // There are fewer records than a batch has, and the remainder is dropped: epochs without a
    // step.
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
    let expected = "atds: note: dropped 904 records at the end of an epoch, too few for a batch\n";
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
    let told = ran.err.strip_prefix("atds: note: dropped ").unwrap();
    let (n, what) = told.split_once(' ').unwrap();
    assert_eq!(
        what,
        "sparse entries with an index outside their dimension\n"
    );
    // About half of the entries: 200 records with about 4 each.
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
        "decompressed",
        "step",
        "threads",
        "memory",
    ] {
        assert!(said.contains(&format!("\n{line:<20}")), "{line} in {said}");
    }
    // The time depends on the machine.
    let (_, parts) = said.split_once("time of threads ").unwrap();
    let mut total = 0;
    for name in [
        "waiting for bytes",
        "decompressing",
        "decoding",
        "waiting for caller",
        "other",
    ] {
        let line = parts
            .lines()
            .find_map(|line| line.trim().strip_prefix(name));
        let words: Vec<&str> = line.unwrap().split_whitespace().collect();
        let [percent, "%", seconds, "s"] = words[..] else {
            panic!("{name} in {said}");
        };
        total += percent.parse::<u32>().unwrap();
        assert!(seconds.parse::<f64>().is_ok(), "{name} in {said}");
    }
    assert_eq!(total, 100, "{said}");
}

#[test]
fn a_run_that_an_error_ends_keeps_its_figures() {
    let files = Generated::new(&["--records", "50", "--files", "1"]);
    let whole = std::fs::read(files.file(0)).unwrap();
    let cut = files.write("cut.avro", &whole[..whole.len() - 100]);
    let ran = atds(&["bench", &cut, "--batch-size", "10"]);
    assert_eq!(ran.code, 1);
    let begin = "1 file, 19 columns, batches of 10\nstopped early       by an error\n\
                 records             43 in 5 steps\n";
    assert!(ran.out.starts_with(begin), "{}", ran.out);
    let error = format!("atds: error: {cut}: block 5 at byte ");
    assert!(ran.err.starts_with(&error), "{}", ran.err);

    let ran = atds(&["bench", &cut, "--batch-size", "10", "--json"]);
    assert_eq!(ran.code, 1);
    let figures: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(figures["records"], 43);
    assert_eq!(figures["epoch_seconds"], Value::Array(Vec::new()));
    let told = format!(
        "atds: error: {}\n",
        figures["stopped_early"].as_str().unwrap()
    );
    assert_eq!(ran.err, told);

    // Without a batch, there are no figures to print.
    let damaged = files.write("bad.avro", [&whole[..1_500], &[0; 400][..]].concat());
    atds(&["bench", &damaged]).fails_with(1);
}

#[test]
fn sizes_are_in_any_unit() {
    let files = Generated::new(&["--records", "300", "--files", "1"]);
    for (size, limit) in [
        ("64000000", "64 MB"),
        ("64MB", "64 MB"),
        ("64mb", "64 MB"),
        ("64MiB", "64 MiB"),
        ("65536KiB", "64 MiB"),
        ("0.5GB", "500 MB"),
        ("1 GiB", "1 GiB"),
        ("70000001B", "70,000,001 B"),
    ] {
        for option in ["--memory-limit", "--max-block-bytes", "--reader-buffer"] {
            let said = atds(&["bench", &files.files(), option, size]).ok();
            let limit = match option {
                "--memory-limit" => limit,
                _ => "4 GiB",
            };
            let expected = format!(" at most, limit {limit}\n");
            assert!(said.contains(&expected), "{option} {size}: {said}");
        }
        atds(&["inspect", &files.file(0), "--memory-limit", size]).ok();
    }
    for (size, reason) in [
        ("4G", "say 4GB, in units of 1,000, or 4GiB, of 1,024"),
        (
            "many",
            "must be bytes, such as 1000000, 64kB, 64KiB, 512MB or 4GiB",
        ),
        ("1.5", "is not a whole number of bytes"),
    ] {
        for option in ["--memory-limit", "--max-block-bytes", "--reader-buffer"] {
            let ran = atds(&["bench", &files.files(), option, size]);
            let expected =
                format!("atds: error: invalid value '{size}' for '{option} <BYTES>': {reason}\n");
            assert!(ran.err.starts_with(&expected), "{}", ran.err);
            assert_eq!(ran.code, 2);
        }
    }
    let dir = files.dir.path().join("new");
    let dir = dir.to_str().unwrap();
    let blocks = |size: &str| {
        let args = ["--records", "100", "--files", "1", "--block-bytes", size];
        atds(&[&["generate", dir], &args[..]].concat()).ok();
        atds(&["inspect", "--json", dir]).json()["blocks"].as_u64()
    };
    assert_eq!(blocks("2kB"), blocks("2000"));
    assert_eq!(blocks("1MiB"), Some(1));
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

#[test]
fn damage_is_left_out_by_choice() {
    let files = Generated::new(&["--records", "100", "--files", "2", "--codec", "snappy"]);
    let mut bytes = std::fs::read(files.file(0)).unwrap();
    let at = bytes.len() - 40;
    bytes[at] ^= 4;
    std::fs::write(files.file(0), bytes).unwrap();
    let bench = |more: &[&str]| atds(&[&["bench", &files.files(), "--json"], more].concat());
    // What is left out is named on standard error.
    let figures_of = |ran: Ran| -> Value { serde_json::from_str(&ran.out).unwrap() };
    let failed = bench(&[]);
    assert_eq!(failed.code, 1, "{}", failed.err);
    let log = files.write("skipped.jsonl", "");
    let figures = figures_of(bench(&["--on-error", "skip_block", "--skip-log", &log]));
    let lost = figures["skipped_records"].as_u64().unwrap();
    assert!(lost > 0 && figures["records"] == 100 - lost, "{figures}");
    let line: Value = serde_json::from_str(&std::fs::read_to_string(&log).unwrap()).unwrap();
    assert_eq!(line["records"], lost);
    let reason = line["reason"].as_str().unwrap();
    assert!(reason.starts_with(&files.file(0)), "{reason}");
    let few = bench(&["--on-error", "skip_block", "--max-skipped", "1%"]);
    assert_eq!(few.code, 1);
    assert!(few.err.contains("--max-skipped"), "{}", few.err);
    let whole = figures_of(bench(&["--on-error", "skip_file"]));
    assert_eq!(
        (&whole["records"], &whole["files"]),
        (&json!(50), &json!(1))
    );
    for wrong in [["--on-error", "skip"], ["--max-skipped", "half"]] {
        let ran = bench(&wrong);
        assert!(ran.code == 2 && ran.err.contains(wrong[1]), "{}", ran.err);
    }
}

#[test]
fn splits_share_the_records() {
    let files = Generated::new(&["--records", "1000", "--files", "2", "--codec", "snappy"]);
    let bench = |more: &[&str]| atds(&[&["bench", &files.files(), "--json"], more].concat());
    let parts = "train=0.8,valid=0.1,test=0.1";
    for by in ["record", "block"] {
        let records = ["train", "valid", "test"].map(|name| {
            let ran = bench(&["--split", name, "--splits", parts, "--split-by", by]);
            ran.json()["records"].as_u64().unwrap()
        });
        assert_eq!(records.iter().sum::<u64>(), 1_000, "{records:?}");
        assert!(records[0] > 500, "{records:?}");
    }
    for (wrong, text) in [
        (&["--split", "train"][..], "--splits"),
        (&["--splits", parts], "--split "),
        (
            &["--split", "dev", "--splits", parts],
            "--split must be a name in --splits",
        ),
        (
            &["--split", "a", "--splits", "a=0.9,b=0.2"],
            "--splits must have parts that sum",
        ),
        (&["--split", "a", "--splits", "a=x"], "such as train=0.9"),
        (
            &[
                "--split",
                "train",
                "--splits",
                parts,
                "--split-by",
                "user_id",
            ],
            "there is no index: give --index",
        ),
    ] {
        let ran = bench(wrong);
        assert!(ran.code == 2 && ran.err.contains(text), "{}", ran.err);
    }
}
