//! Files that ask for much more memory than they have bytes: the limit holds, by the peak resident
//! memory that the operating system says.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use avro_block::{Codec, Writer, WriterOptions};
use tempfile::TempDir;

use super::{Ran, command, text, write};

const MIB: u64 = 1 << 20;
const LIMIT: u64 = 64 * MIB;
/// The program itself, stacks, and what is not counted.
const UNCOUNTED: u64 = 64 * MIB;

const PAIR: &str = r#"{"name": "n", "type": "long"}, {"name": "x", "type": "string"}"#;

/// A file of `blocks` blocks, each of `records` records in `payload`.
fn file(fields: &str, codec: Codec, blocks: usize, records: u64, payload: &[u8]) -> Vec<u8> {
    let schema = format!(r#"{{"type": "record", "name": "R", "fields": [{fields}]}}"#);
    let options = WriterOptions::with_codec(codec);
    let mut writer = Writer::new(Vec::new(), &schema, options).unwrap();
    for _ in 0..blocks {
        writer.write_block(records, payload).unwrap();
    }
    writer.finish().unwrap()
}

/// `number` as Avro writes it.
fn long(number: usize) -> Vec<u8> {
    let (mut rest, mut bytes) = (number << 1, Vec::new());
    while rest > 0x7f {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

/// The result of `atds bench` with a memory limit, and its peak resident memory in bytes: 0 on systems
/// that do not say.
fn bench(path: &str, limit: u64, threads: usize, more: &[&str]) -> (Ran, u64) {
    let (limit, threads) = (limit.to_string(), threads.to_string());
    let args = [
        "bench",
        path,
        "--memory-limit",
        &limit,
        "--threads",
        &threads,
    ];
    let mut command = command(&[&args[..], &["--batch-size", "1024"], more].concat());
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let running = thread::spawn(move || child.wait_with_output().unwrap());
    let mut peak = 0;
    while !running.is_finished() {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let of_peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = of_peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) << 10);
        thread::sleep(Duration::from_millis(2));
    }
    (Ran::new(running.join().unwrap()), peak)
}

#[test]
fn many_small_files_do_not_hold_their_buffers() {
    let dir = TempDir::new().unwrap();
    let record = [&long(7)[..], &long(5), b"hello"].concat();
    let first = write(dir.path(), "0.avro", file(PAIR, Codec::Null, 1, 1, &record));
    for number in 1..5_000 {
        fs::hard_link(&first, dir.path().join(format!("{number}.avro"))).unwrap();
    }
    for threads in [1, 16] {
        let (ran, peak) = bench(&text(dir.path()), LIMIT, threads, &[]);
        ran.ok();
        assert!(
            peak <= LIMIT + UNCOUNTED,
            "{} MiB, {threads} threads",
            peak / MIB
        );
    }
}

/// Nothing but the count says how many such records there are.
#[test]
fn records_without_bytes_are_bounded() {
    let dir = TempDir::new().unwrap();
    let features = r#"{"y": {"kind": "dense", "dtype": "int32"}}"#;
    let features = write(dir.path(), "f.json", features);
    let reader = r#"{"type": "record", "name": "R", "fields": [
        {"name": "y", "type": "int", "default": 3}]}"#;
    let reader = write(dir.path(), "r.avsc", reader);
    let more = ["--features", &features, "--reader-schema", &reader];
    let null = r#"{"name": "x", "type": "null"}"#;
    for (codec, records, is_error) in [
        (Codec::Null, 1 << 31, true),
        (Codec::Deflate, 1 << 31, true),
        (Codec::Null, 1 << 20, false),
    ] {
        let path = write(dir.path(), "x.avro", file(null, codec, 1, records, &[]));
        for threads in [1, 16] {
            let (ran, peak) = bench(&path, LIMIT, threads, &more);
            assert!(peak <= LIMIT + UNCOUNTED, "{} MiB", peak / MIB);
            if is_error {
                let message = ran.fails_with(1);
                let expected = format!("bytes cannot hold {records} records");
                assert!(message.contains(": block 0 at byte "), "{message}");
                assert!(message.contains(&expected), "{message}");
            } else {
                ran.ok();
            }
        }
    }
}
