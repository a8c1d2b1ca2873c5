//! Typed views of columns, and asking for one that is not there.

use tensor_batch::half::{bf16, f16};
use tensor_batch::{
    Batch, BatchBuilder, BatchSpec, ColumnSpec, DType, Element, Layout, Scalar, Values,
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
        ColumnSpec::dense("int32", &[], DType::Int32),
        ColumnSpec::dense("int64", &[], DType::Int64),
        ColumnSpec::padded("padded", &[2], Scalar::String(b"none".to_vec())),
        ColumnSpec::dense("string", &[2], DType::String),
        ColumnSpec::varlen("varlen", &[-1], DType::Int32).with_layout(Layout::Ragged),
    ]);
    let row = vec![
        Row::Dense(vec![Scalar::BFloat16(bf16::from_f32(0.5))]),
        Row::Dense(vec![Scalar::Bool(true), Scalar::Bool(false)]),
        Row::Flat(vec![Scalar::Int32(5); 3]),
        Row::Dense(vec![Scalar::Float16(f16::from_f32(-0.5))]),
        Row::Dense(vec![Scalar::Float32(1.5)]),
        Row::Dense(vec![Scalar::Float64(2.5)]),
        Row::Dense(vec![Scalar::Int32(-3)]),
        Row::Dense(vec![Scalar::Int64(i64::MIN)]),
        Row::Padded(List::Items(Vec::new())),
        Row::Dense(vec![
            Scalar::String(b"ab".to_vec()),
            Scalar::String(Vec::new()),
        ]),
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
            "column 'varlen': the column is not dense",
            "column 'varlen': the column is not dense",
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
