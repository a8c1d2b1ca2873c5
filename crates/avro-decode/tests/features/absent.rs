//! Fields and branches that the schema lacks, in every kind of feature.

use avro_decode::{Feature, Features, Fill, Plan, PlanOptions, Schema};
use std::sync::Arc;
use tensor_batch::{DType, Layout, Scalar, UNKNOWN};

use crate::harness::{read_as, refused, tensors, tensors_with};

const SCHEMA: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "x", "type": "int"},
    {"name": "u", "type": {"type": "record", "name": "U", "fields": [{"name": "a", "type": "int"}]}},
    {"name": "l", "type": {"type": "array", "items":
        {"type": "record", "name": "I", "fields": [{"name": "k", "type": "int"}]}}},
    {"name": "m", "type": {"type": "map", "values": "I"}},
    {"name": "b", "type": ["null", "int", "string"]},
    {"name": "n", "type": "null"}]}"#;
const ROWS: &str = r#"[
    {"x": 1, "u": {"a": 2}, "l": [{"k": 3}, {"k": 4}], "m": {"p": {"k": 5}}, "b": {"int": 6}, "n": null},
    {"x": 1, "u": {"a": 2}, "l": [], "m": {}, "b": null, "n": null}]"#;

fn filled(feature: Feature) -> Feature {
    let feature = feature.with_default(Fill::Scalar(Scalar::Int32(9)));
    feature.with_mask("mask").with_row_mask("rows")
}

fn show(feature: Feature) -> String {
    tensors(SCHEMA, ROWS, feature)
}

#[test]
fn dense() {
    for way in [
        "y",
        "u.y",
        "u.y.z",
        "y.z[*]:int",
        "m['p'].y",
        "l[0].y",
        "b:long",
        "n",
        "n.z[*]:int",
    ] {
        let shape = [2].repeat(usize::from(way.contains("[*]")));
        let expected = match &*shape {
            [] => "mask: [0, 0] [2]\nrows: [0, 0] [2]\nc: [9, 9] [2]",
            _ => "mask: [0, 0, 0, 0] [2, 2]\nrows: [0, 0] [2]\nc: [9, 9, 9, 9] [2, 2]",
        };
        let made = show(filled(Feature::dense("c", &shape, DType::Int32).at(way)));
        let mut lines: Vec<&str> = expected.lines().collect();
        lines.sort_unstable();
        assert_eq!(made, lines.join("\n"), "{way}");
    }
}

#[test]
fn dense_with_a_default_for_each_place() {
    let positions = (10..14).map(Scalar::Int32).collect();
    let feature = Feature::dense("c", &[2, 2], DType::Int32).with_default(Fill::Tensor(positions));
    assert_eq!(
        show(feature.at("y")),
        "c: [10, 11, 12, 13, 10, 11, 12, 13] [2, 2, 2]"
    );
}

#[test]
fn dense_in_a_list() {
    let feature = Feature::dense("c", &[3], DType::Int32).at("l[*].y");
    assert_eq!(
        show(filled(feature)),
        "c: [9, 9, 9, 9, 9, 9] [2, 3]\nmask: [0, 0, 0, 0, 0, 0] [2, 3]\nrows: [1, 1] [2]"
    );
}

/// The missing field could be a value or a list, so both kinds of feature are accepted.
#[test]
fn dense_of_more_dimensions_than_lists() {
    let two = [Some(1), Some(2)];
    let feature = Feature::fixed_len("c", &two, DType::Int32).at("l[*].y");
    assert_eq!(
        show(feature.with_mask("mask")),
        "c: [0, 0, 0, 0] [2, 1, 2]\nmask: [0, 0, 0, 0] [2, 1, 2]"
    );
}

#[test]
fn padded() {
    let feature = Feature::fixed_len("c", &[None, None], DType::Int32);
    assert_eq!(
        show(filled(feature.clone().at("y[*][*]"))),
        "c: [] [2, 0, 0]\nmask: [] [2, 0, 0]\nrows: [0, 0] [2]"
    );
    assert_eq!(
        show(filled(feature.at("l[*].y[*]"))),
        "c: [] [2, 2, 0]\nmask: [] [2, 2, 0]\nrows: [1, 1] [2]"
    );
}

#[test]
fn varlen() {
    let feature = || filled(Feature::varlen("c", &[UNKNOWN; 2], DType::Int32).at("l[*].y[*]"));
    assert_eq!(
        show(feature()),
        "c: [] at [] of [2, 0, 0]\nmask: [] [0]\nrows: [1, 1] [2]"
    );
    assert_eq!(
        show(feature().with_layout(Layout::Ragged)),
        "c: [] split [[0, 2, 2], [0, 0, 0]]\nmask: [] [0]\nrows: [1, 1] [2]"
    );
    let values = filled(Feature::var_len("c", DType::Int32).at("l[*].y"));
    assert_eq!(
        show(values),
        "c: [9, 9] at [[0, 0], [0, 1]] of [2, 2]\nmask: [0, 0] [2]\nrows: [1, 1] [2]"
    );
    assert_eq!(
        show(filled(Feature::var_len("c", DType::Int32).at("y"))),
        "c: [9, 9] at [[0], [1]] of [2]\nmask: [0, 0] [2]\nrows: [0, 0] [2]"
    );
}

