//! `atds shuffle-report`.

use std::fs;

use serde_json::Value;

use super::{Generated, atds, text};

/// Three files of some megabytes, so that there are several runs of blocks of each.
fn files() -> Generated {
    Generated::new(&[
        "--records",
        "4000",
        "--files",
        "3",
        "--codec",
        "null",
        "--block-bytes",
        "16384",
    ])
}

/// The setting of an order and a size of the shuffle buffer.
fn setting<'a>(report: &'a Value, order: &str, buffer: impl Into<Value>) -> &'a Value {
    let buffer = buffer.into();
    let is_it = |found: &&Value| found["order"] == order && found["shuffle_buffer_size"] == buffer;
    let found = report["settings"].as_array().unwrap().iter().find(is_it);
    found.unwrap_or_else(|| panic!("{order}, {buffer} in {report}"))
}

fn number(of: &Value) -> f64 {
    of.as_f64().unwrap()
}

#[test]
fn settings_are_measured_side_by_side() {
    let files = files();
    let (html, json) = (files.write("r.html", ""), files.write("r.json", ""));
    let args = [
        "shuffle-report",
        &files.files(),
        "--batch-size",
        "50",
        "--shuffle-buffer",
        "0,400",
        "--seed",
        "5",
        "--html",
        &html,
        "--json",
        &json,
    ];
    let said = atds(&args).ok();
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("4,000 records in 3 files, "), "{said}");
    assert_eq!(lines.len(), 2 + 2 * 5 + 1, "{said}");

    let report: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(
        (&report["records"], &report["files"]),
        (&4000.into(), &3.into())
    );
    assert_eq!(report["settings"].as_array().unwrap().len(), 11);
    let travel = |order, buffer: u64| number(&setting(&report, order, buffer)["travel"]["mean"]);
    let files_of = |order, buffer: u64| number(&setting(&report, order, buffer)["files_per_batch"]);
    let blocks_of =
        |order, buffer: u64| number(&setting(&report, order, buffer)["blocks_per_batch"]);
    // In order, records stay where they are.
    assert_eq!(travel("files in order", 0), 0.0);
    assert!(travel("files in order", 400) > 0.01);
    assert!(travel("original ATDS", 400) > 0.01);
    assert!(travel("shuffle=\"blocks\"", 400) > 0.1);
    assert!(files_of("shuffle=\"blocks\"", 400) > files_of("shuffle_files, shuffle_blocks", 400));
    assert!(blocks_of("files in order", 400) > blocks_of("files in order", 0));
    let perfect = setting(&report, "perfect shuffle", Value::Null);
    assert!((number(&perfect["travel"]["quantiles"]["0.5"]) - 0.293).abs() < 0.001);
    assert!((number(&perfect["files_per_batch"]) - 3.0).abs() < 0.01);
    for row in report["settings"].as_array().unwrap() {
        for of in ["files_per_batch", "blocks_per_batch"] {
            let found = number(&row[of]);
            assert!(found >= 1.0 && found <= 1.1 * number(&perfect[of]), "{row}");
        }
    }

    let page = fs::read_to_string(&html).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    // Two charts, and a picture of each setting and of a perfect shuffle.
    assert_eq!(page.matches("<svg").count(), 2 + 2 * 6);
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    for elsewhere in ["http:", "https:", "<script", "src=", "@import", "url("] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    assert!(page.contains("prefers-color-scheme: dark"));
    // The same files and seed give the same report.
    let before = fs::read_to_string(&json).unwrap();
    atds(&args).ok();
    assert_eq!(fs::read_to_string(&json).unwrap(), before);
    assert_eq!(fs::read_to_string(&html).unwrap(), page);
}

#[test]
fn files_that_cannot_be_read_or_written_are_an_error() {
    let files = Generated::new(&["--records", "100"]);
    let bad = files.write("bad.avro", "no Avro");
    assert!(
        atds(&["shuffle-report", &bad])
            .fails_with(1)
            .contains("bad.avro")
    );
    let nowhere = text(&files.dir.path().join("none/report.html"));
    let ran = atds(&["shuffle-report", &files.files(), "--html", &nowhere]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("report.html"), "{}", ran.err);
}
