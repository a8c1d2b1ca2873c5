//! Indexes of files that have changed since, which size and ends do not show, and indexes with false numbers.

use std::fs;

use atds::index::{IndexOptions, write_index_with};
use atds::{Codec, DatasetBuilder, FileFormat, Shuffle, Split, SplitBy, Threads};
use serde_json::Value;
use twox_hash::XxHash3_64;

use crate::common::{Row, SCHEMA, container};
use crate::layouts::{Indexed, RECORDS, example, len_of, orders, records};

/// The number of records of a file.
const OF_FILE: i64 = RECORDS / 3;

/// The middle file with other blocks, in the same size and with the same ends: of TFRecords a record is two, in an
/// Avro file a record is in the block before.
fn with_other_blocks(format: FileFormat) -> Vec<u8> {
    if format == FileFormat::TfRecord {
        // Of a record without its bytes that no feature reads.
        let around = example(0, 200).len() - 200 + 16;
        return records((OF_FILE..2 * OF_FILE).flat_map(|id| match id - OF_FILE {
            100 => vec![(id, 1000), (5000, len_of(id) - 1000 - around)],
            _ => vec![(id, len_of(id))],
        }));
    }
    let mut sizes = [30; 14];
    (sizes[5], sizes[6], sizes[13]) = (31, 29, 10);
    let mut next = OF_FILE;
    let blocks = sizes.map(|size| {
        let ids = next..next + size;
        next += size;
        let records = ids.flat_map(|id| Row::new(id).encode());
        (size as u64, records.collect())
    });
    container(SCHEMA, Codec::Null, blocks)
}

#[test]
fn blocks_that_are_not_those_of_the_index_are_an_error() {
    for format in [FileFormat::TfRecord, FileFormat::Avro] {
        let indexed = Indexed::new(format);
        let path = &indexed.files[1];
        let (before, now) = (fs::read(path).unwrap(), with_other_blocks(format));
        assert!(now.len() == before.len() && now != before);
        fs::write(path, now).unwrap();
        let is_told = |error: atds::Error| {
            let text = error.to_string();
            assert!(text.contains(&format!("1.{format}: ")), "{text}");
            let is_of_index = text.contains("other records, or blocks, than when it was indexed");
            assert!(
                is_of_index || text.contains("when they were counted"),
                "{text}"
            );
        };
        for (order, (arrange, _)) in orders().into_iter().enumerate() {
            let build = |builder: DatasetBuilder| {
                let builder = arrange(builder).threads(Threads::Fixed(1 + order % 3));
                builder.build().unwrap()
            };
            let (plain, stale) = (build(indexed.plain()), build(indexed.with_index()));
            let expected = indexed.ids(plain.iter());
            let (found, error) = indexed.read(stale.iter());
            is_told(error.unwrap());
            assert!(found.len() < expected.len());
            // What goes on loses no record, either.
            for given in (1..=found.len()).step_by(7) {
                let mut batches = stale.iter();
                let read = batches.by_ref().take(given).filter(Result::is_ok).count();
                let resumed = stale.resume(&batches.state().unwrap()).unwrap();
                let (_, error) = indexed.read(resumed);
                assert_eq!(read, given);
                is_told(error.unwrap());
            }
        }
    }
}

/// Changes the entry of each file in an index, and its hash.
fn forge(indexed: &Indexed, change: impl Fn(&mut Value)) {
    let index = fs::read(indexed.at()).unwrap();
    let mut out = Vec::new();
    let mut rest = &index[..];
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        let (line, after) = rest.split_at(end);
        rest = &after[1..];
        let Some((_, entry)) = line
            .split_at_checked(17)
            .filter(|(_, json)| json[0] == b'{')
        else {
            out.extend([line, b"\n"].concat());
            continue;
        };
        let mut entry: Value = serde_json::from_slice(entry).unwrap();
        let records = entry["blocks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_u64().unwrap());
        let hashes = match entry.get("values") {
            Some(_) => 8 * records.sum::<u64>() as usize,
            None => 0,
        };
        change(&mut entry);
        let entry = entry.to_string();
        let hash = XxHash3_64::oneshot(entry.as_bytes());
        out.extend(format!("{hash:016x} {entry}\n").into_bytes());
        out.extend(&rest[..hashes]);
        rest = &rest[hashes..];
    }
    fs::write(indexed.at(), out).unwrap();
}

