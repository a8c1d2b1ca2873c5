//! Invalid specs, and the properties of valid ones.

use tensor_batch::{
    BatchSpec, ColumnSpec, DType, Layout, MAX_RANK, Scalar, SpecErrorKind, UNKNOWN,
};

fn refused(columns: Vec<ColumnSpec>) -> (SpecErrorKind, String) {
    let error = BatchSpec::new(columns).expect_err("a bad spec");
    (error.kind.clone(), error.to_string())
}

#[test]
fn a_name_is_given_once() {
    let column = |name| ColumnSpec::dense(name, &[], DType::Int32);
    let (kind, message) = refused(vec![column("b"), column("a"), column("b")]);
    assert_eq!(kind, SpecErrorKind::DuplicateName);
    assert_eq!(message, "column 'b': the name is given twice");
}

#[test]
fn dimensions_are_above_0_or_unknown() {
    let bad = [
        ColumnSpec::dense("a", &[2, 0], DType::Int32),
        ColumnSpec::sparse("a", &[0], DType::Int32),
        ColumnSpec::sparse("a", &[3, -2], DType::Int32),
        ColumnSpec::varlen("a", &[UNKNOWN, 0], DType::Int32),
        ColumnSpec::varlen("a", &[i64::MIN], DType::Int32),
        ColumnSpec::varlen("a", &[0], DType::Int32).with_layout(Layout::Ragged),
        ColumnSpec::padded("a", &[UNKNOWN, 0], Scalar::Int32(0)),
        ColumnSpec::padded("a", &[-2], Scalar::Int32(0)),
    ];
    for column in bad {
        let (kind, message) = refused(vec![column]);
        assert_eq!(kind, SpecErrorKind::BadDimension);
        assert_eq!(
            message,
            "column 'a': a dimension must be above 0; where the column is not dense, -1 stands for unknown"
        );
    }
}

#[test]
fn sparse_padded_and_ragged_have_a_dimension() {
    for column in [
        ColumnSpec::sparse("a", &[], DType::Int32),
        ColumnSpec::sparse("a", &[], DType::Int32).with_layout(Layout::Ragged),
        ColumnSpec::varlen("a", &[], DType::Int32).with_layout(Layout::Ragged),
        ColumnSpec::padded("a", &[], Scalar::Int32(0)),
    ] {
        let (kind, message) = refused(vec![column]);
        assert_eq!(kind, SpecErrorKind::EmptyShape);
        assert_eq!(
            message,
            "column 'a': the shape is empty; \
             sparse, padded and ragged columns have at least one dimension"
        );
    }
}

#[test]
fn a_fill_is_of_the_dtype_of_its_column() {
    let mut column = ColumnSpec::padded("a", &[UNKNOWN], Scalar::Float32(0.0));
    assert_eq!(column.dtype, DType::Float32);
    column.dtype = DType::Float64;
    let (kind, message) = refused(vec![column]);
    let (fill, column) = (DType::Float32, DType::Float64);
    assert_eq!(kind, SpecErrorKind::FillDType { fill, column });
    assert_eq!(
        message,
        "column 'a': the fill value is float32, but the column is float64"
    );
}

#[test]
fn a_layout_changes_what_has_one() {
    for column in [
        ColumnSpec::dense("a", &[2], DType::Int32),
        ColumnSpec::padded("a", &[UNKNOWN], Scalar::Int32(0)),
        ColumnSpec::flat("a", DType::Int32),
    ] {
        assert_eq!(column.clone().with_layout(Layout::Ragged), column);
    }
    let varlen = ColumnSpec::varlen("a", &[UNKNOWN], DType::Int32);
    assert_ne!(varlen.clone().with_layout(Layout::Ragged), varlen);
}

#[test]
fn the_rank_is_bounded() {
    let good = ColumnSpec::varlen("a", &[UNKNOWN; MAX_RANK], DType::Int32);
    assert_eq!(good.rank(), MAX_RANK);
    BatchSpec::new(vec![good]).expect("the highest rank");
    let (kind, message) = refused(vec![ColumnSpec::dense("a", &[1; 32], DType::Int32)]);
    assert_eq!(kind, SpecErrorKind::RankTooHigh { rank: 32 });
    assert_eq!(
        message,
        "column 'a': the shape has 32 dimensions, more than 31"
    );
}

#[test]
fn a_dense_row_is_addressable() {
    let columns = [
        ColumnSpec::dense("a", &[usize::MAX, 2], DType::Bool),
        ColumnSpec::dense("a", &[1 << 31, 1 << 29], DType::Float64),
        ColumnSpec::padded("a", &[1 << 31, UNKNOWN, 1 << 29], Scalar::Bool(false)),
    ];
    for column in columns {
        let (kind, message) = refused(vec![column]);
        assert_eq!(kind, SpecErrorKind::ShapeTooLarge);
        assert_eq!(message, "column 'a': the shape is too large to address");
    }
}

#[test]
fn columns_are_sorted_and_found_by_name() {
    let spec = BatchSpec::new(vec![
        ColumnSpec::varlen("b", &[UNKNOWN, 2], DType::String),
        ColumnSpec::dense("a.b", &[2, 3], DType::Int32),
        ColumnSpec::dense("a", &[], DType::Int32),
        ColumnSpec::sparse("B", &[7], DType::Int32),
        ColumnSpec::varlen("e", &[], DType::Int32),
        ColumnSpec::padded("p", &[UNKNOWN, 2], Scalar::Bool(true)),
        ColumnSpec::flat("q", DType::Bool),
    ])
    .expect("a good spec");
    let names: Vec<_> = spec.columns().iter().map(|column| &*column.name).collect();
    assert_eq!(names, ["B", "a", "a.b", "b", "e", "p", "q"]);
    assert_eq!(spec.position("a.b"), Some(2));
    assert_eq!(spec.position("c"), None);
    let facts = spec
        .columns()
        .iter()
        .map(|column| (column.rank(), column.row_len()));
    assert_eq!(
        facts.collect::<Vec<_>>(),
        [
            (1, None),
            (0, Some(1)),
            (2, Some(6)),
            (2, None),
            (0, None),
            (2, None),
            (0, None)
        ]
    );
}

#[test]
fn dtypes_go_by_their_names() {
    for &dtype in DType::ALL {
        assert_eq!(DType::from_name(dtype.name()), Some(dtype));
        assert_eq!(dtype.to_string(), dtype.name());
    }
    assert_eq!(DType::from_name("bytes"), Some(DType::String));
    assert_eq!(DType::from_name("float"), None);
    let known = DType::ALL.iter().map(|dtype| {
        let size = dtype.size().map_or("-".into(), |size| size.to_string());
        let range = dtype.integer_range().map(|range| format!(" {range:?}"));
        format!("{dtype} {size}{}", range.unwrap_or_default())
    });
    assert_eq!(
        known.collect::<Vec<_>>(),
        [
            "int8 1 -128..=127",
            "int16 2 -32768..=32767",
            "int32 4 -2147483648..=2147483647",
            "int64 8 -9223372036854775808..=9223372036854775807",
            "uint8 1 0..=255",
            "uint16 2 0..=65535",
            "float16 2",
            "bfloat16 2",
            "float32 4",
            "float64 8",
            "bool 1",
            "string -",
        ]
    );
}
