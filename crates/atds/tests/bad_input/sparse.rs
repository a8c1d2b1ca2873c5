//! Sparse records: indices outside their dimension, arrays of different lengths.

use atds::{Codec, ColumnSpec, DType, Dataset, Layout, OutOfBounds};

use crate::common::{Folder, SCHEMA, container};
use crate::made::{INDICES, VALUES, fields, longs};
use crate::{Messages, message};

#[test]
fn sparse_indices() {
    let mut messages = Messages::default();
    let mut case = |what: &str, indices: &[i64], values: usize, expected: &str| {
        let mut record = fields();
        record[INDICES] = longs(&[&[indices.len() as i64], indices, &[0]].concat());
        record[VALUES] = [longs(&[values as i64]), vec![0; 8 * values + 1]].concat();
        let payload = [fields().concat(), record.concat()].concat();
        let bytes = container(SCHEMA, Codec::Null, [(2, payload)]);
        messages.file(what, &bytes, expected);
    };
    case(
        "beyond the dimension",
        &[3, 100],
        2,
        "x.avro: block 0 at byte 639: record 1: field 'cells': index 100 is outside dimension 0 of size 100",
    );
    case(
        "negative",
        &[-1],
        1,
        "x.avro: block 0 at byte 638: record 1: field 'cells': index -1 is outside dimension 0 of size 100",
    );
    case(
        "most negative",
        &[i64::MIN],
        1,
        "x.avro: block 0 at byte 638: record 1: field 'cells': index -9223372036854775808 is outside dimension 0 of size 100",
    );
    case(
        "largest",
        &[i64::MAX],
        1,
        "x.avro: block 0 at byte 638: record 1: field 'cells': index 9223372036854775807 is outside dimension 0 of size 100",
    );
    case(
        "fewer values",
        &[1, 2],
        1,
        "x.avro: block 0 at byte 641: record 1: field 'cells': the arrays of the sparse record have different lengths: 2 and 1",
    );
    case(
        "more values",
        &[1],
        2,
        "x.avro: block 0 at byte 640: record 1: field 'cells': the arrays of the sparse record have different lengths: 1 and 2",
    );
}

#[test]
fn a_negative_index_of_an_unknown_dimension() {
    let mut record = fields();
    record[INDICES] = longs(&[1, -1, 0]);
    record[VALUES] = [&[2][..], &[0; 9]].concat();
    let folder = Folder::new();
    folder.write(
        "x.avro",
        &container(SCHEMA, Codec::Null, [(1, record.concat())]),
    );
    let dataset = Dataset::builder(folder.path(), 4);
    let dataset = dataset.features([ColumnSpec::sparse("cells", &[-1], DType::Float64)]);
    assert_eq!(
        message(&folder, dataset),
        "x.avro: block 0 at byte 622: record 0: field 'cells': index -1 is outside dimension 0 of unknown size"
    );
}

#[test]
fn entries_outside_their_dimension_are_dropped_by_choice_and_counted() {
    // A dimension of 98 leaves out the indices 98 and 99: the entries 0 and 1 of every record that
    // has them.
    let folder = Folder::of_rows(2, 30, 7, Codec::Deflate);
    let expected_dropped: i64 = (0..61).map(|id| id % 3).sum();
    for layout in [Layout::Coo, Layout::Ragged] {
        for (shuffle, threads) in [(0, 1), (0, 3), (40, 1), (40, 3)] {
            let dataset = Dataset::builder(folder.path(), 8)
                .features([
                    ColumnSpec::sparse("cells", &[98], DType::Float64),
                    ColumnSpec::dense("id", &[], DType::Int64),
                ])
                .layout(layout)
                .shuffle_buffer_size(shuffle)
                .threads(atds::Threads::Fixed(threads))
                .out_of_bounds(OutOfBounds::Drop);
            let mut batches = dataset.build().unwrap().iter();
            let rows: usize = batches.by_ref().map(|batch| batch.unwrap().rows()).sum();
            assert_eq!(rows, 61);
            assert_eq!(batches.stats().dropped_entries, expected_dropped as u64);
        }
    }
    let dataset = Dataset::builder(folder.path(), 8);
    let dataset = dataset.features([ColumnSpec::sparse("cells", &[99], DType::Float64)]);
    let mut batches = dataset
        .out_of_bounds(OutOfBounds::Drop)
        .build()
        .unwrap()
        .iter();
    let mut entries = Vec::new();
    for batch in batches.by_ref() {
        let batch = batch.unwrap();
        let Some(atds::Column::Sparse(cells)) = batch.column("cells") else {
            panic!("not sparse");
        };
        assert_eq!(cells.dense_shape[1], 99);
        entries.extend(cells.indices.chunks(2).map(|position| position[1]));
    }
    // Only records with two entries have an index inside the dimension.
    let two = (0..61).filter(|id| id % 3 == 2).count();
    let some = (0..61).filter(|id| id % 3 > 0).count();
    assert_eq!(entries, vec![98; two]);
    assert_eq!(batches.stats().dropped_entries, some as u64);
}
