//! Files that are missing, or change while they are read.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;

use atds::avro::inspect;
use atds::{Codec, Dataset, Error, ErrorKind, FileFormat};

use crate::Messages;
use crate::common::{Folder, features, read, rows_file};

fn build_error(folder: &Folder, files: &[&str]) -> Error {
    let files: Vec<PathBuf> = files.iter().map(|file| folder.join(file)).collect();
    let builder = Dataset::builder(files, 1).format(FileFormat::Avro);
    builder.features(features()).build().map(drop).unwrap_err()
}

#[test]
fn what_is_not_there() {
    let mut messages = Messages::default();
    let folder = Folder::new();
    folder.write("a.avro", &rows_file(0..3, 1, Codec::Null));
    folder.write("notes.txt", b"");
    fs::create_dir(folder.join("empty")).unwrap();
    fs::create_dir(folder.join("none")).unwrap();
    folder.write("none/data.csv", b"");
    let mut case = |files: &[&str], expected: &str| {
        let found = folder.message(&build_error(&folder, files));
        messages.check(&files.join(" "), found, expected);
    };
    case(&[], "no files were given");
    case(
        &["a.avro", "missing.avro", "a.avro"],
        "missing.avro: No such file or directory (os error 2)",
    );
    case(
        &["missing/x.avro"],
        "missing/x.avro: No such file or directory (os error 2)",
    );
    case(
        &["empty"],
        "empty: no Avro files there (a folder's files are those named *.avro): the folder is empty",
    );
    case(
        &["none"],
        "none: no Avro files there (a folder's files are those named *.avro), but 1 other file: \
         give 'none/data.csv'",
    );
    case(
        &["*.parquet"],
        "*.parquet: no file matches this pattern, but 2 folders and 2 other files: give '*.avro'",
    );
    case(
        &["a.avro", "none/*.avro"],
        "none/*.avro: no file matches this pattern, but 1 other file: give 'none/data.csv'",
    );
    case(
        &["[a.avro"],
        "[a.avro: no such file, and not a pattern: invalid range pattern",
    );
    case(&["a.avro/b"], "a.avro/b: Not a directory (os error 20)");
    case(&["notes.txt"], "notes.txt: byte 0: the file is empty");
}

#[test]
fn what_the_system_does_not_read_is_its_error() {
    let folder = Folder::new();
    fs::create_dir(folder.join("a.avro")).unwrap();
    let error = inspect(folder.join("a.avro")).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Io(_)));
    assert_eq!(
        folder.message(&error),
        "a.avro: it is a folder: give a file that is in it"
    );
}

#[test]
fn a_file_that_is_gone_when_its_turn_comes() {
    for shuffle_blocks in [false, true] {
        let folder = Folder::of_rows(3, 4, 2, Codec::Null);
        let dataset = folder
            .rows(4)
            .shuffle_blocks(shuffle_blocks)
            .build()
            .unwrap();
        fs::remove_file(folder.join("01.avro")).unwrap();
        let (ids, error) = read(dataset.iter());
        assert_eq!(ids.concat().len(), 4);
        assert_eq!(
            folder.message(&error.unwrap()),
            "01.avro: No such file or directory (os error 2)"
        );
        let error = dataset.total_bytes().unwrap_err();
        assert_eq!(
            folder.message(&error),
            "01.avro: No such file or directory (os error 2)"
        );
    }
}

/// Cuts a file to `len` bytes, as another process could.
fn cut(path: &PathBuf, len: u64) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(len).unwrap();
}

#[test]
fn a_file_cut_short_between_building_and_reading() {
    for mmap in [false, true] {
        let folder = Folder::of_rows(1, 10, 2, Codec::Null);
        let dataset = folder.rows(2).mmap(mmap).build().unwrap();
        let path = folder.join("00.avro");
        cut(&path, fs::metadata(&path).unwrap().len() - 1);
        let (ids, error) = read(dataset.iter());
        assert_eq!(ids.concat(), (0..8).collect::<Vec<_>>());
        assert_eq!(
            folder.message(&error.unwrap()),
            "00.avro: block 4 at byte 1051: the file ends inside the sync marker, 1 or more bytes short"
        );
    }
}

#[test]
fn a_file_cut_short_between_two_epochs() {
    for mmap in [false, true] {
        let folder = Folder::of_rows(1, 10, 2, Codec::Deflate);
        let dataset = folder.rows(10).mmap(mmap).build().unwrap();
        assert_eq!(read(dataset.epoch(0)).0.concat().len(), 10);
        cut(&folder.join("00.avro"), 0);
        let (ids, error) = read(dataset.epoch(1));
        assert!(ids.is_empty());
        assert_eq!(
            folder.message(&error.unwrap()),
            "00.avro: byte 0: the file is empty"
        );
    }
}

