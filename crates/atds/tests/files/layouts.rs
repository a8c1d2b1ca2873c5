//! Where an index has the blocks of files: what is read by it, and what is not.

use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};

use atds::index::write_index;
use atds::{
    Batches, Codec, DType, Dataset, DatasetBuilder, Error, Feature, FileFormat, OnError, Shuffle,
    Split, SplitBy, Threads,
};
use atds_btable::FileWriter;
use atds_tfrecord::{Frame, Framer, Writer};
use twox_hash::XxHash3_64;

use crate::common::rows_file;

/// Records of some 2,000 bytes: a block has 30 or so.
pub(super) const RECORDS: i64 = 1_200;

pub(super) const FORMATS: [FileFormat; 3] =
    [FileFormat::TfRecord, FileFormat::BTable, FileFormat::Avro];

/// A tenth is few enough that blocks of the other split are not read.
pub(super) const FEW: f64 = 0.1;

/// An Example of one number `id`, and of `len` bytes that no feature reads.
pub(super) fn example(id: i64, len: usize) -> Vec<u8> {
    let delimited = |field: u8, bytes: &[u8]| {
        let len = bytes.len() as u16;
        let len = [len as u8 | 0x80, (len >> 7) as u8];
        [&[field << 3 | 2], &len[..], bytes].concat()
    };
    let entry = |key: &str, feature: Vec<u8>| {
        let feature = delimited(2, &feature);
        delimited(1, &[delimited(1, key.as_bytes()), feature].concat())
    };
    let id = [id as u8 | 0x80, (id >> 7) as u8];
    let id = entry("id", delimited(3, &delimited(1, &id)));
    let rest = entry("rest", delimited(1, &delimited(1, &vec![b'x'; len])));
    delimited(1, &[id, rest].concat())
}

pub(super) fn records(lens: impl IntoIterator<Item = (i64, usize)>) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for (id, len) in lens {
        writer.write(&example(id, len)).unwrap();
    }
    writer.finish().unwrap()
}

/// The length of the bytes of record `id`: not the same for all.
pub(super) fn len_of(id: i64) -> usize {
    1_800 + (id as usize * 37) % 300
}

/// Writes a file of the records with these numbers.
fn write(format: FileFormat, path: &Path, ids: Range<i64>) {
    match format {
        FileFormat::TfRecord => {
            fs::write(path, records(ids.map(|id| (id, len_of(id))))).unwrap();
        }
        FileFormat::BTable => {
            let labels: Vec<_> = (0..180).map(|column| format!("c{column}")).collect();
            let mut file = FileWriter::create(path, &labels).unwrap();
            for id in ids {
                let mut row = vec![1.5; 150 + id as usize % 30];
                row.resize(labels.len(), 0.0);
                row[0] = id as f64 + 1.0;
                file.writer().write_dense_row(&row).unwrap();
            }
            file.finish().unwrap();
        }
        _ => fs::write(path, rows_file(ids, 30, Codec::Null)).unwrap(),
    }
}

/// A folder of three files and an index of them.
pub(super) struct Indexed {
    folder: tempfile::TempDir,
    format: FileFormat,
    pub(super) files: Vec<PathBuf>,
}

