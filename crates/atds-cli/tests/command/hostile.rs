//! Files that ask for much more memory than they have bytes: the limit holds, by the peak resident
//! memory that the operating system says, and the error names a limit that will do.

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

const BYTES: &str = r#"{"name": "x", "type": "bytes"}"#;
const STRINGS: &str = r#"{"name": "x", "type": {"type": "array", "items": "string"}}"#;
const LONGS: &str = r#"{"name": "x", "type": {"type": "array", "items": "long"}}"#;
const LISTS: &str =
    r#"{"name": "x", "type": {"type": "array", "items": {"type": "array", "items": "long"}}}"#;
const PAIR: &str = r#"{"name": "n", "type": "long"}, {"name": "x", "type": "string"}"#;

/// A file of `blocks` blocks, each of `records` records in `payload`, which is compressed once.
fn file(fields: &str, codec: Codec, blocks: usize, records: u64, payload: &[u8]) -> Vec<u8> {
    let schema = format!(r#"{{"type": "record", "name": "R", "fields": [{fields}]}}"#);
    let writer = || {
        let options = WriterOptions::with_codec(codec);
        Writer::new(Vec::new(), &schema, options).unwrap()
    };
    let header = writer().finish().unwrap().len();
    let mut writer = writer();
    writer.write_block(records, payload).unwrap();
    let mut file = writer.finish().unwrap();
    let block = file.split_off(header);
    file.extend(block.repeat(blocks));
    file
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

/// A record of `n` zero bytes, or of a list of `n` empty ones.
fn zeros(n: usize, end: &[u8]) -> Vec<u8> {
    let mut record = long(n);
    record.resize(record.len() + n, 0);
    record.extend(end);
    record
}

/// The limit that a message names.
fn named(message: &str) -> u64 {
    let (_, named) = message
        .split_once("but the window and a batch need ")
        .expect(message);
    named.split_once(' ').unwrap().0.parse().unwrap()
}

/// A file that does not fit, and whether what it needs is little enough to try.
struct Case {
    name: String,
    file: Vec<u8>,
    is_small: bool,
}

fn case(name: &str, file: Vec<u8>, is_small: bool) -> Case {
    Case {
        name: name.to_owned(),
        file,
        is_small,
    }
}

fn bombs() -> Vec<Case> {
    let bomb = zeros(72 << 20, &[]);
    let mut cases = Vec::new();
    for (codec, blocks) in [
        (Codec::Deflate, 16),
        (Codec::Zstandard, 16),
        (Codec::Snappy, 16),
        (Codec::Bzip2, 1),
        (Codec::Xz, 1),
    ] {
        let name = format!("bombs of {codec}");
        cases.push(case(&name, file(BYTES, codec, blocks, 1, &bomb), false));
    }
    cases
}

fn values() -> Vec<Case> {
    let deflate = |fields, blocks, records, payload: &[u8]| {
        file(fields, Codec::Deflate, blocks, records, payload)
    };
    let mut cases = Vec::new();
    // A value that fits as it was written, and not a second time, in its column.
    let value = zeros(30 << 20, &[]);
    for codec in [Codec::Zstandard, Codec::Xz] {
        let name = format!("a large value in {codec}");
        cases.push(case(&name, file(BYTES, codec, 1, 1, &value), true));
    }
    let empty = |n| zeros(n, &[0]);
    cases.extend([
        case(
            "large values",
            deflate(BYTES, 1, 16, &zeros(2 << 20, &[]).repeat(16)),
            true,
        ),
        case(
            "empty strings",
            deflate(STRINGS, 1, 1, &empty(3 << 20)),
            true,
        ),
        case(
            "blocks of empty strings",
            deflate(STRINGS, 64, 1, &empty(1 << 17)),
            false,
        ),
        case(
            "numbers",
            deflate(LONGS, 1, 64, &empty(1 << 17).repeat(64)),
            true,
        ),
        case(
            "lists of numbers",
            deflate(LONGS, 64, 1, &empty(1 << 17)),
            false,
        ),
    ]);
    cases
}

#[test]
fn the_limit_holds_for_bombs() {
    the_limit_holds(bombs());
}

#[test]
fn the_limit_holds_and_the_one_that_is_named_will_do() {
    the_limit_holds(values());
}

fn the_limit_holds(cases: Vec<Case>) {
    let dir = TempDir::new().unwrap();
    for Case {
        name,
        file,
        is_small,
    } in cases
    {
        let path = write(dir.path(), "x.avro", file);
        let run = |threads, limit: u64| {
            let (ran, peak) = bench(&path, limit, threads, &[]);
            let of = format!("{} MiB: {name}, {threads} threads: {}", peak / MIB, ran.err);
            assert!(peak <= limit + UNCOUNTED, "{of}");
            ran
        };
        let message = run(1, LIMIT).fails_with(2);
        assert!(message.starts_with(&format!("{path}: block ")), "{message}");
        assert_eq!(message, run(16, LIMIT).fails_with(2), "{name}");
        if is_small {
            assert!(message.contains(": record "), "{message}");
            run(1, named(&message)).ok();
        }
    }
}

#[test]
fn what_only_seems_large_is_read() {
    let dir = TempDir::new().unwrap();
    let pair = [&long(7)[..], &long(50), &[b'x'; 50]].concat();
    for (fields, codec, records, payload) in [
        (PAIR, Codec::Deflate, 200_000, pair.repeat(200_000)),
        (PAIR, Codec::Null, 200_000, pair.repeat(200_000)),
        (LISTS, Codec::Deflate, 1, zeros(1 << 20, &[0])),
    ] {
        let path = write(
            dir.path(),
            "x.avro",
            file(fields, codec, 1, records, &payload),
        );
        for threads in [1, 16] {
            let (ran, peak) = bench(&path, LIMIT, threads, &[]);
            assert!(peak <= LIMIT + UNCOUNTED, "{} MiB: {fields}", peak / MIB);
            ran.ok();
        }
    }
}

#[test]
fn many_small_files_do_not_hold_their_buffers() {
    let dir = TempDir::new().unwrap();
    let record = [&long(7)[..], &long(5), b"hello"].concat();
    let first = write(dir.path(), "0.avro", file(PAIR, Codec::Null, 1, 1, &record));
    for number in 1..3_000 {
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

/// A file that is read in another order than its own is listed first.
#[test]
fn a_list_of_blocks_counts() {
    let dir = TempDir::new().unwrap();
    let record = [&long(7)[..], &long(5), b"hello"].concat();
    let blocks = file(PAIR, Codec::Null, 250_000, 1, &record);
    let path = write(dir.path(), "x.avro", blocks);
    let run = |limit, threads| {
        let (ran, peak) = bench(&path, limit, threads, &["--shuffle-blocks"]);
        assert!(peak <= limit + UNCOUNTED, "{} MiB", peak / MIB);
        ran
    };
    let message = run(LIMIT / 2, 1).fails_with(2);
    assert_eq!(message, run(LIMIT / 2, 16).fails_with(2));
    run(named(&message), 1).ok();
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
