//! Splits by the values of a field, in files of each format.

use std::fs;
use std::path::PathBuf;

use atds::index::{IndexOptions, write_index, write_index_with};
use atds::state::State;
use atds::{
    Codec, DType, Dataset, DatasetBuilder, Error, ErrorKind, Feature, OnError, Shuffle, Split,
    SplitBy, SplitFault, Threads,
};
use atds_tfrecord::{Example, FeatureValues};
use avro_decode::encode::write_long;
use twox_hash::XxHash3_64;

use crate::common::{Folder, container};

const FORMATS: [&str; 3] = ["avro", "tfrecord", "btable"];
const PARTS: [(&str, f64); 3] = [("train", 0.7), ("valid", 0.1), ("test", 0.2)];
const RECORDS: i64 = 240;

/// The user of a record: users have records in all files, and far apart.
fn user(id: i64) -> i64 {
    id * 31 % 97 - 7
}

fn name_of(user: i64) -> String {
    format!("user {user}")
}

/// Three files of records with `id`, `user`, and but for BTables `name` and in Avro `nested.user`.
fn write_files(folder: &Folder, format: &str) -> Vec<PathBuf> {
    let files = (0..3).map(|file| {
        let ids = file * RECORDS..(file + 1) * RECORDS;
        let path = folder.join(&format!("{file}.{format}"));
        match format {
            "avro" => {
                let schema = r#"{"type": "record", "name": "R", "fields": [
                    {"name": "id", "type": "long"}, {"name": "user", "type": ["null", "int"]},
                    {"name": "name", "type": "string"}, {"name": "price", "type": "double"},
                    {"name": "nested", "type": {"type": "record", "name": "N", "fields": [
                        {"name": "user", "type": "long"}]}}]}"#;
                let ids: Vec<i64> = ids.collect();
                let blocks = ids.chunks(17).map(|ids| {
                    let mut bytes = Vec::new();
                    for &id in ids {
                        let name = name_of(user(id));
                        write_long(&mut bytes, id);
                        write_long(&mut bytes, 1);
                        write_long(&mut bytes, user(id));
                        write_long(&mut bytes, name.len() as i64);
                        bytes.extend(name.as_bytes());
                        bytes.extend((id as f64 + 0.5).to_le_bytes());
                        write_long(&mut bytes, user(id));
                    }
                    (ids.len() as u64, bytes)
                });
                fs::write(&path, container(schema, Codec::Deflate, blocks)).unwrap();
            }
            "tfrecord" => {
                let mut file = atds_tfrecord::Writer::new(Vec::new());
                for id in ids {
                    let mut record = Vec::new();
                    let values = [
                        ("id", FeatureValues::Int64(vec![id])),
                        ("user", FeatureValues::Int64(vec![user(id)])),
                        (
                            "name",
                            FeatureValues::Bytes(vec![name_of(user(id)).into_bytes()]),
                        ),
                    ];
                    let example = Example {
                        features: values.map(|(key, values)| (key.to_owned(), values)).into(),
                        ..Example::default()
                    };
                    example.encode(&mut record);
                    file.write(&record).unwrap();
                }
                fs::write(&path, file.finish().unwrap()).unwrap();
            }
            _ => {
                let mut file = atds_btable::FileWriter::create(&path, &["id", "user"]).unwrap();
                for id in ids {
                    let row = [id as f64, user(id) as f64];
                    file.writer().write_dense_row(&row).unwrap();
                }
                file.finish().unwrap();
            }
        }
        path
    });
    files.collect()
}

fn index(folder: &Folder, files: &[PathBuf], field: &str) -> Result<PathBuf, Error> {
    let path = folder.join("index");
    let mut options = IndexOptions::default();
    options.split_by = Some(field.to_owned());
    write_index_with(files, &path, &options, |_| ())?;
    Ok(path)
}

fn split(name: &str, field: &str) -> Split {
    Split::new(name, PARTS).by(SplitBy::Field(field.to_owned()))
}

fn dataset(files: &[PathBuf], format: &str) -> DatasetBuilder {
    let dtype = match format {
        "btable" => DType::Float64,
        _ => DType::Int64,
    };
    Dataset::builder(files.to_vec(), 8).features([Feature::dense("id", &[], dtype)])
}

