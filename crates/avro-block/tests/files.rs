//! Whole files: written, read back plainly and mapped, indexed, read block by block.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::{Cursor, Seek, Write};

use avro_block::{
    BlockIndex, BlockReader, Codec, Compressor, ContainerPart, DecompressBuffer, Decompressor,
    ErrorKind, MappedBlocks, Writer, WriterOptions, block_at, map_file, read_block_at,
};
use bytes::Bytes;
use common::*;

/// Records with one byte to a few hundred bytes.
fn records() -> Vec<Vec<u8>> {
    (0..500usize)
        .map(|i| vec![i as u8; i * 7 % 300 + 1])
        .collect()
}

fn write(options: WriterOptions) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), "\"bytes\"", options).unwrap();
    for record in records() {
        writer.append(&record).unwrap();
    }
    writer.finish().unwrap()
}

/// All records of `file`, joined, and their number.
fn read(file: &[u8]) -> (Vec<u8>, u64) {
    let blocks = BlockReader::new(file).unwrap();
    let codec = blocks.header().codec();
    let (mut decompressor, mut out) = (Decompressor::new(), DecompressBuffer::new());
    let (mut bytes, mut count) = (Vec::new(), 0);
    for block in blocks {
        let block = block.unwrap();
        decompressor
            .decompress(codec, &block.payload, &mut out, 1 << 24)
            .unwrap();
        bytes.extend_from_slice(&out);
        count += block.count;
    }
    (bytes, count)
}

#[test]
fn what_is_written_is_read() {
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_enabled()) {
        for block_bytes in [0, 1000, 16_000, 1 << 30] {
            let mut options = options(codec);
            options.block_bytes = block_bytes;
            let (bytes, count) = read(&write(options));
            assert_eq!(count, 500, "{codec} {block_bytes}");
            assert!(bytes == records().concat(), "{codec} {block_bytes}");
        }
    }
}

#[test]
fn blocks_are_closed_at_their_size() {
    let mut options = options(Codec::Null);
    options.block_bytes = 1000;
    let file = write(options);
    let index = BlockIndex::from_bytes(&file.into()).unwrap();
    let (last, whole) = index.entries.split_last().unwrap();
    assert!(whole.iter().all(|e| (1000..1300).contains(&e.payload_len)));
    assert!(last.payload_len < 1300);
    assert_eq!(index.records(), 500);
}

#[test]
fn the_header_is_written_as_asked() {
    let mut options = options(Codec::Null);
    options.metadata = vec![("b".into(), vec![0xff]), ("a".into(), vec![])];
    let file = write(options);
    let header = BlockReader::new(&file[..]).unwrap().header().clone();
    let keys: Vec<_> = header.metadata().iter().map(|(k, _)| k.as_str()).collect();
    assert_eq!(keys, ["avro.schema", "avro.codec", "b", "a"]);
    assert_eq!(header.schema(), "\"bytes\"");
    assert_eq!(header.get("avro.codec"), Some(&b"null"[..]));
    assert_eq!(header.get("b"), Some(&b"\xff"[..]));
    assert_eq!(header.sync(), SYNC);
}

#[test]
fn reserved_metadata_is_refused() {
    let mut options = options(Codec::Null);
    options.metadata = vec![("avro.codec".into(), b"deflate".to_vec())];
    let mut out = Vec::new();
    let error = Writer::new(&mut out, "\"bytes\"", options).unwrap_err();
    assert!(matches!(&error.kind, ErrorKind::ReservedKey(key) if key == "avro.codec"));
    assert!(out.is_empty());
}

#[test]
fn sync_markers_differ_from_file_to_file() {
    let marker = || {
        let writer = Writer::new(Vec::new(), "\"int\"", WriterOptions::default());
        writer.unwrap().sync()
    };
    let (first, second) = (marker(), marker());
    assert_ne!(first, second);
    assert_ne!(first.0[..8], first.0[8..]);
}

#[test]
fn a_file_of_no_records_is_its_header() {
    let writer = Writer::new(Vec::new(), "\"int\"", options(Codec::Null)).unwrap();
    let written = writer.bytes_written();
    let file = writer.finish().unwrap();
    assert_eq!(file.len() as u64, written);
    assert_eq!(BlockReader::new(&file[..]).unwrap().count(), 0);
    assert!(BlockIndex::from_bytes(&file.into()).unwrap().is_empty());
}

