//! Going on where an iteration was: in a new data set, from the text of a state.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use atds::error::ErrorKind;
use atds::state::{State, StateMismatch};
use atds::{Batch, Codec, Dataset, DatasetBuilder, Feature, OnError, Shuffle, Threads};
use atds_generate::{GenerateOptions, Preset, generate};

/// Number of records of all files.
const RECORDS: usize = 120;

fn files(folder: &Path, codec: Codec) {
    let mut options = GenerateOptions::new(Preset::Ads, RECORDS as u64);
    (options.files, options.codec, options.block_bytes) = (3, codec, 6_000);
    generate(folder, &options).unwrap();
}

/// Packs all files of a folder as a whole.
fn pack(folder: &Path) {
    for path in paths(folder) {
        let packed = zstd::encode_all(&*fs::read(&path).unwrap(), 1).unwrap();
        fs::write(path, packed).unwrap();
    }
}

fn paths(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    all.sort();
    all
}

fn text(batch: &Batch) -> String {
    atds::tensors::batch_to_json(batch).to_string()
}

type Options = fn(DatasetBuilder) -> DatasetBuilder;

const OPTIONS: [(&str, Options); 7] = [
    ("in order", |builder| builder),
    ("remainder", |builder| builder.drop_remainder(true)),
    ("shuffled", |builder| {
        builder.shuffle_buffer_size(40).seed(3)
    }),
    ("files", |builder| builder.shuffle_files(true).seed(5)),
    ("blocks", |builder| {
        builder.shuffle_files(true).shuffle_blocks(true).seed(5)
    }),
    ("runs", |builder| {
        let builder = builder.shuffle(Shuffle::Blocks).run_bytes(10_000);
        builder.shuffle_buffer_size(40).seed(9)
    }),
    ("all", |builder| {
        builder
            .shuffle_files(true)
            .shuffle_blocks(true)
            .shuffle_buffer_size(40)
            .seed(7)
    }),
];

/// The batches of an iteration, with the states before the first and after each, and after the end.
fn whole(dataset: &Dataset) -> (Vec<String>, Vec<String>) {
    let mut iteration = dataset.iter();
    let state = |iteration: &atds::Batches| serde_json::to_string(&iteration.state().unwrap());
    let (mut batches, mut states) = (Vec::new(), vec![state(&iteration).unwrap()]);
    while let Some(batch) = iteration.next() {
        batches.push(text(&batch.unwrap()));
        states.push(state(&iteration).unwrap());
    }
    states.push(state(&iteration).unwrap());
    (batches, states)
}

fn check(build: impl Fn(usize) -> Dataset, of: &str) {
    let (batches, states) = whole(&build(2));
    assert_eq!(states.len(), batches.len() + 2, "{of}");
    let keys = |state: &str| {
        let value: serde_json::Value = serde_json::from_str(state).unwrap();
        let keys = value.as_object().unwrap().keys().cloned();
        keys.collect::<Vec<_>>()
    };
    for (given, state) in states.iter().enumerate() {
        assert!(state.len() < 1_000, "{} bytes: {state}", state.len());
        assert_eq!(keys(state), keys(&states[0]));
        let rest = &batches[given.min(batches.len())..];
        let state: State = serde_json::from_str(state).unwrap();
        let resumed = build(1 + given % 3);
        let found: Vec<_> = resumed
            .resume(&state)
            .unwrap()
            .map(|batch| text(&batch.unwrap()))
            .collect();
        assert_eq!(found, rest, "{of}, after {given} batches");
    }
}

#[test]
fn goes_on_after_each_batch() {
    for codec in [Codec::Null, Codec::Deflate] {
        let folder = tempfile::tempdir().unwrap();
        files(folder.path(), codec);
        for (name, options) in OPTIONS {
            let build = |threads: usize| {
                let builder = Dataset::builder(folder.path(), 19)
                    .epochs(2)
                    .threads(Threads::Fixed(threads));
                options(builder).build().unwrap()
            };
            check(build, &format!("{name}, {codec}"));
            for shard in [0, 2] {
                let build = |threads: usize| build(threads).shard(shard, 3).unwrap();
                check(build, &format!("{name}, {codec}, shard {shard}"));
            }
        }
    }
}

