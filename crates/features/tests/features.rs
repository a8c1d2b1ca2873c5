//! Features without a schema: the columns that they become, and every error.

#![allow(clippy::unwrap_used)]

use atds_features::feature::{FeatureErrorKind as Kind, FeatureKind};
use atds_features::path::Path;
use atds_features::{Feature, Features, Fill};
use tensor_batch::{ColumnKind, ColumnSpec, DType, Layout, Scalar, SpecErrorKind, UNKNOWN, Values};

fn int(value: i32) -> Fill {
    Fill::Scalar(Scalar::Int32(value))
}

fn dense(shape: &[usize]) -> Feature {
    Feature::dense("x", shape, DType::Int32)
}

fn ragged(name: &str, shape: &[i64]) -> Feature {
    Feature::varlen(name, shape, DType::Int32).with_layout(Layout::Ragged)
}

/// The column `x` of one feature.
fn column(feature: Feature) -> ColumnKind {
    let features = Features::new([feature]).unwrap();
    let position = features.spec().position("x").unwrap();
    features.spec().columns()[position].kind.clone()
}

#[test]
fn each_kind_has_its_column() {
    let padded = |shape: &[i64], fill, exact| ColumnKind::Padded {
        shape: shape.to_vec(),
        fill: Scalar::Int32(fill),
        exact,
    };
    let varlen = |shape: &[i64], layout| ColumnKind::Varlen {
        shape: shape.to_vec(),
        layout,
    };
    let sparse = |shape: &[i64], layout| ColumnKind::Sparse {
        shape: shape.to_vec(),
        layout,
    };
    let fixed = |shape: &[_]| Feature::fixed_len("x", shape, DType::Int32);
    let keys = |keys: &[&str], size: &[i64]| {
        Feature::sparse_keys("x", keys, "v", size, DType::Int32).at("a[*].b")
    };
    let cases = [
        (dense(&[2, 3]), ColumnKind::Dense { shape: vec![2, 3] }),
        (
            fixed(&[None, Some(2)]).at("a[*]"),
            ColumnKind::Dense { shape: vec![2] },
        ),
        (
            fixed(&[None, Some(2)]).at("a[*].b[*]"),
            padded(&[UNKNOWN, 2], 0, true),
        ),
        (
            fixed(&[None]).at("a[*]").with_default(int(7)),
            padded(&[UNKNOWN], 7, false),
        ),
        (
            fixed(&[None]).at("a[*]").with_mask("m"),
            padded(&[UNKNOWN], 0, false),
        ),
        (
            Feature::varlen("x", &[UNKNOWN, 4], DType::Int32),
            varlen(&[UNKNOWN, 4], Layout::Coo),
        ),
        (
            ragged("x", &[4]).with_truncate(),
            varlen(&[UNKNOWN], Layout::Ragged),
        ),
        (
            Feature::var_len("x", DType::Int32).at("a[*].b[c=1].keys()"),
            varlen(&[UNKNOWN; 3], Layout::Coo),
        ),
        (
            Feature::sparse("x", &[9], DType::Int32),
            sparse(&[9], Layout::Coo),
        ),
        (keys(&["k"], &[9]), sparse(&[UNKNOWN, 9], Layout::Coo)),
        (
            // The expression is only a name if all keys start from the root.
            Feature::sparse_keys("x", &["@k"], "@v", &[9], DType::Int32).at("not a path"),
            sparse(&[9], Layout::Coo),
        ),
    ];
    for (feature, expected) in cases {
        assert_eq!(column(feature.clone()), expected, "{feature:?}");
    }
}

#[test]
fn masks_are_columns_of_bools() {
    let features = Features::new([
        dense(&[2]).with_mask("a").with_row_mask("z"),
        ragged("y", &[UNKNOWN]).with_mask("b"),
    ])
    .unwrap();
    let scalars = |shape: &[usize]| ColumnKind::Dense {
        shape: shape.to_vec(),
    };
    let columns = features.spec().columns();
    let names: Vec<_> = columns.iter().map(|column| &*column.name).collect();
    assert_eq!(names, ["a", "b", "x", "y", "z"]);
    for (column, kind) in [(0, scalars(&[2])), (1, ColumnKind::Flat), (4, scalars(&[]))] {
        assert_eq!(
            (columns[column].dtype, &columns[column].kind),
            (DType::Bool, &kind)
        );
    }
    let [x, y] = features.checked() else {
        unreachable!("two features")
    };
    assert_eq!((x.column, x.mask, x.row_mask), (2, Some(0), Some(4)));
    assert_eq!((y.column, y.mask, y.row_mask), (3, Some(1), None));
    // A mask alone fills with zeros.
    assert_eq!(
        x.fill.as_ref().and_then(Values::as_slice),
        Some(&[0i32][..])
    );
}

