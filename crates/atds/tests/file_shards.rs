//! Readers that share whole files, in files of all formats: what each reads, opens and counts, and where it goes
//! on.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use atds::shares::{Uneven, World};
use atds::state::{State, StateMismatch};
use atds::write::{AvroFile, AvroOptions};
use atds::{
    Batches, Codec, DType, Dataset, DatasetBuilder, ErrorKind, Feature, ShardBy, Shuffle, Split,
    SplitBy, Threads,
};
use atds_btable::FileWriter;
use atds_tfrecord::{Compression, Writer};
use tempfile::TempDir;

/// Number of records of each file, 98 in all.
const COUNTS: [usize; 7] = [5, 13, 1, 40, 8, 22, 9];
const RECORDS: usize = 98;

/// The names of the files of a kind, and whether they are packed as a whole.
const KINDS: [(&str, bool); 5] = [
    ("avro", false),
    ("tfrecord", false),
    ("tfrecord.gz", true),
    ("btable", false),
    ("btable.zst", true),
];

fn avro(path: &Path, ids: std::ops::Range<usize>) {
    let schema = r#"{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}"#;
    let mut options = AvroOptions::default();
    (options.codec, options.block_bytes) = (Codec::Null, 8);
    let mut file = AvroFile::create(path, schema, &options).unwrap();
    for id in ids {
        let zigzag = 2 * id;
        let low = (zigzag % 128) as u8;
        let encoded = match zigzag / 128 {
            0 => vec![low],
            high => vec![low | 128, high as u8],
        };
        file.append(&encoded).unwrap();
    }
    file.finish().unwrap();
}

fn tfrecord(path: &Path, ids: std::ops::Range<usize>, compression: Compression) {
    let delimited =
        |field: u8, bytes: &[u8]| [&[field << 3 | 2, bytes.len() as u8], bytes].concat();
    let mut writer = Writer::compressed(Vec::new(), compression, 6);
    for id in ids {
        let list = delimited(3, &delimited(1, &[id as u8]));
        let entry = [delimited(1, b"id"), delimited(2, &list)].concat();
        let example = delimited(1, &delimited(1, &entry));
        writer.write(&example).unwrap();
    }
    fs::write(path, writer.finish().unwrap()).unwrap();
}

fn btable(path: &Path, ids: std::ops::Range<usize>) {
    let mut file = FileWriter::create(path, &["id"]).unwrap();
    for id in ids {
        file.writer().write_dense_row(&[id as f64]).unwrap();
    }
    file.finish().unwrap();
}

fn write(path: &Path, ids: std::ops::Range<usize>) {
    let name = path.to_str().unwrap();
    match name {
        _ if name.ends_with("avro") => avro(path, ids),
        _ if name.ends_with("tfrecord") => tfrecord(path, ids, Compression::None),
        _ if name.ends_with("tfrecord.gz") => tfrecord(path, ids, Compression::Gzip),
        _ => btable(path, ids),
    }
}

/// A folder of [`COUNTS`] records with running numbers.
fn folder(kind: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut first = 0;
    for (file, count) in COUNTS.iter().enumerate() {
        write(
            &folder.path().join(format!("{file}.{kind}")),
            first..first + count,
        );
        first += count;
    }
    folder
}

fn builder(folder: &Path, kind: &str) -> DatasetBuilder {
    let feature = match kind {
        _ if kind.starts_with("btable") => Feature::dense("id", &[], DType::Float64),
        _ if kind.starts_with("tfrecord") => Feature::fixed_len("id", &[], DType::Int64),
        _ => Feature::dense("id", &[], DType::Int64),
    };
    Dataset::builder(folder, 4)
        .features([feature])
        .shard_by(ShardBy::File)
        .provenance("place".to_owned())
        .threads(Threads::Fixed(2))
        .seed(3)
}

/// The records of each batch, whose places are checked.
fn read(batches: Batches) -> Vec<Vec<usize>> {
    let firsts: Vec<usize> = (0..COUNTS.len())
        .map(|file| COUNTS[..file].iter().sum())
        .collect();
    let batch = |batch: Result<atds::Batch, atds::Error>| {
        let batch = batch.unwrap();
        let ids: Vec<usize> = match batch.dense::<i64>("id") {
            Ok(ids) => ids.iter().map(|&id| id as usize).collect(),
            Err(_) => batch
                .dense::<f64>("id")
                .unwrap()
                .iter()
                .map(|&id| id as usize)
                .collect(),
        };
        for (id, place) in ids
            .iter()
            .zip(batch.dense::<i64>("place").unwrap().chunks(2))
        {
            assert_eq!(*id, firsts[place[0] as usize] + place[1] as usize);
        }
        ids
    };
    batches.map(batch).collect()
}

