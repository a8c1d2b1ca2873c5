//! Files of other programs, packed files, and several files at once.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use atds::avro::verify::{VerifyOptions, verify, verify_files};
use atds::files::Packing;
use atds::{Codec, Files, Threads};
use flate2::write::GzEncoder;

use crate::common::Folder;
use crate::{BLOCKS, PER_BLOCK, file, ranges};

fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata")
        .join(name)
}

#[test]
fn files_of_other_programs_are_well() {
    let files = Files::from(testdata("")).recursive(true).resolve().unwrap();
    assert!(files.len() > 40);
    for file in files {
        let found = verify(&file).unwrap();
        assert!(found.is_well(), "{:?}", found.damages);
    }
}

#[test]
fn files_are_told_in_their_order_for_any_number_of_threads() {
    let folder = Folder::new();
    let mut files = Vec::new();
    for i in 0..20 {
        let mut bytes = file(if i % 2 == 0 {
            Codec::Null
        } else {
            Codec::Snappy
        });
        if i % 3 == 0 {
            let end = bytes.len();
            bytes.truncate(end - i);
        }
        files.push(folder.write(&format!("{i}.avro"), &bytes));
    }
    files.push(folder.join("gone.avro"));
    let all_bytes: u64 = files
        .iter()
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .sum();
    for threads in [1, 3, 50] {
        let mut options = VerifyOptions::default();
        options.threads = Threads::Fixed(threads);
        let (read, mut found) = (AtomicU64::new(0), Vec::new());
        let on_read = |bytes| {
            read.fetch_add(bytes, Relaxed);
        };
        verify_files(&files, &options, on_read, |file| found.push(file)).unwrap();
        assert!(found.iter().map(|file| &file.path).eq(&files));
        for (i, file) in found.iter().enumerate() {
            let is_cut = i % 3 == 0 && i > 0;
            assert_eq!(file.is_well(), i < 20 && !is_cut, "{i}");
        }
        assert_eq!(found[20].damages[0].cause.name(), "unreadable");
        assert_eq!(read.into_inner(), all_bytes);
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn packed_files_are_unpacked() {
    let folder = Folder::new();
    let mut bytes = file(Codec::Null);
    let blocks = ranges(&bytes);
    let packed = gzip(&bytes);
    let found = verify(folder.write("x.avro.gz", &packed)).unwrap();
    assert!(found.is_well());
    assert_eq!(
        (found.packing, found.file_bytes),
        (Some(Packing::Gzip), packed.len() as u64)
    );

    let found = verify(folder.write("x.avro.gz", &packed[..packed.len() - 40])).unwrap();
    assert_eq!(
        (found.lost.parts, found.damages[0].cause.name()),
        (1, "cut")
    );
    let offset = blocks[found.blocks as usize].start as u64;
    assert_eq!(found.damages[0].offset, offset);

    let more = [&packed[..], b"more"].concat();
    let found = verify(folder.write("x.avro.gz", &more)).unwrap();
    assert_eq!(found.damages[0].cause.name(), "after-the-end");
    assert_eq!((found.lost.parts, found.blocks), (1, BLOCKS as u64));

    let frames = zstd::encode_all(&bytes[..], 3).unwrap();
    assert!(
        verify(folder.write("x.avro.zst", &frames))
            .unwrap()
            .is_well()
    );
    let found = verify(folder.write("x.avro.zst", &frames[..frames.len() - 9])).unwrap();
    assert_eq!(
        (found.lost.parts, found.damages[0].cause.name()),
        (1, "cut")
    );

    let mut wrong = packed.clone();
    let end = wrong.len();
    wrong[end - 6] ^= 1;
    let found = verify(folder.write("x.avro.gz", &wrong)).unwrap();
    assert_eq!(
        (found.records, found.lost.parts),
        ((BLOCKS * PER_BLOCK) as u64, 1)
    );

    bytes[blocks[1].end - 1] ^= 1;
    let path = folder.write("x.avro.gz", &gzip(&bytes));
    let output = folder.join("out.avro");
    let repaired = atds::avro::repair::repair(&path, &output).unwrap();
    assert_eq!(repaired.found.damages[0].offset, blocks[1].start as u64);
    assert!(repaired.found.damages[0].error.place.unpacked);
    assert_eq!(crate::ids(&output), crate::without(&[1]));
}

/// A pipe is read once, so its blocks are checked against the marker of its header only.
#[test]
#[cfg(unix)]
fn a_pipe_is_read_once() {
    let folder = Folder::new();
    let pipe = folder.join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    let whole = file(Codec::Deflate);
    let verified = |bytes: Vec<u8>| {
        let end = pipe.clone();
        let writer = std::thread::spawn(move || std::fs::write(end, bytes));
        let found = verify(&pipe).unwrap();
        writer.join().unwrap().unwrap();
        found
    };
    let found = verified(whole.clone());
    assert!(found.is_well());
    assert_eq!(
        (found.blocks, found.file_bytes),
        (BLOCKS as u64, whole.len() as u64)
    );
    let mut bytes = whole.clone();
    bytes[ranges(&whole)[0].start - 1] ^= 1;
    let found = verified(bytes);
    assert_eq!((found.blocks, found.lost.unknown), (0, 1));
    assert!(!verified(Vec::new()).is_well());
}
