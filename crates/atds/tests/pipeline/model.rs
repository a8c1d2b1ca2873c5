//! Random files and options against a naive model in memory.

use atds::{Codec, Layout, Threads};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::{CODECS, Folder, Row, SCHEMA, container, read_all};

/// Random files. Each has the index of its codec, and the number of records of each block.
fn any_files() -> impl Strategy<Value = Vec<(usize, Vec<usize>)>> {
    vec((0..CODECS.len(), vec(0..30usize, 0..12)), 1..5)
}

#[derive(Clone, Debug)]
struct Options {
    batch_size: usize,
    drop_remainder: bool,
    threads: Threads,
    layout: Layout,
    mmap: bool,
    reader_buffer_size: usize,
    prefetch: usize,
    epochs: u64,
}

fn any_options() -> impl Strategy<Value = Options> {
    let threads = prop_oneof![Just(Threads::Auto), (1..5usize).prop_map(Threads::Fixed)];
    let layout = prop_oneof![Just(Layout::Coo), Just(Layout::Ragged)];
    (
        1..100usize,
        any::<bool>(),
        threads,
        layout,
        any::<bool>(),
        1..5_000usize,
        0..4usize,
        0..3u64,
    )
        .prop_map(
            |(
                batch_size,
                drop_remainder,
                threads,
                layout,
                mmap,
                reader_buffer_size,
                prefetch,
                epochs,
            )| Options {
                batch_size,
                drop_remainder,
                threads,
                layout,
                mmap,
                reader_buffer_size,
                prefetch,
                epochs,
            },
        )
}

/// Writes the files and returns the number of their records.
fn write(folder: &Folder, files: &[(usize, Vec<usize>)]) -> i64 {
    let mut next = 0;
    for (i, (codec, counts)) in files.iter().enumerate() {
        let blocks = counts.iter().map(|&count| {
            let ids = next..next + count as i64;
            next = ids.end;
            let records = ids.flat_map(|id| Row::new(id).encode());
            (count as u64, records.collect())
        });
        let bytes = container(SCHEMA, CODECS[*codec], blocks);
        folder.write(&format!("{i}.avro"), &bytes);
    }
    next
}

fn batches(records: i64, options: &Options) -> Vec<Vec<i64>> {
    let ids: Vec<i64> = (0..records).collect();
    let mut epoch: Vec<Vec<i64>> = ids
        .chunks(options.batch_size)
        .map(<[i64]>::to_vec)
        .collect();
    if options.drop_remainder {
        epoch.retain(|batch| batch.len() == options.batch_size);
    }
    (0..options.epochs).flat_map(|_| epoch.clone()).collect()
}

fn dataset(folder: &Folder, options: &Options) -> atds::DatasetBuilder {
    folder
        .rows(options.batch_size)
        .drop_remainder(options.drop_remainder)
        .threads(options.threads)
        .layout(options.layout)
        .mmap(options.mmap)
        .reader_buffer_size(options.reader_buffer_size)
        .prefetch(options.prefetch)
        .epochs(options.epochs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn unshuffled_batches_are_the_records_cut_up(files in any_files(), options in any_options()) {
        let folder = Folder::new();
        let records = write(&folder, &files);
        let found = read_all(dataset(&folder, &options).build().unwrap().iter());
        prop_assert_eq!(found, batches(records, &options));
    }

    #[test]
    fn shuffled_batches_are_the_same_ones_on_one_thread(
        files in any_files(),
        options in any_options(),
        shuffle in 1..200usize,
        seed: u64,
        shuffle_files: bool,
        shuffle_blocks: bool,
    ) {
        let folder = Folder::new();
        let records = write(&folder, &files);
        let shuffled = |options: &Options| {
            let dataset = dataset(&folder, options).shuffle_buffer_size(shuffle).seed(seed);
            let dataset = dataset.shuffle_files(shuffle_files).shuffle_blocks(shuffle_blocks);
            read_all(dataset.build().unwrap().iter())
        };
        let plain = Options {
            threads: Threads::Fixed(1),
            mmap: false,
            reader_buffer_size: 1 << 17,
            prefetch: 1,
            ..options.clone()
        };
        let found = shuffled(&options);
        prop_assert_eq!(&found, &shuffled(&plain));

        let sizes: Vec<usize> = found.iter().map(Vec::len).collect();
        let unshuffled = batches(records, &options);
        prop_assert_eq!(sizes, unshuffled.iter().map(Vec::len).collect::<Vec<_>>());
        if !options.drop_remainder {
            let steps = unshuffled.len() / options.epochs.max(1) as usize;
            for epoch in found.chunks(steps.max(1)) {
                let mut ids = epoch.concat();
                ids.sort();
                prop_assert_eq!(ids, (0..records).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_codec_is_only_a_codec(records in 0..200i64, per_block in 1..50usize, batch in 1..50usize) {
        let ids = |codec: Codec| {
            let folder = Folder::new();
            folder.write("a.avro", &crate::common::rows_file(0..records, per_block, codec));
            read_all(folder.rows(batch).shuffle_buffer_size(40).build().unwrap().iter())
        };
        let plain = ids(Codec::Null);
        for codec in &CODECS[1..] {
            prop_assert_eq!(&ids(*codec), &plain);
        }
    }
}
