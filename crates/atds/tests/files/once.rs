//! Pipes and other inputs that can be read only once.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use atds::avro::records::Records;

use atds::avro::inspect;
use atds::{Codec, Dataset, DatasetBuilder, ErrorKind, Files, Shuffle};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::common::{Folder, features, read, read_all, rows_file};

/// A pipe with this name and no writer.
fn pipe(folder: &Folder, name: &str) -> PathBuf {
    let path = folder.join(name);
    mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    path
}

/// Writes to a pipe on a thread, as soon as the pipe has a reader.
fn write(path: &Path, bytes: Vec<u8>) {
    let path = path.to_owned();
    thread::spawn(move || {
        let mut file = OpenOptions::new().write(true).open(path).unwrap();
        // The reader may close the pipe early.
        let _ = file.write_all(&bytes);
    });
}

/// A pipe to which a thread writes a file of `records` rows.
fn rows_pipe(folder: &Folder, records: i64) -> PathBuf {
    let path = pipe(folder, "p");
    write(&path, rows_file(0..records, 3, Codec::Deflate));
    path
}

fn rows(files: impl Into<Files>) -> DatasetBuilder {
    Dataset::builder(files, 8).features(features())
}

/// The result of `work`; panics if it takes long.
fn at_once<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    thread::spawn(move || done.send(work()));
    result
        .recv_timeout(Duration::from_secs(30))
        .expect("it does not hang")
}

#[test]
fn a_pipe_is_read_whole_and_once() {
    let folder = Folder::new();
    // The data is far larger than a pipe's buffer. Building the data set reads the header.
    let dataset = rows(rows_pipe(&folder, 20_000)).build().unwrap();
    assert_eq!(dataset.total_bytes().unwrap(), None);
    assert_eq!(read_all(dataset.iter()).concat(), Vec::from_iter(0..20_000));
    for mut again in [dataset.iter(), dataset.epoch(1), dataset.clone().iter()] {
        let error = again.next().unwrap().unwrap_err();
        let expected =
            "p: this is a pipe, which can be read only once: it has been read, or is being read";
        assert_eq!(folder.message(&error), expected);
        assert!(again.next().is_none());
    }
}

#[test]
fn pipes_among_files_are_read_in_their_turn() {
    let folder = Folder::of_rows(2, 10, 3, Codec::Null);
    let (first, second) = (pipe(&folder, "p"), pipe(&folder, "q"));
    let (a, b) = (folder.join("00.avro"), folder.join("01.avro"));
    // One program writes to one pipe after the other, so the reader must not wait early for the
    // second.
    let bytes = (
        rows_file(0..9_000, 3, Codec::Null),
        rows_file(0..5, 3, Codec::Null),
    );
    let paths = (first.clone(), second.clone());
    thread::spawn(move || {
        for (path, bytes) in [(paths.0, bytes.0), (paths.1, bytes.1)] {
            let mut file = OpenOptions::new().write(true).open(path).unwrap();
            file.write_all(&bytes).unwrap();
        }
    });
    let ids = at_once(move || {
        let dataset = rows([first, a, second, b]).build().unwrap();
        read_all(dataset.iter()).concat()
    });
    let expected = (0..9_000).chain(0..10).chain(0..5).chain(10..21);
    assert_eq!(ids, expected.collect::<Vec<i64>>());
}