impl Indexed {
    pub(super) fn new(format: FileFormat) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<_> = (0..3)
            .map(|file| {
                let path = folder.path().join(format!("{file}.{format}"));
                let first = RECORDS / 3 * file;
                write(format, &path, first..first + RECORDS / 3);
                path
            })
            .collect();
        let indexed = Indexed {
            folder,
            format,
            files,
        };
        indexed.index();
        indexed
    }

    pub(super) fn at(&self) -> PathBuf {
        self.folder.path().join("index")
    }

    fn index(&self) {
        write_index(&self.files, self.at()).unwrap();
    }

    /// Without an index.
    pub(super) fn plain(&self) -> DatasetBuilder {
        let id = match self.format {
            FileFormat::BTable => Feature::dense("c0", &[], DType::Float64),
            _ => Feature::dense("id", &[], DType::Int64),
        };
        Dataset::builder(self.files.clone(), 7).features([id])
    }

    pub(super) fn with_index(&self) -> DatasetBuilder {
        self.plain().index(self.at())
    }

    /// The batches, and the error after them.
    pub(super) fn read(&self, batches: Batches) -> (Vec<Vec<i64>>, Option<Error>) {
        let mut found = Vec::new();
        for batch in batches {
            match batch {
                Err(error) => return (found, Some(error)),
                Ok(batch) if self.format == FileFormat::BTable => {
                    let ids = batch.dense::<f64>("c0").unwrap();
                    found.push(ids.iter().map(|&id| id as i64 - 1).collect());
                }
                Ok(batch) => found.push(batch.dense::<i64>("id").unwrap().to_vec()),
            }
        }
        (found, None)
    }

    pub(super) fn ids(&self, batches: Batches) -> Vec<Vec<i64>> {
        match self.read(batches) {
            (found, None) => found,
            (_, Some(error)) => panic!("{error}"),
        }
    }

    /// Changes the bytes of a file. Its time stays.
    pub(super) fn change(&self, file: usize, change: impl FnOnce(&mut Vec<u8>)) {
        let path = &self.files[file];
        let time = fs::metadata(path).unwrap().modified().unwrap();
        let mut bytes = fs::read(path).unwrap();
        let len = bytes.len();
        change(&mut bytes);
        assert_eq!(bytes.len(), len);
        fs::write(path, bytes).unwrap();
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(time).unwrap();
    }
}

pub(super) fn split(part: f64, by: SplitBy) -> Split {
    Split::new("own", [("own", part), ("rest", 1.0 - part)]).by(by)
}

pub(super) type Arrange = fn(DatasetBuilder) -> DatasetBuilder;

/// The options of shuffling, each with whether it reads nothing of blocks of other splits.
pub(super) fn orders() -> Vec<(Arrange, bool)> {
    vec![
        (|builder| builder, true),
        (|builder| builder.shuffle_buffer_size(60).seed(5), true),
        (
            |builder| {
                builder
                    .shuffle_files(true)
                    .shuffle_blocks(true)
                    .shuffle_buffer_size(60)
            },
            true,
        ),
        (|builder| builder.shuffle(Shuffle::Blocks), false),
        (|builder| builder.interleave(2, 5), true),
    ]
}

#[test]
fn batches_and_states_are_those_without_an_index() {
    for format in FORMATS {
        let indexed = Indexed::new(format);
        let splits = [
            None,
            Some(split(FEW, SplitBy::Block)),
            Some(split(0.5, SplitBy::Block)),
            Some(split(FEW, SplitBy::Record)),
        ];
        for (number, split) in splits.into_iter().enumerate() {
            for (order, (arrange, _)) in orders().into_iter().enumerate() {
                let of = |builder: DatasetBuilder, threads| {
                    let builder = arrange(builder).threads(Threads::Fixed(threads));
                    let builder = match &split {
                        Some(split) => builder.split(split.clone()),
                        None => builder,
                    };
                    builder.build().unwrap()
                };
                let plain = of(indexed.plain(), 1);
                let expected = indexed.ids(plain.iter());
                let what = format!("{format}, split {number}, order {order}");
                assert!(expected.len() > 3, "{what}: {}", expected.len());
                for threads in 1..=3 {
                    let found = of(indexed.with_index(), threads);
                    assert_eq!(indexed.ids(found.iter()), expected, "{what}, {threads}");
                }
                let found = of(indexed.with_index().mmap(true), 2);
                assert_eq!(found.num_records().unwrap(), plain.num_records().unwrap());
                assert_eq!(indexed.ids(found.iter()), expected, "{what}, mapped");
                for rank in 0..3 {
                    let [expected, found] = [&plain, &found]
                        .map(|dataset| indexed.ids(dataset.shard(rank, 3).unwrap().iter()));
                    assert_eq!(found, expected, "{what}, rank {rank}");
                }
                let given = expected.len() / 2;
                let [state, other] = [&plain, &found].map(|dataset| {
                    let mut batches = dataset.iter();
                    batches
                        .by_ref()
                        .take(given)
                        .for_each(|batch| drop(batch.unwrap()));
                    batches.state().unwrap()
                });
                assert_eq!(state, other, "{what}");
                let rest = indexed.ids(found.resume(&state).unwrap());
                assert_eq!(rest, expected[given..], "{what}, resumed");
            }
        }
    }
}

