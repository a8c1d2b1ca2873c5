//! The order of files and records, as the data set's own options have it. What all formats share is in
//! the conformance suite.

use std::path::{Path, PathBuf};

use atds::{Codec, ColumnSpec, DType, Dataset, Threads};

use crate::common::{CODECS, Folder, LAYOUTS, read_all, rows_file};

/// The numbers `0..records` in batches of `batch_size`.
fn in_order(records: i64, batch_size: usize) -> Vec<Vec<i64>> {
    let ids: Vec<i64> = (0..records).collect();
    ids.chunks(batch_size).map(<[i64]>::to_vec).collect()
}

#[test]
fn no_layout_mapping_or_choice_of_threads_changes_a_batch() {
    let folder = Folder::of_rows(3, 60, 7, Codec::Deflate);
    let dataset = || folder.rows(17).shuffle_buffer_size(40).seed(3);
    let fixed = dataset().threads(Threads::Fixed(1)).build().unwrap();
    let expected = read_all(fixed.iter());
    let same = |dataset: atds::DatasetBuilder, what: &str| {
        assert_eq!(
            read_all(dataset.build().unwrap().iter()),
            expected,
            "{what}"
        );
    };
    same(dataset().mmap(true), "mapped");
    same(dataset().threads(Threads::Auto), "automatic");
    same(dataset().threads(Threads::UpTo(3)), "up to 3");
    for layout in LAYOUTS {
        for threads in [1, 4] {
            let threads = Threads::Fixed(threads);
            same(
                dataset().layout(layout).threads(threads),
                &format!("{layout:?}"),
            );
        }
    }
}

#[test]
fn a_codec_changes_no_batch() {
    for (records, per_block, batch) in [(0, 5, 5), (1, 1, 3), (100, 7, 10), (190, 49, 1)] {
        let ids = |codec| {
            let folder = Folder::new();
            folder.write("a.avro", &rows_file(0..records, per_block, codec));
            let dataset = folder.rows(batch).shuffle_buffer_size(40);
            read_all(dataset.build().unwrap().iter())
        };
        let plain = ids(Codec::Null);
        assert_eq!(plain.concat().len() as i64, records);
        for codec in &CODECS[1..] {
            assert_eq!(ids(*codec), plain, "{codec}");
        }
    }
}

#[test]
fn remainders_are_dropped_by_choice_and_counted() {
    let folder = Folder::of_rows(1, 50, 7, Codec::Snappy);
    for (batch_size, kept, dropped) in [(16, 3, 2), (25, 2, 0), (51, 0, 50)] {
        let dataset = folder.rows(batch_size).drop_remainder(true).epochs(2);
        let mut batches = dataset.build().unwrap().iter();
        let full = batches.by_ref().map(|batch| batch.unwrap().rows());
        assert_eq!(full.collect::<Vec<_>>(), vec![batch_size; 2 * kept]);
        let stats = batches.stats();
        assert_eq!(stats.dropped_records, 2 * dropped);
        assert_eq!(stats.records, (2 * kept * batch_size) as u64);
    }
}

#[test]
fn files_are_read_in_the_order_given_and_folders_and_globs_sorted() {
    let folder = Folder::new();
    for (name, id) in [("b.avro", 1), ("a.avro", 0), ("c.avro", 2), ("d.data", 3)] {
        folder.write(name, &rows_file([id], 1, Codec::Null));
    }
    std::fs::create_dir(folder.join("sub.avro")).unwrap();
    let ids = |files: &[&str]| {
        let files: Vec<PathBuf> = files.iter().map(|file| folder.join(file)).collect();
        let dataset = Dataset::builder(files, 1).features(crate::common::features());
        read_all(dataset.build().unwrap().iter()).concat()
    };
    assert_eq!(ids(&["c.avro", "a.avro", "d.data", "a.avro"]), [2, 0, 3, 0]);
    assert_eq!(ids(&["", "*.data"]), [0, 1, 2, 3]);
    assert_eq!(ids(&["[bc].avro", "?.avro"]), [1, 2, 0, 1, 2]);
    let dataset = folder.rows(1).build().unwrap();
    let names: Vec<PathBuf> = ["a.avro", "b.avro", "c.avro"]
        .map(|n| folder.join(n))
        .into();
    assert_eq!(dataset.files(), names);
    let sizes = names
        .iter()
        .map(|name| std::fs::metadata(name).unwrap().len());
    assert_eq!(dataset.total_bytes().unwrap(), Some(sizes.sum()));
}

#[test]
fn a_name_that_looks_like_a_glob_and_exists_is_a_file() {
    let folder = Folder::new();
    folder.write("x[1].avro", &rows_file([7], 1, Codec::Null));
    folder.write("x1.avro", &rows_file([8], 1, Codec::Null));
    let dataset = Dataset::builder(folder.join("x[1].avro"), 1);
    let dataset = dataset.features(crate::common::features()).build().unwrap();
    assert_eq!(read_all(dataset.iter()), [[7]]);
}

/// `schema_before` has the fields `a` and `b`. `schema_after` has other fields before them, makes
/// one nullable, and has another codec.
#[test]
fn files_of_different_schemas_mix_in_a_batch() {
    let folder = std::env::var_os("ATDS_TESTDATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata"),
        PathBuf::from,
    );
    let files = ["schema_before_fastavro.avro", "schema_after_avro.avro"];
    for threads in [1, 2, 3] {
        let dataset = Dataset::builder(files.map(|file| folder.join(file)), 10)
            .features([
                ColumnSpec::dense("b", &[2], DType::Float32),
                ColumnSpec::dense("a", &[], DType::Int64),
            ])
            .threads(Threads::Fixed(threads))
            .build()
            .unwrap();
        let batch = dataset.iter().next().unwrap().unwrap();
        assert_eq!(batch.dense::<i64>("a").unwrap(), [0, 1, 2, 3, 4].repeat(2));
        let b = [0.0f32, 0.0, 0.5, -0.25, 1.0, -0.5, 1.5, -0.75, 2.0, -1.0];
        assert_eq!(batch.dense::<f32>("b").unwrap(), b.repeat(2));
    }
}

#[test]
fn a_batch_outlives_its_dataset_and_is_not_overwritten() {
    let folder = Folder::of_rows(1, 30, 4, Codec::Deflate);
    let dataset = folder.rows(3).build().unwrap();
    let batches: Vec<_> = dataset.iter().map(Result::unwrap).collect();
    drop((dataset, folder));
    for (batch, ids) in batches.iter().zip(in_order(30, 3)) {
        assert_eq!(batch.dense::<i64>("id").unwrap(), ids);
    }
    assert_eq!(batches.len(), 10);
}

/// Endless epochs without a batch must not loop forever.
#[test]
fn endless_epochs_without_batches_end() {
    let folder = Folder::of_rows(2, 3, 2, Codec::Null);
    let dataset = folder.rows(10).drop_remainder(true).epochs(u64::MAX);
    let mut batches = dataset.build().unwrap().iter();
    assert!(batches.next().is_none());
    assert_eq!(batches.stats().dropped_records, u64::MAX);
}