/// A file may be cut while it is read without a map. Reading then gives whole records and an error,
/// however far the reader is ahead.
#[test]
fn a_file_cut_short_while_it_is_read() {
    for (shuffle_blocks, inside) in [(false, 0), (false, 20), (true, 0), (true, 20)] {
        let folder = Folder::of_rows(1, 20_000, 10, Codec::Null);
        let dataset = folder.rows(10).prefetch(0).shuffle_blocks(shuffle_blocks);
        // What may be ahead is far below the size of the file, so the reader has not read all of it. A list
        // of the blocks counts, too.
        let limit = if shuffle_blocks { 1_000_000 } else { 20_000 };
        let mut batches = dataset.memory_limit(limit).build().unwrap().iter();
        batches.next().unwrap().unwrap();
        let path = folder.join("00.avro");
        let bytes = fs::read(&path).unwrap();
        let (first, sync) = (&bytes[..bytes.len() / 2], &bytes[bytes.len() - 16..]);
        // What is left ends where a block ends, or inside one.
        let end = first.windows(16).rposition(|found| found == sync);
        cut(&path, (end.unwrap() + 16 - inside) as u64);
        let (ids, error) = read(batches);
        let error = error.unwrap();
        assert!(ids.concat().len() < 20_000);
        assert!(
            error.to_string().contains("the file shrank from "),
            "{error}"
        );
    }
}

/// In a mapped file, the reader notices a cut before it frames the next block.
#[test]
fn a_mapped_file_cut_short_while_it_is_read() {
    let folder = Folder::of_rows(1, 20_000, 10, Codec::Null);
    let dataset = folder.rows(10).mmap(true).prefetch(0);
    // The limit is far below the size of the file, so the part that is cut off has not been framed.
    let mut batches = dataset.memory_limit(20_000).build().unwrap().iter();
    batches.next().unwrap().unwrap();
    let path = folder.join("00.avro");
    let (whole, half) = {
        let len = fs::metadata(&path).unwrap().len();
        (len, len / 2)
    };
    cut(&path, half);
    let (ids, error) = read(batches);
    assert!(ids.concat().len() < 10_000);
    assert_eq!(
        folder.message(&error.unwrap()),
        format!("00.avro: the file shrank from {whole} to {half} bytes while it was read")
    );
}

/// If the cut is in a part that was framed already, reading may end the process: see the next test.
#[test]
#[ignore = "run by the next test, in a process of its own"]
fn mapped_and_cut_below_the_window() {
    let folder = Folder::of_rows(1, 20_000, 10, Codec::Null);
    let dataset = folder.rows(10).mmap(true).shuffle_buffer_size(5_000);
    let mut batches = dataset.build().unwrap().iter();
    batches.next().unwrap().unwrap();
    cut(&folder.join("00.avro"), 0);
    // `read` compares every value with its record.
    let (_, error) = read(batches);
    assert!(error.is_some());
}

#[test]
#[cfg(target_os = "linux")]
fn a_mapped_file_cut_below_the_window_is_an_error_or_ends_the_process() {
    use std::os::unix::process::ExitStatusExt;

    let child = "files::mapped_and_cut_below_the_window";
    // The folder also removes files that the child leaves.
    let folder = Folder::new();
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args([child, "--exact", "--ignored"])
        .env("TMPDIR", folder.path())
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    const SIGBUS: i32 = 7;
    assert!(
        status.success() || status.signal() == Some(SIGBUS),
        "{status}"
    );
}

#[test]
fn inspect_says_the_same_as_reading() {
    let folder = Folder::new();
    let mut bytes = rows_file(0..10, 2, Codec::Null);
    bytes.pop();
    let path = folder.write("x.avro", &bytes);
    let error = inspect(&path).unwrap_err();
    let reading = read(folder.rows(3).build().unwrap().iter()).1.unwrap();
    assert_eq!(folder.message(&error), folder.message(&reading));
    assert_eq!(
        folder.message(&error),
        "x.avro: block 4 at byte 1051: the file ends inside the sync marker, 1 or more bytes short"
    );

    let mut bytes = rows_file(0..10, 2, Codec::Null);
    let at = bytes.len() - 20;
    bytes[at] = 0xff;
    folder.write("x.avro", &bytes);
    assert!(inspect(&path).is_err());
    let error = inspect(folder.join("y.avro")).unwrap_err();
    assert_eq!(
        folder.message(&error),
        "y.avro: No such file or directory (os error 2)"
    );
}
