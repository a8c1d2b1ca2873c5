//! `atds verify` and `atds repair`.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Generated, Ran, atds, command, misused, testdata, text};

/// Two files of ten records in a block, and the same with a changed byte near the end of the first.
fn files(codec: &str) -> (Generated, String) {
    let files = Generated::new(&["--records", "100", "--files", "2", "--codec", codec]);
    let mut bytes = fs::read(files.file(0)).unwrap();
    let at = bytes.len() - 40;
    bytes[at] ^= 4;
    let bad = files.write("bad.avro", bytes);
    (files, bad)
}

/// The lines of a run that found damage, and its message.
fn damaged(args: &[&str]) -> (Vec<String>, String) {
    let ran = atds(args);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let message = ran.err.strip_prefix("atds: error: ").unwrap();
    (
        ran.out.lines().map(str::to_owned).collect(),
        message.trim().to_owned(),
    )
}

#[test]
fn files_that_are_well_are_a_line_each() {
    let (files, _) = files("snappy");
    let said = atds(&["verify", &files.files()]).ok();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(
        lines[0].starts_with(&format!("{}: well: 50 records in ", files.file(0))),
        "{said}"
    );
    assert!(
        lines[2].starts_with("total of 2 files: 2 well, 0 damaged; 100 records in "),
        "{said}"
    );
    assert!(lines[2].ends_with(" are well"), "{said}");
    for name in [
        "everything_fastavro.avro",
        "codec_xz_fastavro.avro",
        "java/inner_class.avro",
    ] {
        let said = atds(&["verify", &testdata(name)]).ok();
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn damage_is_told_with_its_place_cause_and_loss() {
    let (files, bad) = files("snappy");
    let (lines, message) = damaged(&["verify", &files.file(1), &bad]);
    assert_eq!(message, "1 of 2 files is damaged");
    assert!(
        lines[1].starts_with(&format!("{bad}: block 5 at byte ")),
        "{lines:?}"
    );
    assert!(lines[1].contains("--tolerate 'checksum'"), "{lines:?}");
    assert_eq!(lines[2], "  probably: bytes were overwritten");
    assert!(lines[3].starts_with("  lost: "), "{lines:?}");
    assert!(
        lines[4].starts_with(&format!("{bad}: damaged: ")),
        "{lines:?}"
    );
    assert!(
        lines[5].starts_with("total of 2 files: 1 well, 1 damaged; "),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 6);
    let passed = atds(&["verify", &bad, "--tolerate", "checksum"]).ok();
    assert!(passed.contains("; passed over: 1 "), "{passed}");
}

#[test]
fn json_is_an_object_a_line() {
    let (files, bad) = files("snappy");
    let ran = atds(&["verify", "--json", &files.file(1), &bad]);
    assert_eq!(ran.code, 1);
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        keys(&lines[1]),
        "file format well packed codec file_bytes blocks records decompressed_bytes damaged_parts lost_bytes \
         lost_records lost_unknown damages trailing_block_bytes trailing_file_bytes bad_checksums"
    );
    let damage = &lines[1]["damages"][0];
    assert_eq!(
        keys(damage),
        "offset bytes records error error_offset block record field decompressed_offset cause probably"
    );
    assert_eq!(
        (&damage["cause"], &damage["block"]),
        (&json!("overwritten"), &json!(5))
    );
    assert_eq!(lines[0]["well"], true);
    let total = &lines[2]["total"];
    assert_eq!(
        keys(total),
        "files well damaged unread failed file_bytes blocks records decompressed_bytes damaged_parts \
         lost_bytes lost_records lost_unknown stopped_early"
    );
    for key in [
        "records",
        "blocks",
        "lost_bytes",
        "lost_records",
        "file_bytes",
    ] {
        let sum: u64 = lines[..2]
            .iter()
            .map(|file| file[key].as_u64().unwrap())
            .sum();
        assert_eq!(total[key], sum, "{key}");
    }
    assert_eq!(lines[0]["records"], 50);
    let records = lines[1]["records"].as_u64().unwrap();
    assert_eq!(lines[1]["lost_records"], 50 - records);
}

#[test]
fn what_is_not_found_does_not_hide_the_others() {
    let (files, bad) = files("null");
    let gone = text(&files.dir.path().join("gone.avro"));
    let ran = atds(&["verify", &gone, &files.file(1)]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.starts_with(&format!("atds: error: {gone}: ")),
        "{}",
        ran.err
    );
    assert!(
        ran.out
            .contains("total of 1 file: 1 well, 0 damaged, 1 not found; "),
        "{}",
        ran.out
    );
    let empty = files.write("empty.avro", "");
    let (lines, message) = damaged(&["verify", "--strict", &empty, &bad, "--threads", "1"]);
    assert!(lines[0].ends_with("the file is empty"), "{lines:?}");
    assert!(
        message.ends_with("files are damaged") || message == "1 of 2 files is damaged",
        "{message}"
    );
}

/// What the system does not read may be well.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_read_is_not_called_damaged() {
    let (files, bad) = files("snappy");
    // Its first bytes are no memory.
    let unread = "/proc/self/mem";
    let (lines, message) = damaged(&["verify", unread]);
    assert_eq!(message, "1 of 1 file cannot be read");
    assert!(lines[0].starts_with(&format!("{unread}: ")), "{lines:?}");
    assert_eq!(lines[1], "  probably: the system could not read the file");
    assert!(lines[2].starts_with("  not read: "), "{lines:?}");
    assert!(
        lines[3].starts_with(&format!("{unread}: cannot be read: ")),
        "{lines:?}"
    );
    let (lines, message) = damaged(&["verify", unread, &bad, &files.file(0)]);
    assert_eq!(message, "1 of 3 files is damaged, and 1 cannot be read");
    assert!(
        lines[lines.len() - 1]
            .starts_with("total of 3 files: 1 well, 1 damaged, 1 cannot be read; "),
        "{lines:?}"
    );
}

