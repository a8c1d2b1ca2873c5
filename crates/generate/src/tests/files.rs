//! Writing records to files.

use std::fs;
use std::path::Path;

use avro_block::{BlockReader, DecompressBuffer, Decompressor};

use crate::*;

#[test]
#[cfg(feature = "deflate")]
fn the_seed_fixes_the_files() {
    let write = |seed| {
        let dir = tempfile::tempdir().unwrap();
        let mut options = GenerateOptions::new(Preset::Strings, 100);
        options.files = 3;
        options.codec = Codec::Deflate;
        options.seed = seed;
        let generated = generate(dir.path(), &options).unwrap();
        let files = generated.files.iter().map(|path| fs::read(path).unwrap());
        files.collect::<Vec<_>>()
    };
    assert_eq!(write(7), write(7));
    let (a, b) = (write(7), write(8));
    assert!(a.iter().zip(&b).all(|(a, b)| a != b));
    assert_ne!(
        a[0][a[0].len() - 16..],
        a[1][a[1].len() - 16..],
        "sync markers"
    );
}

#[test]
#[cfg(feature = "deflate")]
fn the_records_do_not_depend_on_files_codec_and_blocks() {
    let write = |files, codec, block_bytes| {
        let dir = tempfile::tempdir().unwrap();
        let mut options = GenerateOptions::new(Preset::Varlen, 101);
        (options.files, options.codec, options.block_bytes) = (files, codec, block_bytes);
        let generated = generate(dir.path(), &options).unwrap();
        let contents: Vec<_> = generated.files.iter().map(|path| contents(path)).collect();
        let counts: Vec<u64> = contents.iter().map(|(count, _)| *count).collect();
        let bytes: Vec<u8> = contents.into_iter().flat_map(|(_, bytes)| bytes).collect();
        assert_eq!(bytes.len() as u64, generated.decompressed_bytes);
        let sizes = generated
            .files
            .iter()
            .map(|path| fs::metadata(path).unwrap().len());
        assert_eq!(sizes.sum::<u64>(), generated.raw_bytes);
        (counts, bytes)
    };
    let (counts, one) = write(1, Codec::Null, 16_000);
    assert_eq!(counts, [101]);
    let (counts, many) = write(4, Codec::Deflate, 100);
    assert_eq!(counts, [25, 25, 25, 26]);
    assert!(one == many);
}

#[test]
fn progress_ends_with_all_records() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = GenerateOptions::new(Preset::Varlen, 1_000);
    options.files = 3;
    let mut told = Vec::new();
    generate_with_progress(dir.path(), &options, |records| told.push(records)).unwrap();
    assert!(told.is_sorted());
    assert!(told.len() > 3);
    assert_eq!(told.last(), Some(&1_000));
}

#[test]
fn more_files_than_records_are_files_without_records() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = GenerateOptions::new(Preset::Wide, 2);
    options.files = 5;
    let generated = generate(dir.path(), &options).unwrap();
    let counts = generated.files.iter().map(|path| contents(path).0);
    assert_eq!(counts.sum::<u64>(), 2);
}

#[test]
fn errors_say_what_and_where() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = GenerateOptions::new(Preset::Ads, 1);
    options.files = 0;
    let error = generate(dir.path(), &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write records to 0 files: there must be 1 to 100000"
    );

    options.files = 2;
    generate(dir.path(), &options).unwrap();
    generate(dir.path(), &options).expect("files of the same names are written anew");
    options.files = 1;
    let error = generate(dir.path(), &options).unwrap_err();
    let left = dir.path().join("part-00001.avro");
    assert!(matches!(error.kind, GenerateErrorKind::FolderInUse));
    assert_eq!(error.path.as_ref(), Some(&left));
    let expected = "would stay beside the new files: remove it or choose another folder";
    assert_eq!(error.to_string(), format!("{} {expected}", left.display()));

    let error = generate(&left, &options).unwrap_err();
    assert!(matches!(error.kind, GenerateErrorKind::Io(_)));
    assert_eq!(error.path.as_ref(), Some(&left));
}

/// The number of a file's records, and their bytes.
fn contents(path: &Path) -> (u64, Vec<u8>) {
    let blocks = BlockReader::new(fs::File::open(path).unwrap()).unwrap();
    let codec = blocks.header().codec();
    let (mut decompressor, mut decompressed) = (Decompressor::new(), DecompressBuffer::new());
    let (mut count, mut bytes) = (0, Vec::new());
    for block in blocks {
        let block = block.unwrap();
        decompressor
            .decompress(codec, &block.payload, &mut decompressed, 1 << 20)
            .unwrap();
        count += block.count;
        bytes.extend_from_slice(&decompressed);
    }
    (count, bytes)
}