#[test]
fn what_needs_more_than_once_is_refused_at_once() {
    let folder = Folder::new();
    let path = pipe(&folder, "p");
    let message = |folder: &Folder, error: &atds::Error| {
        assert!(matches!(
            error.kind,
            ErrorKind::ReadOnce {
                input: "a pipe",
                ..
            }
        ));
        let message = folder.message(error);
        let start = "p: this is a pipe, which can be read only once: ";
        message.strip_prefix(start).unwrap().to_owned()
    };
    // The pipe has no writer, so opening it would block.
    for (dataset, expected) in [
        (rows(&path).epochs(2), "set `epochs` to 1"),
        (
            rows(&path).shuffle_blocks(true),
            "leave `shuffle_blocks` out",
        ),
        (
            rows(&path).shuffle(Shuffle::Blocks),
            "leave `shuffle=\"blocks\"` out",
        ),
        (rows(&path).mmap(true), "leave `mmap` out"),
        (rows([&path, &path]), "it is given twice"),
    ] {
        let error = at_once(move || dataset.build().map(drop).unwrap_err());
        assert_eq!(message(&folder, &error), expected);
    }
    write(&path, rows_file(0..10, 3, Codec::Null));
    let dataset = rows(&path).build().unwrap();
    let counted = "its records cannot be counted before they are read";
    for (error, expected) in [
        (dataset.num_records().unwrap_err(), counted),
        (dataset.file_records().map(drop).unwrap_err(), counted),
        (dataset.shard(0, 2).map(drop).unwrap_err(), counted),
        (
            dataset.slice(0..1, [10]).map(drop).unwrap_err(),
            "shards and slices of it cannot be read, but by file (`shard_by=\"file\"`)",
        ),
    ] {
        assert_eq!(message(&folder, &error), expected);
    }
    // None of these has read from the pipe.
    assert_eq!(read_all(dataset.iter()).concat(), Vec::from_iter(0..10));
}

#[test]
fn options_hold_for_a_pipe_that_was_begun_without_them() {
    let folder = Folder::new();
    let path = pipe(&folder, "p");
    let mut bytes = rows_file(0..10, 3, Codec::Null);
    bytes.extend(b"\n\n");
    write(&path, bytes);
    let files = Files::from(&path);
    atds::avro::schema::FileSchemas::read(&files, |_, _| std::ops::ControlFlow::Continue(()))
        .unwrap();
    let tolerate = "trailing-file-bytes".parse().unwrap();
    let dataset = rows(files).tolerate(tolerate).build().unwrap();
    assert_eq!(read_all(dataset.iter()).concat(), Vec::from_iter(0..10));
}

#[test]
fn a_pipe_that_nobody_writes_to_can_be_given_up() {
    let folder = Folder::new();
    let files = Files::from(pipe(&folder, "p"));
    let built = files.clone();
    let (done, result) = mpsc::channel();
    thread::spawn(move || done.send(rows(built).build().map(drop)));
    let waited = result.recv_timeout(Duration::from_millis(300));
    assert!(waited.is_err(), "it waits for a writer");
    files.cancel();
    let error = result.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(
        folder.message(&error.unwrap_err()),
        "p: reading was cancelled"
    );
}

/// The writer stops writing, but keeps the pipe open.
#[test]
fn an_iteration_that_waits_for_bytes_ends_when_it_is_dropped() {
    let folder = Folder::new();
    let path = pipe(&folder, "p");
    let (writing, told) = (path.clone(), mpsc::channel::<()>());
    let writer = thread::spawn(move || {
        let mut file = OpenOptions::new().write(true).open(writing).unwrap();
        // The data is less than a batch.
        let bytes = rows_file(0..8, 3, Codec::Null);
        file.write_all(&bytes[..bytes.len() - 5]).unwrap();
        let _ = told.1.recv();
        drop::<File>(file);
    });
    let dataset = rows(&path).build().unwrap();
    let mut batches = dataset.iter();
    assert!(batches.next_within(Duration::from_millis(200)).is_pending());
    let start = Instant::now();
    at_once(move || drop(batches));
    assert!(start.elapsed() < Duration::from_secs(5));
    drop(told.0);
    writer.join().unwrap();
}