/// Runs the command with a file as its standard input.
fn with_input(args: &[&str], bytes: &[u8]) -> Ran {
    use std::io::Write;
    let mut command = command(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    Ran::new(child.wait_with_output().unwrap())
}

#[test]
fn standard_input_is_verified_and_repaired() {
    let (files, bad) = files("zstandard");
    let well = with_input(&["verify", "-"], &fs::read(files.file(0)).unwrap()).ok();
    assert!(well.starts_with("/dev/stdin: well: 50 records"), "{well}");
    let out = text(&files.dir.path().join("out.avro"));
    let said = with_input(&["repair", "-", &out], &fs::read(bad).unwrap()).ok();
    assert!(said.contains(&format!("\n{out}: written: ")), "{said}");
    atds(&["verify", &out]).ok();
}

#[test]
fn a_repair_says_what_is_left_out() {
    let (files, bad) = files("snappy");
    let out = text(&files.dir.path().join("out.avro"));
    let before = fs::read(&bad).unwrap();
    let said = atds(&["repair", &bad, &out]).ok();
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[0].starts_with(&format!("{bad}: block 5 at byte ")),
        "{said}"
    );
    assert!(lines[3].starts_with(&format!("{out}: written: ")), "{said}");
    assert!(lines[3].contains("; left out: "), "{said}");
    assert!(fs::read(&bad).unwrap() == before);
    let found = atds(&["verify", "--json", &out]).json();
    let message = atds(&["repair", &bad, &out]).fails_with(1);
    assert_eq!(
        message,
        format!("{out}: it exists already, and is not overwritten: give the name of a new file")
    );
    let message = atds(&["repair", &bad, &bad]).fails_with(1);
    assert_eq!(
        message,
        format!(
            "{bad}: it is the file to repair, which is not changed: give the name of a new file"
        )
    );

    fs::remove_file(&out).unwrap();
    let json = atds(&["repair", "--json", &bad, &out]).json();
    assert_eq!(
        (&json["written"], &json["records"]),
        (&json!(out), &found["records"])
    );
    assert_eq!(json["written_bytes"], found["file_bytes"]);
    let copy = text(&files.dir.path().join("copy.avro"));
    let said = atds(&["repair", &out, &copy]).ok();
    assert!(said.ends_with("; left out: nothing\n"), "{said}");
    assert!(fs::read(&copy).unwrap() == fs::read(&out).unwrap());
    let message = misused(&["repair", &bad, "-"]);
    assert!(message.starts_with("OUT must be a file: "), "{message}");
    let text_file = files.write("text.avro", "no data");
    let gone = text(&files.dir.path().join("gone.avro"));
    let message = atds(&["repair", &text_file, &gone]).fails_with(1);
    assert!(message.starts_with(&text_file), "{message}");
}

