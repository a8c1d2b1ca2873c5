//! Schemas of files that violate the specification: the parsed schema, the recorded deviations, and
//! reading their data.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use avro_decode::limits::MAX_DEVIATIONS;
use avro_decode::schema::{LogicalType, Node, SchemaErrorKind as Kind};
use avro_decode::{Features, Plan, PlanOptions, Resolution, Schema, infer, reference, to_json};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

fn record(fields: &str) -> String {
    format!(r#"{{"type": "record", "name": "R", "fields": [{fields}]}}"#)
}

/// Parses a schema. Checks that its printed form is parsed alike.
#[track_caller]
fn lenient(text: &str) -> Schema {
    let schema = Schema::parse_lenient(text).unwrap_or_else(|error| panic!("{error} in {text}"));
    let printed = schema.to_string();
    let again = Schema::parse_lenient(&printed).unwrap();
    assert_eq!(again.to_string(), printed);
    assert_eq!(again.canonical_form(), schema.canonical_form());
    let canonical: Value = serde_json::from_str(&schema.canonical_form()).unwrap();
    assert_eq!(canonical.is_object(), schema.to_json().is_object());
    schema
}

/// The deviations, each after its position.
fn notes(schema: &Schema) -> Vec<String> {
    let notes = schema.deviations().iter();
    notes
        .map(|note| format!("{}: {}", note.path, note.kind))
        .collect()
}

/// Checks that the data is `expected` as JSON, and that the inferred features compile.
#[track_caller]
fn reads(text: &str, data: &[u8], expected: Value) -> Schema {
    let schema = lenient(text);
    let mut position = 0;
    let value = reference::decode(&schema, schema.root(), data, &mut position).unwrap();
    assert_eq!(position, data.len(), "{text}");
    assert_eq!(to_json(&schema, schema.root(), &value).unwrap(), expected);
    let features = Features::new(infer(&schema).features).unwrap();
    Plan::compile(
        &Arc::new(schema.clone()),
        &features,
        &PlanOptions::default(),
    )
    .unwrap();
    schema
}

/// Python writes such defaults for NaN and infinities.
#[test]
fn numbers_that_json_lacks() {
    let text = record(r#"{"name": "NaN", "type": "double", "default": NaN}"#);
    let schema = reads(&text, &1f64.to_le_bytes(), json!({"NaN": 1.0}));
    assert_eq!(
        notes(&schema),
        [": not JSON, line 1 column 89: expected value"]
    );
    assert!(Schema::parse(&text).is_err());
    let marked = format!("\u{feff}{}\0", record(r#"{"name": "x", "type": "int"}"#));
    reads(&marked, &[2], json!({"x": 1}));
}

/// The limit of nesting counts all JSON, not only types.
#[test]
fn text_that_is_too_deep() {
    let mut text = "\"int\"".to_owned();
    for depth in 0..50 {
        let name = format!("R{depth}");
        text = format!(
            r#"{{"type": "record", "name": "{name}", "fields": [{{"name": "x", "type": {text}}}]}}"#
        );
    }
    let error = Schema::parse_lenient(&text).unwrap_err();
    assert_eq!(error.kind, Kind::TooDeep);
}

/// The strict parser refuses each of these for the first deviation.
#[test]
fn what_is_read_and_noted() {
    let cases: &[(&str, &[u8], Value, &[&str])] = &[
        // Names of types.
        (
            r#"{"type": "record", "name": "", "fields": [{"name": "x", "type": "int"}]}"#,
            &[2],
            json!({"x": 1}),
            &[r#"/name: "" is not a name: letters, digits and underscores, and no digit first"#],
        ),
        (
            r#"{"type": "record", "fields": [{"name": "x", "type": "int"}]}"#,
            &[2],
            json!({"x": 1}),
            &[r#": the attribute "name" is missing"#, "/name"],
        ),
        (
            r#"{"type": "record", "name": null, "fields": [{"name": "x", "type": "int"}]}"#,
            &[2],
            json!({"x": 1}),
            &[r#": the attribute "name" is missing"#, "/name"],
        ),
        (
            r#"{"type": "record", "name": 7, "fields": [{"name": "x", "type": "int"}]}"#,
            &[2],
            json!({"x": 1}),
            &[r#": "name" is not a string"#, r#"/name: "7" is not a name"#],
        ),
        (
            r#"{"type": "record", "name": "R", "namespace": "a.b.Event$", "fields": [
                {"name": "x", "type": ["null", "R"]}, {"name": "y", "type": ["null", "a.b.Event$.R"]}]}"#,
            &[0, 0],
            json!({"x": null, "y": null}),
            &[r#"/name: "a.b.Event$.R" is not a name"#],
        ),
        (
            r#"{"type": "record", "name": "größe 1\n", "namespace": 5, "aliases": ["a-b", 3], "fields": []}"#,
            &[],
            json!({}),
            &[
                r#": "namespace" is not a string"#,
                r#"/name: "größe 1\n" is not a name"#,
                r#": "aliases" is not an array of strings"#,
                r#"/aliases: "a-b" is not a name"#,
            ],
        ),
        (
            r#"{"type": "record", "name": "R", "aliases": "S", "fields": []}"#,
            &[],
            json!({}),
            &[r#": "aliases" is not an array of strings"#],
        ),
        (
            r#"{"type": "record", "name": "int", "fields": [
                {"name": "x", "type": "int"}, {"name": "r", "type": ["null", ".int"]}]}"#,
            &[2, 0],
            json!({"x": 1, "r": null}),
            &[r#"/name: "int" is the name of a primitive type"#],
        ),
        (
            r#"{"type": "record", "name": "R", "fields": [
                {"name": "f", "type": {"type": "fixed", "name": "", "size": 1}}]}"#,
            b"a",
            json!({"f": "a"}),
            &[r#"/fields/0/type/name: "" is not a name"#],
        ),
        // Several types have one name. A reference means the one before it.
        (
            r#"{"type": "record", "name": "", "fields": [
                {"name": "a", "type": {"type": "record", "name": "", "fields": [{"name": "x", "type": "int"}]}},
                {"name": "b", "type": {"type": "record", "name": "", "fields": [{"name": "y", "type": "string"}]}},
                {"name": "c", "type": ""}]}"#,
            &[2, 2, b'k', 2, b'l'],
            json!({"a": {"x": 1}, "b": {"y": "k"}, "c": {"y": "l"}}),
            &[
                r#"/name: "" is not a name"#,
                r#"/fields/0/type/name: "" is not a name"#,
                r#"/fields/0/type: "" is defined twice"#,
                r#"/fields/1/type/name: "" is not a name"#,
                r#"/fields/1/type: "" is defined twice"#,
            ],
        ),
        // Fields.
        (
            r#"{"type": "record", "name": "R", "fields": [
                {"name": "user-id", "type": "int"}, {"name": "", "type": "int"},
                {"name": "한글컬럼", "type": "int"}, {"name": "a.b", "type": "int"}]}"#,
            &[2, 4, 6, 8],
            json!({"user-id": 1, "": 2, "한글컬럼": 3, "a.b": 4}),
            &[
                r#"/fields/0/name: "user-id" is not a name"#,
                r#"/fields/1/name: "" is not a name"#,
                r#"/fields/2/name: "한글컬럼" is not a name"#,
                r#"/fields/3/name: "a.b" is not a name"#,
            ],
        ),
        (
            r#"{"type": "record", "name": "R", "fields": [{"type": "int"}, {"name": true, "type": "int"}]}"#,
            &[2, 4],
            json!({"": 1, "true": 2}),
            &[
                r#"/fields/0: the attribute "name" is missing"#,
                r#"/fields/0/name: "" is not a name"#,
                r#"/fields/1: "name" is not a string"#,
            ],
        ),
        (
            r#"{"type": "record", "name": "R", "fields": [
                {"name": "a", "type": "int"}, {"name": "a", "type": "int"},
                {"name": "a#2", "type": "int"}, {"name": "a", "type": "int"}]}"#,
            &[2, 4, 6, 8],
            json!({"a": 1, "a#3": 2, "a#2": 3, "a#4": 4}),
            &[
                r#"/fields/1: the record has two fields "a""#,
                r#"/fields/2/name: "a#2" is not a name"#,
                r#"/fields/3: the record has two fields "a""#,
            ],
        ),
        (
            r#"{"type": "record", "name": "R", "fields": [
                {"name": "a", "type": "int", "order": "sideways", "aliases": [1, "a"], "doc": 5},
                {"name": "b", "type": "int", "order": 7, "aliases": {"x": 1}}]}"#,
            &[2, 4],
            json!({"a": 1, "b": 2}),
            &[
                r#"/fields/0: "aliases" is not an array of strings"#,
                r#"/fields/0: "order" is not "ascending", "descending" or "ignore""#,
                r#"/fields/1: "aliases" is not an array of strings"#,
                r#"/fields/1: "order" is not a string"#,
            ],
        ),
        // Symbols.
        (
            r#"{"type": "record", "name": "R", "fields": [{"name": "e", "type":
                {"type": "enum", "name": "E", "symbols": ["a-b", "", "é", "x", "x", 3, null]}}]}"#,
            &[8],
            json!({"e": "x"}),
            &[
                r#"/fields/0/type/symbols/0: "a-b" is not a name"#,
                r#"/fields/0/type/symbols/1: "" is not a name"#,
                r#"/fields/0/type/symbols/2: "é" is not a name"#,
                r#"/fields/0/type/symbols/4: the enum has the symbol "x" twice"#,
                r#"/fields/0/type/symbols/5: "symbols" is not an array of strings"#,
                r#"/fields/0/type/symbols/5: "3" is not a name"#,
                r#"/fields/0/type/symbols/6: "symbols" is not an array of strings"#,
                r#"/fields/0/type/symbols/6: "" is not a name"#,
                r#"/fields/0/type/symbols/6: the enum has the symbol "" twice"#,
            ],
        ),
        // Branches.
        (
            r#"{"type": "record", "name": "R", "fields": [{"name": "u", "type": ["null", "null", "int"]}]}"#,
            &[4, 2],
            json!({"u": 1}),
            &["/fields/0/type/1: the union has two branches of type null"],
        ),
        (
            r#"{"type": "record", "name": "R", "fields": [{"name": "u", "type":
                [{"type": "array", "items": "int"}, {"type": "array", "items": "string"}]}]}"#,
            &[2, 2, 2, b'a', 0],
            json!({"u": ["a"]}),
            &["/fields/0/type/1: the union has two branches of type array"],
        ),
    ];
    for (text, data, expected, expected_notes) in cases {
        let schema = reads(text, data, expected.clone());
        let found = notes(&schema);
        assert!(found.len() >= expected_notes.len(), "{found:?}");
        for (found, expected) in found.iter().zip(*expected_notes) {
            assert!(found.starts_with(expected), "{found}\nnot {expected}");
        }
        let refused = Schema::parse(text).unwrap_err();
        assert_eq!(&refused, &schema.deviations()[0], "{text}");
    }
}

