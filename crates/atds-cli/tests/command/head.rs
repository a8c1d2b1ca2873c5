use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::{Value, json};

use super::{Generated, atds, command, testdata};

#[test]
fn prints_the_first_records_as_lines_of_json() {
    let files = Generated::new(&["--records", "25", "--files", "1"]);
    let lines = |args: &[&str]| {
        let said = atds(&[&["head", &files.file(0)], args].concat()).ok();
        let records = said
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.collect::<Vec<_>>()
    };
    let ten = lines(&[]);
    assert_eq!(ten.len(), 10);
    assert_eq!(lines(&["-n", "3"]), ten[..3]);
    assert_eq!(lines(&["-n", "0"]).len(), 0);
    assert_eq!(lines(&["--records", "1000"]).len(), 25);
    assert_eq!(lines(&["--skip", "7", "-n", "1"]), ten[7..8]);
    assert_eq!(lines(&["--skip", "24"]).len(), 1);
    assert_eq!(lines(&["--skip", "25"]).len(), 0);

    let keys: Vec<&str> = ten[0]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys[..6],
        [
            "s_label",
            "s_weight",
            "s_member",
            "s_bid",
            "s_click",
            "s_country"
        ]
    );
    assert_eq!(ten[0]["d7"].as_array().unwrap().len(), 128);
    let sparse = &ten[0]["sp3"];
    let len = |key: &str| sparse[key].as_array().unwrap().len();
    assert_eq!(len("indices0"), len("values"));
}

#[test]
fn prints_tensors_of_features() {
    let files = Generated::new(&["--records", "1", "--files", "1"]);
    let features = r#"{
        "union": {"kind": "fixed_len", "expression": "u_union:string", "shape": [],
            "dtype": "string", "default": "?", "mask": "has"},
        "map": {"kind": "var_len", "expression": "u_map[*]", "dtype": "int64"},
        "middle": {"kind": "varlen", "shape": [-1], "dtype": "float64", "layout": "ragged"},
        "fixed": {"kind": "dense", "expression": "u_fixed", "dtype": "string"}
    }"#;
    let features = files.write("f.json", features);
    let file = testdata("everything_fastavro.avro");
    let args = ["head", &file, "-n", "3", "--features", &features];
    let said = atds(&args).ok();
    assert_eq!(said.lines().count(), 7, "a line for each column: {said}");
    let fixed: String = (0xf0..=0xffu8).map(char::from).collect();
    assert_eq!(
        serde_json::from_str::<Value>(&said).unwrap(),
        json!({
            "fixed": {"dtype": "string", "shape": [3], "values": [fixed, fixed, fixed]},
            "has": {"dtype": "bool", "shape": [3], "values": [false, true, false]},
            "map": {"dtype": "int64", "dense_shape": [3, 2],
                "indices": [[1, 0], [2, 0], [2, 1]], "values": [0, 0, 1000]},
            "middle": {"dtype": "float64", "row_splits": [[0, 0, 1, 3]],
                "values": [0.25, 0.5, 0.5]},
            "union": {"dtype": "string", "shape": [3], "values": ["?", "text", "?"]},
        })
    );
    let none = atds(&["head", &file, "-n", "0", "--features", &features]).json();
    assert_eq!(none, json!({}));
}

#[test]
fn records_are_read_as_the_readers_schema() {
    let files = Generated::new(&["--records", "1", "--files", "1"]);
    let schema = r#"{"type": "record", "name": "Everything", "namespace": "org.example.data",
        "fields": [{"name": "first", "type": "double"},
            {"name": "added", "type": "int", "default": 7}]}"#;
    let schema = files.write("s.avsc", schema);
    let features = r#"{"first": {"kind": "dense", "dtype": "float64"},
        "added": {"kind": "dense", "dtype": "int32"}}"#;
    let features = files.write("f.json", features);
    let file = testdata("everything_fastavro.avro");
    let reading = [&file, "--features", &features, "--reader-schema", &schema];
    let tensors = atds(&[&["head", "-n", "2"], &reading[..]].concat()).json();
    assert_eq!(
        tensors,
        json!({
            "added": {"dtype": "int32", "shape": [2], "values": [7, 7]},
            "first": {"dtype": "float64", "shape": [2], "values": [-8.0, -7.0]},
        })
    );
    let figures = atds(&[&["bench", "--json"], &reading[..]].concat()).json();
    assert_eq!(figures["records"], 16);
    let ran = atds(&["head", &file, "--reader-schema", &schema]);
    assert_eq!(ran.code, 2, "only features are read as a schema");
}

#[test]
fn a_closed_pipe_is_no_fault() {
    let files = Generated::new(&["--records", "500", "--files", "1"]);
    let mut head = command(&["head", &files.file(0), "-n", "500"]);
    head.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = head.spawn().unwrap();
    // The 500 lines take about 2 MB, more than a pipe holds.
    let mut line = String::new();
    BufReader::new(running.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.starts_with("{\"s_label\":"));
    assert_eq!(running.wait().unwrap().code(), Some(0));
    let mut told = String::new();
    running
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut told)
        .unwrap();
    assert_eq!(told, "");
}

#[test]
fn the_records_before_a_fault_are_printed() {
    let files = Generated::new(&["--records", "50", "--files", "1", "--codec", "null"]);
    let whole = std::fs::read(files.file(0)).unwrap();
    let cut = files.write("cut.avro", &whole[..whole.len() - 1]);
    let ran = atds(&["head", &cut, "-n", "50"]);
    assert_eq!(ran.code, 1);
    let printed = ran.out.lines().count();
    assert!(
        (41..50).contains(&printed),
        "all whole blocks, not {printed} records"
    );
    assert!(
        ran.err.starts_with(&format!("atds: error: {cut}: block ")),
        "{}",
        ran.err
    );
}