#[test]
fn packed_files_go_on() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path(), Codec::Null);
    pack(folder.path());
    for (name, options) in &OPTIONS[..4] {
        let build = |threads: usize| {
            let builder = Dataset::builder(folder.path(), 19).threads(Threads::Fixed(threads));
            options(builder).build().unwrap()
        };
        check(build, name);
    }
}

/// Nothing before the position is decompressed.
#[test]
fn blocks_before_are_not_decompressed() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path(), Codec::Deflate);
    let dataset = Dataset::builder(folder.path(), 10).build().unwrap();
    let mut iteration = dataset.iter();
    for _ in 0..10 {
        iteration.next().unwrap().unwrap();
    }
    let state = iteration.state().unwrap();
    let all = dataset.iter();
    let handle = all.stats_handle();
    assert_eq!(all.count(), 12);
    let whole = handle.stats();

    let mut resumed = dataset.resume(&state).unwrap();
    for batch in resumed.by_ref() {
        batch.unwrap();
    }
    let stats = resumed.stats();
    assert_eq!(stats.records, 20);
    assert!(
        stats.prepared_records < 20 + 10 && stats.decompressed_bytes < whole.decompressed_bytes / 4,
        "{stats:?}"
    );
}

fn mismatch(dataset: &Dataset, state: &State) -> (StateMismatch, String) {
    let error = dataset.resume(state).unwrap_err();
    let text = error.to_string();
    match error.kind {
        ErrorKind::State(mismatch) => (mismatch, text),
        other => panic!("{other}"),
    }
}

#[test]
fn other_options_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path(), Codec::Null);
    let folder = folder.path();
    let build = |change: Options| {
        let features = [Feature::dense("d0", &[8], atds::DType::Float32)];
        let builder = Dataset::builder(folder, 32)
            .features(features)
            .shuffle_buffer_size(9);
        change(builder).build().unwrap()
    };
    let state = build(|builder| builder).iter().state().unwrap();
    let cases: [(&str, Options); 8] = [
        ("shuffle_buffer_size", |b| b.shuffle_buffer_size(10)),
        ("drop_remainder", |b| b.drop_remainder(true)),
        ("seed", |b| b.seed(1)),
        ("shuffle_files", |b| b.shuffle_files(true)),
        ("shuffle_blocks", |b| b.shuffle_blocks(true)),
        ("shuffle", |b| b.shuffle(Shuffle::Blocks)),
        ("out_of_bounds", |b| {
            b.out_of_bounds(atds::OutOfBounds::Drop)
        }),
        ("features", |b| {
            b.features([Feature::dense("s_label", &[], atds::DType::Int32)])
        }),
    ];
    for (option, change) in cases {
        let (found, text) = mismatch(&build(change), &state);
        assert!(
            matches!(&found, StateMismatch::Option { name, .. } if *name == option),
            "{found:?}"
        );
        assert!(text.contains(&format!("`{option}` was ")), "{text}");
    }
    // These change neither order nor values.
    let same = build(|b| {
        b.threads(Threads::Fixed(3))
            .prefetch(7)
            .memory_limit(1 << 28)
            .mmap(true)
    });
    assert!(same.resume(&state).is_ok());

    let (found, text) = mismatch(&build(|b| b).shard(1, 2).unwrap(), &state);
    assert!(matches!(found, StateMismatch::World { .. }), "{text}");
    let mut value = serde_json::to_value(&state).unwrap();
    value["version"] = 4.into();
    let error = serde_json::from_value::<State>(value).unwrap_err();
    assert!(error.to_string().contains("version 4"), "{error}");
}