fn batches(found: impl IntoIterator<Item = Result<atds::Batch, Error>>) -> Vec<Vec<i64>> {
    let ids = found.into_iter().map(|batch| {
        let batch = batch.unwrap();
        match batch.dense::<i64>("id") {
            Ok(ids) => ids.to_vec(),
            Err(_) => {
                let ids = batch.dense::<f64>("id").unwrap();
                ids.iter().map(|&id| id as i64).collect()
            }
        }
    });
    ids.collect()
}

fn sorted(mut ids: Vec<i64>) -> Vec<i64> {
    ids.sort();
    ids
}

/// The split of a value, by the documentation.
fn split_of(bytes: &[u8]) -> &'static str {
    let part = XxHash3_64::oneshot(bytes) as f64 / 2_f64.powi(64);
    match part {
        part if part < 0.2 => "test",
        part if part < 0.9 => "train",
        _ => "valid",
    }
}

#[test]
fn records_of_a_user_are_in_one_split() {
    for (format, field) in [
        ("avro", "user"),
        ("avro", "nested.user"),
        ("avro", "name"),
        ("tfrecord", "user"),
        ("tfrecord", "name"),
        ("btable", "user"),
    ] {
        let folder = Folder::new();
        let files = write_files(&folder, format);
        let index = index(&folder, &files, field).unwrap();
        let mut all = Vec::new();
        for (name, _) in PARTS {
            let of = format!("{format} {field} {name}");
            let is_in = |id: &i64| match field {
                "name" => split_of(name_of(user(*id)).as_bytes()) == name,
                _ => split_of(&user(*id).to_le_bytes()) == name,
            };
            let expected: Vec<i64> = (0..3 * RECORDS).filter(is_in).collect();
            let build = |threads| {
                let builder = dataset(&files, format)
                    .index(index.clone())
                    .split(split(name, field));
                builder.threads(Threads::Fixed(threads))
            };
            for threads in [1, 3] {
                let plain = build(threads).build().unwrap();
                assert_eq!(batches(plain.epoch(0)).concat(), expected, "{of}");
                assert_eq!(plain.num_records().unwrap(), expected.len() as u64, "{of}");
                let mixed = build(threads).shuffle(Shuffle::Blocks).run_bytes(1);
                let mixed = mixed.shuffle_buffer_size(50).build().unwrap();
                let shards = (0..3).map(|rank| {
                    let shard = mixed.shard(rank, 3).unwrap();
                    let whole = batches(shard.epoch(1));
                    for given in [1.min(whole.len()), whole.len() / 2] {
                        let mut some = shard.epoch(1);
                        batches(some.by_ref().take(given));
                        let text = serde_json::to_string(&some.state().unwrap()).unwrap();
                        let state: State = serde_json::from_str(&text).unwrap();
                        let rest = batches(shard.resume(&state).unwrap());
                        let left = whole.len() - given;
                        assert_eq!(rest[..left], whole[given..], "{of}");
                    }
                    whole.concat()
                });
                let shards: Vec<Vec<i64>> = shards.collect();
                let sizes = shards
                    .iter()
                    .map(|ids| ids.len().abs_diff(expected.len() / 3));
                assert!(sizes.max().unwrap() <= 1);
                assert_eq!(sorted(shards.concat()), expected, "{of}");
            }
            all.extend(expected);
        }
        assert_eq!(sorted(all), (0..3 * RECORDS).collect::<Vec<_>>());
    }
}

