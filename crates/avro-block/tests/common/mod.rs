//! Shared parts of the tests: unusual bytes built by hand, and files in pieces.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)] // Each test file uses a part of this.

use std::ops::Range;

use avro_block::{
    Block, BlockIndex, Codec, Error, Frame, Framer, Header, IndexEntry, IndexScan, Limits, Scan,
    SyncMarker, TrailingBytes, Writer, WriterOptions,
};
use bytes::Bytes;

pub const SYNC: SyncMarker = SyncMarker(*b"0123456789abcdef");

/// Avro's `long`, written independently of the crate.
pub fn long(value: i64) -> Vec<u8> {
    let mut zigzag = if value < 0 {
        (!(value as u64)) * 2 + 1
    } else {
        value as u64 * 2
    };
    let mut bytes = Vec::new();
    loop {
        let low = (zigzag % 128) as u8;
        zigzag /= 128;
        if zigzag == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low + 128);
    }
}

/// The length of the bytes, then the bytes.
pub fn sized(bytes: &[u8]) -> Vec<u8> {
    [long(bytes.len() as i64), bytes.to_vec()].concat()
}

/// A block of the metadata map. A `negative` count comes with the block's size in bytes.
pub fn map_block(entries: &[(&str, &[u8])], negative: bool) -> Vec<u8> {
    let body: Vec<u8> = entries
        .iter()
        .flat_map(|(key, value)| [sized(key.as_bytes()), sized(value)].concat())
        .collect();
    let count = entries.len() as i64;
    let head = if negative {
        [long(-count), long(body.len() as i64)].concat()
    } else {
        long(count)
    };
    [head, body].concat()
}

/// A header with these map blocks.
pub fn header(map_blocks: &[Vec<u8>]) -> Vec<u8> {
    [
        b"Obj\x01".to_vec(),
        map_blocks.concat(),
        vec![0],
        SYNC.0.to_vec(),
    ]
    .concat()
}

/// A header with the schema `"long"` and without a codec.
pub fn plain_header() -> Vec<u8> {
    header(&[map_block(&[("avro.schema", b"\"long\"")], false)])
}

/// The bytes of a block in a file.
pub fn block(count: i64, payload: &[u8]) -> Vec<u8> {
    [long(count), sized(payload), SYNC.0.to_vec()].concat()
}

/// Options for a file with the tests' sync marker.
pub fn options(codec: Codec) -> WriterOptions {
    let mut options = WriterOptions::with_codec(codec);
    options.sync = Some(SYNC);
    options
}

/// A small file with three blocks of about 300, 40 and 0 decompressed bytes.
pub fn small_file(codec: Codec) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), "\"bytes\"", options(codec)).unwrap();
    let first: Vec<u8> = (0..300u32).map(|i| (i * i % 97) as u8).collect();
    writer.write_block(3, &first).unwrap();
    writer.write_block(2, &[7; 40]).unwrap();
    writer.write_block(0, &[]).unwrap();
    writer.finish().unwrap()
}

/// The complete output of a framer: the frames, then the error if there is one.
#[derive(Debug, Default, PartialEq)]
pub struct Told {
    pub header: Option<Header>,
    pub blocks: Vec<Block>,
    pub skipped: Vec<(u64, u64)>,
    pub skipped_bytes: u64,
    /// Number of bytes after the last block that were left out.
    pub trailing_bytes: u64,
    /// The texts of the errors, with all their fields.
    pub errors: Vec<String>,
}

/// Pushes `pieces` into `framer`. After an error, resyncs if `resync` is set, and ends otherwise.
pub fn tell(mut framer: Framer, pieces: impl IntoIterator<Item = Bytes>, resync: bool) -> Told {
    let mut told = Told::default();
    for piece in pieces {
        framer.push(piece);
        if !drain(&mut framer, resync, &mut told) {
            return told;
        }
    }
    while let Err(error) = framer.finish() {
        told.errors.push(format!("{error} {error:?}"));
        if !resync || !framer.resync() || !drain(&mut framer, resync, &mut told) {
            return told;
        }
    }
    told.skipped_bytes = framer.skipped_bytes();
    told.trailing_bytes = framer.trailing_bytes();
    told
}