/// The bytes of each block of a file, with its first record.
pub(super) fn blocks(format: FileFormat, path: &Path) -> Vec<(Range<usize>, u64)> {
    let bytes = fs::read(path).unwrap();
    let mut found = Vec::new();
    let mut add = |offset: u64, len: usize, first| {
        found.push((offset as usize..offset as usize + len, first));
    };
    if format == FileFormat::BTable {
        let mut framer = atds_btable::Framer::new();
        framer.push(bytes.into());
        framer.end();
        loop {
            match framer.next().unwrap() {
                atds_btable::Frame::Block(block) => {
                    add(block.offset, block.payload.len(), block.first_row);
                }
                atds_btable::Frame::End => return found,
                _ => {}
            }
        }
    }
    if format == FileFormat::Avro {
        let mut framer = avro_block::Framer::new();
        framer.push(bytes.into());
        let mut first = 0;
        loop {
            match framer.next().unwrap() {
                avro_block::Frame::Block(block) => {
                    add(block.offset, block.len as usize, first);
                    first += block.count;
                }
                avro_block::Frame::NeedMore(_) => return found,
                _ => {}
            }
        }
    }
    let mut framer = Framer::default();
    framer.push(bytes.into());
    framer.end();
    while let Frame::Block(block) = framer.next().unwrap() {
        add(block.offset, block.payload.len(), block.first_record);
    }
    found
}

/// The blocks of the split that has few, and those of the other, of the file of this number.
pub(super) fn of_splits(indexed: &Indexed, file: usize) -> [Vec<Range<usize>>; 2] {
    let builder = indexed.with_index().split(split(FEW, SplitBy::Block));
    let own = indexed.ids(builder.build().unwrap().iter()).concat();
    let first = RECORDS / 3 * file as i64;
    let all = blocks(indexed.format, &indexed.files[file]);
    let (own, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(_, record)| own.contains(&(first + *record as i64)));
    [own, others].map(|blocks| blocks.into_iter().map(|(bytes, _)| bytes).collect())
}

/// Spoils the blocks of other splits, which then cannot be framed.
pub(super) fn spoil_others(indexed: &Indexed) {
    for file in 0..3 {
        let [_, others] = of_splits(indexed, file);
        assert!(others.len() > 5);
        indexed.change(file, |bytes| {
            let (first, last) = (4096, bytes.len() - 4096);
            for block in others {
                let (start, end) = (block.start.max(first), block.end.min(last));
                if start < end {
                    bytes[start..end].fill(0xee);
                }
            }
        });
    }
}

#[test]
fn blocks_of_other_splits_are_not_looked_at() {
    for format in FORMATS {
        let indexed = Indexed::new(format);
        let built = |builder: DatasetBuilder, threads| {
            let builder = builder.split(split(FEW, SplitBy::Block));
            builder.threads(Threads::Fixed(threads)).build().unwrap()
        };
        let expected = orders()
            .into_iter()
            .map(|(arrange, _)| indexed.ids(built(arrange(indexed.plain()), 1).iter()));
        let expected: Vec<_> = expected.collect();
        spoil_others(&indexed);
        for ((arrange, is_read), expected) in orders().into_iter().zip(&expected) {
            for threads in 1..=3 {
                if is_read {
                    let found = built(arrange(indexed.with_index()), threads);
                    assert_eq!(indexed.ids(found.iter()), *expected, "{format}");
                }
                let (_, error) = indexed.read(built(arrange(indexed.plain()), threads).iter());
                assert!(error.is_some());
            }
        }
        // It goes on without what was read before.
        let dataset = built(indexed.with_index(), 2);
        let mut batches = dataset.iter();
        let given = expected[0].len() / 2;
        batches
            .by_ref()
            .take(given)
            .for_each(|batch| drop(batch.unwrap()));
        let rest = indexed.ids(dataset.resume(&batches.state().unwrap()).unwrap());
        assert_eq!(rest, expected[0][given..]);
        // With another time it is another file.
        for file in &indexed.files {
            let now = std::time::SystemTime::now();
            let file = File::options().write(true).open(file).unwrap();
            file.set_modified(now).unwrap();
        }
        let (_, error) = indexed.read(built(indexed.with_index(), 2).iter());
        assert!(error.is_some());
        // Damage that is left out is looked for.
        let builder = |builder: DatasetBuilder| {
            let dataset = built(builder.on_error(OnError::SkipBlock), 2);
            let mut batches = dataset.iter();
            let found = batches
                .by_ref()
                .map(|batch| batch.unwrap().rows())
                .sum::<usize>();
            (found, batches.stats().skipped_bytes)
        };
        if format == FileFormat::TfRecord {
            assert_eq!(builder(indexed.with_index()), builder(indexed.plain()));
        }
    }
}