fn world(ranks: u64, workers: u64) -> World {
    World {
        workers,
        ..World::of_shards(ranks)
    }
}

/// All readers of a world.
fn readers(dataset: &Dataset, world: World) -> Vec<Dataset> {
    let share = |rank, worker| dataset.share(world, rank, worker, []).unwrap();
    let rank = |rank| (0..world.workers).map(move |worker| share(rank, worker));
    (0..world.ranks).flat_map(rank).collect()
}

type Options = fn(DatasetBuilder) -> DatasetBuilder;

const OPTIONS: [(&str, bool, Options); 6] = [
    ("in order", false, |builder| builder),
    ("window", false, |builder| builder.shuffle_buffer_size(9)),
    ("files", false, |builder| {
        builder.shuffle_files(true).shuffle_buffer_size(5)
    }),
    ("blocks", true, |builder| {
        builder.shuffle_files(true).shuffle_blocks(true)
    }),
    ("runs", true, |builder| {
        builder
            .shuffle(Shuffle::Blocks)
            .run_bytes(20)
            .shuffle_buffer_size(5)
    }),
    ("one file", false, |builder| {
        builder.prefetch(1).threads(Threads::Fixed(1))
    }),
];

#[test]
fn readers_together_read_each_record_once() {
    for (kind, is_packed) in KINDS {
        let folder = folder(kind);
        for (name, shuffles_blocks, options) in OPTIONS {
            if is_packed && shuffles_blocks {
                continue;
            }
            let dataset = options(builder(folder.path(), kind)).build().unwrap();
            for (ranks, workers) in [(1, 1), (2, 1), (3, 2), (2, 3), (9, 1), (1, 7)] {
                for epoch in [0, 5] {
                    let mut all = Vec::new();
                    for reader in readers(&dataset, world(ranks, workers)) {
                        let found = read(reader.epoch(epoch)).concat();
                        assert_eq!(found, read(reader.epoch(epoch)).concat());
                        all.extend(found);
                    }
                    all.sort();
                    let of = format!("{kind}, {name}, {ranks} ranks of {workers}");
                    assert_eq!(all, (0..RECORDS).collect::<Vec<_>>(), "{of}");
                }
            }
        }
    }
}

#[test]
fn a_rank_has_every_nth_file_and_a_worker_every_nth_of_these() {
    let folder = folder("avro");
    let dataset = builder(folder.path(), "avro").build().unwrap();
    let files = |dataset: &Dataset| -> Vec<i64> {
        let mut files: Vec<i64> = Vec::new();
        for batch in dataset {
            let batch = batch.unwrap();
            files.extend(batch.dense::<i64>("place").unwrap().iter().step_by(2));
        }
        files.dedup();
        files
    };
    assert_eq!(files(&dataset.shard(1, 3).unwrap()), [1, 4]);
    let of: Vec<_> = readers(&dataset, world(2, 2)).iter().map(files).collect();
    assert_eq!(of, [vec![0, 4], vec![2, 6], vec![1, 5], vec![3]]);
    let nested = dataset.shard(0, 2).unwrap().shard(1, 2).unwrap();
    assert_eq!(files(&nested), [2, 6]);
    let nothing = dataset.shard(8, 9).unwrap();
    assert_eq!(
        (files(&nothing), nothing.num_records().unwrap()),
        (vec![], 0)
    );
    assert_eq!(dataset.shard(1, 3).unwrap().num_records().unwrap(), 21);
    assert_eq!(
        *dataset.shard(1, 3).unwrap().file_records().unwrap(),
        [0, 13, 0, 0, 8, 0, 0]
    );
}

/// Files of other readers are gone once the data set is built.
#[test]
fn files_of_others_are_not_opened() {
    for (kind, is_packed) in KINDS {
        for (_, shuffles_blocks, options) in OPTIONS {
            if is_packed && shuffles_blocks {
                continue;
            }
            let folder = folder(kind);
            let dataset = options(builder(folder.path(), kind).epochs(2))
                .build()
                .unwrap();
            let shard = dataset.shard(1, 3).unwrap();
            for file in [0, 2, 3, 5, 6] {
                fs::remove_file(folder.path().join(format!("{file}.{kind}"))).unwrap();
            }
            let mut batches = shard.iter();
            let first = batches.next().unwrap().unwrap();
            let state = batches.state().unwrap();
            let rest = read(batches);
            assert_eq!(first.rows() + rest.concat().len(), 42);
            // Nor to say where it is, or to go on there.
            let resumed = shard.resume(&state).unwrap();
            assert_eq!(read(resumed), rest);
            assert_eq!(shard.num_records().unwrap(), 21);
            let error = dataset.iter().find_map(Result::err).unwrap();
            assert!(matches!(error.kind, ErrorKind::Io(_)), "{error}");
        }
    }
}

