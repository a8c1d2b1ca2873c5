//! `--trace`.

use std::fs;

use serde_json::Value;

use super::{Generated, atds, misused};

#[test]
fn a_trace_has_the_batches_and_a_name_for_each_thread() {
    let files = Generated::new(&["--records", "3000", "--files", "2"]);
    let path = files.write("trace.json", "");
    let folder = files.files();
    let bench = ["bench", &folder, "--batch-size", "100", "--epochs", "2"];
    for more in [
        &["--threads", "1"][..],
        &["--threads", "3", "--shuffle-buffer", "500"],
    ] {
        let figures = atds(&[&bench, more, &["--json", "--trace", &path]].concat()).json();
        // The second trace replaces the first.
        let trace: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let named = |name: &str| trace.iter().filter(|event| event["name"] == name).count();
        assert_eq!(named("batch") as u64, figures["steps"].as_u64().unwrap());
        assert!(named("batches") > 0 && named("read") > 0);
        let names = trace.iter().filter(|event| event["name"] == "thread_name");
        let names: Vec<&str> = names
            .map(|event| event["args"]["name"].as_str().unwrap())
            .collect();
        for name in ["consumer", "planning thread", "worker 0"] {
            assert!(names.contains(&name), "{names:?}");
        }
    }
    let demo = atds(&["demo", "--records", "2000", "--json", "--trace", &path]).json();
    assert_eq!(demo["read"]["records"], 2000);
    let trace: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert!(trace.iter().any(|event| event["name"] == "batch"));
}

#[test]
fn a_trace_does_not_replace_what_is_no_trace() {
    let files = Generated::new(&["--records", "100", "--files", "1"]);
    let file = files.file(0);
    let before = fs::read(&file).unwrap();
    let message = misused(&["bench", &file, "--trace", &file]);
    assert_eq!(
        message,
        format!("--trace does not replace {file}, which is no trace")
    );
    assert!(fs::read(&file).unwrap() == before);
    misused(&["bench", &file, "--trace", "-"]);
    let message = atds(&["bench", &file, "--trace", "/nowhere/trace.json"]).fails_with(1);
    assert!(
        message.starts_with("trace /nowhere/trace.json: "),
        "{message}"
    );
}

/// The figures are those of the whole run.
#[test]
#[cfg(target_os = "linux")]
fn a_trace_that_cannot_be_written_fails_after_the_run() {
    let files = Generated::new(&["--records", "100", "--files", "1"]);
    let ran = atds(&["bench", &files.files(), "--json", "--trace", "/dev/full"]);
    assert_eq!(ran.code, 1);
    let figures: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&figures["records"], &figures["stopped_early"]),
        (&100.into(), &Value::Null)
    );
    let lines: Vec<&str> = ran.err.lines().collect();
    assert!(
        lines[0].starts_with("atds: warning: the trace ends here, "),
        "{}",
        ran.err
    );
    assert!(
        lines[1].starts_with("atds: error: trace /dev/full: No space left"),
        "{}",
        ran.err
    );
}