/// A writer that fails after some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = bytes.len().min(self.0);
        self.0 -= n;
        match n {
            0 => Err(std::io::Error::other("no space left")),
            n => Ok(n),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_error_of_writing_names_the_block() {
    let header = plain_header().len() + 20; // The header has `avro.codec`, which the plain one lacks.
    let mut writer = Writer::new(Full(header + 100), "\"long\"", options(Codec::Null)).unwrap();
    let offset = writer.bytes_written();
    writer.write_block(1, &[0; 10]).unwrap();
    let error = writer.write_block(1, &[0; 100]).unwrap_err();
    let text = format!("block 1 at byte {}: no space left", offset + 28);
    assert_eq!(error.to_string(), text);
}

#[test]
fn mapped_equals_read() {
    let mut file = tempfile::tempfile().unwrap();
    assert!(map_file(&file).unwrap().is_empty());
    let bytes = write(options(Codec::Null));
    file.write_all(&bytes).unwrap();
    let mapped = map_file(&file).unwrap();
    assert_eq!(mapped, bytes);
    let of_map: Result<Vec<_>, _> = MappedBlocks::from_bytes(mapped).unwrap().collect();
    file.rewind().unwrap();
    let of_reads: Result<Vec<_>, _> = BlockReader::new(&file).unwrap().collect();
    assert_eq!(of_map.unwrap(), of_reads.unwrap());
}

#[test]
fn single_blocks_are_read_by_the_index() {
    let mut options = options(Codec::Null);
    options.block_bytes = 3000;
    let bytes = Bytes::from(write(options));
    let index = BlockIndex::build(Cursor::new(&bytes)).unwrap();
    let blocks: Vec<_> = BlockReader::new(&bytes[..])
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(index.len() > 10);
    for (i, entry) in index.entries.iter().enumerate().rev() {
        let i = i as u64;
        let read = read_block_at(Cursor::new(&bytes), &index.header, entry.offset, i).unwrap();
        assert_eq!(read, blocks[i as usize]);
        let sliced = block_at(&bytes, &index.header, entry.offset, i).unwrap();
        assert_eq!(sliced, read);
    }
}

#[test]
fn no_block_is_read_where_none_begins() {
    let bytes = Bytes::from(write(options(Codec::Null)));
    let header = BlockReader::new(&bytes[..]).unwrap().header().clone();
    for offset in [bytes.len() as u64, bytes.len() as u64 + 5, u64::MAX] {
        for result in [
            read_block_at(Cursor::new(&bytes), &header, offset, 3),
            block_at(&bytes, &header, offset, 3),
        ] {
            let error = result.unwrap_err();
            assert!(
                matches!(
                    error.kind,
                    ErrorKind::Truncated {
                        part: ContainerPart::RecordCount,
                        ..
                    }
                ),
                "{error:?}"
            );
            assert_eq!((error.offset, error.block), (offset, Some(3)));
        }
    }
    assert!(block_at(&bytes, &header, header.len() + 1, 0).is_err());
}

/// A file may be cut while the index reads it.
#[test]
fn an_index_of_a_file_cut_meanwhile_is_an_error() {
    /// A file whose declared length differs from its length.
    struct Cut(Cursor<Vec<u8>>, u64);
    impl std::io::Read for Cut {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(out)
        }
    }
    impl Seek for Cut {
        fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
            match to {
                std::io::SeekFrom::End(0) => Ok(self.1),
                to => self.0.seek(to),
            }
        }
    }
    let file = [plain_header(), block(1, &[1; 100])].concat();
    let len = file.len() as u64;
    let cut = file[..file.len() - 20].to_vec();
    let error = BlockIndex::build(Cut(Cursor::new(cut), len)).unwrap_err();
    assert!(
        matches!(error.kind, ErrorKind::Truncated { .. }),
        "{error:?}"
    );
}

#[test]
fn a_payload_error_carries_the_position_it_is_given() {
    if !Codec::Deflate.is_enabled() {
        assert!(Compressor::new(Codec::Deflate, None).is_err());
        return;
    }
    let mut out = DecompressBuffer::new();
    let error = Decompressor::new()
        .decompress(Codec::Deflate, &[0xff; 9], &mut out, 100)
        .map_err(|error| avro_block::Error::new(error, 48123, Some(3)))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "block 3 at byte 48123: corrupt deflate payload: not a deflate stream, or one that ends early"
    );
}

#[test]
fn blocks_and_errors_may_change_threads() {
    fn share<T: Send + Sync>() {}
    share::<avro_block::Block>();
    share::<avro_block::Error>();
}

#[test]
fn a_writer_copies_the_header_and_the_blocks_of_a_file() {
    // Metadata in two blocks, with a key of the specification's and one that occurs twice.
    let odd = header(&[
        map_block(
            &[("avro.schema", b"\"long\""), ("avro.other", b"\xff")],
            true,
        ),
        map_block(&[("twice", b"1"), ("twice", b"2")], false),
    ]);
    let plain = [odd, block(2, &[2, 4]), block(0, &[]), block(1, &[6])].concat();
    let with = |codec| small_file(codec);
    for file in [
        plain,
        with(Codec::Deflate),
        with(Codec::Zstandard),
        with(Codec::Snappy),
    ] {
        let mut blocks = MappedBlocks::from_bytes(file.clone().into()).unwrap();
        let mut writer = Writer::with_header(Vec::new(), blocks.header()).unwrap();
        for block in &mut blocks {
            writer.copy_block(&block.unwrap()).unwrap();
        }
        let len = writer.bytes_written();
        let copy = writer.finish().unwrap();
        assert_eq!(len, copy.len() as u64);
        let mut again = MappedBlocks::from_bytes(copy.clone().into()).unwrap();
        assert_eq!(again.header().metadata(), blocks.header().metadata());
        assert_eq!(again.header().sync(), blocks.header().sync());
        let counts = (&mut again).map(|block| block.unwrap().payload);
        let expected = MappedBlocks::from_bytes(file.into()).unwrap();
        assert!(counts.eq(expected.map(|block| block.unwrap().payload)));
    }
}

#[test]
fn the_marker_can_be_set_after_the_header() {
    let mut file = small_file(Codec::Null);
    let at = MappedBlocks::from_bytes(file.clone().into())
        .unwrap()
        .header()
        .len() as usize;
    file[at - 1] ^= 1;
    let mut blocks = MappedBlocks::from_bytes(file.into()).unwrap();
    blocks.set_sync(SYNC);
    assert_eq!(blocks.header().sync(), SYNC);
    assert_eq!(blocks.by_ref().filter_map(Result::ok).count(), 3);
}
