//! Features inferred from schemas alone.

use std::fmt::Write;
use std::sync::Arc;

use avro_decode::feature::FeatureKind;
use avro_decode::limits::{MAX_INFERRED_FIELDS, MAX_PATH_STEPS};
use avro_decode::{Feature, Features, Inferred, LeftOutReason, Plan, PlanOptions, Schema, infer};
use proptest::prelude::*;
use tensor_batch::{DType, MAX_RANK, UNKNOWN};

use crate::agreement::any_bytes;
use crate::common::arb_schema_json;
use crate::harness::{field_of, record_of};
use crate::made::case;
use crate::properties::agree;

/// The fields without a feature, with their types and the expressions that read a part of them.
fn left_out(inferred: &Inferred) -> Vec<(&str, &str, LeftOutReason, Option<&str>)> {
    let fields = inferred.left_out.iter().map(|left_out| {
        let read_with = left_out.read_with.as_ref().map(Feature::expression);
        let (field, schema_type) = (&*left_out.field, &*left_out.schema_type);
        (field, schema_type, left_out.reason, read_with)
    });
    fields.collect()
}

#[test]
fn every_form() {
    let schema = record_of(
        r#"{"name": "s", "type": ["null", "string"]},
           {"name": "a", "type": "double"},
           {"name": "v", "type": {"type": "array", "items": ["null",
               {"type": "array", "items": "boolean"}]}},
           {"name": "sp", "type": ["null", {"type": "record", "name": "Sparse", "fields": [
               {"name": "values", "type": {"type": "array", "items": "float"}},
               {"name": "indices1", "type": {"type": "array", "items": "int"}},
               {"name": "indices0", "type": {"type": "array", "items": "long"}}]}]},
           {"name": "again", "type": "Sparse"},
           {"name": "r", "type": {"type": "record", "name": "Inner", "fields": [
               {"name": "b", "type": "bytes"},
               {"name": "l", "type": ["long"]}]}}"#,
    );
    let masked = |feature: Feature| {
        let mask = format!("{}.mask", feature.name);
        feature.with_mask(mask)
    };
    let inferred = infer(&schema);
    assert_eq!(
        inferred.features,
        [
            masked(Feature::dense("s", &[], DType::String)),
            Feature::dense("a", &[], DType::Float64),
            masked(Feature::varlen("v", &[UNKNOWN, UNKNOWN], DType::Bool)),
            masked(Feature::sparse("sp", &[UNKNOWN, UNKNOWN], DType::Float32)),
            Feature::sparse("again", &[UNKNOWN, UNKNOWN], DType::Float32),
            Feature::dense("r.b", &[], DType::String),
            Feature::dense("r.l", &[], DType::Int64),
        ]
    );
    assert_eq!((inferred.left_out.len(), inferred.truncated), (0, false));
}

/// The features of a field `x` of this type.
fn of_type(ty: &str) -> Vec<Feature> {
    infer(&field_of(ty)).features
}