#[test]
fn sparse() {
    let record = || filled(Feature::sparse("c", &[7], DType::Int32).at("y"));
    assert_eq!(
        show(record()),
        "c: [] at [] of [2, 7]\nmask: [] [0]\nrows: [0, 0] [2]"
    );
    assert_eq!(
        show(record().with_layout(Layout::Ragged)),
        "c: [] at [] split [0, 0, 0]\nmask: [] [0]\nrows: [0, 0] [2]"
    );
    let keys =
        |index: &str, value: &str| Feature::sparse_keys("c", &[index], value, &[7], DType::Int32);
    assert_eq!(
        show(filled(keys("i", "v").at("y"))),
        "c: [] at [] of [2, 7]\nmask: [] [0]\nrows: [0, 0] [2]"
    );
    assert_eq!(
        show(filled(keys("k", "v").at("l"))),
        "c: [9, 9] at [[0, 3], [0, 4]] of [2, 7]\nmask: [0, 0] [2]\nrows: [1, 1] [2]"
    );
    assert_eq!(
        show(filled(keys("@y[*]", "@z[*]"))),
        "c: [] at [] of [2, 7]\nmask: [] [0]\nrows: [1, 1] [2]"
    );
    // An index has no default.
    assert_eq!(
        refused(SCHEMA, filled(keys("i", "v").at("l"))),
        "feature 'c': the schema has no field 'l[*].i': the record 'I' has 'k'"
    );
}

#[test]
fn operands_of_filters() {
    for way in [
        "l[y=1].k",
        "l[@n=k].k",
        "l[@n.y=k].k",
        "l[@y=k].k",
        "l[@u.y=k].k",
        "l[k:long=1].k",
    ] {
        let feature = || Feature::var_len("c", DType::Int32).at(way);
        assert_eq!(
            show(filled(feature())),
            "c: [] at [] of [2, 0]\nmask: [] [0]\nrows: [1, 1] [2]",
            "{way}"
        );
        assert!(refused(SCHEMA, feature()).contains("feature 'c'"), "{way}");
    }
}

/// Two features share the operand. One of them has no default and no mask.
#[test]
fn a_shared_operand() {
    let feature = |name: &str| Feature::var_len(name, DType::Int32).at("l[@y=k].k");
    let features = vec![filled(feature("a")), feature("b")];
    let error = tensors_with(SCHEMA, ROWS, features, &PlanOptions::default());
    assert!(
        error.starts_with("feature 'b': the schema has no field 'y'"),
        "{error}"
    );
}

#[test]
fn with_nothing_for_it() {
    let int = |way: &str| Feature::dense("c", &[], DType::Int32).at(way);
    assert!(refused(SCHEMA, int("u.y")).contains("the schema has no field 'u.y'"));
    assert!(refused(SCHEMA, int("n")).contains("'n' is null in every record"));
    assert!(refused(SCHEMA, int("n.y")).contains("'n' is null in every record"));
    assert!(refused(SCHEMA, int("b:long")).contains("the union has no branch 'long'"));
    assert!(refused(SCHEMA, int("x:long")).contains("the union has no branch 'long'"));
    // More lists than dimensions are an error even for a missing field.
    assert_eq!(
        refused(SCHEMA, filled(int("l[*].y"))),
        "feature 'c': the shape has rank 0, but the schema has rank 1"
    );
}

/// With a reader's schema, the reader's schema must have the field.
#[test]
fn with_a_readers_schema() {
    let reader = r#"{"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}]}"#;
    let features = vec![filled(Feature::dense("y", &[], DType::Int32))];
    let error = tensors_with(SCHEMA, ROWS, features, &read_as(reader));
    assert!(error.contains("the schema has no field 'y'"), "{error}");
}

#[test]
fn what_is_absent() {
    let features = [
        Feature::var_len("a", DType::Int32).at("l[y=1].k"),
        Feature::dense("b", &[], DType::Int32).at("u.z"),
        Feature::dense("c", &[], DType::Int32).at("x"),
    ];
    let features = Features::new(features.map(|feature| {
        let mask = format!("{}.mask", feature.name);
        feature.with_mask(mask)
    }));
    let schema = Arc::new(Schema::parse(SCHEMA).unwrap());
    let plan = Plan::compile(&schema, &features.unwrap(), &PlanOptions::default()).unwrap();
    let absent = plan.absent().iter();
    let absent: Vec<_> = absent
        .map(|absent| (&*absent.error.feature, &*absent.expression))
        .collect();
    assert_eq!(absent, [("b", "u.z"), ("a", "y")]);
}
