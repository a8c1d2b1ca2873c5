//! TFRecord files as data sets: as plain and compressed files, shuffled, counted, damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use atds::{DType, Dataset, Feature, FileFormat, Fill, Layout, Scalar, Threads};
use atds_tfrecord::{Compression, Writer};

/// A folder that is removed at the end of its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("atds-tfrecord-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a folder can be made");
        Folder(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("the path is text")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn delimited(field: u8, bytes: &[u8]) -> Vec<u8> {
    assert!(bytes.len() < 128);
    [&[field << 3 | 2, bytes.len() as u8], bytes].concat()
}

fn entry(key: &str, kind: u8, list: &[u8]) -> Vec<u8> {
    let feature = delimited(kind, list);
    let entry = [delimited(1, key.as_bytes()), delimited(2, &feature)].concat();
    delimited(1, &entry)
}

/// The Example of record `i`: `id`, a list `n` of `i % 4` numbers, and the text `s`, which every
/// third record lacks.
fn example(i: u8) -> Vec<u8> {
    let id = entry("id", 3, &delimited(1, &[i]));
    let numbers: Vec<u8> = (0..i % 4).collect();
    let list = entry("n", 3, &delimited(1, &numbers));
    let text = entry("s", 1, &delimited(1, format!("text {i}").as_bytes()));
    let text = if i.is_multiple_of(3) {
        Vec::new()
    } else {
        text
    };
    delimited(1, &[id, list, text].concat())
}

fn write(path: &Path, records: std::ops::Range<u8>, compression: Compression) {
    let mut writer = Writer::compressed(Vec::new(), compression, 6);
    for i in records {
        writer.write(&example(i)).expect("memory takes bytes");
    }
    let bytes = writer.finish().expect("memory takes bytes");
    fs::write(path, bytes).expect("the file can be written");
}

fn features() -> Vec<Feature> {
    vec![
        Feature::fixed_len("id", &[], DType::Int64),
        Feature::var_len("n[*]", DType::Int64).with_layout(Layout::Ragged),
        Feature::fixed_len("s", &[], DType::String)
            .with_default(Fill::Scalar(Scalar::String(b"none".to_vec()))),
    ]
}

/// The rows of a data set, as `(id, n, s)`.
fn rows(dataset: &Dataset) -> Vec<(i64, Vec<i64>, String)> {
    let mut rows = Vec::new();
    for batch in dataset {
        let batch = batch.expect("the files are whole");
        let ids = batch.dense::<i64>("id").expect("a dense column");
        let lists = batch.ragged::<i64>("n[*]").expect("a ragged column");
        let texts = batch.strings("s").expect("a column of strings");
        for (i, &id) in ids.iter().enumerate() {
            let text = texts.get(i).expect("a text for each row");
            let text = String::from_utf8(text.to_vec()).expect("it is ASCII");
            rows.push((id, lists.row(i).to_vec(), text));
        }
    }
    rows
}

fn expected(records: std::ops::Range<u8>) -> Vec<(i64, Vec<i64>, String)> {
    let row = |i: u8| {
        let text = if i.is_multiple_of(3) {
            "none".to_owned()
        } else {
            format!("text {i}")
        };
        (i64::from(i), (0..i64::from(i % 4)).collect(), text)
    };
    records.map(row).collect()
}

#[test]
fn files_of_any_compression_give_the_same_rows() {
    let folder = Folder::new("compression");
    for (name, compression) in [
        ("plain.tfrecord", Compression::None),
        ("packed.tfrecord.gz", Compression::Gzip),
        ("tensorflow.tfrecords", Compression::Gzip),
        ("zlib.tfrecord", Compression::Zlib),
        ("train.tfrecord-00000-of-00002", Compression::None),
        ("any-name", Compression::None),
        ("any-name-packed", Compression::Zlib),
    ] {
        let path = folder.0.join(name);
        write(&path, 0..100, compression);
        for threads in [1, 3] {
            let builder = Dataset::builder(path.to_str().expect("text"), 7).features(features());
            let dataset = builder
                .threads(Threads::Fixed(threads))
                .build()
                .expect("the file is whole");
            assert_eq!(rows(&dataset), expected(0..100), "{name}");
        }
    }
}

#[test]
fn a_folder_is_shuffled_the_same_by_any_threads() {
    let folder = Folder::new("shuffled");
    for (i, start) in [0u8, 40, 80].into_iter().enumerate() {
        let name = format!("train.tfrecord-0000{i}-of-00003");
        write(&folder.0.join(name), start..start + 40, Compression::None);
    }
    let read = |threads, seed| {
        let builder = Dataset::builder(folder.path(), 16).features(features());
        let builder = builder
            .threads(Threads::Fixed(threads))
            .shuffle_buffer_size(50)
            .seed(seed);
        rows(&builder.build().expect("the files are whole"))
    };
    let one = read(1, 3);
    assert_eq!(read(4, 3), one);
    assert_ne!(read(1, 4), one);
    let mut sorted = one;
    sorted.sort();
    assert_eq!(sorted, expected(0..120));
}

#[test]
fn records_are_counted_and_shared() {
    let folder = Folder::new("counted");
    write(&folder.0.join("a.tfrecord"), 0..90, Compression::None);
    write(&folder.0.join("b.tfrecord"), 90..101, Compression::None);
    let builder = || Dataset::builder(folder.path(), 8).features(features());
    let dataset = builder().build().expect("the files are whole");
    assert_eq!(dataset.num_records().expect("the files can be read"), 101);
    let mut all = Vec::new();
    for rank in 0..3 {
        let part = dataset.shard(rank, 3).expect("the files can be read");
        all.extend(rows(&part));
    }
    all.sort();
    assert_eq!(all, expected(0..101));
}

#[test]
fn features_are_inferred_from_the_first_records() {
    let folder = Folder::new("inferred");
    let path = folder.0.join("a.tfrecord");
    write(&path, 0..90, Compression::None);
    let dataset = Dataset::builder(folder.path(), 90)
        .build()
        .expect("the files are whole");
    let sampled: Vec<_> = dataset
        .sampled()
        .iter()
        .map(|s| (&*s.feature, s.records))
        .collect();
    assert_eq!(sampled, [("id", 90)]);
    let batch = dataset
        .iter()
        .next()
        .expect("a batch")
        .expect("the file is whole");
    assert_eq!(batch.dense::<i64>("id").expect("a dense column").len(), 90);
    assert_eq!(
        batch.sparse::<i64>("n").expect("coordinates").dense_shape,
        [90, 3]
    );
    assert_eq!(
        batch.column("s").expect("a column").form().to_string(),
        "sparse"
    );
}

#[test]
fn damage_is_an_error_with_its_place_and_costs_its_record_by_choice() {
    let folder = Folder::new("damaged");
    let path = folder.0.join("a.tfrecord");
    write(&path, 0..20, Compression::None);
    let mut bytes = fs::read(&path).expect("the file can be read");
    let before: usize = (0..5).map(|i| example(i).len() + 16).sum();
    // In the data of record 5.
    bytes[before + 14] ^= 1;
    fs::write(&path, &bytes).expect("the file can be written");
    let builder = || Dataset::builder(folder.path(), 4).features(features());
    let dataset = builder().build().expect("the first record is whole");
    let error = dataset
        .iter()
        .find_map(Result::err)
        .expect("a record is damaged");
    let text = error.to_string();
    assert!(
        text.contains("a.tfrecord") && text.contains("record 5"),
        "{text}"
    );
    assert!(text.contains("the data has the checksum 0x"), "{text}");
    let dataset = builder().on_error(atds::OnError::SkipBlock).build();
    let found = rows(&dataset.expect("the first record is whole"));
    let mut left = expected(0..20);
    left.remove(5);
    assert_eq!(found, left);
    // In the length of record 9.
    let after: usize = (0..9).map(|i| example(i).len() + 16).sum();
    bytes[before + 14] ^= 1;
    bytes[after] ^= 1;
    fs::write(&path, &bytes).expect("the file can be written");
    let dataset = builder().on_error(atds::OnError::SkipBlock).build();
    let found = rows(&dataset.expect("the first record is whole"));
    let mut left = expected(0..20);
    left.remove(9);
    assert_eq!(found, left);
}

/// The bytes of other records are not kept where a split has few of a block: places in errors are as if they were.
#[test]
fn damage_has_its_place_where_few_records_are_in_the_split() {
    let folder = Folder::new("damaged-split");
    let path = folder.0.join("a.tfrecord");
    write(&path, 0..120, Compression::None);
    let whole = fs::read(&path).expect("the file can be read");
    let builder = || Dataset::builder(folder.path(), 4).features(features());
    let of_split = |builder: atds::DatasetBuilder| {
        builder.split(atds::Split::new("few", [("few", 0.05), ("most", 0.95)]))
    };
    let error = |builder: atds::DatasetBuilder| {
        let dataset = builder.build().expect("the first record is whole");
        let error = dataset.iter().find_map(Result::err);
        error.expect("a record is damaged").to_string()
    };
    let members = rows(&of_split(builder()).build().expect("the file is whole"));
    assert!((2..12).contains(&members.len()), "{}", members.len());
    let listed = |builder: atds::DatasetBuilder| builder.shuffle_blocks(true).mmap(true);
    for (id, ..) in &members {
        let before: usize = (0..*id as u8).map(|i| example(i).len() + 16).sum();
        let mut bytes = whole.clone();
        // In its data, which then has another checksum.
        bytes[before + 14] ^= 1;
        fs::write(&path, &bytes).expect("the file can be written");
        let of_all = error(builder());
        assert!(of_all.contains(&format!("record {id}")), "{of_all}");
        assert_eq!(error(of_split(builder())), of_all);
        assert_eq!(error(listed(of_split(builder()))), of_all);
        let left = of_split(builder()).on_error(atds::OnError::SkipBlock);
        let found = rows(&left.build().expect("the first record is whole"));
        let expected = members.iter().filter(|(other, ..)| other != id);
        assert!(found.iter().eq(expected), "{found:?}");
    }
}

/// Its bytes are most of its block's, and both do not fit.
#[test]
fn a_large_record_of_a_split_needs_no_more_memory_than_of_all_records() {
    let folder = Folder::new("large-member");
    let path = folder.0.join("a.tfrecord");
    write(&path, 0..120, Compression::None);
    let builder = || {
        let id = Feature::fixed_len("id", &[], DType::Int64);
        let builder = Dataset::builder(folder.path(), 4).features([id]);
        builder
            .memory_limit(3_500_000)
            .reader_buffer_size(1 << 16)
            .mmap(true)
    };
    let ids = |builder: atds::DatasetBuilder| -> Vec<i64> {
        let dataset = builder.build().expect("the file is whole");
        let batches = dataset.iter().map(|batch| batch.expect("it fits"));
        let ids = batches.map(|batch| batch.dense::<i64>("id").expect("a dense column").to_vec());
        ids.flatten().collect()
    };
    let few = || builder().split(atds::Split::new("few", [("few", 0.05), ("most", 0.95)]));
    let members = ids(few());
    let mut writer = Writer::new(Vec::new());
    for i in 0..120 {
        let mut record = example(i);
        if i64::from(i) == members[1] {
            // An unknown field of 2^21 bytes.
            record.extend([0x7a, 0x80, 0x80, 0x80, 1]);
            record.resize(record.len() + (1 << 21), 0);
        }
        writer.write(&record).expect("memory takes bytes");
    }
    let bytes = writer.finish().expect("memory takes bytes");
    fs::write(&path, bytes).expect("the file can be written");
    for listed in [false, true] {
        let all = ids(builder().shuffle_blocks(listed));
        assert_eq!(all.len(), 120);
        let mut found = ids(few().shuffle_blocks(listed));
        found.sort();
        assert_eq!(found, members, "listed: {listed}");
    }
}

#[test]
fn two_formats_are_an_error_and_so_are_features_of_another() {
    let folder = Folder::new("two");
    write(&folder.0.join("a.tfrecord"), 0..2, Compression::None);
    fs::write(folder.0.join("b.avro"), b"Obj\x01").expect("the file can be written");
    let builder = || Dataset::builder(folder.path(), 4).features(features());
    let error = builder().build().expect_err("two formats").to_string();
    assert!(
        error.contains("b.avro") && error.contains("a.tfrecord"),
        "{error}"
    );
    let dataset = builder().format(FileFormat::TfRecord).build();
    assert_eq!(
        rows(&dataset.expect("the Avro file is left out")),
        expected(0..2)
    );
    let lists = Feature::var_len_of_rank("a", DType::Int64, 2);
    let builder = Dataset::builder(folder.0.join("a.tfrecord").to_str().expect("text"), 4);
    let error = builder
        .features([lists])
        .build()
        .expect_err("two dimensions")
        .to_string();
    assert!(
        error.contains("feature 'a': a key has one list of values"),
        "{error}"
    );
}
