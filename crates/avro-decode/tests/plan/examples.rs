//! Features with hand-written data and tensors, value by value.

use std::sync::Arc;

use avro_decode::{Feature, Features, Fill, OutOfBounds, Plan, PlanOptions, Schema};
use tensor_batch::{Batch, Column, ColumnSpec, DType, Layout, Scalar, Strings, UNKNOWN};

use crate::harness::{Ran, field_of, plan_of, record_of, run};

/// Reads one row for each record of `data`, in one run.
fn read(schema: &Arc<Schema>, columns: Vec<ColumnSpec>, data: &[u8], rows: usize) -> Batch {
    let features = Features::new(columns).expect("good columns");
    let plan = Plan::compile(schema, &features, &PlanOptions::default()).expect("the columns fit");
    let ran = run(&plan, data, &[rows], rows).expect("good data");
    assert_eq!(ran.position, data.len());
    ran.batch
}

fn texts(strings: &Strings) -> Vec<&[u8]> {
    strings.iter().collect()
}

#[test]
fn dense_of_every_dtype() {
    let schema = record_of(
        r#"{"name": "int", "type": "int"}, {"name": "long", "type": "long"},
           {"name": "float", "type": "float"}, {"name": "double", "type": "double"},
           {"name": "boolean", "type": "boolean"}, {"name": "string", "type": "string"},
           {"name": "bytes", "type": "bytes"}"#,
    );
    let columns = [
        ("int", DType::Int32),
        ("long", DType::Int64),
        ("float", DType::Float32),
        ("double", DType::Float64),
        ("boolean", DType::Bool),
        ("string", DType::String),
        ("bytes", DType::String),
    ];
    let columns = columns.map(|(name, dtype)| ColumnSpec::dense(name, &[], dtype));
    let mut data = vec![1, 4];
    data.extend(1.5f32.to_le_bytes());
    data.extend((-0.5f64).to_le_bytes());
    data.extend([1, 4, 0xc3, 0xa9, 2, 0xff]);
    let batch = read(&schema, columns.into(), &data, 1);
    assert_eq!(batch.dense::<i32>("int"), Ok(&[-1][..]));
    assert_eq!(batch.dense::<i64>("long"), Ok(&[2][..]));
    assert_eq!(batch.dense::<f32>("float"), Ok(&[1.5][..]));
    assert_eq!(batch.dense::<f64>("double"), Ok(&[-0.5][..]));
    assert_eq!(batch.dense::<bool>("boolean"), Ok(&[true][..]));
    assert_eq!(
        texts(batch.strings("string").expect("strings")),
        ["é".as_bytes()]
    );
    assert_eq!(texts(batch.strings("bytes").expect("strings")), [[0xff]]);
}