#[test]
fn splits_do_not_depend_on_who_reads() {
    let parts = [("train", 0.7), ("test", 0.3)];
    for (kind, _) in KINDS {
        let folder = folder(kind);
        let mut all = Vec::new();
        for (name, _) in parts {
            for by in [SplitBy::Record, SplitBy::Block] {
                let split = Split::new(name, parts).by(by.clone());
                let dataset = builder(folder.path(), kind).split(split).build().unwrap();
                let whole = read(dataset.iter()).concat();
                let shards = (0..3).map(|index| dataset.shard(index, 3).unwrap());
                let mut found = shards
                    .flat_map(|shard| read(shard.iter()).concat())
                    .collect::<Vec<_>>();
                found.sort();
                assert_eq!(found, whole);
                if by == SplitBy::Record {
                    all.extend(whole);
                }
            }
        }
        all.sort();
        assert_eq!(all, (0..RECORDS).collect::<Vec<_>>());
    }
}

#[test]
fn each_reader_goes_on_where_it_was() {
    for (kind, is_packed) in KINDS {
        let folder = folder(kind);
        for (name, shuffles_blocks, options) in OPTIONS {
            if is_packed && shuffles_blocks {
                continue;
            }
            let build = || {
                options(builder(folder.path(), kind).epochs(2))
                    .build()
                    .unwrap()
            };
            let dataset = build();
            for (number, reader) in readers(&dataset, world(2, 2)).iter().enumerate() {
                let whole = read(reader.iter());
                let mut batches = reader.iter();
                for given in 0..=whole.len() {
                    let state = batches.state().unwrap();
                    let text = serde_json::to_string(&state).unwrap();
                    assert!(text.len() < 1_000);
                    let state: State = serde_json::from_str(&text).unwrap();
                    let again = readers(&build(), world(2, 2)).swap_remove(number);
                    // A length is counted, and changes nothing.
                    if given == 1 {
                        again.num_records().unwrap();
                        assert_eq!(
                            again.state_at(Default::default(), 2).unwrap(),
                            reader.state_at(Default::default(), 2).unwrap()
                        );
                    }
                    let rest = read(again.resume(&state).unwrap());
                    assert_eq!(rest, whole[given..], "{kind}, {name}, after {given}");
                    batches.next();
                }
            }
        }
    }
}

fn mismatch(dataset: &Dataset, state: &State) -> (StateMismatch, String) {
    let error = dataset.resume(state).unwrap_err();
    let text = error.to_string();
    match error.kind {
        ErrorKind::State(mismatch) => (mismatch, text),
        kind => panic!("{kind}"),
    }
}