/// A batch is given out as soon as its blocks were read, whatever the writer does next.
#[test]
fn a_batch_does_not_wait_for_the_blocks_after_it() {
    for threads in [1, 2] {
        let folder = Folder::new();
        let path = pipe(&folder, "p");
        let (writing, told) = (path.clone(), mpsc::channel::<()>());
        let writer = thread::spawn(move || {
            let mut file = OpenOptions::new().write(true).open(writing).unwrap();
            let bytes = rows_file(0..200, 3, Codec::Null);
            let last = rows_file(0..100, 3, Codec::Null).len();
            file.write_all(&bytes[..last]).unwrap();
            let _ = told.1.recv();
            file.write_all(&bytes[last..]).unwrap();
        });
        let threads = atds::Threads::Fixed(threads);
        let mut batches = rows(&path).threads(threads).build().unwrap().iter();
        // The whole blocks have 99 records: 12 batches of 8, and 3 records.
        for batch in 0..12 {
            let next = batches.next_within(Duration::from_secs(30));
            assert!(next.is_ready(), "batch {batch}");
        }
        assert!(batches.next_within(Duration::from_millis(50)).is_pending());
        drop(told.0);
        assert_eq!(batches.count(), 13);
        writer.join().unwrap();
    }
}

#[test]
fn what_a_pipe_has_is_named_when_it_is_no_avro_file() {
    let folder = Folder::new();
    for (name, bytes, expected) in [
        ("empty", &b""[..], "empty: byte 0: the file is empty"),
        (
            "text",
            b"hello, world, hello, world",
            "text: byte 0: not an Avro object",
        ),
    ] {
        let path = pipe(&folder, name);
        write(&path, bytes.to_vec());
        let error = rows(&path).build().map(drop).unwrap_err();
        assert!(folder.message(&error).starts_with(expected), "{error}");
    }
    let mut cut = rows_file(0..10, 3, Codec::Null);
    cut.truncate(cut.len() - 1);
    let path = pipe(&folder, "cut");
    write(&path, cut);
    let (ids, error) = read(rows(&path).build().unwrap().iter());
    assert_eq!(ids.concat(), Vec::from_iter(0..9));
    assert!(error.unwrap().to_string().contains("the file ends inside"));
    // Endless input is not read to its end.
    for error in [
        at_once(|| rows("/dev/zero").build().map(drop).unwrap_err()),
        at_once(|| inspect("/dev/zero").map(drop).unwrap_err()),
        at_once(|| Records::open("/dev/zero").map(drop).unwrap_err()),
    ] {
        assert!(
            error.to_string().starts_with("/dev/zero: byte 0: "),
            "{error}"
        );
    }
}

#[test]
fn a_pipe_is_inspected_in_one_pass() {
    let folder = Folder::new();
    let bytes = rows_file(0..5_000, 3, Codec::Deflate);
    let plain = inspect(folder.write("plain", &bytes)).unwrap();
    let path = pipe(&folder, "p");
    write(&path, bytes.clone());
    let found = inspect(&path).unwrap();
    assert_eq!(found.path, path);
    assert_eq!(found.records, 5_000);
    assert_eq!(found.file_bytes, bytes.len() as u64);
    assert_eq!(
        format!("{:?}", found.features),
        format!("{:?}", plain.features)
    );
    assert_eq!((found.paths, found.sampled), (plain.paths, plain.sampled));
    let path = pipe(&folder, "q");
    write(&path, bytes[..bytes.len() - 1].to_vec());
    let error = inspect(&path).unwrap_err();
    assert!(folder.message(&error).starts_with("q: block "), "{error}");
    let path = pipe(&folder, "r");
    write(&path, bytes);
    assert_eq!(Records::open(&path).unwrap().count(), 5_000);
}

#[test]
fn a_packed_pipe_is_unpacked() {
    let folder = Folder::new();
    let path = pipe(&folder, "p");
    let packed = zstd::encode_all(&rows_file(0..1_000, 3, Codec::Null)[..], 1).unwrap();
    write(&path, packed);
    let dataset = rows(&path).build().unwrap();
    assert_eq!(read_all(dataset.iter()).concat(), Vec::from_iter(0..1_000));
}