/// These schemas violate the specification too, but both parsers accept them.
#[test]
fn what_was_accepted_already() {
    for (text, data, expected) in [
        (
            r#"{"name": "f", "type": "int", "default": "no number"}"#,
            &[2][..],
            json!({"f": 1}),
        ),
        (
            r#"{"name": "f", "type": {"type": "bytes", "logicalType": "decimal", "precision": "9", "scale": 2}}"#,
            &[2, 65],
            json!({"f": "A"}),
        ),
        (
            r#"{"name": "f", "type": {"type": "bytes", "logicalType": "decimal", "scale": 2}}"#,
            &[2, 65],
            json!({"f": "A"}),
        ),
        (
            r#"{"name": "f", "type": {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}}"#,
            &[2, 65],
            json!({"f": "A"}),
        ),
        (
            r#"{"name": "f", "type": {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": "1"}}"#,
            &[2, 65],
            json!({"f": "A"}),
        ),
        (
            r#"{"name": "f", "type": {"type": "int", "logicalType": 5}}"#,
            &[2],
            json!({"f": 1}),
        ),
        (
            r#"{"name": "f", "type": {"type": "int", "logicalType": "timestamp-micros"}}"#,
            &[2],
            json!({"f": 1}),
        ),
        (
            r#"{"name": "f", "type": "int", "aliases": ["f", "g", "g"]}, {"name": "h", "type": "int", "aliases": ["f"]}"#,
            &[2, 4],
            json!({"f": 1, "h": 2}),
        ),
    ] {
        let schema = reads(&record(text), data, expected);
        assert_eq!(notes(&schema), [""; 0], "{text}");
        let Node::Record(root) = schema.node(schema.root()) else {
            panic!("not a record");
        };
        assert_eq!(schema.logical(root.fields[0].ty), None, "{text}");
        Schema::parse(&record(text)).unwrap();
    }
    let odd = lenient(&record(
        r#"{"name": "f", "type": {"type": "int", "logicalType": "größe-x"}}"#,
    ));
    let unknown = LogicalType::Unknown("größe-x".to_owned());
    assert!(odd.ids().any(|id| odd.logical(id) == Some(&unknown)));
}

