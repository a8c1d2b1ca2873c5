//! Typed views of columns, and the errors for views that do not exist.

use tensor_batch::half::{bf16, f16};
use tensor_batch::{
    Batch, BatchBuilder, BatchSpec, ColumnSpec, DType, Element, Layout, Scalar, Strings, Values,
};

use crate::model::{List, Row, batch};

fn one_row() -> Batch {
    let spec = BatchSpec::new(vec![
        ColumnSpec::dense("bfloat16", &[], DType::BFloat16),
        ColumnSpec::dense("bool", &[2], DType::Bool),
        ColumnSpec::flat("flat", DType::Int32),
        ColumnSpec::dense("float16", &[], DType::Float16),
        ColumnSpec::dense("float32", &[], DType::Float32),
        ColumnSpec::dense("float64", &[], DType::Float64),
        ColumnSpec::dense("int16", &[], DType::Int16),
        ColumnSpec::dense("int32", &[], DType::Int32),
        ColumnSpec::dense("int64", &[], DType::Int64),
        ColumnSpec::dense("int8", &[], DType::Int8),
        ColumnSpec::padded("padded", &[2], Scalar::String(b"none".to_vec())),
        ColumnSpec::dense("string", &[2], DType::String),
        ColumnSpec::dense("uint16", &[], DType::UInt16),
        ColumnSpec::dense("uint8", &[2], DType::UInt8),
        ColumnSpec::varlen("varlen", &[-1], DType::Int32).with_layout(Layout::Ragged),
    ]);
    let row = vec![
        Row::Dense(vec![Scalar::BFloat16(bf16::from_f32(0.5))]),
        Row::Dense(vec![Scalar::Bool(true), Scalar::Bool(false)]),
        Row::Flat(vec![Scalar::Int32(5); 3]),
        Row::Dense(vec![Scalar::Float16(f16::from_f32(-0.5))]),
        Row::Dense(vec![Scalar::Float32(1.5)]),
        Row::Dense(vec![Scalar::Float64(2.5)]),
        Row::Dense(vec![Scalar::Int16(-300)]),
        Row::Dense(vec![Scalar::Int32(-3)]),
        Row::Dense(vec![Scalar::Int64(i64::MIN)]),
        Row::Dense(vec![Scalar::Int8(-128)]),
        Row::Padded(List::Items(Vec::new())),
        Row::Dense(vec![
            Scalar::String(b"ab".to_vec()),
            Scalar::String(Vec::new()),
        ]),
        Row::Dense(vec![Scalar::UInt16(65_535)]),
        Row::Dense(vec![Scalar::UInt8(2), Scalar::UInt8(255)]),
        Row::Varlen(List::Items(vec![List::Leaf(Scalar::Int32(9))])),
    ];
    let mut builder = BatchBuilder::new(spec.expect("good"));
    batch(&mut builder, &[1], &[row])
}

#[test]
fn every_dtype_has_a_view() {
    let batch = one_row();
    assert_eq!(batch.dense("bfloat16"), Ok(&[bf16::from_f32(0.5)][..]));
    assert_eq!(batch.dense::<bool>("bool"), Ok(&[true, false][..]));
    assert_eq!(batch.dense::<i32>("flat"), Ok(&[5, 5, 5][..]));
    assert_eq!(batch.dense("float16"), Ok(&[f16::from_f32(-0.5)][..]));
    assert_eq!(batch.dense::<f32>("float32"), Ok(&[1.5][..]));
    assert_eq!(batch.dense::<f64>("float64"), Ok(&[2.5][..]));
    assert_eq!(batch.dense::<i8>("int8"), Ok(&[-128][..]));
    assert_eq!(batch.dense::<i16>("int16"), Ok(&[-300][..]));
    assert_eq!(batch.dense::<u8>("uint8"), Ok(&[2, 255][..]));
    assert_eq!(batch.dense::<u16>("uint16"), Ok(&[65_535][..]));
    assert_eq!(batch.dense::<i32>("int32"), Ok(&[-3][..]));
    assert_eq!(batch.dense::<i64>("int64"), Ok(&[i64::MIN][..]));

    let padded = batch.strings("padded").expect("strings");
    assert_eq!(padded.iter().collect::<Vec<_>>(), [b"none"; 2]);
    let strings = batch.strings("string").expect("strings");
    assert_eq!((strings.len(), strings.is_empty()), (2, false));
    assert_eq!(strings.iter().collect::<Vec<_>>(), [&b"ab"[..], b""]);
    assert_eq!(
        (strings.get(0), strings.get(1)),
        (Some(&b"ab"[..]), Some(&b""[..]))
    );
    assert_eq!((strings.get(2), strings.get(usize::MAX - 1)), (None, None));
    assert_eq!(
        (strings.offsets(), strings.data()),
        (&[0, 2, 2][..], &b"ab"[..])
    );
}