#[test]
fn without_the_hashes_of_now_it_is_an_error() {
    for format in FORMATS {
        let folder = Folder::new();
        let files = write_files(&folder, format);
        let refused = |builder: DatasetBuilder| {
            let error = builder.split(split("train", "user")).build().unwrap_err();
            assert!(
                matches!(error.kind, ErrorKind::Split(SplitFault::NoIndex { .. })),
                "{error}"
            );
            let command = "atds index --split-by 'user' FILES -o INDEX";
            assert!(error.to_string().contains(command), "{error}");
        };
        refused(dataset(&files, format));
        let counts = folder.join("counts");
        write_index(&files, &counts).unwrap();
        refused(dataset(&files, format).index(counts));
        let of_ids = index(&folder, &files, "id").unwrap();
        refused(dataset(&files, format).index(of_ids));
        let of_two = index(&folder, &files[..2], "user").unwrap();
        refused(dataset(&files, format).index(of_two));
        let of_users = index(&folder, &files, "user").unwrap();
        let builder = dataset(&files, format).index(of_users.clone());
        let skips = builder.clone().on_error(OnError::SkipBlock);
        let error = skips.split(split("train", "user")).build().unwrap_err();
        let fault = ErrorKind::Split(SplitFault::SkipsBlocks);
        assert_eq!(error.kind.to_string(), fault.to_string());
        // The index has the counts, too.
        let whole = builder.clone().build().unwrap();
        assert_eq!(whole.num_records().unwrap(), 3 * RECORDS as u64);

        let train = builder.clone().split(split("train", "user"));
        let train = train.build().unwrap();
        let mut bytes = fs::read(&files[1]).unwrap();
        bytes.extend(fs::read(&files[2]).unwrap());
        fs::write(&files[1], bytes).unwrap();
        refused(builder.clone());
        train.num_records().unwrap_err();

        let mut bytes = fs::read(&of_users).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(&of_users, bytes).unwrap();
        let error = builder.build().unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Index(_)), "{error}");
    }
}

/// It would get the splits of the file that was indexed: records of one user would be in two.
#[test]
fn a_file_that_is_replaced_after_it_was_looked_at_is_an_error() {
    for format in FORMATS {
        let folder = Folder::new();
        let files = write_files(&folder, format);
        let users = index(&folder, &files, "user").unwrap();
        let train = dataset(&files, format)
            .index(users)
            .split(split("train", "user"))
            .epochs(2);
        let orders = [
            train.clone(),
            train.clone().mmap(true),
            train.clone().shuffle_files(true).shuffle_buffer_size(50),
            train.clone().shuffle_blocks(true),
            train.clone().shuffle(Shuffle::Blocks),
            train.interleave(2, 5),
        ];
        let built = orders.map(|builder| builder.build().unwrap());
        for dataset in &built {
            batches(dataset.epoch(0));
        }
        let new = folder.join("new");
        fs::copy(&files[2], &new).unwrap();
        fs::rename(&new, &files[1]).unwrap();
        for (order, dataset) in built.iter().enumerate() {
            let mut found = dataset.epoch(1);
            let error = found.find_map(Result::err);
            let error = error.unwrap_or_else(|| panic!("{format}, order {order}: read as it was"));
            let is_told = matches!(&error.kind, ErrorKind::Split(SplitFault::NoIndex { .. }));
            assert!(is_told, "{error}");
            let text = folder.message(&error);
            let name = format!("1.{format}: ");
            assert!(
                text.starts_with(&name) && text.contains("changed"),
                "{text}"
            );
        }
    }
}

#[test]
fn values_without_a_hash_are_an_error() {
    let folder = Folder::new();
    let files = write_files(&folder, "avro");
    for (field, text) in [
        ("price", "0.avro: record 0 has 0.5 for 'price'"),
        ("no_field", "no_field"),
    ] {
        let error = index(&folder, &files, field).unwrap_err();
        assert!(folder.message(&error).contains(text), "{error}");
        assert!(!folder.join("index").exists());
    }
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "user", "type": ["null", "string"]}]}"#;
    let blocks = [(3, b"\x02\x02a\x02\x02b\x00".to_vec())];
    let at_start = [(1, b"\x00".to_vec())];
    let null = folder.write("null.avro", &container(schema, Codec::Null, blocks));
    let error = index(&folder, &[null], "user").unwrap_err();
    let text = folder.message(&error);
    assert!(
        text.starts_with("null.avro: ") && text.contains("record 2"),
        "{text}"
    );
    let null = folder.write("start.avro", &container(schema, Codec::Null, at_start));
    let error = index(&folder, &[null], "user").unwrap_err();
    let text = folder.message(&error);
    assert!(text.contains("record 0") && text.contains("null"), "{text}");
}