#[test]
fn types_that_are_not_primitive() {
    assert_eq!(
        of_type(r#"{"type": "map", "values": "int"}"#),
        [
            Feature::varlen("x.keys()", &[UNKNOWN], DType::String),
            Feature::varlen("x[*]", &[UNKNOWN], DType::Int32),
        ]
    );
    assert_eq!(
        of_type(r#"{"type": "enum", "name": "E", "symbols": ["A"]}"#),
        [Feature::dense("x", &[], DType::String)]
    );
    assert_eq!(
        of_type(r#"{"type": "fixed", "name": "F", "size": 2}"#),
        [Feature::dense("x", &[], DType::String)]
    );
    let decimal = r#"{"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}"#;
    assert_eq!(of_type(decimal), [Feature::dense("x", &[], DType::Float64)]);
    let duration = r#"{"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}"#;
    assert_eq!(of_type(duration), [Feature::dense("x", &[3], DType::Int64)]);
    assert_eq!(
        of_type(&format!(r#"{{"type": "array", "items": {duration}}}"#)),
        [Feature::varlen("x", &[UNKNOWN, 3], DType::Int64)]
    );
}

#[test]
fn fields_of_records_in_lists() {
    let record = r#"{"type": "record", "name": "Item", "fields": [
        {"name": "y", "type": "int"},
        {"name": "z", "type": {"type": "array", "items": "float"}}]}"#;
    assert_eq!(
        of_type(&format!(r#"{{"type": "array", "items": {record}}}"#)),
        [
            Feature::varlen("x[*].y", &[UNKNOWN], DType::Int32),
            Feature::varlen("x[*].z", &[UNKNOWN, UNKNOWN], DType::Float32),
        ]
    );
    assert_eq!(
        of_type(&format!(
            r#"{{"type": "map", "values": ["null", {record}]}}"#
        )),
        [
            Feature::varlen("x.keys()", &[UNKNOWN], DType::String),
            Feature::varlen("x[*].y", &[UNKNOWN], DType::Int32).with_mask("x[*].y.mask"),
            Feature::varlen("x[*].z", &[UNKNOWN, UNKNOWN], DType::Float32).with_mask("x[*].z.mask"),
        ]
    );
}

#[test]
fn fields_of_records_that_may_be_null_have_masks() {
    let schema = record_of(
        r#"{"name": "r", "type": ["null", {"type": "record", "name": "R", "fields": [
               {"name": "a", "type": "int"},
               {"name": "q", "type": {"type": "record", "name": "Q", "fields": [
                   {"name": "b", "type": "int"}]}}]}]},
           {"name": "after", "type": "int"}"#,
    );
    let features = infer(&schema).features.into_iter();
    let masks = features.map(|feature| (feature.name, feature.missing.mask));
    let mask = |name: &str| Some(name.to_owned());
    assert_eq!(
        masks.collect::<Vec<_>>(),
        [
            ("r.a".to_owned(), mask("r.a.mask")),
            ("r.q.b".to_owned(), mask("r.q.b.mask")),
            ("after".to_owned(), None),
        ]
    );
}

/// A decimal with more digits than int64 is never inferred as int64.
#[test]
fn how_a_decimal_is_read_exactly() {
    let said = |precision: u32| {
        let schema = format!(
            r#"{{"type": "record", "name": "R", "fields": [{{"name": "x", "type": {{"type": "bytes",
            "logicalType": "decimal", "precision": {precision}, "scale": 2}}}}]}}"#
        );
        infer(&Schema::parse(&schema).expect("a good schema")).rounded[0].to_string()
    };
    let always = |precision| {
        format!(
            "'x' (bytes, decimal({precision}, 2)) is float64, the number nearest to each decimal: \
             read it as int64 for the exact number without its point"
        )
    };
    assert_eq!(said(18), always(18));
    let beyond = ", or as bytes where that is beyond int64";
    assert_eq!(said(19), always(19) + beyond);
}