#[test]
fn a_view_that_is_not_there_says_why() {
    let batch = one_row();
    let messages = [
        batch.dense::<i32>("absent").map(drop),
        batch.strings("absent").map(drop),
        batch.dense::<i32>("varlen").map(drop),
        batch.strings("varlen").map(drop),
        batch.sparse::<i32>("absent").map(drop),
        batch.sparse::<i32>("varlen").map(drop),
        batch.ragged::<i64>("varlen").map(drop),
        batch.ragged::<Strings>("varlen").map(drop),
        batch.ragged_sparse::<i32>("varlen").map(drop),
        batch.ragged::<i32>("int32").map(drop),
        batch.dense::<f32>("float64").map(drop),
        batch.dense::<f16>("bfloat16").map(drop),
        batch.dense::<i32>("string").map(drop),
        batch.strings("bool").map(drop),
    ]
    .map(|view| view.expect_err("there is no such view").to_string());
    assert_eq!(
        messages,
        [
            "column 'absent': the batch has no such column",
            "column 'absent': the batch has no such column",
            "column 'varlen': the column is ragged, not dense",
            "column 'varlen': the column is ragged, not dense",
            "column 'absent': the batch has no such column",
            "column 'varlen': the column is ragged, not sparse",
            "column 'varlen': the column is int32, not int64",
            "column 'varlen': the column is int32, not string",
            "column 'varlen': the column is ragged, not ragged sparse",
            "column 'int32': the column is dense, not ragged",
            "column 'float64': the column is float64, not float32",
            "column 'bfloat16': the column is bfloat16, not float16",
            "column 'string': the column is string, not int32",
            "column 'bool': the column is bool, not string",
        ]
    );
    assert!(batch.column("absent").is_none());
}

#[test]
fn a_byte_that_is_no_bool_is_not_viewed_as_one() {
    let mut values = Values::new(DType::Bool);
    bool::buffer_mut(&mut values).expect("bool").push(1);
    assert_eq!(values.as_slice::<bool>(), Some(&[true][..]));
    bool::buffer_mut(&mut values).expect("bool").push(2);
    assert_eq!(values.as_slice::<bool>(), None);
    assert_eq!(
        (values.get(0), values.get(1)),
        (Some(Scalar::Bool(true)), None)
    );
}

#[test]
fn slots_are_viewed_as_what_they_are_alone() {
    let spec = BatchSpec::new(vec![
        ColumnSpec::dense("a", &[], DType::Int32),
        ColumnSpec::dense("b", &[], DType::String),
    ]);
    let mut builder = BatchBuilder::new(spec.expect("good"));
    let mut slots = builder.slots(&[1]);
    let [a, b] = &mut slots[0].columns() else {
        panic!("two columns")
    };
    assert!(a.dense::<i32>().is_some() && a.dense::<f32>().is_none());
    assert!(a.segment().is_none());
    assert!(b.dense::<i32>().is_none() && b.segment().is_some());
}