#[test]
fn dense_of_rank_2_in_blocks_of_every_sort() {
    let schema = field_of(r#"{"type": "array", "items": {"type": "array", "items": "int"}}"#);
    // [[1, 2], [3, 4], [5, 6]]: a block of two arrays, and a block with its size in bytes.
    let data = [
        4, 4, 2, 4, 0, 2, 6, 2, 8, 0, // 2 arrays: [1, 2] in a block, [3][4] in two
        1, 10, 3, 4, 10, 12, 0, // -1 array of 5 bytes: -2 items of 2 bytes
        0,
    ];
    let batch = read(
        &schema,
        vec![ColumnSpec::dense("x", &[3, 2], DType::Int32)],
        &data,
        1,
    );
    assert_eq!(batch.dense::<i32>("x"), Ok(&[1, 2, 3, 4, 5, 6][..]));
    let Some(Column::Dense(dense)) = batch.column("x") else {
        panic!("not dense")
    };
    assert_eq!(dense.shape, [1, 3, 2]);
}

const MATRIX_FIELDS: &str = r#"
    {"name": "indices1", "type": {"type": "array", "items": "int"}},
    {"name": "values", "type": {"type": "array", "items": "float"}},
    {"name": "indices0", "type": {"type": "array", "items": "long"}}"#;

fn matrix() -> Arc<Schema> {
    field_of(&format!(
        r#"{{"type": "record", "name": "Matrix", "fields": [{MATRIX_FIELDS}]}}"#
    ))
}

/// Two rows. The first has 1.5 at (7, 3), then 2.5 at (2, 4); the second is empty.
fn matrix_data() -> Vec<u8> {
    let mut data = vec![4, 6, 8, 0, 4];
    data.extend(1.5f32.to_le_bytes());
    data.extend(2.5f32.to_le_bytes());
    data.extend([0, 4, 14, 4, 0]);
    data.extend([0, 0, 0]);
    data
}

#[test]
fn sparse_as_coordinates_in_document_order() {
    let sparse = ColumnSpec::sparse("x", &[8, UNKNOWN], DType::Float32);
    let batch = read(&matrix(), vec![sparse], &matrix_data(), 2);
    let Some(Column::Sparse(coo)) = batch.column("x") else {
        panic!("not COO")
    };
    assert_eq!(coo.indices, [0, 7, 3, 0, 2, 4]);
    assert_eq!(coo.values.as_slice::<f32>(), Some(&[1.5, 2.5][..]));
    assert_eq!(coo.dense_shape, [2, 8, 5]);
}

#[test]
fn sparse_as_ragged() {
    let sparse = ColumnSpec::sparse("x", &[8, 9], DType::Float32).with_layout(Layout::Ragged);
    let batch = read(&matrix(), vec![sparse], &matrix_data(), 2);
    let Some(Column::RaggedSparse(ragged)) = batch.column("x") else {
        panic!("not ragged")
    };
    assert_eq!(ragged.indices, [7, 3, 2, 4]);
    assert_eq!(ragged.values.as_slice::<f32>(), Some(&[1.5, 2.5][..]));
    assert_eq!(ragged.row_splits, [0, 2, 2]);
    assert_eq!(ragged.dense_shape, [2, 8, 9]);
}

const NESTED_STRINGS: &str = r#"{"type": "array", "items": {"type": "array", "items": "string"}}"#;

/// `[["a"], []]` and `[[], [], []]`.
const NESTED_STRINGS_DATA: [u8; 12] = [4, 2, 2, b'a', 0, 0, 0, 6, 0, 0, 0, 0];

#[test]
fn varlen_as_coordinates_counts_no_empty_array() {
    let varlen = ColumnSpec::varlen("x", &[UNKNOWN, UNKNOWN], DType::String);
    let batch = read(
        &field_of(NESTED_STRINGS),
        vec![varlen],
        &NESTED_STRINGS_DATA,
        2,
    );
    let Some(Column::Sparse(coo)) = batch.column("x") else {
        panic!("not COO")
    };
    assert_eq!(coo.indices, [0, 0, 0]);
    assert_eq!(texts(coo.values.as_strings().expect("strings")), [b"a"]);
    assert_eq!(coo.dense_shape, [2, 1, 1]);
}

#[test]
fn varlen_as_ragged_counts_every_array() {
    let varlen = ColumnSpec::varlen("x", &[UNKNOWN, UNKNOWN], DType::String);
    let varlen = varlen.with_layout(Layout::Ragged);
    let batch = read(
        &field_of(NESTED_STRINGS),
        vec![varlen],
        &NESTED_STRINGS_DATA,
        2,
    );
    let Some(Column::Ragged(ragged)) = batch.column("x") else {
        panic!("not ragged")
    };
    let splits: Vec<_> = ragged
        .row_splits
        .iter()
        .map(|ends| ends.as_slice())
        .collect();
    assert_eq!(splits, [&[0, 2, 5][..], &[0, 1, 1, 1, 1, 1]]);
    assert_eq!(texts(ragged.values.as_strings().expect("strings")), [b"a"]);
}

#[test]
fn fields_of_nested_records_by_dotted_names() {
    let inner = r#"{"type": "record", "name": "Inner", "fields": [
        {"name": "a", "type": "int"}, {"name": "skipped", "type": "string"},
        {"name": "b", "type": ["null", "int"]}]}"#;
    let schema = record_of(&format!(
        r#"{{"name": "first", "type": ["null", {inner}]}}, {{"name": "second", "type": "Inner"}},
           {{"name": "c", "type": "int"}}"#
    ));
    let columns =
        ["first.a", "second.b", "c"].map(|name| ColumnSpec::dense(name, &[], DType::Int32));
    let data = [2, 2, 2, b'x', 0, 4, 0, 2, 6, 8];
    let batch = read(&schema, columns.into(), &data, 1);
    assert_eq!(batch.dense::<i32>("first.a"), Ok(&[1][..]));
    assert_eq!(batch.dense::<i32>("second.b"), Ok(&[3][..]));
    assert_eq!(batch.dense::<i32>("c"), Ok(&[4][..]));
}

