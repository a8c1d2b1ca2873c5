//! What the framer and the scan say of a file, in any pieces: shared with the fuzz targets.

// Each test binary uses a part of this module.
#![allow(dead_code, unreachable_pub, missing_docs)]

use atds_tfrecord::{Frame, Framer, FramerOptions, Records, Scan, Scanned, check_block};
use bytes::Bytes;

/// What was found of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Index, offset, size, first record and number of records of each block.
    pub blocks: Vec<[u64; 5]>,
    /// The data of the records.
    pub records: Vec<Vec<u8>>,
    /// The errors.
    pub errors: Vec<String>,
    pub skipped: u64,
}

/// A file in pieces of the lengths `lens`, again and again.
pub fn pieces(file: &[u8], lens: &[usize]) -> Vec<Bytes> {
    let whole = Bytes::copy_from_slice(file);
    let (mut at, mut pieces) = (0, Vec::new());
    for &len in lens.iter().cycle() {
        if at == file.len() {
            break;
        }
        let end = (at + len.max(1)).min(file.len());
        pieces.push(whole.slice(at..end));
        at = end;
    }
    pieces
}

/// What a framer says of a file. With `resync`, it goes on after damage.
pub fn tell(
    options: &FramerOptions,
    pieces: impl IntoIterator<Item = Bytes>,
    resync: bool,
) -> Told {
    let mut framer = Framer::new(options.clone());
    let mut pieces = pieces.into_iter();
    let mut told = Told::default();
    loop {
        match framer.next() {
            Ok(Frame::Block(block)) => {
                let len = block.payload.len() as u64;
                let place = (block.offset, block.first_record, block.records);
                check_block(&block.payload, place, options).expect("the block is whole");
                let before = told.records.len() as u64;
                for record in Records::new(&block.payload) {
                    let record = record.expect("the block has whole records");
                    told.records.push(record.data.to_vec());
                }
                assert_eq!(told.records.len() as u64 - before, block.records);
                let found = [
                    block.index,
                    block.offset,
                    len,
                    block.first_record,
                    block.records,
                ];
                told.blocks.push(found);
            }
            Ok(Frame::NeedMore(n)) => {
                assert!(n > 0);
                match pieces.next() {
                    Some(piece) => framer.push(piece),
                    None => framer.end(),
                }
            }
            Ok(Frame::End) => break,
            Ok(_) => {}
            Err(error) => {
                told.errors.push(error.to_string());
                if !resync {
                    break;
                }
                framer.resync();
            }
        }
    }
    told.skipped = framer.skipped_bytes();
    told
}

/// What a scan says of a file, which gets `more` bytes beyond each range that it needs.
pub fn list(options: &FramerOptions, file: &[u8], more: usize, resync: bool) -> Told {
    let bytes = Bytes::copy_from_slice(file);
    let mut scan = Scan::new(file.len() as u64, options.clone());
    let mut told = Told::default();
    loop {
        match scan.next() {
            Ok(Scanned::Block(entry)) => {
                let range = entry.offset as usize..(entry.offset + entry.len) as usize;
                let place = (entry.offset, entry.first_record, entry.records);
                check_block(&file[range.clone()], place, options).expect("the block is whole");
                for record in Records::new(&file[range]) {
                    let record = record.expect("the block has whole records");
                    told.records.push(record.data.to_vec());
                }
                let found = [
                    entry.index,
                    entry.offset,
                    entry.len,
                    entry.first_record,
                    entry.records,
                ];
                told.blocks.push(found);
            }
            Ok(Scanned::Need { range, .. }) => {
                assert!(range.start < range.end && range.end <= file.len() as u64);
                let end = (range.start as usize + 1 + more).min(file.len());
                scan.push(range.start, bytes.slice(range.start as usize..end));
            }
            Ok(Scanned::End) => break,
            Ok(_) => {}
            Err(error) => {
                told.errors.push(error.to_string());
                if !resync {
                    break;
                }
                scan.resync();
            }
        }
    }
    told.skipped = scan.skipped_bytes();
    told
}