#[test]
fn false_numbers_are_an_error() {
    type Change = (&'static str, fn(usize, u64) -> u64);
    let shifted = |at, n| match at {
        0 => n + 1,
        1 => n - 1,
        _ => n,
    };
    let changes: [Change; 15] = [
        ("start", |_, _| 0),
        ("start", |_, _| 7),
        ("start", |_, _| u64::MAX),
        ("size", |_, _| 0),
        ("size", |_, _| u64::MAX),
        ("sizes", |_, _| 0),
        ("sizes", |_, _| u64::MAX),
        ("sizes", |at, n| if at == 0 { 1 << 40 } else { n }),
        ("sizes", shifted),
        ("blocks", |_, _| u64::MAX),
        ("blocks", |_, _| u64::MAX / 8),
        ("blocks", |at, n| if at < 2 { n } else { u64::MAX }),
        ("blocks", |_, _| 1 << 40),
        ("blocks", |_, n| n + 1),
        ("blocks", shifted),
    ];
    let few = |by| Split::new("few", [("few", 0.1), ("rest", 0.9)]).by(by);
    let arrange: [&dyn Fn(DatasetBuilder) -> DatasetBuilder; 6] = [
        &|builder| builder,
        &|builder| builder.split(few(SplitBy::Block)),
        &|builder| builder.split(few(SplitBy::Record)),
        &|builder| builder.shuffle(Shuffle::Blocks),
        &|builder| builder.shuffle_blocks(true).split(few(SplitBy::Block)),
        &|builder| builder.interleave(2, 5).split(few(SplitBy::Block)),
    ];
    for format in [FileFormat::TfRecord, FileFormat::BTable, FileFormat::Avro] {
        let indexed = Indexed::new(format);
        let index = fs::read(indexed.at()).unwrap();
        let plain = arrange.map(|arrange| arrange(indexed.plain()).build().unwrap());
        let expected = plain.map(|plain| indexed.ids(plain.iter()).concat());
        for (number, (field, change)) in changes.into_iter().enumerate() {
            fs::write(indexed.at(), &index).unwrap();
            forge(&indexed, |entry| match &mut entry[field] {
                Value::Array(all) => {
                    let numbers = all.iter_mut().enumerate();
                    numbers.for_each(|(at, n)| *n = change(at, n.as_u64().unwrap()).into());
                }
                n => *n = change(0, n.as_u64().unwrap()).into(),
            });
            for (order, (arrange, expected)) in arrange.iter().zip(&expected).enumerate() {
                let Ok(dataset) = arrange(indexed.with_index()).build() else {
                    continue;
                };
                let what = format!("{format}, {field}, change {number}, order {order}");
                let (found, error) = indexed.read(dataset.iter());
                let found = found.concat();
                match error {
                    None => assert_eq!(found, *expected, "{what}"),
                    Some(_) => assert!(expected.starts_with(&found), "{what}"),
                }
                // Any number of records may be false, but ends nothing.
                let _ = dataset.num_records();
            }
        }
    }
}

/// Hashes would be looked for after the largest place in a file.
#[test]
fn an_index_of_more_hashes_than_a_file_has_bytes() {
    let indexed = Indexed::new(FileFormat::TfRecord);
    let mut options = IndexOptions::default();
    options.split_by = Some("id".to_owned());
    write_index_with(&indexed.files, indexed.at(), &options, |_| ()).unwrap();
    forge(&indexed, |entry| entry["blocks"] = [u64::MAX / 8].into());
    let error = indexed.with_index().build().unwrap_err();
    assert!(
        error.to_string().contains("line 2 of the index is damaged"),
        "{error}"
    );
}