#[test]
fn states_of_others_are_refused() {
    let folder = folder("avro");
    let by_file = builder(folder.path(), "avro").build().unwrap();
    let by_record = builder(folder.path(), "avro")
        .shard_by(ShardBy::Record)
        .build()
        .unwrap();
    let state = |dataset: &Dataset| {
        let mut batches = dataset.iter();
        batches.next();
        batches.state().unwrap()
    };
    let (first, record) = (by_file.shard(0, 2).unwrap(), by_record.shard(0, 2).unwrap());
    let (found, text) = mismatch(&record, &state(&first));
    assert!(matches!(
        found,
        StateMismatch::Option {
            name: "shard_by",
            ..
        }
    ));
    assert!(
        text.contains(
            r#"`shard_by` was "file" when it was taken, and is "record": give what it was"#
        ),
        "{text}"
    );
    let (_, text) = mismatch(&first, &state(&record));
    assert!(
        text.contains(r#"`shard_by` was "record" when it was taken, and is "file""#),
        "{text}"
    );
    for other in [
        by_file.shard(1, 2).unwrap(),
        by_file.shard(0, 3).unwrap(),
        by_file.clone(),
    ] {
        mismatch(&other, &state(&first));
    }
    let states = [state(&first), state(&by_file.shard(1, 2).unwrap())];
    let error = State::merge(&states).unwrap_err().to_string();
    assert!(
        error.contains("not all at the start of the same epoch"),
        "{error}"
    );
    // Another file has taken the place of one.
    let before = state(&first);
    avro(&folder.path().join("2.avro"), 0..9);
    let (found, _) = mismatch(&first, &before);
    assert!(matches!(found, StateMismatch::File { .. }), "{found:?}");
}

#[test]
fn anyone_goes_on_after_the_end_of_an_epoch() {
    for kind in ["avro", "tfrecord.gz"] {
        let folder = folder(kind);
        let dataset = builder(folder.path(), kind)
            .shuffle_buffer_size(5)
            .epochs(2)
            .build()
            .unwrap();
        let states: Vec<State> = readers(&dataset, world(2, 2))
            .iter()
            .map(|reader| {
                let mut batches = reader.epochs(0..1);
                while batches.next().is_some() {}
                let state = batches.state().unwrap();
                assert_eq!((state.epoch, state.batches), (1, 0));
                // An iteration up to the end has nothing left.
                let position = atds::state::Position {
                    epoch: 1,
                    batches: 0,
                };
                reader.state_at(position, 2).unwrap()
            })
            .collect();
        let merged = State::merge(&states).unwrap();
        let by_record = builder(folder.path(), kind)
            .shuffle_buffer_size(5)
            .shard_by(ShardBy::Record);
        for dataset in [dataset, by_record.build().unwrap()] {
            for count in [1, 3] {
                let mut all = Vec::new();
                for index in 0..count {
                    let shard = dataset.shard(index, count).unwrap();
                    let found = read(shard.resume(&merged).unwrap());
                    assert_eq!(found, read(shard.epoch(1)));
                    all.extend(found.concat());
                }
                all.sort();
                assert_eq!(all, (0..RECORDS).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn the_batches_of_shares_are_those_that_are_counted() {
    let folder = folder("btable.zst");
    for drop_remainder in [false, true] {
        let dataset = builder(folder.path(), "btable.zst").drop_remainder(drop_remainder);
        let dataset = dataset.build().unwrap();
        let records = dataset.file_records().unwrap();
        for (ranks, workers) in [(2, 1), (3, 2), (9, 1)] {
            let world = World {
                uneven: Uneven::Drop,
                ..world(ranks, workers)
            };
            let shares = world.shares_of_files(&records, 4, drop_remainder).concat();
            for (reader, share) in readers(&dataset, world).iter().zip(shares) {
                let found = read(reader.iter());
                assert_eq!(found.len() as u64, share.made);
                assert_eq!(reader.num_records().unwrap(), share.records);
            }
        }
    }
}

#[test]
fn what_is_shared_by_file_has_no_slices() {
    let folder = folder("avro");
    let dataset = builder(folder.path(), "avro").build().unwrap();
    let records = dataset.file_records().unwrap();
    let slice = dataset.slice(0..10, records.clone()).unwrap();
    assert!(slice.shard(0, 2).is_err());
    assert!(
        dataset
            .shard(0, 2)
            .unwrap()
            .slice(0..1, records.clone())
            .is_err()
    );
    assert!(
        dataset
            .shard(0, 2)
            .unwrap()
            .share(world(1, 1), 0, 0, records)
            .is_err()
    );
}

/// Each shard reads its own pipes, which nothing can be counted of.
#[cfg(unix)]
#[test]
fn pipes_are_shared_by_file() {
    let folder = folder("tfrecord");
    let names: Vec<_> = (0..3)
        .map(|file| folder.path().join(format!("{file}.pipe")))
        .collect();
    let writers: BTreeMap<usize, _> = names
        .iter()
        .enumerate()
        .map(|(file, name)| {
            make_pipe(name);
            let bytes = fs::read(folder.path().join(format!("{file}.tfrecord"))).unwrap();
            let name = name.clone();
            (
                file,
                std::thread::spawn(move || fs::write(name, bytes).unwrap()),
            )
        })
        .collect();
    let dataset = Dataset::builder(names, 4)
        .features([Feature::fixed_len("id", &[], DType::Int64)])
        .format(atds::FileFormat::TfRecord)
        .provenance("place".to_owned());
    let error = dataset.clone().build().unwrap().shard(0, 2).unwrap_err();
    assert!(error.to_string().contains("pipe"), "{error}");
    let dataset = dataset.shard_by(ShardBy::File).build().unwrap();
    let shards = [0, 1].map(|index| dataset.shard(index, 2).unwrap());
    let found = shards.each_ref().map(|shard| read(shard.iter()).concat());
    assert_eq!(found[0], (0..5).chain(18..19).collect::<Vec<_>>());
    assert_eq!(found[1], (5..18).collect::<Vec<_>>());
    assert!(shards[1].iter().next().unwrap().is_err());
    for (_, writer) in writers {
        writer.join().unwrap();
    }
}

#[cfg(unix)]
fn make_pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo")
        .arg(path)
        .status()
        .unwrap();
    assert!(made.success());
}
