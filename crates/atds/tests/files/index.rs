//! Indexes of record counts.

use std::fs;
use std::path::{Path, PathBuf};

use atds::error::ErrorKind;
use atds::index::{IndexFault, write_index};
use atds::limits::MAX_INDEX_LINE;
use atds::{Codec, Dataset, Error};
use atds_generate::{GenerateOptions, Preset, generate};

const RECORDS: [u64; 3] = [40, 40, 40];

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut options = GenerateOptions::new(Preset::Ads, RECORDS.iter().sum());
    (options.files, options.codec, options.block_bytes) = (3, Codec::Null, 6_000);
    let mut files = generate(folder, &options).unwrap().files;
    files.sort();
    files
}

/// The counts of a data set in a folder, with the index there.
fn counts(folder: &Path) -> Result<Vec<u64>, Error> {
    let builder = Dataset::builder(folder, 16).index(folder.join("index"));
    Ok(builder.build()?.file_records()?.to_vec())
}

/// Damages the marker of the first block, so that the file cannot be framed. The size and the ends stay.
fn break_framing(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let marker = bytes[bytes.len() - 16..].to_vec();
    let mut markers = (0..bytes.len() - 16).filter(|&at| bytes[at..at + 16] == marker);
    // The first is that of the header.
    let at = markers.nth(1).unwrap();
    assert!((4096..bytes.len() - 4096).contains(&at));
    bytes[at] ^= 1;
    fs::write(file, bytes).unwrap();
}

fn fault(result: Result<Vec<u64>, Error>) -> IndexFault {
    let error = result.unwrap_err();
    let path = error.place.location.as_ref().and_then(|at| at.path());
    assert_eq!(path.unwrap().file_name().unwrap(), "index");
    match error.kind {
        ErrorKind::Index(fault) => fault,
        kind => panic!("{kind}"),
    }
}

#[test]
fn counts_are_not_counted_again() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, moved) = (folder.path().join("a"), folder.path().join("b"));
    fs::create_dir(&folder).unwrap();
    let files = files(&folder);
    let indexed = write_index(&files, folder.join("index")).unwrap();
    assert_eq!((indexed.files, indexed.records), (3, 120));
    let bytes: u64 = files
        .iter()
        .map(|file| file.metadata().unwrap().len())
        .sum();
    assert_eq!(indexed.bytes, bytes);
    let plain = Dataset::builder(&*folder, 16).build().unwrap();
    assert_eq!(plain.file_records().unwrap().to_vec(), RECORDS);
    break_framing(&files[1]);
    assert!(plain.file_records().is_err());
    assert_eq!(counts(&folder).unwrap(), RECORDS);
    // All is moved together, and read by another path.
    fs::rename(&folder, &moved).unwrap();
    assert_eq!(counts(&moved).unwrap(), RECORDS);
    assert_eq!(counts(&moved.join("../b")).unwrap(), RECORDS);
    // The index alone is elsewhere: its paths lead nowhere.
    fs::copy(moved.join("index"), moved.parent().unwrap().join("index")).unwrap();
    let elsewhere = Dataset::builder(&*moved, 16).index(moved.parent().unwrap().join("index"));
    assert!(elsewhere.build().unwrap().file_records().is_err());
    // An index elsewhere has absolute paths.
    fs::remove_file(moved.join("part-00001.avro")).unwrap();
    let other = tempfile::tempdir().unwrap();
    let files = [moved.join("part-00000.avro"), moved.join("part-00002.avro")];
    write_index(&files, other.path().join("index")).unwrap();
    break_framing(&files[0]);
    let builder = Dataset::builder(&*moved, 16).index(other.path().join("index"));
    assert_eq!(builder.build().unwrap().num_records().unwrap(), 80);
}

#[test]
fn files_that_have_changed_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    write_index(&files, folder.path().join("index")).unwrap();
    // Another size.
    let one = tempfile::tempdir().unwrap();
    let other = generate(one.path(), &GenerateOptions::new(Preset::Ads, 70)).unwrap();
    fs::copy(&other.files[0], &files[0]).unwrap();
    // The same size, and another end.
    let mut bytes = fs::read(&files[2]).unwrap();
    let len = bytes.len();
    bytes[len - 1] ^= 1;
    fs::write(&files[2], &bytes).unwrap();
    let error = counts(folder.path()).unwrap_err();
    assert_eq!(error.place.location.unwrap().path(), Some(&*files[2]));
    bytes[len - 1] ^= 1;
    fs::write(&files[2], &bytes).unwrap();
    assert_eq!(counts(folder.path()).unwrap(), [70, 40, 40]);
    // A file that the index lacks.
    fs::copy(&files[1], folder.path().join("part-9.avro")).unwrap();
    assert_eq!(counts(folder.path()).unwrap(), [70, 40, 40, 40]);
    // It is replaced by one of all files.
    let mut all = files.clone();
    all.push(folder.path().join("part-9.avro"));
    write_index(&all, folder.path().join("index")).unwrap();
    for file in &all[1..] {
        break_framing(file);
    }
    assert_eq!(counts(folder.path()).unwrap(), [70, 40, 40, 40]);
}