#[test]
fn every_error_has_its_message() {
    let path = Path::parse("a[").unwrap_err();
    let keys =
        |keys: &[&str], size: &[i64]| Feature::sparse_keys("x", keys, "v", size, DType::Int32);
    let varying = || {
        let mut feature = dense(&[]);
        feature.kind = FeatureKind::Dense {
            shape: vec![None],
            reshape: false,
        };
        feature
    };
    let each = |n| Fill::Tensor(vec![Scalar::Int32(0); n]);
    let cases = [
        (
            vec![dense(&[]).at("a[")],
            Kind::Path(path),
            "expected an index, a slice, '*', a key in quotes or a filter at character 3 of 'a['",
        ),
        (
            vec![dense(&[]), dense(&[1])],
            Kind::Column(SpecErrorKind::DuplicateName),
            "the name is given twice",
        ),
        (
            vec![Feature::varlen("x", &[], DType::Int32)],
            Kind::Column(SpecErrorKind::EmptyShape),
            "the shape is empty; sparse, padded and ragged columns have at least one dimension",
        ),
        (
            vec![dense(&[]).with_mask("x")],
            Kind::MaskName("x".to_owned()),
            "its mask 'x' has the name of another column: give it a name of its own",
        ),
        (
            vec![dense(&[]).with_default(Fill::Scalar(Scalar::Bool(true)))],
            Kind::DefaultDType {
                default: DType::Bool,
                dtype: DType::Int32,
            },
            "the default is bool, but the feature is int32",
        ),
        (
            vec![dense(&[2]).with_default(each(1))],
            Kind::DefaultLength {
                default: 1,
                row_len: 2,
            },
            "the default has 1 value, but a row has 2",
        ),
        (
            vec![ragged("x", &[2]).with_default(each(2))],
            Kind::DefaultForEachPlace,
            "only a dense feature of known shape takes a default for each element; other features take one value",
        ),
        (
            vec![varying()],
            Kind::PaddingWithoutDefault,
            "shorter lists are padded where a dimension varies: give a `default` or a `mask`",
        ),
        (
            vec![ragged("x", &[UNKNOWN]).with_truncate()],
            Kind::NothingToTruncate,
            "`truncate` cuts lists to the lengths in `shape`, but `shape` has none: give one, or leave `truncate` out",
        ),
        (
            vec![{
                let mut feature = Feature::sparse("x", &[9], DType::Int32);
                if let FeatureKind::Sparse { sort, .. } = &mut feature.kind {
                    *sort = true;
                }
                feature
            }],
            Kind::SortedRecord,
            "the entries of a sparse record keep the order of the data and cannot be sorted",
        ),
        (
            vec![Feature::sparse("x", &[9], DType::Int32).at("a[*]")],
            Kind::ManySparseRecords,
            "a row is one sparse record, but a '[*]', a slice or a filter leads to many",
        ),
        (
            vec![keys(&[], &[])],
            Kind::NoIndexKey,
            "a sparse feature needs at least one index key",
        ),
        (
            vec![keys(&["a", "b"], &[9])],
            Kind::SizeCount { sizes: 1, keys: 2 },
            "1 size for 2 index keys",
        ),
    ];
    for (features, kind, message) in cases {
        let error = Features::new(features).unwrap_err();
        assert_eq!((&*error.feature, &error.kind), ("x", &kind));
        assert_eq!(error.to_string(), format!("feature 'x': {message}"));
    }
}

#[test]
fn a_name_means_a_field_if_there_is_one() {
    let features = Features::new(
        ["a.b", "user-id", "c[*]"].map(|name| Feature::fixed_len(name, &[None], DType::Int32)),
    )
    .unwrap();
    let paths = |fields: &[&str]| {
        let checked = features.for_fields(fields.iter().copied());
        let paths = checked.iter().map(|one| one.path.to_string());
        paths.collect::<Vec<_>>()
    };
    assert_eq!(paths(&[]), ["a.b", "c[*]", "'user-id'"]);
    // `c[*]` adds a dimension, whatever the fields are.
    assert_eq!(paths(&["a.b", "c[*]"]), ["'a.b'", "c[*]", "'user-id'"]);
}

#[test]
fn a_name_that_is_meant_as_an_expression_is_checked_early() {
    let check = |name: &str| {
        let features = Features::new([Feature::dense(name, &[], DType::Int32)]).unwrap();
        features.check_names().map_err(|error| error.to_string())
    };
    for name in ["a", "a.b", "user-id", "größe", "a.b-c", ""] {
        assert_eq!(check(name), Ok(()), "{name}");
    }
    assert_eq!(
        check("a[2"),
        Err("feature 'a[2': expected a closing ']' at character 4 of 'a[2'".to_owned())
    );
}

#[test]
fn columns_are_features_of_their_kind() {
    let columns = [
        ColumnSpec::dense("d", &[2], DType::Int32),
        ColumnSpec::sparse("s", &[9], DType::Int32),
        ColumnSpec::varlen("v", &[UNKNOWN], DType::Int32),
    ];
    let features = Features::new(columns.clone()).unwrap();
    assert_eq!(features.spec().columns(), columns);
}
