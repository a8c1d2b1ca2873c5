//! Text from files cannot control the terminal.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::{Ran, atds, write};

/// Text that would clear the screen, change the direction of text, or end the line.
const NASTY: &str = "\u{1b}[2J\u{9b}31m\u{202e}\u{200b}\n\r\u{7f}größe";

fn long(n: usize) -> u8 {
    // The zig-zag encoding of a small number.
    u8::try_from(2 * n).unwrap()
}

fn field(bytes: &[u8]) -> Vec<u8> {
    let mut n = 2 * bytes.len();
    let mut out = Vec::new();
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
    out.extend(bytes);
    out
}

/// A file of this schema with nasty text in its metadata and in its only record.
fn file(dir: &Path, schema: &Value) -> String {
    let mut bytes = b"Obj\x01".to_vec();
    bytes.push(long(2));
    bytes.extend(field(b"avro.schema"));
    bytes.extend(field(schema.to_string().as_bytes()));
    bytes.extend(field(NASTY.as_bytes()));
    bytes.extend(field(NASTY.as_bytes()));
    bytes.push(0);
    bytes.extend([7; 16]);
    let record = field(NASTY.as_bytes());
    bytes.push(long(1));
    bytes.extend([long(record.len())]);
    bytes.extend(record);
    bytes.extend([7; 16]);
    write(dir, &format!("{}.avro", NASTY.replace('/', "")), bytes)
}

fn schema(name: &str) -> Value {
    let fields = serde_json::json!([{"name": name, "type": "string", "doc": NASTY}]);
    serde_json::json!({"type": "record", "name": "R", "doc": NASTY, "fields": fields})
}

#[track_caller]
fn harmless(ran: &Ran) {
    for text in [&ran.out, &ran.err] {
        let bad = |c: char| {
            (c.is_control() && c != '\n')
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        };
        assert!(!text.contains(bad), "{text:?}");
        // The line end in the text is escaped.
        assert!(
            !text.lines().any(|line| line.starts_with("größe")),
            "{text:?}"
        );
    }
}

#[test]
fn what_files_say_is_escaped() {
    let dir = TempDir::new().unwrap();
    let file = file(dir.path(), &schema("f"));
    for args in [
        &["inspect", &file][..],
        &["inspect", "--json", &file],
        &["inspect", "--features", &file],
        &["head", &file],
        &["bench", &file],
    ] {
        let ran = atds(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        harmless(&ran);
    }
    let said = atds(&["inspect", &file]).ok();
    assert!(
        said.contains(r"\u{1b}[2J\u{9b}31m\u{202e}\u{200b}\n\r\u{7f}größe = "),
        "{said}"
    );
    // JSON gives programs the original text.
    assert_eq!(atds(&["head", &file]).json()["f"], NASTY);
    let found = atds(&["inspect", "--json", &file]).json();
    assert_eq!(found["schema"]["doc"], NASTY);
}

#[test]
fn what_is_at_fault_is_escaped() {
    let dir = TempDir::new().unwrap();
    let file = file(dir.path(), &schema("f"));
    let features = |text: &Value| write(dir.path(), "f.json", text.to_string());
    let dense = serde_json::json!({"kind": "dense", "dtype": "int32"});
    let unknown = features(&serde_json::json!({NASTY: dense}));
    for args in [
        &["bench", "--features", &unknown, &file][..],
        &["head", "--features", &unknown, &file],
        &["inspect", &format!("{file}.gone")],
        &["bench", &format!("{file}.gone")],
        &["head", &file, "--features", &format!("{file}.gone")],
    ] {
        let ran = atds(args);
        assert_ne!(ran.code, 0, "{args:?}");
        assert!(ran.err.contains(r"\u{1b}[2J"), "{}", ran.err);
        harmless(&ran);
    }
    let data = std::fs::read(&file).unwrap();
    std::fs::write(&file, &data[..data.len() - 3]).unwrap();
    for command in ["bench", "inspect", "head"] {
        let ran = atds(&[command, &file]);
        assert_eq!(ran.code, 1);
        harmless(&ran);
    }
}

/// A note quotes the schema's JSON. Its text is escaped once, by JSON.
#[test]
fn reasons_are_escaped_once() {
    let dir = TempDir::new().unwrap();
    let decimal = serde_json::json!({"type": "bytes", "logicalType": "decimal", "precision": "9"});
    let fields = serde_json::json!([{"name": "f", "type": decimal}]);
    let schema = serde_json::json!({"type": "record", "name": "R", "fields": fields});
    let file = file(dir.path(), &schema);
    let note = r#"its precision is "9", which is not a number of digits"#;
    let found = atds(&["inspect", "--json", &file]).json();
    let notes = found["notes"].as_array().unwrap();
    let told = |value: &Value| value["note"].as_str().unwrap().contains(note);
    assert!(notes.iter().any(told), "{notes:?}");
    let said = atds(&["inspect", &file]).ok();
    assert!(said.contains(note), "{said}");
}