/// A disk that is full after 64 KiB leaves no file, neither under the name nor beside it.
#[test]
#[cfg(unix)]
fn a_full_disk_leaves_no_repaired_file() {
    let files = Generated::new(&["--records", "200", "--files", "1", "--codec", "null"]);
    let folder = TempDir::new().unwrap();
    let out = text(&folder.path().join("out.avro"));
    let message = super::signals::on_a_small_disk(&["repair", &files.file(0), &out], folder.path());
    let message = message.fails_with(1);
    assert!(message.starts_with(&format!("{out}: ")), "{message}");
    assert_eq!(message.matches("File too large").count(), 1, "{message}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A repair that is killed leaves no file under the name, and one that a signal stops leaves none.
#[test]
#[cfg(unix)]
fn a_stopped_repair_leaves_no_file() {
    use std::io::Write;
    let files = Generated::new(&["--records", "200", "--files", "1", "--codec", "null"]);
    let bytes = fs::read(files.file(0)).unwrap();
    for signal in ["-INT", "-KILL"] {
        let folder = TempDir::new().unwrap();
        let out = folder.path().join("out.avro");
        let mut repair = command(&["repair", "-", &text(&out)]);
        repair
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = repair.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(&bytes).unwrap();
        super::signals::wait_for_files(folder.path(), &mut child);
        let pid = child.id().to_string();
        let kill = std::process::Command::new("kill")
            .args([signal, &pid])
            .status();
        assert!(kill.unwrap().success());
        let status = child.wait().unwrap();
        drop(input);
        assert!(!out.exists());
        let left = fs::read_dir(folder.path()).unwrap().count();
        if signal == "-INT" {
            assert_eq!((status.code(), left), (Some(130), 0));
        } else {
            assert_eq!((status.code(), left), (None, 1));
        }
    }
}

/// Avro's encoding of a length or a count.
#[cfg(target_os = "linux")]
fn long(number: usize) -> Vec<u8> {
    let (mut rest, mut bytes) = (number << 1, Vec::new());
    while rest > 0x7f {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

/// Small files of large blocks, with no more memory than the blocks take: one large block is decompressed
/// at a time, and no values are made of its records.
#[test]
#[cfg(target_os = "linux")]
fn memory_is_bounded() {
    use avro_block::{Codec, Writer, WriterOptions};
    const MIB: usize = 1 << 20;
    let folder = TempDir::new().unwrap();
    // A list of empty strings takes a byte each, and some tens as values.
    let strings = r#"{"type": "array", "items": "string"}"#;
    let payload = [long(100 * MIB), vec![0; 100 * MIB + 1]].concat();
    for i in 0..3 {
        let codec = [Codec::Deflate, Codec::Zstandard][i % 2];
        let options = WriterOptions::with_codec(codec);
        let mut writer = Writer::new(Vec::new(), strings, options).unwrap();
        writer.write_block(1, &payload).unwrap();
        let bytes = writer.finish().unwrap();
        assert!(bytes.len() < MIB);
        super::write(folder.path(), &format!("{i}.avro"), bytes);
    }
    let verify = |limit: &str| {
        let mut shell = std::process::Command::new("sh");
        let script = "ulimit -v 600000; exec \"$0\" \"$@\"";
        shell.args(["-c", script, env!("CARGO_BIN_EXE_atds"), "verify", "--json"]);
        shell.args([
            &text(folder.path()),
            "--threads",
            "4",
            "--max-block-bytes",
            limit,
        ]);
        Ran::new(shell.output().unwrap())
    };
    let well = verify("128MiB").ok();
    assert_eq!(well.lines().count(), 4, "{well}");
    let ran = verify("90MiB");
    assert_eq!(ran.code, 1, "{}", ran.err);
    for line in ran.out.lines().take(3) {
        let found: Value = serde_json::from_str(line).unwrap();
        assert_eq!(found["damages"][0]["cause"], "not-checked");
        assert_eq!(found["lost_records"], 1);
    }
}