/// Bytes that this process has read so far, of the system's cache, too (proc(5)).
#[cfg(target_os = "linux")]
fn bytes_read() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap();
    let read = text.lines().find_map(|line| line.strip_prefix("rchar: "));
    read.unwrap().parse().unwrap()
}

/// In a process of its own: other tests read, too.
#[cfg(target_os = "linux")]
#[test]
fn bytes_of_other_splits_are_not_read() {
    const ALONE: &str = "ATDS_TEST_READS_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let test = "layouts::bytes_of_other_splits_are_not_read";
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        let ran = alone.args(["--exact", test]).env(ALONE, "1").output();
        let ran = ran.unwrap();
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stdout)
        );
        return;
    }
    for format in FORMATS {
        let indexed = Indexed::new(format);
        let files = indexed
            .files
            .iter()
            .map(|file| fs::metadata(file).unwrap().len());
        let all: u64 = files.sum();
        for (order, (arrange, is_skipped)) in orders().into_iter().enumerate() {
            for threads in 1..=3 {
                let builder = arrange(indexed.with_index()).split(split(FEW, SplitBy::Block));
                let dataset = builder.threads(Threads::Fixed(threads)).build().unwrap();
                let before = bytes_read();
                let mut batches = dataset.iter();
                batches.by_ref().for_each(|batch| drop(batch.unwrap()));
                let read = bytes_read() - before;
                let own = batches.stats().raw_bytes;
                // The ends of each file, its header, and what this test reads; a file may be opened again.
                let around = 3 * 3 * 8192 + 3 * 2048;
                let what = format!(
                    "{format}, order {order}, {threads} threads: {read} of {all}, {own} own"
                );
                assert!(own > 0 && own < all / 4 && read >= own, "{what}");
                assert!(!is_skipped || read <= own + around, "{what}");
            }
        }
    }
}

/// The bytes of the records of a file, two of which are longer and shorter than they were: the same size and the
/// same ends, and other blocks.
fn with_shifted_blocks(indexed: &Indexed, file: usize) -> Vec<u8> {
    let first = RECORDS / 3 * file as i64;
    let moved = |id: i64| match id - first {
        20 => len_of(id) + 100,
        300 => len_of(id) - 100,
        _ => len_of(id),
    };
    let bytes = records((first..first + RECORDS / 3).map(|id| (id, moved(id))));
    let before = fs::read(&indexed.files[file]).unwrap();
    assert!(bytes.len() == before.len() && bytes != before);
    bytes
}