#[test]
fn other_files_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path(), Codec::Null);
    let build = || Dataset::builder(folder.path(), 32).build().unwrap();
    let state = build().iter().state().unwrap();
    let all = paths(folder.path());
    let second = fs::read(&all[1]).unwrap();

    // Other bytes of a value are not seen, and the time of the change is only warned of.
    fs::write(&all[1], &second).unwrap();
    assert!(build().resume(&state).is_ok());

    // The same size, and another sync marker.
    let mut changed = second.clone();
    let marker = changed[changed.len() - 16..].to_vec();
    let found: Vec<_> = (0..changed.len() - 15)
        .filter(|&at| changed[at..at + 16] == marker)
        .collect();
    for at in found {
        changed[at] ^= 1;
    }
    fs::write(&all[1], &changed).unwrap();
    let (found, text) = mismatch(&build(), &state);
    let expected = StateMismatch::File {
        path: all[1].clone(),
        what: "sync marker",
    };
    assert_eq!(found, expected, "{text}");

    // A file that was cut between two blocks.
    let index = avro_block::BlockIndex::build(std::io::Cursor::new(&second)).unwrap();
    let end = index.entries.last().unwrap().offset as usize;
    fs::write(&all[1], &second[..end]).unwrap();
    let (found, text) = mismatch(&build(), &state);
    assert!(
        matches!(&found, StateMismatch::File { path, what: "size" } if *path == all[1]),
        "{text}"
    );
    fs::write(&all[1], &second).unwrap();

    // Another name, another order of two files, another number of files.
    let renamed = folder.path().join("part-00001b.avro");
    fs::rename(&all[1], &renamed).unwrap();
    let (found, text) = mismatch(&build(), &state);
    assert!(
        matches!(&found, StateMismatch::File { path, what: "name" } if *path == renamed),
        "{text}"
    );
    fs::rename(&renamed, &all[1]).unwrap();
    let swapped = vec![all[1].clone(), all[0].clone(), all[2].clone()];
    let swapped = Dataset::builder(swapped, 32).build().unwrap();
    let (found, text) = mismatch(&swapped, &state);
    assert_eq!(found, StateMismatch::Files { what: "name" }, "{text}");
    fs::remove_file(&all[2]).unwrap();
    let (found, text) = mismatch(&build(), &state);
    assert_eq!(
        found,
        StateMismatch::FileCount { saved: 3, now: 2 },
        "{text}"
    );
}

/// A batch that ends before a bad row was not given out whole: it comes again.
#[test]
fn a_batch_before_an_error_comes_again() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path(), Codec::Null);
    let last = paths(folder.path()).pop().unwrap();
    let mut bytes = fs::read(&last).unwrap();
    let index = avro_block::BlockIndex::build(std::io::Cursor::new(&bytes)).unwrap();
    // A record more than there are.
    assert!(bytes[index.entries[1].offset as usize] < 100);
    bytes[index.entries[1].offset as usize] += 2;
    let keep = fs::read(&last).unwrap();
    fs::write(&last, &bytes).unwrap();
    let dataset = Dataset::builder(folder.path(), 32).build().unwrap();
    let mut iteration = dataset.iter();
    let rows: usize = iteration
        .by_ref()
        .map_while(|batch| batch.ok())
        .map(|batch| batch.rows())
        .sum();
    assert!(rows < RECORDS && !rows.is_multiple_of(32), "{rows}");
    fs::write(&last, &keep).unwrap();
    let state = iteration.state().unwrap();
    let dataset = Dataset::builder(folder.path(), 32).build().unwrap();
    let rest: usize = dataset
        .resume(&state)
        .unwrap()
        .map(|batch| batch.unwrap().rows())
        .sum();
    assert_eq!(state.batches as usize, rows / 32);
    assert_eq!(32 * state.batches as usize + rest, RECORDS);
}

/// Gives hashes the 16 hexadecimal digits that they have in versions 1 and 2.
fn with_hexadecimal_hashes(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) if text.len() == 11 => {
            let digits = text.bytes().map(|digit| match digit {
                b'0'..=b'9' => digit - b'0',
                b'A'..=b'Z' => digit - b'A' + 10,
                _ => digit - b'a' + 36,
            });
            let number = digits.fold(0u64, |number, digit| number * 62 + u64::from(digit));
            *text = format!("{number:016x}");
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(with_hexadecimal_hashes),
        serde_json::Value::Object(values) => values.values_mut().for_each(with_hexadecimal_hashes),
        _ => {}
    }
}

