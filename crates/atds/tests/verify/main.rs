//! Verification and repair of damaged files.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod bounds;
mod kinds;
mod others;
mod random;
mod repaired;
mod told;

use std::fs;
use std::ops::Range;
use std::path::Path;

use atds::avro::repair::{Repaired, repair};
use atds::avro::verify::{Verified, verify};
use atds::{Codec, Dataset};
use avro_block::MappedBlocks;

use common::{Folder, Row, features, read_all, rows_file};

/// Number of blocks of [`file`], and of records in each.
const BLOCKS: usize = 6;
const PER_BLOCK: usize = 8;

/// A file without damage.
fn file(codec: Codec) -> Vec<u8> {
    rows_file(0..(BLOCKS * PER_BLOCK) as i64, PER_BLOCK, codec)
}

/// The range of each block in the bytes of a file.
fn ranges(bytes: &[u8]) -> Vec<Range<usize>> {
    let blocks = MappedBlocks::from_bytes(bytes.to_vec().into()).unwrap();
    let range = |block: avro_block::Block| {
        let start = block.offset as usize;
        start..start + block.len as usize
    };
    blocks.map(|block| range(block.unwrap())).collect()
}

/// The records of all blocks but those that are `lost`.
fn without(lost: &[usize]) -> Vec<i64> {
    let kept = (0..BLOCKS).filter(|block| !lost.contains(block));
    let ids = |block: usize| block * PER_BLOCK..(block + 1) * PER_BLOCK;
    kept.flat_map(|block| ids(block).map(|id| id as i64))
        .collect()
}

/// The records of a file, in order; every value of them is compared.
fn ids(path: &Path) -> Vec<i64> {
    let dataset = Dataset::builder(path, 7).features(features());
    read_all(dataset.build().unwrap().iter()).concat()
}

/// Verifies the bytes of a file, and repairs them. The repaired file must be well, and have the records
/// that were found to be.
fn repaired(folder: &Folder, bytes: &[u8]) -> (Verified, Option<Repaired>) {
    let (input, output) = (folder.write("in.avro", bytes), folder.join("out.avro"));
    let found = verify(&input).unwrap();
    let _ = fs::remove_file(&output);
    let repaired = repair(&input, &output).ok();
    assert_eq!(repaired.is_some(), output.exists());
    assert!(fs::read(&input).unwrap() == bytes, "the input stays");
    if let Some(repaired) = &repaired {
        let again = verify(&output).unwrap();
        assert!(again.is_well(), "{:?}", again.damages);
        assert_eq!((again.blocks, again.records), (found.blocks, found.records));
        assert_eq!(again.file_bytes, repaired.file_bytes);
        assert_eq!(repaired.found.lost, found.lost);
    }
    (found, repaired)
}

/// The bytes of a file with one record for each text, in blocks of one.
fn row_of(text: &str) -> Vec<u8> {
    let mut row = Row::new(0);
    row.text = text.to_owned();
    row.encode()
}