#[test]
fn a_file_that_has_changed_is_read_as_it_is() {
    let indexed = Indexed::new(FileFormat::TfRecord);
    let build = |builder: DatasetBuilder, threads, mmap| {
        let builder = builder.split(split(FEW, SplitBy::Block)).mmap(mmap);
        builder.threads(Threads::Fixed(threads)).build().unwrap()
    };
    let moves = |block: &Range<usize>| block.start > 50_000 && block.start < 500_000;
    let of_files = (0..3).find(|&file| of_splits(&indexed, file)[0].iter().any(moves));
    let file = of_files.unwrap();
    let before = indexed
        .ids(build(indexed.with_index(), 1, false).iter())
        .concat();
    let bytes = with_shifted_blocks(&indexed, file);
    let time = fs::metadata(&indexed.files[file])
        .unwrap()
        .modified()
        .unwrap();
    fs::write(&indexed.files[file], &bytes).unwrap();
    let expected = indexed.ids(build(indexed.plain(), 1, false).iter());
    let dataset = build(indexed.with_index().epochs(2), 2, false);
    for threads in 1..=3 {
        let found = indexed.ids(build(indexed.with_index(), threads, false).iter());
        assert_eq!(found, expected);
    }
    assert_eq!(indexed.ids(dataset.epoch(0)), expected);
    // With the time that it had it is an error, and no record is read that is not there.
    let opened = File::options().write(true).open(&indexed.files[file]);
    opened.unwrap().set_modified(time).unwrap();
    for (threads, mmap) in [(1, false), (2, false), (3, false), (2, true)] {
        let (found, error) = indexed.read(build(indexed.with_index(), threads, mmap).iter());
        let text = error.unwrap().to_string();
        let is_told =
            text.contains(&format!("{file}.tfrecord: block ")) && text.contains("changed");
        assert!(is_told, "{text}");
        assert!(before.starts_with(&found.concat()));
    }
    // A data set looks again in each epoch.
    fs::write(&indexed.files[file], &bytes).unwrap();
    assert_eq!(indexed.ids(dataset.epoch(0)), expected);
}

#[test]
fn a_record_that_is_too_large_is_found_in_any_split() {
    let indexed = Indexed::new(FileFormat::TfRecord);
    let large = records((0..400).map(|id| (id, if id == 200 { 15_000 } else { len_of(id) })));
    fs::write(&indexed.files[0], large).unwrap();
    indexed.index();
    for part in [FEW, 1.0 - FEW] {
        let build = |builder: DatasetBuilder| {
            let builder = builder.split(split(part, SplitBy::Block));
            builder.max_block_bytes(10_000).build().unwrap()
        };
        let [expected, found] = [indexed.plain(), indexed.with_index()]
            .map(|builder| indexed.read(build(builder).iter()));
        assert_eq!(found.0, expected.0);
        let texts = [expected.1, found.1].map(|error| error.unwrap().to_string());
        assert_eq!(texts[0], texts[1]);
    }
}

/// The index as an earlier version has written it, without what is in this version alone.
fn as_version(indexed: &Indexed, version: u32, keeps_layouts: bool) {
    let text = fs::read_to_string(indexed.at()).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("atds index 3"));
    let mut out = format!("atds index {version}\n");
    for line in lines {
        let mut entry: serde_json::Value = serde_json::from_str(&line[17..]).unwrap();
        if !keeps_layouts {
            let entry = entry.as_object_mut().unwrap();
            for field in ["time", "start", "sizes"] {
                assert!(entry.remove(field).is_some());
            }
        }
        let json = entry.to_string();
        let hash = XxHash3_64::oneshot(json.as_bytes());
        out += &format!("{hash:016x} {json}\n");
    }
    fs::write(indexed.at(), out).unwrap();
}

#[test]
fn indexes_of_earlier_versions_have_counts_alone() {
    for version in [1, 2] {
        let indexed = Indexed::new(FileFormat::TfRecord);
        let build = || {
            let builder = indexed.with_index().split(split(FEW, SplitBy::Block));
            builder.build().unwrap()
        };
        let (expected, records) = (indexed.ids(build().iter()), build().num_records().unwrap());
        as_version(&indexed, version, false);
        assert_eq!(indexed.ids(build().iter()), expected);
        let [_, others] = of_splits(&indexed, 1);
        let block = others
            .into_iter()
            .find(|block| block.start > 100_000)
            .unwrap();
        indexed.change(1, |bytes| bytes[block.start + 3] ^= 1);
        assert_eq!(build().num_records().unwrap(), records);
        let (_, error) = indexed.read(build().iter());
        assert!(error.unwrap().to_string().contains("1.tfrecord: block "));
        indexed.change(1, |bytes| bytes[block.start + 3] ^= 1);
        indexed.index();
        as_version(&indexed, version, true);
        let builder = indexed.with_index().build();
        assert!(
            builder
                .unwrap_err()
                .to_string()
                .contains("line 2 of the index is damaged")
        );
    }
}