/// Takes frames until the framer needs more bytes. Returns `false` at an error without `resync`.
fn drain(framer: &mut Framer, resync: bool, told: &mut Told) -> bool {
    loop {
        match framer.next() {
            Ok(Frame::Header(header)) => told.header = Some(header),
            Ok(Frame::Block(block)) => told.blocks.push(block),
            Ok(Frame::Skipped { offset, len }) => told.skipped.push((offset, len)),
            Ok(Frame::NeedMore(n)) => {
                assert!(n > 0);
                return true;
            }
            Ok(_) => unreachable!(),
            Err(error) => {
                told.errors.push(format!("{error} {error:?}"));
                if !resync || !framer.resync() {
                    return false;
                }
            }
        }
    }
}

/// A framer at the start of a file, with a choice about bytes after the last block.
pub fn framer(trailing: TrailingBytes) -> Framer {
    let mut framer = Framer::new();
    framer.set_trailing_bytes(trailing);
    framer
}

/// The output of a framer for `file` in one piece.
pub fn tell_whole(file: &[u8], resync: bool) -> Told {
    tell(Framer::new(), [Bytes::copy_from_slice(file)], resync)
}

/// `file` in pieces with the lengths `lens`, repeated until its end.
pub fn pieces(file: &[u8], lens: &[usize]) -> Vec<Bytes> {
    let mut rest = Bytes::copy_from_slice(file);
    let mut lens = lens.iter().cycle();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let len = lens.next().unwrap().min(&rest.len()).to_owned();
        pieces.push(rest.split_to(len));
    }
    pieces
}

/// The complete output of an index scan: the blocks, then the error if there is one.
#[derive(Debug, Default, PartialEq)]
pub struct Listed {
    pub header: Option<Header>,
    pub entries: Vec<IndexEntry>,
    /// Number of bytes after the last block that were left out.
    pub trailing_bytes: u64,
    /// The text of the error, with all its fields.
    pub error: Option<String>,
    /// The ranges that the scan asked for.
    pub needs: Vec<Range<u64>>,
}

/// The output of an index scan of a file of `file_len` bytes that has the bytes `file`. `answer` maps
/// a range that the scan asks for to the range that is pushed, as far as `file` has it.
pub fn list(
    file: &Bytes,
    file_len: u64,
    trailing: TrailingBytes,
    mut answer: impl FnMut(Range<u64>) -> Range<u64>,
) -> Listed {
    let mut scan = IndexScan::new(file_len, Limits::default(), trailing);
    let mut listed = Listed::default();
    loop {
        let step = scan.next();
        let last = match step.clone() {
            Ok(Scan::Header(header)) => {
                assert_eq!(listed.header.replace(header), None);
                continue;
            }
            Ok(Scan::Block(entry)) => {
                listed.entries.push(entry);
                continue;
            }
            Ok(Scan::Need(range)) => {
                assert!(range.start < range.end && range.end <= file_len);
                listed.needs.push(range.clone());
                let answer = answer(range.clone());
                assert!(answer.contains(&range.start), "{answer:?} for {range:?}");
                let end = answer.end.min(file.len() as u64);
                let bytes = if answer.start < end {
                    file.slice(answer.start as usize..end as usize)
                } else {
                    Bytes::new()
                };
                // Bytes before the range, and none in it, mean that the file ends there too.
                let is_end = end <= range.start;
                scan.push(answer.start, bytes);
                if is_end {
                    scan.push(range.start, Bytes::new());
                }
                continue;
            }
            Ok(Scan::End { trailing_bytes }) => {
                listed.trailing_bytes = trailing_bytes;
                None
            }
            Err(error) => Some(text(&error)),
        };
        let again = scan.next();
        assert_eq!(again.map_err(|e| text(&e)), step.map_err(|e| text(&e)));
        listed.error = last;
        return listed;
    }
}

/// The output of [`BlockIndex::before_damage`], which is that of an index scan.
pub fn list_whole(file: &[u8], trailing: TrailingBytes) -> Listed {
    let reader = std::io::Cursor::new(file);
    match BlockIndex::before_damage(reader, Limits::default(), trailing) {
        Ok((index, damage)) => Listed {
            header: Some(index.header),
            entries: index.entries,
            trailing_bytes: index.trailing_bytes,
            error: damage.map(|error| text(&error)),
            needs: Vec::new(),
        },
        Err(error) => Listed {
            error: Some(text(&error)),
            ..Listed::default()
        },
    }
}

/// The text of an error, with all its fields.
pub fn text(error: &Error) -> String {
    format!("{error} {error:?}")
}
