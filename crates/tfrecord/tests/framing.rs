//! Framing: in any pieces, listed, after damage, and compressed.

#[path = "common/framing.rs"]
mod common;

use atds_tfrecord::{
    Checksums, Compression, FramerOptions, RecordReader, Scan, Scanned, Writer, check_block,
    masked_crc,
};
use bytes::Bytes;
use common::{Told, list, pieces, tell};
use proptest::prelude::*;

fn file_of(records: &[&[u8]]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for record in records {
        writer.write(record).expect("memory takes bytes");
    }
    assert_eq!(writer.records(), records.len() as u64);
    writer.finish().expect("memory takes bytes")
}

fn options(block_bytes: u64) -> FramerOptions {
    let mut options = FramerOptions::default();
    options.block_bytes = block_bytes;
    options
}

fn whole(options: &FramerOptions, file: &[u8], resync: bool) -> Told {
    tell(options, pieces(file, &[file.len().max(1)]), resync)
}

/// As TensorFlow 2.21 writes it: `tf.io.TFRecordWriter`, the records `b"hello"` and `b""`.
const OF_TENSORFLOW: &[u8] = b"\x05\0\0\0\0\0\0\0\xea\xb2\x04\x3ehello\xbb\x1f\x1c\x19\
    \0\0\0\0\0\0\0\0\x29\x03\x98\x07\xd8\xea\x82\xa2";

#[test]
fn the_writer_writes_what_tensorflow_writes() {
    assert_eq!(
        masked_crc(b"hello"),
        u32::from_le_bytes(*b"\xbb\x1f\x1c\x19")
    );
    assert_eq!(file_of(&[b"hello", b""]), OF_TENSORFLOW);
}

#[test]
fn blocks_end_with_the_record_that_fills_them() {
    let file = file_of(&[&[1; 10], &[2; 10], &[3; 10], &[4; 60], &[5; 10]]);
    let told = whole(&options(50), &file, false);
    assert_eq!(
        told.blocks,
        [[0, 0, 52, 0, 2], [1, 52, 102, 2, 2], [2, 154, 26, 4, 1]]
    );
    let told = whole(&options(0), &file, false);
    assert_eq!(told.blocks.len(), 5);
    assert_eq!(whole(&options(0), b"", false), Told::default());
}

#[test]
fn any_pieces_and_the_list_give_the_same() {
    let records: Vec<Vec<u8>> = (0..9u8).map(|i| vec![i; usize::from(i) * 3]).collect();
    let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
    let file = file_of(&records);
    for at in 0..=file.len() {
        let mut changed = file.clone();
        if let Some(byte) = changed.get_mut(at) {
            *byte ^= 0x55;
        }
        for file in [&file[..at], &changed] {
            for resync in [false, true] {
                let options = options(60);
                let expected = whole(&options, file, resync);
                for lens in [&[1][..], &[3, 50], &[17]] {
                    assert_eq!(tell(&options, pieces(file, lens), resync), expected);
                }
                for more in [0, 11, 1000] {
                    let listed = list(&options, file, more, resync);
                    assert_eq!(listed, expected, "{at} {more} {resync}");
                }
            }
        }
    }
}

#[test]
fn a_damaged_length_loses_one_record() {
    let file = file_of(&[b"one", b"two", b"three"]);
    let mut damaged = file.clone();
    damaged[19] ^= 1;
    let told = whole(&options(1000), &damaged, false);
    assert_eq!(told.records, [b"one"]);
    assert_eq!(
        told.errors,
        ["record 1 at byte 19: the length 2 has the checksum 0x56b03f80, but 0x7fb3d86b is stored: \
          the length is damaged, or the file is no TFRecord file"
            .to_owned()]
        .map(|expected| {
            // The two checksums are those of 2 and 3.
            let of = |len: u64| masked_crc(&len.to_le_bytes());
            let expected = expected.replace("0x56b03f80", &format!("{:#010x}", of(2)));
            expected.replace("0x7fb3d86b", &format!("{:#010x}", of(3)))
        })
    );
    let told = whole(&options(1000), &damaged, true);
    assert_eq!(told.records, [&b"one"[..], b"three"]);
    assert_eq!(told.skipped, 19);
    assert_eq!(told.blocks, [[0, 0, 19, 0, 1], [2, 38, 21, 1, 1]]);
}

#[test]
fn checksums_can_be_ignored_and_are_counted() {
    let mut file = file_of(&[b"one", b"two"]);
    file[9] ^= 1;
    file[17] ^= 1;
    let mut ignoring = options(1000);
    ignoring.checksums = Checksums::Ignore;
    let mut reader = RecordReader::new(&file[..], ignoring).expect("memory can be read");
    let mut found = Vec::new();
    while let Some(record) = reader.next().expect("checksums are ignored") {
        found.push(record.to_vec());
    }
    assert_eq!(found, [b"one", b"two"]);
    assert_eq!((reader.records(), reader.unverified()), (2, 2));

    let mut reader = RecordReader::new(&file[..], options(1000)).expect("memory can be read");
    let error = reader
        .next()
        .expect_err("the length is damaged")
        .to_string();
    assert!(
        error.starts_with("record 0 at byte 0: the length 3 has the checksum"),
        "{error}"
    );
}

#[test]
fn a_damaged_record_is_one_error_and_the_next_one_is_read() {
    let mut file = file_of(&[b"one", b"two"]);
    file[12] ^= 1;
    let mut reader = RecordReader::new(&file[..], options(1000)).expect("memory can be read");
    let error = reader.next().expect_err("the data is damaged").to_string();
    assert!(
        error.starts_with("record 0 at byte 0: the data has the checksum 0x"),
        "{error}"
    );
    assert_eq!(
        reader.next().expect("the next one is whole"),
        Some(&b"two"[..])
    );
    assert_eq!(reader.next().expect("the file ends"), None);
    assert_eq!(reader.unverified(), 0);
}