#[test]
fn states_are_those_without_an_index() {
    let folder = tempfile::tempdir().unwrap();
    write_index(&files(folder.path()), folder.path().join("index")).unwrap();
    let builder = || Dataset::builder(folder.path(), 16).shuffle_buffer_size(40);
    let plain = builder().build().unwrap();
    let with_index = builder().index(folder.path().join("index"));
    let with_index = with_index.build().unwrap();
    let mut batches = plain.iter();
    batches
        .by_ref()
        .take(3)
        .for_each(|batch| drop(batch.unwrap()));
    let state = batches.state().unwrap();
    let mut others = with_index.iter();
    others
        .by_ref()
        .take(3)
        .for_each(|batch| drop(batch.unwrap()));
    assert_eq!(others.state().unwrap(), state);
    let resumed = with_index.resume(&state).unwrap();
    let text = |batch| atds::tensors::batch_to_json(&batch).to_string();
    let resumed: Vec<_> = resumed.map(|batch| text(batch.unwrap())).collect();
    assert_eq!(resumed.len(), 5);
    assert_eq!(
        resumed,
        batches
            .map(|batch| text(batch.unwrap()))
            .collect::<Vec<_>>()
    );
}

#[test]
fn packed_files() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    for file in &files {
        let packed = zstd::encode_all(&*fs::read(file).unwrap(), 1).unwrap();
        fs::write(file, packed).unwrap();
    }
    write_index(&files, folder.path().join("index")).unwrap();
    assert_eq!(counts(folder.path()).unwrap(), RECORDS);
    // It is not unpacked.
    let mut bytes = fs::read(&files[0]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&files[0], bytes).unwrap();
    assert_eq!(counts(folder.path()).unwrap(), RECORDS);
}

#[test]
fn damaged_indexes_are_errors_or_right() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    write_index(&files(folder.path()), &index).unwrap();
    let whole = fs::read(&index).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&index, &bytes).unwrap();
        let fault = fault(counts(folder.path()));
        match whole[..at].iter().filter(|&&byte| byte == b'\n').count() {
            0 => assert!(matches!(
                fault,
                // One of an earlier version does not say where blocks are.
                IndexFault::NotAnIndex
                    | IndexFault::Version { .. }
                    | IndexFault::Damaged { line: 2 }
            )),
            before => {
                let line = before as u64 + 1;
                assert_eq!(fault, IndexFault::Damaged { line }, "{at}");
            }
        }
    }
    for len in 0..whole.len() {
        fs::write(&index, &whole[..len]).unwrap();
        // Whole lines are an index of fewer files.
        if let Ok(counts) = counts(folder.path()) {
            assert_eq!((counts, whole[len - 1]), (RECORDS.to_vec(), b'\n'));
        }
    }
    let long = [b"atds index 1\n".to_vec(), vec![b'1'; 3 * MAX_INDEX_LINE]].concat();
    fs::write(&index, long).unwrap();
    assert_eq!(
        fault(counts(folder.path())),
        IndexFault::TooLong { line: 2 }
    );
    fs::write(&index, "atds index 4\n").unwrap();
    let found = "4".to_owned();
    assert_eq!(fault(counts(folder.path())), IndexFault::Version { found });
    fs::remove_file(&index).unwrap();
    let missing = counts(folder.path()).unwrap_err();
    assert!(matches!(missing.kind, ErrorKind::Io(_)), "{missing}");
}

#[test]
fn nothing_else_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    let error = write_index(&files, &files[0]).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Exists));
    // A damaged file: the index that was there stays, and nothing else is left.
    let index = folder.path().join("index");
    write_index(&files, &index).unwrap();
    let before = fs::read(&index).unwrap();
    break_framing(&files[1]);
    let error = write_index(&files, &index).unwrap_err();
    assert_eq!(error.place.location.unwrap().path(), Some(&*files[1]));
    assert_eq!(fs::read(&index).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}
