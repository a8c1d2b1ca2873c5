//! Features and figures that `inspect` finds by a scan.

use std::collections::BTreeMap;
use std::fs;

use atds::features::FeatureKind;

use atds::avro::inspect;
use atds::{ColumnKind, Layout};

use crate::sample::samples;

#[test]
fn inspect_tells_of_codec_blocks_records_and_metadata() {
    for sample in samples() {
        let found = inspect(&sample.path).unwrap();
        let at = &sample.name;
        assert_eq!(found.codec, sample.expected["codec"], "{at}");
        assert_eq!(found.records, sample.records() as u64, "{at}");
        let blocks = sample.expected["blocks"].as_array().unwrap();
        assert_eq!(found.blocks, blocks.len() as u64, "{at}");
        let metadata: BTreeMap<&str, &[u8]> = found
            .metadata
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_slice()))
            .collect();
        let expected = sample.expected["metadata"].as_object().unwrap().iter();
        let expected: BTreeMap<&str, &[u8]> = expected
            .filter(|(key, _)| !key.starts_with("avro."))
            .map(|(key, value)| (key.as_str(), value.as_str().unwrap().as_bytes()))
            .collect();
        assert_eq!(metadata, expected, "{at}");
        let size = fs::metadata(&sample.path).unwrap().len();
        assert_eq!(found.file_bytes, size, "{at}");
        assert!(found.raw_bytes < size, "{at}");
        if found.codec == "null" {
            assert_eq!(found.raw_bytes, found.decompressed_bytes, "{at}");
        }
    }
}

/// Compares the inferred features with the expected columns. A feature is dense if all lists of a
/// level have one length other than 0. A sparse dimension is the largest index plus one.
#[test]
fn inspect_infers_the_features_that_the_data_has() {
    let mut dense = 0;
    for sample in samples().iter().filter(|sample| sample.records() > 0) {
        let found = inspect(&sample.path).unwrap();
        let columns = sample.columns(Layout::Ragged);
        for feature in sample.specs() {
            let at = format!("{}: {}", sample.name, feature.name);
            let inferred = found.features.iter().find(|f| f.name == feature.name);
            let inferred = inferred.unwrap_or_else(|| panic!("{at} is not inferred"));
            let column = &columns[&feature.name];
            match (&feature.kind, &inferred.kind) {
                (ColumnKind::Dense { shape }, FeatureKind::Dense { shape: found, .. }) => {
                    let shape: Vec<_> = shape.iter().map(|&dim| Some(dim)).collect();
                    assert_eq!(*found, shape, "{at}");
                    dense += usize::from(!shape.is_empty());
                }
                (ColumnKind::Varlen { .. }, FeatureKind::Dense { shape, .. }) => {
                    let lengths = column.row_splits.iter().map(|splits| length(splits));
                    let lengths: Option<Vec<i64>> = lengths.collect();
                    let shape: Vec<i64> = shape.iter().map(|dim| dim.unwrap() as i64).collect();
                    assert_eq!(lengths, Some(shape), "{at}");
                }
                (ColumnKind::Varlen { .. }, FeatureKind::Varlen { .. }) => {
                    let lengths = column.row_splits.iter().map(|splits| length(splits));
                    let lengths: Option<Vec<i64>> = lengths.collect();
                    let agree = lengths.is_some_and(|lengths| !lengths.contains(&0));
                    assert!(!agree, "{at} is dense");
                }
                (ColumnKind::Sparse { .. }, FeatureKind::Sparse { shape, .. }) => {
                    for (dim, &size) in shape.iter().enumerate() {
                        let largest = column.indices.iter().map(|index| index[dim]).max();
                        assert_eq!(size, largest.map_or(1, |largest| largest + 1), "{at}");
                    }
                }
                (_, other) => panic!("{at}: {other:?}"),
            }
        }
    }
    assert!(dense > 0, "no dense feature above rank 0 among the samples");
}

/// The common length of all lists; `None` without lists, or if lengths differ.
fn length(splits: &[i64]) -> Option<i64> {
    let lengths: Vec<i64> = splits.windows(2).map(|ends| ends[1] - ends[0]).collect();
    let first = *lengths.first()?;
    lengths.iter().all(|&len| len == first).then_some(first)
}
