use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::Value;

use super::{Generated, atds, command};

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
fn a_closed_pipe_is_no_fault() {
    let files = Generated::new(&["--records", "500", "--files", "1"]);
    let mut head = command(&["head", &files.file(0), "-n", "500"]);
    head.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = head.spawn().unwrap();
    // The 500 lines are some 2 MB, more than a pipe holds.
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