#[test]
fn a_length_above_the_limit_is_an_error_before_memory_is_made() {
    let len = u64::MAX.to_le_bytes();
    let mut file = len.to_vec();
    file.extend(masked_crc(&len).to_le_bytes());
    let told = whole(&options(0), &file, false);
    assert_eq!(
        told.errors,
        [
            "record 0 at byte 0: the record has 18446744073709551615 bytes, above the limit of \
          1073741824"
        ]
    );
    let mut small = options(0);
    small.limits.max_record_bytes = 4;
    let told = whole(&small, &file_of(&[b"four", b"fives"]), false);
    assert_eq!(told.records, [b"four"]);
    assert_eq!(
        told.errors,
        ["record 1 at byte 20: the record has 5 bytes, above the limit of 4"]
    );
    // Without checksums and without a limit, a length may be anything.
    let mut any = options(0);
    any.checksums = Checksums::Ignore;
    any.limits.max_record_bytes = u64::MAX;
    let told = whole(&any, &file, false);
    assert_eq!(told.errors.len(), 1);
    assert_eq!(list(&any, &file, 0, false), told);
}

#[test]
fn a_block_that_changed_is_an_error() {
    let file = file_of(&[b"one", b"two"]);
    let options = options(1000);
    check_block(&file, (0, 0, 2), &options).expect("the block is whole");
    for records in [0, 1, 3] {
        let error = check_block(&file, (7, 5, records), &options).expect_err("another count");
        assert_eq!(
            error.to_string(),
            "record 5 at byte 7: the records are not those that were listed: the file has changed \
             since"
        );
    }
}

fn read_all(file: &[u8]) -> Result<(Vec<Vec<u8>>, Compression), String> {
    let mut reader = RecordReader::new(file, options(100)).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    while let Some(record) = reader.next().map_err(|error| error.to_string())? {
        found.push(record.to_vec());
    }
    Ok((found, reader.compression()))
}

#[test]
fn compressed_files_are_read_and_their_damage_is_an_error() {
    let records: Vec<Vec<u8>> = (0..100u8).map(|i| vec![i; 20]).collect();
    for compression in [Compression::None, Compression::Gzip, Compression::Zlib] {
        for level in [0, 1, 6, 9] {
            let mut writer = Writer::compressed(Vec::new(), compression, level);
            for record in &records {
                writer.write(record).expect("memory takes bytes");
            }
            assert_eq!(writer.compression(), compression);
            let file = writer.finish().expect("memory takes bytes");
            assert_eq!(read_all(&file), Ok((records.clone(), compression)));
            for cut in [1, 10, file.len() / 2 + 5] {
                read_all(&file[..file.len() - cut]).expect_err("the file is cut");
            }
            if compression != Compression::None {
                let more = [&file[..], b"more"].concat();
                read_all(&more).expect_err("bytes follow");
            }
        }
    }
    // Members of gzip, one after another, are one file.
    let mut members = Vec::new();
    for record in &records {
        let mut writer = Writer::compressed(Vec::new(), Compression::Gzip, 6);
        writer.write(record).expect("memory takes bytes");
        members.extend(writer.finish().expect("memory takes bytes"));
    }
    assert_eq!(read_all(&members), Ok((records, Compression::Gzip)));
    assert_eq!(read_all(b""), Ok((Vec::new(), Compression::None)));
}

/// 560,927 in little-endian is the header of a gzip file without a name and a time.
#[test]
fn a_length_that_looks_like_gzip_is_a_length() {
    for len in [560_927, 0x0178, 0x5e78, 0x9c78, 0xda78] {
        let record = vec![7; len];
        let file = file_of(&[&record]);
        assert_eq!(Compression::of_head(&file), Compression::None);
        assert_eq!(read_all(&file), Ok((vec![record], Compression::None)));
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..20),
        block_bytes in 0..200u64,
        lens in prop::collection::vec(1..70usize, 1..4),
    ) {
        let slices: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        let file = file_of(&slices);
        let options = options(block_bytes);
        let told = tell(&options, pieces(&file, &lens), false);
        prop_assert_eq!(&told.records, &records);
        prop_assert_eq!(list(&options, &file, lens[0], false), told);
    }

    #[test]
    fn any_bytes_give_the_same_in_any_pieces(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        lens in prop::collection::vec(1..70usize, 1..4),
        resync: bool,
    ) {
        let options = options(40);
        let expected = whole(&options, &bytes, resync);
        prop_assert_eq!(tell(&options, pieces(&bytes, &lens), resync), expected.clone());
        prop_assert_eq!(list(&options, &bytes, lens[0], resync), expected);
    }
}

/// Whoever reads ahead has the bytes that are asked for next, also where a record lies in two pieces. Large records
/// are passed over.
#[test]
fn a_scan_of_small_records_asks_for_all_bytes_in_turn() {
    for (record, is_all) in [(300, true), (1_000_000, false)] {
        let record = vec![7; record];
        let file = file_of(&[&record[..]; 30]);
        let bytes = Bytes::from(file);
        let mut scan = Scan::new(bytes.len() as u64, FramerOptions::default());
        let (mut pushed, mut jumps) = (0, 0);
        loop {
            match scan.next().expect("the file is whole") {
                Scanned::Need { range, .. } => {
                    jumps += usize::from(range.start != pushed);
                    let end = bytes.len().min(range.start as usize + 1_000);
                    scan.push(range.start, bytes.slice(range.start as usize..end));
                    pushed = end as u64;
                }
                Scanned::End => break,
                _ => {}
            }
        }
        assert_eq!(jumps, if is_all { 0 } else { 29 });
    }
}
