//! Faults of files that the option `tolerate` accepts, in all ways of reading: plain, mapped, by an
//! index, counted, in shards.

use atds::avro::records::{RecordOptions, Records};

use atds::{Codec, DatasetBuilder, Feature, Tolerate};
use avro_block::{Writer, WriterOptions};

use crate::common::{Folder, rows_file};

const TEXT: &str =
    r#"{"type": "record", "name": "r", "fields": [{"name": "s", "type": "string"}]}"#;

fn tolerate(names: &str) -> Tolerate {
    names.parse().unwrap()
}

/// Reading fails with an error that names an option.
#[track_caller]
fn fails_naming(builder: DatasetBuilder, option: &str) {
    let error = builder.build().unwrap().iter().find_map(Result::err);
    let text = error.unwrap().to_string();
    assert!(text.contains(option), "{text}");
}

/// The records, batches and figures of reading a file. Checks that all ways of reading agree.
fn read_all(builder: impl Fn() -> DatasetBuilder, rows: usize) -> Vec<atds::stats::Tolerated> {
    let ways: [&dyn Fn(DatasetBuilder) -> DatasetBuilder; 4] = [
        &|builder| builder,
        &|builder| builder.mmap(true),
        &|builder| builder.shuffle_blocks(true),
        &|builder| builder.mmap(true).shuffle_blocks(true),
    ];
    let figures = ways.map(|way| {
        let dataset = way(builder()).build().unwrap();
        assert_eq!(dataset.num_records().unwrap(), rows as u64);
        let mut batches = dataset.iter();
        let read: usize = batches.by_ref().map(|batch| batch.unwrap().rows()).sum();
        assert_eq!(read, rows);
        let shards = (0..3).map(|i| dataset.shard(i, 3).unwrap());
        let in_shards = shards.map(|shard| {
            let rows = shard.iter().map(|batch| batch.unwrap().rows());
            rows.sum::<usize>()
        });
        assert_eq!(in_shards.sum::<usize>(), rows);
        batches.stats().tolerated
    });
    figures.to_vec()
}

#[test]
fn bytes_after_the_last_block() {
    let folder = Folder::new();
    let whole = rows_file(0..20, 5, Codec::Deflate);
    for tail in [
        b"\n".to_vec(),
        vec![0; 4096],
        whole.clone(),
        b"some text".to_vec(),
    ] {
        let path = folder.write("x.avro", &[whole.clone(), tail.clone()].concat());
        let strict = || atds::Dataset::builder(&path, 8);
        fails_naming(strict(), "`tolerate` 'trailing-file-bytes'");
        let lenient = || strict().tolerate(tolerate("trailing-file-bytes"));
        for figures in read_all(lenient, 20) {
            assert_eq!(figures.trailing_file_bytes, tail.len() as u64);
        }
        let mut options = RecordOptions::default();
        options.tolerate = tolerate("trailing-file-bytes");
        let mut records = Records::open_with(&path, &options).unwrap();
        assert_eq!(records.by_ref().filter(Result::is_ok).count(), 20);
        assert_eq!(records.tolerated().trailing_file_bytes, tail.len() as u64);
    }
    // A file that is cut short stays an error.
    let path = folder.write("x.avro", &whole[..whole.len() - 5]);
    let dataset = atds::Dataset::builder(&path, 8).tolerate(Tolerate::everything());
    assert!(dataset.build().unwrap().iter().any(|batch| batch.is_err()));
}

/// A file of two blocks with two texts each; `behind` follows the texts of the first block.
fn texts(codec: Codec, behind: &[u8], first: &[u8]) -> Vec<u8> {
    let mut options = WriterOptions::with_codec(codec);
    options.sync = None;
    let mut writer = Writer::new(Vec::new(), TEXT, options).unwrap();
    let text = |bytes: &[u8]| [&[bytes.len() as u8 * 2], bytes].concat();
    let block = [text(first), text(b"b"), behind.to_vec()].concat();
    writer.write_block(2, &block).unwrap();
    writer
        .write_block(2, &[text(b"c"), text(b"d")].concat())
        .unwrap();
    writer.finish().unwrap()
}

#[test]
fn bytes_left_in_a_block() {
    let folder = Folder::new();
    for codec in [Codec::Null, Codec::Deflate, Codec::Zstandard] {
        let path = folder.write("x.avro", &texts(codec, b"left", b"a"));
        let strict = || atds::Dataset::builder(&path, 3);
        fails_naming(strict(), "`tolerate` 'trailing-block-bytes'");
        let lenient = || strict().tolerate(tolerate("trailing-block-bytes"));
        for figures in read_all(lenient, 4) {
            assert_eq!(figures.trailing_block_bytes, 4);
        }
    }
}

#[test]
fn checksums_that_are_wrong_or_missing() {
    let folder = Folder::new();
    let mut file = texts(Codec::Snappy, b"", b"a");
    // The checksum of the last block is just before its sync marker.
    let checksum = file.len() - 16 - 1;
    file[checksum] ^= 1;
    let path = folder.write("x.avro", &file);
    let strict = || atds::Dataset::builder(&path, 3);
    fails_naming(strict(), "`tolerate` 'checksum'");
    for figures in read_all(|| strict().tolerate(tolerate("checksum")), 4) {
        assert_eq!(figures.bad_checksums, 1);
    }
}

#[test]
fn text_that_is_not_utf8() {
    let folder = Folder::new();
    let path = folder.write("x.avro", &texts(Codec::Deflate, b"", b"gr\xfcn"));
    let strict = || atds::Dataset::builder(&path, 3);
    fails_naming(strict(), "`tolerate` 'utf8'");
    for figures in read_all(|| strict().tolerate(tolerate("utf8")), 4) {
        assert_eq!(figures.replaced_texts, 1);
    }
    let bytes = Feature::dense("s", &[], atds::DType::String).with_any_bytes();
    for figures in read_all(|| strict().features([bytes.clone()]), 4) {
        assert!(figures.is_empty());
    }
}

#[test]
fn limits_are_options_that_the_errors_name() {
    let folder = Folder::new();
    let path = folder.write("x.avro", &rows_file(0..20, 5, Codec::Deflate));
    let small = atds::Dataset::builder(&path, 8).max_block_bytes(10);
    fails_naming(small, "`max_block_bytes`");
    for depth in [0, 301] {
        let error = atds::Dataset::builder(&path, 8)
            .max_depth(depth)
            .build()
            .unwrap_err();
        assert!(error.to_string().contains("max_depth"), "{error}");
    }
}