fn lists() -> Batch {
    let spec = BatchSpec::new(vec![
        ColumnSpec::sparse("coo", &[10, -1], DType::UInt8),
        ColumnSpec::sparse("entries", &[10], DType::Float32).with_layout(Layout::Ragged),
        ColumnSpec::varlen("nested", &[-1, -1], DType::Int16).with_layout(Layout::Ragged),
        ColumnSpec::varlen("words", &[-1], DType::String),
    ]);
    let numbers = |numbers: &[i16]| {
        let leaves = numbers
            .iter()
            .map(|&number| List::Leaf(Scalar::Int16(number)));
        List::Items(leaves.collect())
    };
    let words = |words: &[&str]| {
        let leaves = words
            .iter()
            .map(|word| List::Leaf(Scalar::String(word.as_bytes().to_vec())));
        Row::Varlen(List::Items(leaves.collect()))
    };
    let rows = [
        vec![
            Row::Sparse(vec![
                (vec![3, 0], Scalar::UInt8(7)),
                (vec![9, 4], Scalar::UInt8(255)),
            ]),
            Row::Sparse(vec![]),
            Row::Varlen(List::Items(vec![
                numbers(&[1, 2]),
                numbers(&[]),
                numbers(&[3]),
            ])),
            words(&[]),
        ],
        vec![
            Row::Sparse(vec![(vec![0, 1], Scalar::UInt8(1))]),
            Row::Sparse(vec![
                (vec![5], Scalar::Float32(0.5)),
                (vec![2], Scalar::Float32(-1.0)),
            ]),
            Row::Varlen(List::Items(vec![])),
            words(&["a", "bc"]),
        ],
        vec![
            Row::Sparse(vec![]),
            Row::Sparse(vec![]),
            Row::Varlen(List::Items(vec![numbers(&[-4])])),
            words(&["d"]),
        ],
    ];
    let mut builder = BatchBuilder::new(spec.expect("good"));
    batch(&mut builder, &[2, 1], &rows)
}

#[test]
fn lists_and_entries_have_views() {
    let batch = lists();
    let coo = batch.sparse::<u8>("coo").expect("coordinates");
    assert_eq!((coo.values, coo.nnz()), (&[7, 255, 1][..], 3));
    assert_eq!(coo.dense_shape, [3, 10, 5]);
    let indices: Vec<_> = (0..3).map(|i| coo.indices_of(i)).collect();
    assert_eq!(indices, [[0, 3, 0], [0, 9, 4], [1, 0, 1]]);
    assert_eq!(indices.concat(), coo.indices);

    let entries = batch.ragged_sparse::<f32>("entries").expect("entries");
    assert_eq!((entries.rows(), entries.row_splits), (3, &[0, 0, 2, 2][..]));
    assert_eq!(
        (entries.indices, entries.values),
        (&[5, 2][..], &[0.5, -1.0][..])
    );
    let ranges: Vec<_> = (0..3).map(|row| entries.row_range(row)).collect();
    assert_eq!(ranges, [0..0, 0..2, 2..2]);
    assert_eq!(entries.dense_shape, [3, 10]);

    let nested = batch.ragged::<i16>("nested").expect("lists");
    assert_eq!((nested.rows(), nested.row_splits.len()), (3, 2));
    let rows: Vec<_> = (0..3).map(|row| nested.row(row)).collect();
    assert_eq!(rows, [&[1, 2, 3][..], &[], &[-4]]);

    let words = batch.sparse::<Strings>("words").expect("strings");
    assert_eq!(
        words.values.iter().collect::<Vec<_>>(),
        [&b"a"[..], b"bc", b"d"]
    );
    assert_eq!(words.indices, [1, 0, 1, 1, 2, 0]);
}

#[test]
fn debug_text_fits_a_screen() {
    let text = format!("{:?}", lists());
    assert_eq!(
        text,
        "Batch { rows: 3, columns: {\"coo\": sparse uint8 [3, 10, 5] (3 values), \
         \"entries\": ragged sparse float32 [3, 10] (2 values), \
         \"nested\": ragged int16 [3] (4 values), \
         \"words\": sparse string [3, 2] (3 values)} }"
    );
    let names: Vec<_> = (0..1000).map(|i| format!("c{i}")).collect();
    let columns = names
        .iter()
        .map(|name| ColumnSpec::dense(name, &[], DType::Int64));
    let mut builder = BatchBuilder::new(BatchSpec::new(columns.collect()).expect("good"));
    let row = vec![Row::Dense(vec![Scalar::Int64(1)]); 1000];
    let many = batch(&mut builder, &[1000], &vec![row; 1000]);
    assert!(format!("{many:#?}").lines().count() < 30, "{many:#?}");
    assert!(format!("{:#?}", many.column("c1")).len() < 1000);
    assert!(format!("{builder:?}").len() < 1000);
    let column = many.into_columns().next().expect("a column");
    assert!(format!("{column:?}").len() < 1000, "{column:?}");

    let mut strings = Strings::new();
    for _ in 0..1000 {
        strings.push(b"\xffword ");
    }
    let values = Values::String(strings);
    assert!(format!("{values:?}").starts_with("String(Strings(1000: \"\\xffword "));
    assert!(format!("{values:?}").len() < 300, "{values:?}");
}