#[test]
fn a_record_within_itself() {
    let schema =
        record_of(r#"{"name": "next", "type": ["null", "Row"]}, {"name": "x", "type": "int"}"#);
    let columns = ["next.x", "x"].map(|name| ColumnSpec::dense(name, &[], DType::Int32));
    // The value has three records, one in another. `next.next` is skipped.
    let batch = read(&schema, columns.into(), &[2, 2, 0, 2, 4, 6], 1);
    assert_eq!(batch.dense::<i32>("next.x"), Ok(&[2][..]));
    assert_eq!(batch.dense::<i32>("x"), Ok(&[3][..]));
}

#[test]
fn a_feature_and_features_inside_it() {
    let columns = vec![
        ColumnSpec::sparse("x", &[8, 9], DType::Float32),
        ColumnSpec::varlen("x.values", &[UNKNOWN], DType::Float32).with_layout(Layout::Ragged),
        ColumnSpec::varlen("x.indices0", &[UNKNOWN], DType::Int64),
    ];
    let batch = read(&matrix(), columns, &matrix_data(), 2);
    let Some(Column::Ragged(values)) = batch.column("x.values") else {
        panic!("not ragged")
    };
    assert_eq!(values.values.as_slice::<f32>(), Some(&[1.5, 2.5][..]));
    let Some(Column::Sparse(indices)) = batch.column("x.indices0") else {
        panic!("not COO")
    };
    assert_eq!(indices.values.as_slice::<i64>(), Some(&[7, 2][..]));
    assert!(matches!(batch.column("x"), Some(Column::Sparse(coo)) if coo.indices.len() == 6));
}

/// Reads rows of a sparse feature with the shape [?, 5], and drops entries outside of it.
fn dropping(data: &[u8], rows: usize) -> Ran {
    let schema = field_of(
        r#"{"type": "record", "name": "Sparse", "fields": [
            {"name": "indices0", "type": {"type": "array", "items": "long"}},
            {"name": "indices1", "type": {"type": "array", "items": "long"}},
            {"name": "values", "type": {"type": "array", "items": "int"}}]}"#,
    );
    let mut options = PlanOptions::default();
    options.out_of_bounds = OutOfBounds::Drop;
    let column = ColumnSpec::sparse("x", &[UNKNOWN, 5], DType::Int32);
    let plan = plan_of(&schema, column, &options);
    run(&plan, data, &[rows], rows).expect("good data")
}

#[test]
fn entries_outside_are_dropped_and_counted() {
    // (1, 4) = 1, (9, 5) = 2, (2, 0) = 3; then (-1, 0) = 4.
    let data = [
        6, 2, 18, 4, 0, 6, 8, 10, 0, 0, 6, 2, 4, 6, 0, //
        2, 1, 0, 2, 0, 0, 2, 8, 0,
    ];
    let ran = dropping(&data, 2);
    assert_eq!((ran.dropped, ran.position), (2, data.len()));
    let Some(Column::Sparse(coo)) = ran.batch.column("x") else {
        panic!("not COO")
    };
    assert_eq!(coo.indices, [0, 1, 4, 0, 2, 0]);
    assert_eq!(coo.values.as_slice::<i32>(), Some(&[1, 3][..]));
    // The entry with index 9 was dropped, so the dimension is 3.
    assert_eq!(coo.dense_shape, [2, 3, 5]);
}

#[test]
fn the_largest_long_has_no_dimension_to_be_in() {
    let mut data = vec![2, 0xfe];
    data.extend([0xff; 8]);
    data.extend([1, 0, 2, 0, 0, 2, 8, 0]);
    let ran = dropping(&data, 1);
    assert_eq!(ran.dropped, 1);
    let Some(Column::Sparse(coo)) = ran.batch.column("x") else {
        panic!("not COO")
    };
    assert_eq!((coo.indices, coo.dense_shape), (&[][..], &[1, 0, 5][..]));
}

#[test]
fn unselected_fields_are_skipped_by_the_sizes_of_their_blocks() {
    let schema = record_of(
        r#"{"name": "junk", "type": {"type": "map", "values": "boolean"}},
           {"name": "x", "type": "int"}"#,
    );
    let columns = || vec![ColumnSpec::dense("x", &[], DType::Int32)];
    // A skipped block with 1 entry and 3 bytes, which are not looked at.
    let batch = read(&schema, columns(), &[1, 6, 9, 9, 9, 0, 14], 1);
    assert_eq!(batch.dense::<i32>("x"), Ok(&[7][..]));
    // Without a size in bytes, the entry is parsed: key "k", true.
    let batch = read(&schema, columns(), &[2, 2, b'k', 1, 0, 14], 1);
    assert_eq!(batch.dense::<i32>("x"), Ok(&[7][..]));
}