/// Types and their features, each as `name dtype`. A `?` marks a mask, a `~` rounded values, and a
/// `b` bytes.
#[test]
fn what_each_type_is() {
    let record = |name: &str, fields: &str| {
        format!(r#"{{"type": "record", "name": "{name}", "fields": [{fields}]}}"#)
    };
    let decimal = |precision: u32, scale: u32| {
        format!(
            r#"{{"type": "bytes", "logicalType": "decimal", "precision": {precision}, "scale": {scale}}}"#
        )
    };
    let fixed_decimal =
        r#"{"type": "fixed", "name": "P", "size": 9, "logicalType": "decimal", "precision": 19}"#;
    let uuid = r#"{"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}"#;
    let date = r#"{"type": "int", "logicalType": "date"}"#;
    let array = |items: &str| format!(r#"{{"type": "array", "items": {items}}}"#);
    let map = |values: &str| format!(r#"{{"type": "map", "values": {values}}}"#);
    let (a, b) = (
        record("A", r#"{"name": "p", "type": "int"}"#),
        record("B", r#"{"name": "q", "type": "string"}"#),
    );
    let cases: Vec<(String, &str)> = vec![
        (r#"["int", "long"]"#.into(), "x int64"),
        (r#"["null", "int", "long"]"#.into(), "x int64?"),
        (
            r#"["null", "int", "long", "float", "double"]"#.into(),
            "~x float64?",
        ),
        (r#"["int", "float"]"#.into(), "x float64"),
        (r#"["float", "double"]"#.into(), "x float64"),
        (r#"["null", "string", "long", "int"]"#.into(), "x string?"),
        (r#"["string", "double"]"#.into(), "x string"),
        (r#"["string", "bytes"]"#.into(), "bx string"),
        (
            r#"["bytes", "long"]"#.into(),
            "bx:bytes string?, x:long int64?",
        ),
        (
            r#"["boolean", "int"]"#.into(),
            "x:boolean bool?, x:int int32?",
        ),
        (
            format!(r#"["long", {date}]"#),
            "x:long int64?, x:int int32?",
        ),
        (format!(r#"["string", {uuid}]"#), "x string"),
        (array(r#"["int", "long", "null"]"#), "x int64?"),
        (
            array(r#"["int", "boolean"]"#),
            "x[*]:int int32?, x[*]:boolean bool?",
        ),
        (
            format!(r#"["string", {}]"#, array("\"string\"")),
            "x:string string?, x:array string?",
        ),
        (format!("[{a}, {b}]"), "x:A.p int32?, x:B.q string?"),
        (decimal(9, 0), "x int64"),
        (decimal(18, 0), "x int64"),
        (decimal(38, 0), "x int64"),
        (decimal(9, 2), "~x float64"),
        (fixed_decimal.into(), "x int64"),
        (array(&decimal(19, 0)), "x int64"),
        (map(&decimal(19, 2)), "x.keys() string, ~x[*] float64"),
        (format!(r#"["null", {}]"#, decimal(19, 0)), "x int64?"),
        (
            format!(r#"["string", {}]"#, decimal(19, 0)),
            "x:string string?, x:bytes int64?",
        ),
        (uuid.into(), "x string"),
        (array(uuid), "x string"),
        (
            r#"{"type": "string", "logicalType": "uuid"}"#.into(),
            "x string",
        ),
        (
            r#"{"type": "fixed", "name": "F", "size": 16}"#.into(),
            "bx string",
        ),
        ("\"bytes\"".into(), "bx string"),
        (map("\"double\""), "x.keys() string, x[*] float64"),
        (
            map(r#"["null", "double"]"#),
            "x.keys() string, x[*] float64?",
        ),
        (
            format!(r#"["null", {}]"#, map("\"double\"")),
            "x.keys() string?, x[*] float64?",
        ),
        (
            map(&map("\"int\"")),
            "x.keys() string, x[*].keys() string, x[*][*] int32",
        ),
        (array(&map("\"int\"")), "x[*].keys() string, x[*][*] int32"),
        (map(&a), "x.keys() string, x[*].p int32"),
        (map("\"null\""), "x.keys() string"),
        (map(&array("\"int\"")), "x.keys() string, x[*] int32"),
    ];
    for (ty, expected) in cases {
        let schema = field_of(&ty);
        let inferred = infer(&schema);
        let said = inferred.features.iter().map(|feature| {
            let name = &feature.name;
            let is_rounded = inferred.rounded.iter().any(|one| one.field == *name);
            format!(
                "{}{}{name} {}{}",
                if is_rounded { "~" } else { "" },
                if inferred.binary.contains(name) {
                    "b"
                } else {
                    ""
                },
                feature.dtype,
                if feature.missing.mask.is_some() {
                    "?"
                } else {
                    ""
                },
            )
        });
        assert_eq!(said.collect::<Vec<_>>().join(", "), expected, "{ty}");
        compiles(&schema, inferred.features);
    }
}

fn compiles(schema: &Arc<Schema>, features: Vec<Feature>) {
    let features = Features::new(features).expect("good features");
    let plan = Plan::compile(schema, &features, &PlanOptions::default());
    assert!(plan.is_ok(), "{plan:?}");
}

/// Schemas that are not records, and their features.
#[test]
fn any_schema_has_features() {
    let record = r#"{"type": "record", "name": "n.A", "fields": [{"name": "p", "type": "int"}]}"#;
    let other = r#"{"type": "record", "name": "m.B", "fields": [{"name": "p", "type": "int"}]}"#;
    let cases = [
        ("\"long\"".to_owned(), "@"),
        (r#"["null", "int", "double"]"#.to_owned(), "@"),
        (r#"{"type": "array", "items": "int"}"#.to_owned(), "@"),
        (
            format!(r#"{{"type": "array", "items": {record}}}"#),
            "[*].p",
        ),
        (
            r#"{"type": "map", "values": "int"}"#.to_owned(),
            ".keys() [*]",
        ),
        (r#"["string", "boolean"]"#.to_owned(), ":string :boolean"),
        (format!("[\"null\", {record}]"), "p"),
        (format!("[{record}, {other}]"), ":A.p :B.p"),
        (
            format!("[{record}, {}]", other.replace("m.B", "m.A")),
            ":'n.A'.p :'m.A'.p",
        ),
    ];
    for (text, expected) in cases {
        let schema = Arc::new(Schema::parse(&text).expect("a schema"));
        let inferred = infer(&schema);
        let names = inferred.features.iter().map(|feature| &*feature.name);
        assert_eq!(names.collect::<Vec<_>>().join(" "), expected, "{text}");
        compiles(&schema, inferred.features);
    }
    let null = infer(&Schema::parse("\"null\"").expect("a schema"));
    assert!(null.features.is_empty());
    assert_eq!(
        left_out(&null),
        [("@", "null", LeftOutReason::NoValue, None)]
    );
}

#[test]
fn what_has_no_value_is_listed() {
    let schema = record_of(
        r#"{"name": "n", "type": "null"},
           {"name": "x", "type": "int"},
           {"name": "nothing", "type": {"type": "array", "items": "null"}},
           {"name": "empty", "type": {"type": "record", "name": "Empty", "fields": []}},
           {"name": "m", "type": {"type": "map", "values": "null"}},
           {"name": "f", "type": {"type": "fixed", "name": "F", "size": 0}}"#,
    );
    let inferred = infer(&schema);
    let names: Vec<_> = inferred.features.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["x", "m.keys()"]);
    assert_eq!(
        left_out(&inferred),
        [
            ("n", "null", LeftOutReason::NoValue, None),
            ("nothing", "array of null", LeftOutReason::EmptyItems, None),
            ("empty", "record 'Empty'", LeftOutReason::NoValue, None),
            ("m[*]", "null", LeftOutReason::NoValue, None),
            ("f", "fixed 'F'", LeftOutReason::NoValue, None),
        ]
    );
}

#[test]
fn records_that_are_almost_sparse_are_records() {
    let ints = r#"{"type": "array", "items": "int"}"#;
    let schema = field_of(&format!(
        r#"{{"type": "record", "name": "Almost", "fields": [
            {{"name": "indices0", "type": {ints}}}, {{"name": "values", "type": "float"}}]}}"#
    ));
    assert_eq!(
        infer(&schema).features,
        [
            Feature::varlen("x.indices0", &[UNKNOWN], DType::Int32),
            Feature::dense("x.values", &[], DType::Float32),
        ]
    );
}

#[test]
fn recursion_stops_where_a_record_holds_itself() {
    let schema = record_of(
        r#"{"name": "x", "type": "int"},
           {"name": "next", "type": ["null", "Row"]},
           {"name": "other", "type": {"type": "record", "name": "Other", "fields": [
               {"name": "y", "type": "int"}, {"name": "back", "type": "Row"},
               {"name": "list", "type": {"type": "array", "items": "Other"}}]}}"#,
    );
    let inferred = infer(&schema);
    let names: Vec<_> = inferred
        .features
        .iter()
        .map(|feature| &*feature.name)
        .collect();
    assert_eq!(names, ["x", "other.y"]);
    let recursive = LeftOutReason::Recursive;
    assert_eq!(
        left_out(&inferred),
        [
            ("next", "record 'Row'", recursive, Some("next.x")),
            (
                "other.back",
                "record 'Row'",
                recursive,
                Some("other.back.x")
            ),
            (
                "other.list[*]",
                "record 'Other'",
                recursive,
                Some("other.list[*].y")
            ),
        ]
    );
    assert_eq!(
        inferred.left_out[2].to_string(),
        "left out 'other.list[*]' (record 'Other'): the record holds itself; the expression \
         'other.list[*].y' reads a part of it"
    );
    let examples = inferred
        .left_out
        .into_iter()
        .filter_map(|one| one.read_with);
    compiles(&schema, examples.collect());
}

#[test]
fn more_dimensions_than_a_column_can_have() {
    let arrays = |rank: usize| infer(&schema_of_arrays(rank));
    let most = arrays(MAX_RANK);
    let FeatureKind::Varlen { shape, .. } = &most.features[0].kind else {
        panic!("not varlen")
    };
    assert_eq!(shape.as_ref().map(Vec::len), Some(MAX_RANK));
    let more = arrays(MAX_RANK + 1);
    assert_eq!(more.features, []);
    let [left_out] = &*more.left_out else {
        panic!("{more:?}")
    };
    assert_eq!(left_out.reason, LeftOutReason::TooManyDimensions);
    let read_with = left_out
        .read_with
        .clone()
        .expect("the first of the innermost");
    compiles(&schema_of_arrays(MAX_RANK + 1), vec![read_with]);
}

fn schema_of_arrays(rank: usize) -> Arc<Schema> {
    let (start, end) = (r#"{"type": "array", "items": "#, "}");
    let (start, end) = (start.repeat(rank), end.repeat(rank));
    field_of(&format!("{start}\"int\"{end}"))
}

/// Nested records. Each has `fields` of the previous one, and the first has `first`.
fn tower(height: usize, first: &str, fields: &[&str]) -> Arc<Schema> {
    let mut levels = format!(
        r#"{{"name": "r0", "type": {{"type": "record", "name": "R0", "fields": [{first}]}}}}"#
    );
    for level in 1..=height {
        let below = level - 1;
        let fields = fields
            .iter()
            .map(|name| format!(r#"{{"name": "{name}", "type": "R{below}"}}"#));
        let fields = fields.collect::<Vec<_>>().join(", ");
        write!(
            levels,
            r#", {{"name": "r{level}", "type":
                {{"type": "record", "name": "R{level}", "fields": [{fields}]}}}}"#
        )
        .expect("a string");
    }
    record_of(&levels)
}

#[test]
fn exponentially_many_fields_are_cut_off() {
    for first in [
        "",
        r#"{"name": "x", "type": "int"}"#,
        r#"{"name": "x", "type": {"type": "map", "values": "int"}}"#,
    ] {
        let inferred = infer(&tower(60, first, &["a", "b"]));
        assert!(inferred.truncated);
        assert!(inferred.features.len() + inferred.left_out.len() <= MAX_INFERRED_FIELDS);
    }
    let small = infer(&tower(3, r#"{"name": "x", "type": "int"}"#, &["a", "b"]));
    assert_eq!(
        (small.features.len(), small.truncated),
        (1 + 2 + 4 + 8, false)
    );
}

/// The maximum number of fields with a feature. With quadratic time, each of these would take
/// minutes.
#[test]
fn many_fields_take_no_more_time_than_few_each() {
    let ints = r#"{"type": "array", "items": "int"}"#;
    let plain = |i: usize| format!(r#"{{"name": "a_name_of_some_length_{i}", "type": "int"}}"#);
    let sparse = |i: usize| match i {
        0 => format!(r#"{{"name": "values", "type": {ints}}}"#),
        i => format!(r#"{{"name": "indices{}", "type": {ints}}}"#, i - 1),
    };
    let record = |field: &dyn Fn(usize) -> String, fields: usize| {
        (0..fields).map(field).collect::<Vec<_>>().join(", ")
    };
    let schema = record_of(&record(&plain, MAX_INFERRED_FIELDS));
    let inferred = infer(&schema);
    assert_eq!(inferred.features.len(), MAX_INFERRED_FIELDS);
    compiles(&schema, inferred.features);
    // The maximum number of fields that the text of a schema can have.
    let fields = record(&sparse, MAX_INFERRED_FIELDS / 2);
    let schema = field_of(&format!(
        r#"{{"type": "record", "name": "Sparse", "fields": [{fields}]}}"#
    ));
    let inferred = infer(&schema);
    assert_eq!(inferred.features.len(), MAX_INFERRED_FIELDS / 2);
    compiles(&schema, inferred.features);
}

#[test]
fn records_deeper_than_can_be_decoded_are_left_out() {
    let inferred = infer(&tower(150, r#"{"name": "x", "type": "int"}"#, &["a"]));
    let depth = |name: &str| name.split('.').count();
    let deepest = inferred
        .features
        .iter()
        .map(|feature| depth(&feature.name))
        .max();
    assert_eq!(deepest, Some(MAX_PATH_STEPS));
    assert!(!inferred.left_out.is_empty() && !inferred.truncated);
}

/// Each feature can be used alone. If it has no expression, its name is a valid expression of its
/// field.
#[test]
fn names_of_fields_that_are_no_expressions() {
    for (name, expression) in [
        ("a", None),
        ("user-id", None),
        ("a.b", Some("'a.b'")),
        ("a.", Some("'a.'")),
        (".a", Some("'.a'")),
        ("a[", Some("'a['")),
        ("a[*]", Some("'a[*]'")),
    ] {
        let text = format!(
            r#"{{"type": "record", "name": "R", "fields": [{{"name": "{name}", "type": "int"}}]}}"#
        );
        let inferred = infer(&Schema::parse_lenient(&text).expect("a schema"));
        let features = Features::new(inferred.features).expect("valid features");
        let feature = features.iter().next().expect("one feature");
        assert_eq!(feature.name, name);
        assert_eq!(feature.expression.as_deref(), expression, "{name}");
        assert_eq!(features.check_names(), Ok(()), "{name}");
    }
}

#[test]
fn long_names_do_not_multiply() {
    let name = "n".repeat(700);
    let inferred = infer(&tower(10, r#"{"name": "x", "type": "int"}"#, &[&name]));
    let names = inferred.features.iter().map(|feature| feature.name.len());
    assert_eq!(names.max(), Some("r1.".len() + 700 + ".x".len()));
    let left_out = inferred
        .left_out
        .iter()
        .map(|left_out| left_out.field.len());
    assert_eq!(left_out.max(), Some("r10.".len() + 700 + ".".len() + 700));
}

proptest! {
    #[test]
    fn what_is_inferred_compiles(odd in arb_schema_json(), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let text = format!(r#"{{"type": "record", "name": "Row", "fields": [{{"name": "x", "type": {odd}}}]}}"#);
        let odd = Schema::parse(&text).expect("a valid schema");
        for schema in [Arc::new(odd), case(bytes, None).schema] {
            let features = Features::new(infer(&schema).features).expect("good features");
            let plan = Plan::compile(&schema, &features, &PlanOptions::default());
            prop_assert!(plan.is_ok(), "{:?}", plan);
        }
    }

    #[test]
    fn what_is_inferred_reads_what_the_reference_reads(bytes in any_bytes()) {
        let mut case = case(bytes, None);
        let schema = case.reader();
        case.options.meanings = Default::default();
        case.features = Features::new(infer(&schema).features).expect("good features");
        agree(&case);
    }
}
