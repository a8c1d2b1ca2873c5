//! The column of the places of records, in Avro files. What all formats share is in the conformance suite.

use std::collections::BTreeSet;

use atds::{Batch, Codec, ColumnSpec, DType, DatasetBuilder, Error, ErrorKind, Threads};

use crate::common::Folder;

/// Three files of 40, 41 and 42 records in blocks of 7. The column lies between the others.
fn dataset(folder: &Folder) -> DatasetBuilder {
    folder.rows(8).provenance("middle".to_owned())
}

/// The place of each row; its id says which it is.
fn places(batch: Result<Batch, Error>) -> Vec<[i64; 2]> {
    let batch = batch.unwrap();
    let firsts = [0, 40, 81];
    let found = batch.dense::<i64>("middle").unwrap().chunks(2);
    let places: Vec<_> = found.map(|place| [place[0], place[1]]).collect();
    for (id, [file, record]) in batch.dense::<i64>("id").unwrap().iter().zip(&places) {
        assert_eq!(*id, firsts[*file as usize] + record);
    }
    places
}

#[test]
fn each_row_has_the_place_of_its_record() {
    for codec in [Codec::Null, Codec::Deflate] {
        let folder = Folder::of_rows(3, 40, 7, codec);
        for threads in [1, 3] {
            let dataset = dataset(&folder).threads(Threads::Fixed(threads)).seed(3);
            let all = dataset.shuffle_files(true).shuffle_blocks(true);
            for window in [0, 30] {
                let dataset = all.clone().shuffle_buffer_size(window).build().unwrap();
                let mut found = BTreeSet::new();
                for index in 0..3 {
                    let shard = dataset.shard(index, 3).unwrap();
                    found.extend(shard.epoch(2).flat_map(places));
                }
                assert_eq!(found.len(), 123);
                let rest: Vec<_> = dataset.epochs_after(4, 2..4).flat_map(places).collect();
                assert_eq!(rest.len(), 2 * 123 - 4 * 8);
            }
        }
    }
}

/// A batch that does not fit is decoded for its size.
#[test]
fn the_column_counts_for_the_memory_limit() {
    let folder = Folder::of_rows(3, 40, 7, Codec::Deflate);
    let mut limit = 100;
    for attempt in 0.. {
        let dataset = dataset(&folder).memory_limit(limit).build().unwrap();
        match dataset.iter().find_map(Result::err).map(|error| error.kind) {
            None => break,
            Some(ErrorKind::MemoryLimit { needed, .. }) => limit = needed,
            Some(kind) => panic!("{kind}"),
        }
        assert!(attempt < 4, "{limit}");
    }
    assert!(limit > 8 * 2 * 8);
}

#[test]
fn a_name_that_a_column_has_is_an_error() {
    let folder = Folder::of_rows(1, 10, 7, Codec::Null);
    let columns = [ColumnSpec::dense("id", &[], DType::Int64)];
    let builder = folder.rows(8).features(columns).provenance("id".to_owned());
    let error = builder.build().unwrap_err();
    assert!(
        error.to_string().starts_with("`provenance` must be a name"),
        "{error}"
    );
}