#[test]
fn a_plan_of_no_columns_skips_records() {
    let schema = record_of(r#"{"name": "a", "type": "int"}, {"name": "b", "type": "string"}"#);
    let batch = read(&schema, Vec::new(), &[2, 2, b'x', 4, 0], 2);
    assert_eq!((batch.rows(), batch.columns().len()), (2, 0));
}

#[test]
fn bytes_and_fixed_as_uint8() {
    let schema = record_of(
        r#"{"name": "fixed", "type": {"type": "fixed", "name": "F", "size": 4}},
           {"name": "bytes", "type": "bytes"},
           {"name": "maybe", "type": ["null", "bytes"]},
           {"name": "many", "type": {"type": "array", "items": "bytes"}}"#,
    );
    let ragged = |feature: Feature| feature.with_layout(Layout::Ragged);
    let fill = || Fill::Scalar(Scalar::UInt8(7));
    let features = [
        Feature::dense("fixed", &[4], DType::UInt8),
        Feature::fixed_len("square", &[Some(2), Some(2)], DType::UInt8).at("fixed"),
        ragged(Feature::varlen("bytes", &[-1], DType::UInt8)),
        Feature::varlen("coo", &[-1], DType::UInt8).at("bytes"),
        ragged(Feature::varlen("cut", &[2], DType::UInt8).at("bytes")).with_truncate(),
        Feature::dense("maybe", &[3], DType::UInt8)
            .with_default(fill())
            .with_mask("has"),
        ragged(Feature::varlen("many", &[-1, -1], DType::UInt8)),
        Feature::dense("first", &[2], DType::UInt8)
            .at("many[0]")
            .with_default(fill()),
        Feature::dense("text", &[], DType::String).at("bytes"),
    ];
    let features = Features::new(features).expect("good features");
    let plan = Plan::compile(&schema, &features, &PlanOptions::default()).expect("they fit");
    let data = [
        &[1, 2, 3, 255][..],
        &[6, b'a', 0x80, 0][..],
        &[2, 4, 9, 8],
        &[4, 2, 5, 0, 0],
        &[5, 6, 7, 8],
        &[0],
        &[0],
        &[0],
    ]
    .concat();
    let ran = run(&plan, &data, &[2], 2).expect("good data");
    assert_eq!((ran.position, ran.truncated), (data.len(), 1));
    let batch = ran.batch;
    assert_eq!(
        batch.dense::<u8>("fixed"),
        Ok(&[1, 2, 3, 255, 5, 6, 7, 8][..])
    );
    assert_eq!(batch.dense::<u8>("square"), batch.dense::<u8>("fixed"));
    let bytes = batch.ragged::<u8>("bytes").expect("ragged");
    assert_eq!([bytes.row(0), bytes.row(1)], [&[b'a', 0x80, 0][..], &[]]);
    let coo = batch.sparse::<u8>("coo").expect("coordinates");
    assert_eq!(coo.values, [b'a', 0x80, 0]);
    assert_eq!(
        (coo.indices, coo.dense_shape),
        (&[0, 0, 0, 1, 0, 2][..], &[2, 3][..])
    );
    let cut = batch.ragged::<u8>("cut").expect("ragged");
    assert_eq!([cut.row(0), cut.row(1)], [&[b'a', 0x80][..], &[]]);
    assert_eq!(batch.dense::<u8>("maybe"), Ok(&[9, 8, 7, 7, 7, 7][..]));
    let has = [true, true, false, false, false, false];
    assert_eq!(batch.dense::<bool>("has"), Ok(&has[..]));
    let many = batch.ragged::<u8>("many").expect("ragged");
    assert_eq!((many.values, many.row(0)), (&[5][..], &[5][..]));
    assert_eq!(many.row_splits[1].as_slice(), [0, 1, 1]);
    assert_eq!(batch.dense::<u8>("first"), Ok(&[5, 7, 7, 7][..]));
    let words = texts(batch.strings("text").expect("strings"));
    assert_eq!(words, [&[b'a', 0x80, 0][..], b""]);
}