#[test]
fn what_cannot_be_read_stays_an_error() {
    let long = format!(r#"{{"name": "{}", "type": "int"}}"#, "é".repeat(600));
    for (text, path, kind) in [
        ("{", "", None),
        (
            r#"{"name": "f", "type": "Foo"}"#,
            "/fields/0/type",
            Some(Kind::UnknownType("Foo".into())),
        ),
        (r#"{"name": "f"}"#, "/fields/0", Some(Kind::Missing("type"))),
        (
            r#"{"name": "f", "type": {"type": "record", "name": ""}}"#,
            "/fields/0/type",
            Some(Kind::Missing("fields")),
        ),
        (
            r#"{"name": "f", "type": {"type": "enum", "name": ""}}"#,
            "/fields/0/type",
            Some(Kind::Missing("symbols")),
        ),
        (
            r#"{"name": "f", "type": {"type": "fixed", "name": ""}}"#,
            "/fields/0/type",
            Some(Kind::Missing("size")),
        ),
        (
            r#"{"name": "f", "type": ["null", ["int"]]}"#,
            "/fields/0/type/1",
            Some(Kind::NestedUnion),
        ),
        (&long, "/fields/0/name", Some(Kind::NameTooLong)),
    ] {
        let error = Schema::parse_lenient(&record(text))
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.path, path, "{text}");
        match kind {
            Some(kind) => assert_eq!(error.kind, kind, "{text}"),
            None => assert!(matches!(error.kind, Kind::Json { .. }), "{text}"),
        }
    }
}

#[test]
fn notes_have_a_limit() {
    let fields: Vec<_> = (0..1000)
        .map(|_| r#"{"name": "-", "type": "int"}"#)
        .collect();
    let schema = lenient(&record(&fields.join(",")));
    assert_eq!(schema.deviations().len(), MAX_DEVIATIONS);
}

fn resolves(writer: &str, reader: &str) -> Result<(), String> {
    let (writer, reader) = (lenient(writer), Schema::parse(reader).unwrap());
    let resolution = Resolution::new(Arc::new(writer), Arc::new(reader));
    resolution.map(|_| ()).map_err(|error| error.to_string())
}

/// A name that a reader's schema cannot have does not prevent resolution.
#[test]
fn names_that_no_reader_can_have() {
    let named = |name: &str| {
        format!(
            r#"{{"type": "record", "name": "{name}", "fields": [{{"name": "x", "type": "int"}}]}}"#
        )
    };
    for name in ["", "user-id", "größe", "int", "1", "a.b-c", "a."] {
        assert_eq!(resolves(&named(name), &named("r")), Ok(()), "{name}");
        let union = format!(r#"["null", {}]"#, named("r"));
        assert_eq!(resolves(&named(name), &union), Ok(()), "{name}");
        // Both branches match, so the resolution is ambiguous.
        let union = format!(r#"[{}, {}]"#, named("r"), named("s"));
        assert!(resolves(&named(name), &union).is_err(), "{name}");
    }
    // The namespace is ignored, even an invalid one.
    assert_eq!(resolves(&named("a.Event$.r"), &named("r")), Ok(()));
    let error = resolves(&named("q"), &named("r")).unwrap_err();
    assert!(error.contains("the names differ"), "{error}");
    // A reader can have any field name as an alias.
    let writer = record(r#"{"name": "user-id", "type": "int"}"#);
    let reader = record(r#"{"name": "user", "type": "long", "aliases": ["user-id"]}"#);
    assert_eq!(resolves(&writer, &reader), Ok(()));
}

/// Names that clash with each other, with types and with namespaces.
fn any_text() -> impl Strategy<Value = Value> {
    const TEXTS: &[&str] = &[
        "", "a", "b", "a.b", ".a", "a.", ".", "..", "int", ".int", "a#2", "é\"\\",
    ];
    prop_oneof![
        8 => select(TEXTS).prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
        1 => select(vec![json!(null), json!(7), json!([]), json!(true)]),
    ]
}

/// Nearly a schema: attributes have any text, are missing, or are invalid.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        3 => select(vec![json!("int"), json!("string"), json!("null")]),
        3 => any_text(),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let attributes = || {
            let keys = select(vec!["name", "namespace", "aliases", "order", "doc"]);
            prop::collection::vec((keys, any_text()), 0..4)
        };
        let named = |made: Value, attributes: Vec<(&str, Value)>| {
            let mut made = made;
            for (key, value) in attributes {
                made[key] = match key {
                    "aliases" => json!([value, "c"]),
                    _ => value,
                };
            }
            made
        };
        let fields = prop::collection::vec((any_text(), inner.clone()), 0..4);
        let symbols = prop::collection::vec(any_text(), 0..4);
        prop_oneof![
            4 => (fields, attributes()).prop_map(move |(fields, attributes)| {
                let fields = fields.into_iter().map(|(name, ty)| json!({"name": name, "type": ty}));
                let fields: Vec<_> = fields.collect();
                named(json!({"type": "record", "fields": fields}), attributes)
            }),
            1 => (symbols, attributes()).prop_map(move |(symbols, attributes)| {
                named(json!({"type": "enum", "symbols": symbols}), attributes)
            }),
            1 => attributes().prop_map(move |attributes| {
                named(json!({"type": "fixed", "size": 2}), attributes)
            }),
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            1 => inner.prop_map(|items| json!({"type": "array", "items": items})),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn any_schema_prints_to_one_that_is_read_alike(json in any_schema()) {
        let text = json.to_string();
        let strict = Schema::parse(&text);
        match Schema::parse_lenient(&text) {
            Ok(schema) => {
                prop_assert_eq!(schema.deviations().first(), strict.as_ref().err());
                let again = lenient(&text);
                prop_assert_eq!(again.to_string(), schema.to_string());
                let features = Features::new(infer(&schema).features);
                prop_assert!(features.is_ok(), "{:?}", features);
            }
            Err(_) => prop_assert!(strict.is_err()),
        }
    }
}

/// Checks that the property above covers schemas that are accepted, and many with deviations.
#[test]
fn schemas_are_made_that_are_read() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = any_schema();
    let made = (0..2000).map(|_| strategy.new_tree(&mut runner).unwrap().current());
    let read = made.filter(|json| {
        let schema = Schema::parse_lenient(&json.to_string());
        schema.is_ok_and(|schema| !schema.deviations().is_empty())
    });
    let read = read.count();
    assert!(read > 200, "{read}");
}