/// Version 1 says less of who read, and has no layers.
#[test]
fn states_of_versions_1_and_2_are_read() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path(), Codec::Null);
    let dataset = Dataset::builder(folder.path(), 19).shuffle_buffer_size(40);
    let dataset = dataset.build().unwrap();
    for dataset in [dataset.clone(), dataset.shard(1, 2).unwrap()] {
        let mut iteration = dataset.iter();
        iteration.next().unwrap().unwrap();
        let mut state = serde_json::to_value(iteration.state().unwrap()).unwrap();
        let of_now: State = serde_json::from_value(state.clone()).unwrap();
        with_hexadecimal_hashes(&mut state["fingerprint"]);
        state["version"] = 2.into();
        assert_eq!(
            state["fingerprint"]["options"]["features"]
                .as_str()
                .map(str::len),
            Some(16)
        );
        let of_version_2: State = serde_json::from_value(state.clone()).unwrap();
        assert_eq!(of_version_2, of_now);
        state["version"] = 1.into();
        state["layers"] = serde_json::json!([]);
        for name in ["ranks", "workers", "uneven"] {
            state["world"]
                .as_object_mut()
                .unwrap()
                .remove(name)
                .unwrap();
        }
        let rest: Vec<_> = iteration.map(|batch| text(&batch.unwrap())).collect();
        let state: State = serde_json::from_value(state).unwrap();
        let resumed = dataset.resume(&state).unwrap();
        let found: Vec<_> = resumed.map(|batch| text(&batch.unwrap())).collect();
        assert_eq!(found, rest);
    }
}

#[test]
fn a_file_that_is_replaced_while_the_data_set_lives_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path(), Codec::Null);
    let dataset = Dataset::builder(folder.path(), 16).build().unwrap();
    let state = dataset.iter().state().unwrap();
    dataset.rest(&state).unwrap();
    let path = paths(folder.path()).remove(1);
    let before = fs::read(&path).unwrap();
    let other = tempfile::tempdir().unwrap();
    let mut options = GenerateOptions::new(Preset::Ads, 50);
    options.files = 1;
    let one = generate(other.path(), &options).unwrap().files.remove(0);
    fs::copy(one, &path).unwrap();
    let error = dataset.rest(&state).unwrap_err();
    let ErrorKind::State(StateMismatch::File { path: named, what }) = error.kind else {
        panic!("{error}");
    };
    assert_eq!((named, what), (path.clone(), "size"));
    // It is there again.
    fs::write(&path, before).unwrap();
    dataset.rest(&state).unwrap();
    assert_eq!(dataset.resume(&state).unwrap().count(), 8);
}

#[test]
fn files_below_a_root_are_known_by_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("data");
    // Files of the same names in two folders.
    for day in ["1", "2"] {
        files(&root.join(day), Codec::Null);
    }
    let dataset = |root: &Path, rooted: bool| {
        let builder = Dataset::builder(atds::Files::from(root).recursive(true), 16);
        let builder = match rooted {
            true => builder.root(root.to_owned()),
            false => builder,
        };
        builder.build()
    };
    let state = dataset(&root, true).unwrap().iter().state().unwrap();
    let by_name = dataset(&root, false).unwrap().iter().state().unwrap();
    assert_eq!(by_name.epoch, state.epoch);
    // The whole tree is elsewhere, by another path.
    let moved = folder.path().join("moved");
    fs::rename(&root, &moved).unwrap();
    dataset(&moved, true).unwrap().rest(&state).unwrap();
    let again = dataset(&moved.join("../moved"), true).unwrap();
    again.rest(&state).unwrap();
    #[cfg(unix)]
    {
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&moved, &link).unwrap();
        dataset(&link, true).unwrap().rest(&state).unwrap();
        let builder = Dataset::builder(atds::Files::from(&*moved).recursive(true), 16);
        let builder = builder.root(link).build().unwrap();
        builder.rest(&state).unwrap();
    }
    // A folder in it has another name, which names of files do not tell.
    fs::rename(moved.join("2"), moved.join("3")).unwrap();
    dataset(&moved, false).unwrap().rest(&by_name).unwrap();
    let (mismatch, message) = mismatch(&dataset(&moved, true).unwrap(), &state);
    assert_eq!(mismatch, StateMismatch::Files { what: "name" });
    assert!(message.contains("other names"), "{message}");
    // What is not below the root.
    let outside = Dataset::builder(&*moved.join("1"), 16).root(moved.join("3"));
    let error = outside.build().unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("`root` must be a folder that has all files"),
        "{error}"
    );
    assert!(error.place.location.is_some());
    let missing = Dataset::builder(&*moved.join("1"), 16).root(moved.join("4"));
    assert!(matches!(
        missing.build().unwrap_err().kind,
        ErrorKind::Io(_)
    ));
}

