//! Files that other programs wrote give the tensors that those programs expect.
#![allow(clippy::unwrap_used)]

mod inspected;
mod sample;
mod shared;
mod whole;

use std::collections::BTreeMap;

use atds::{Batches, Dataset, Layout, Threads};

use sample::{Sample, samples};
use whole::Whole;

#[test]
fn one_batch_of_all_records() {
    for sample in samples() {
        for layout in [Layout::Coo, Layout::Ragged] {
            let batch_size = sample.records().max(1);
            let dataset = sample.dataset(batch_size, layout).build().unwrap();
            check(&sample, layout, dataset.iter(), "one batch");
        }
    }
}

#[test]
fn small_batches_on_several_threads_are_the_same_rows() {
    for sample in samples() {
        for layout in [Layout::Coo, Layout::Ragged] {
            for batch_size in [1, 3, 7] {
                for threads in [1, 2, 3] {
                    let dataset = sample.dataset(batch_size, layout);
                    let dataset = dataset.threads(Threads::Fixed(threads)).build().unwrap();
                    let how = format!("batches of {batch_size} on {threads} threads");
                    check(&sample, layout, dataset.iter(), &how);
                }
            }
        }
    }
}

#[test]
fn mapped_files_and_tiny_reads_give_the_same_rows() {
    for sample in samples() {
        let dataset = sample.dataset(7, Layout::Coo).mmap(true).build().unwrap();
        check(&sample, Layout::Coo, dataset.iter(), "mapped");
        for bytes in [1, 13] {
            let dataset = sample.dataset(7, Layout::Coo).reader_buffer_size(bytes);
            let how = format!("{bytes} bytes at a time");
            check(&sample, Layout::Coo, dataset.build().unwrap().iter(), &how);
        }
    }
}

/// A feature is inferred for every field, with a mask if its type allows null.
#[test]
fn no_feature_is_missing_from_the_inferred_ones() {
    let (mut inferred_ones, mut masks) = (0, 0);
    for sample in samples() {
        let dataset = Dataset::builder(&sample.path, 10).build().unwrap();
        for feature in sample.specs() {
            let at = format!("{}: {}", sample.name, feature.name);
            let position = dataset.spec().position(&feature.name);
            let position = position.unwrap_or_else(|| panic!("{at} is nowhere"));
            let inferred = &dataset.spec().columns()[position];
            // A decimal is inferred as a number, but the sample reads its bytes.
            if feature.name != "price" {
                assert_eq!(inferred.dtype, feature.dtype, "{at}");
            }
            assert_eq!(inferred.rank(), feature.rank(), "{at}");
            inferred_ones += 1;
            let mask = format!("{}.mask", feature.name);
            masks += usize::from(dataset.spec().position(&mask).is_some());
        }
        let rows: usize = dataset.iter().map(|batch| batch.unwrap().rows()).sum();
        assert_eq!(rows, sample.records(), "{}", sample.name);
    }
    assert!(inferred_ones > 200, "{inferred_ones} features inferred");
    assert!(masks > 20, "{masks} masks");
}

/// Compares the batches, joined, with the expected columns of the file.
fn check(sample: &Sample, layout: Layout, batches: Batches, how: &str) {
    let mut expected = sample.columns(layout);
    let at = format!("{}, {layout:?}, {how}", sample.name);
    let (mut whole, mut rows) = (BTreeMap::<String, Whole>::new(), 0);
    for batch in batches {
        let batch = batch.unwrap_or_else(|error| panic!("{at}: {error}"));
        for (spec, column) in batch.columns() {
            let whole = whole.entry(spec.name.clone()).or_default();
            whole.append(column, rows);
        }
        rows += batch.rows();
    }
    assert_eq!(rows, sample.records(), "{at}");
    if rows == 0 {
        // Without a batch there are no columns.
        expected.clear();
    }
    for (name, expected) in &expected {
        assert_eq!(&whole[name], expected, "{at}: {name}");
    }
    assert_eq!(whole.len(), expected.len(), "{at}");
}