#[test]
fn statistics_say_how_many_batches_are_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path(), Codec::Null);
    for (name, options) in OPTIONS {
        let dataset = options(Dataset::builder(folder.path(), 16))
            .build()
            .unwrap();
        for given in [0, 1, 5, 7] {
            let mut batches = dataset.epochs_after(given, 0..2);
            drop(batches.next().unwrap().unwrap());
            let stats = batches.stats();
            assert_eq!((stats.replayed, stats.to_replay), (given, given), "{name}");
        }
    }
}

/// The lines that this process logs.
struct Lines(Mutex<Vec<String>>);

static LINES: Lines = Lines(Mutex::new(Vec::new()));

impl log::Log for Lines {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{} {}", record.level(), record.args());
        self.0.lock().unwrap().push(line);
    }

    fn flush(&self) {}
}

/// Work before the first batch that may take long says how far it is.
#[test]
fn progress_is_logged() {
    log::set_logger(&LINES).unwrap();
    log::set_max_level(log::LevelFilter::Info);
    let folder = tempfile::tempdir().unwrap();
    files(folder.path(), Codec::Null);
    let builder = || {
        let builder = Dataset::builder(folder.path(), 4).shuffle_buffer_size(9);
        builder.logged_every(Duration::ZERO)
    };
    let dataset = builder().build().unwrap();
    let state = dataset.epochs_after(20, 0..1).state().unwrap();
    let mut batches = dataset.resume(&state).unwrap();
    assert_eq!(batches.next().unwrap().unwrap().rows(), 4);
    builder().on_error(OnError::SkipFile).build().unwrap();
    let lines = LINES.0.lock().unwrap().clone();
    for said in [
        "INFO counted the records of 2 of 3 files: ",
        " of 20 batches are drawn again: ",
        "INFO looked for damage in ",
    ] {
        let line = lines.iter().find(|line| line.contains(said));
        let line = line.unwrap_or_else(|| panic!("{said}: {lines:?}"));
        assert!(line.contains(" a second, about "), "{line}");
    }
}

/// The framing of a file with shuffled blocks is damaged: its blocks are not known.
#[test]
fn framing_damage_is_mended_before_going_on() {
    for (name, options) in OPTIONS {
        let folder = tempfile::tempdir().unwrap();
        files(folder.path(), Codec::Null);
        let build = || {
            options(Dataset::builder(folder.path(), 16))
                .build()
                .unwrap()
        };
        let whole: Vec<_> = build().iter().map(|batch| text(&batch.unwrap())).collect();
        for path in paths(folder.path()) {
            let sound = fs::read(&path).unwrap();
            let mut bytes = sound.clone();
            let marker = bytes[bytes.len() - 16..].to_vec();
            let mut markers = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(&marker));
            // The first is that of the header.
            let at = markers.nth(2).unwrap();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            let mut batches = build().iter();
            let mut found = Vec::new();
            let error = loop {
                match batches.next().unwrap() {
                    Ok(batch) => found.push(text(&batch)),
                    Err(error) => break error,
                }
            };
            let at = error.place.location.as_ref().and_then(|at| at.path());
            assert_eq!(at, Some(&*path), "{error}");
            fs::write(&path, sound).unwrap();
            let state = batches.state().unwrap();
            let given = usize::try_from(state.batches).unwrap();
            assert!(given <= found.len(), "{name}");
            assert_eq!(found[..given], whole[..given], "{name}");
            let rest = build().resume(&state).unwrap();
            let rest: Vec<_> = rest.map(|batch| text(&batch.unwrap())).collect();
            assert_eq!(rest, whole[given..], "{name}");
        }
    }
}
