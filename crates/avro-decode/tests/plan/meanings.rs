//! A column has one meaning for all schemas: values of later schemas are converted to the meaning
//! of the first, or refused.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::{
    Clock, Convert, DecodeError, DecodeErrorKind, Feature, Features, Meaning, Meanings, Plan,
    PlanError, PlanErrorKind, PlanOptions, Schema, TimeUnit, Value, Vocabulary, reference,
};
use tensor_batch::{DType, Layout, Scalar};

use super::harness::{assert_agrees, field_of, record_of, run};

/// A later schema, compiled with the meanings of the first.
struct Later {
    schema: Arc<Schema>,
    features: Features,
    options: PlanOptions,
    plan: Plan,
}

fn later(
    first: &Arc<Schema>,
    schema: &Arc<Schema>,
    feature: impl Into<Feature>,
) -> Result<Later, PlanError> {
    let features = Features::new([feature]).expect("a good feature");
    let mut options = PlanOptions::default();
    options.origin = Some("first.avro".into());
    let fixed = Plan::compile(first, &features, &options).expect("the feature fits the first");
    let mut options = PlanOptions::default();
    options.meanings = fixed.meanings().clone();
    Ok(Later {
        plan: Plan::compile(schema, &features, &options)?,
        schema: schema.clone(),
        features,
        options,
    })
}

impl Later {
    /// The tensors of one record. Checks that plan and reference agree.
    fn read(&self, record: Value) -> Result<Vec<Scalar>, DecodeError> {
        let (schema, mut data) = (&self.schema, Vec::new());
        let encoding = EncodeOptions::default();
        encode(schema, schema.root(), &record, &mut data, &encoding).expect("a good value");
        let ran = run(&self.plan, &data, &[1], 1);
        let expected = reference::tensors(schema, &[record], &self.features, &self.options);
        match (ran, expected) {
            (Ok(ran), Ok(expected)) => {
                assert_agrees(&expected, &ran);
                Ok(match &expected.columns[0] {
                    reference::ReferenceColumn::Dense { values, .. }
                    | reference::ReferenceColumn::Sparse { values, .. }
                    | reference::ReferenceColumn::Ragged { values, .. }
                    | reference::ReferenceColumn::RaggedSparse { values, .. } => values.clone(),
                    _ => panic!("no other column"),
                })
            }
            (Err(error), Err(expected)) => {
                assert_eq!(error.kind, expected.kind);
                Err(error)
            }
            (ran, expected) => panic!("{ran:?}, not {expected:?}"),
        }
    }
}

fn logical(ty: &str, name: &str) -> String {
    format!(r#"{{"type": "{ty}", "logicalType": "{name}"}}"#)
}

fn timestamp(unit: &str) -> String {
    logical("long", &format!("timestamp-{unit}"))
}

fn decimal(scale: u32) -> String {
    format!(r#"{{"type": "bytes", "logicalType": "decimal", "precision": 18, "scale": {scale}}}"#)
}

fn symbols(names: &str) -> String {
    format!(r#"{{"type": "enum", "name": "E", "symbols": [{names}]}}"#)
}

/// The element for `value` of a second type, in a column of a first type.
#[track_caller]
fn becomes(first: &str, second: &str, feature: Feature, value: Value) -> Vec<Scalar> {
    let later = later(&field_of(first), &field_of(second), feature);
    let later = later.unwrap_or_else(|error| panic!("{error}"));
    later.read(Value::Record(vec![value])).unwrap()
}

fn x(dtype: DType, convert: Convert) -> Feature {
    Feature::dense("x", &[], dtype).with_convert(convert)
}

fn int64() -> Feature {
    x(DType::Int64, Convert::Cast)
}

fn refusal(first: &str, second: &str, feature: Feature) -> String {
    match later(&field_of(first), &field_of(second), feature) {
        Ok(_) => panic!("{second} becomes {first}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn times_of_a_coarser_unit_are_multiplied() {
    let (millis, micros) = (timestamp("millis"), timestamp("micros"));
    let time = Value::Long(1_700_000_000_123);
    let exact = x(DType::Int64, Convert::Exact);
    for feature in [exact, int64()] {
        let found = becomes(&micros, &millis, feature, time.clone());
        assert_eq!(found, [Scalar::Int64(1_700_000_000_123_000)]);
    }
    let feature = x(DType::Float64, Convert::Cast);
    let found = becomes(&micros, &millis, feature, time.clone());
    assert_eq!(found, [Scalar::Float64(1_700_000_000_123_000.0)]);
    // An int is promoted to a long.
    let (time_millis, time_micros) = (
        logical("int", "time-millis"),
        logical("long", "time-micros"),
    );
    let feature = x(DType::Int64, Convert::Exact);
    let found = becomes(&time_micros, &time_millis, feature, Value::Int(7));
    assert_eq!(found, [Scalar::Int64(7000)]);
    let date = logical("int", "date");
    let local = logical("long", "local-timestamp-millis");
    let feature = x(DType::Int64, Convert::Exact);
    let found = becomes(&local, &date, feature, Value::Int(-1));
    assert_eq!(found, [Scalar::Int64(-86_400_000)]);
    // Ids are those of the converted numbers.
    let id = |number: &str| {
        becomes(
            r#""string""#,
            r#""string""#,
            x(DType::Int64, Convert::HashBuckets(1 << 40)),
            Value::String(number.into()),
        )
    };
    let hashed = x(DType::Int64, Convert::HashBuckets(1 << 40));
    assert_eq!(
        becomes(&micros, &millis, hashed, Value::Long(5)),
        id("5000")
    );
    let words = Vocabulary::new([b"5000".to_vec()], -1).unwrap();
    let feature = x(DType::Int32, Convert::Vocabulary(words.into()));
    let found = becomes(&time_micros, &time_millis, feature, Value::Int(5));
    assert_eq!(found, [Scalar::Int32(0)]);
}

#[test]
fn what_is_beyond_the_column_is_an_error() {
    let (millis, micros) = (timestamp("millis"), timestamp("micros"));
    let of_times = later(&field_of(&micros), &field_of(&millis), int64()).unwrap();
    let value = i64::MAX / 999;
    let error = of_times.read(Value::Record(vec![Value::Long(value)]));
    let (from, to) = (TimeUnit::Millis, TimeUnit::Micros);
    let error = error.unwrap_err();
    assert_eq!(
        error.kind,
        DecodeErrorKind::TimeOverflow { value, from, to }
    );
    assert_eq!(error.field.as_deref(), Some("x"));

    let feature = x(DType::Int64, Convert::Exact);
    let of_decimals = later(&field_of(&decimal(12)), &field_of(&decimal(2)), feature).unwrap();
    let value = i64::MAX / 9_999_999_000;
    let bytes = Value::Bytes(value.to_be_bytes().into());
    let error = of_decimals.read(Value::Record(vec![bytes])).unwrap_err();
    let kind = DecodeErrorKind::DecimalOverflow {
        value,
        from: 2,
        to: 12,
    };
    assert_eq!(error.kind, kind);
}

#[test]
fn with_a_unit_all_times_are_in_that() {
    let seconds = || x(DType::Int64, Convert::Unit(TimeUnit::Seconds));
    let units = [
        ("millis", 1_000),
        ("micros", 1_000_000),
        ("nanos", 1_000_000_000),
    ];
    for (first, _) in units {
        for (second, factor) in units {
            let time = Value::Long(12 * factor + factor / 2);
            let found = becomes(&timestamp(first), &timestamp(second), seconds(), time);
            assert_eq!(found, [Scalar::Int64(12)]);
        }
    }
    // A date has no time zone, so it fits both kinds of timestamps.
    let date = logical("int", "date");
    let found = becomes(&timestamp("micros"), &date, seconds(), Value::Int(1));
    assert_eq!(found, [Scalar::Int64(86_400)]);
    let found = becomes(&date, &timestamp("millis"), seconds(), Value::Long(-1));
    assert_eq!(found, [Scalar::Int64(-1)]);
    let local = logical("long", "local-timestamp-millis");
    assert_eq!(
        refusal(&timestamp("millis"), &local, seconds()),
        "feature 'x': the values are local timestamps in seconds (long (local-timestamp-millis)), \
         but timestamps in seconds (long (timestamp-millis)) in first.avro, which \
         fixed the column's type: give a `reader_schema` with a plain int or long there, which reads both \
         as bare numbers"
    );
}

#[test]
fn decimals_get_the_digits_of_the_column() {
    let feature = || x(DType::Int64, Convert::Exact);
    let bytes = |value: i64| Value::Bytes(value.to_be_bytes().into());
    assert_eq!(
        becomes(&decimal(4), &decimal(2), feature(), bytes(-123)),
        [Scalar::Int64(-12_300)]
    );
    assert_eq!(
        becomes(&decimal(4), &decimal(0), feature(), bytes(7)),
        [Scalar::Int64(70_000)]
    );
    // Integers and decimals with the scale 0 mean the same.
    assert_eq!(
        becomes(r#""long""#, &decimal(0), feature(), bytes(7)),
        [Scalar::Int64(7)]
    );
    assert_eq!(
        becomes(&decimal(0), r#""long""#, feature(), Value::Long(7)),
        [Scalar::Int64(7)]
    );
    // As floats, decimals of any scale mean the same.
    let float = x(DType::Float64, Convert::Exact);
    assert_eq!(
        becomes(&decimal(2), &decimal(4), float.clone(), bytes(123)),
        [Scalar::Float64(0.0123)]
    );
    assert_eq!(
        becomes(r#""double""#, &decimal(4), float, bytes(123)),
        [Scalar::Float64(0.0123)]
    );
    assert_eq!(
        refusal(&decimal(2), &decimal(4), feature()),
        "feature 'x': the values are unscaled decimals of scale 4 (bytes (decimal)), but unscaled \
         decimals of scale 2 (bytes (decimal)) in first.avro, which fixed the column's type: \
         read them as float64, which is the number itself"
    );
    // As bytes or ids, decimals must have one scale and size.
    let fixed = r#"{"type": "fixed", "name": "F", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 2}"#;
    for convert in [Convert::Exact, Convert::HashBuckets(10)] {
        let dtype = match convert {
            Convert::Exact => DType::String,
            _ => DType::Int64,
        };
        for (first, second) in [
            (&*decimal(2), &*decimal(4)),
            (&decimal(2), fixed),
            (fixed, &decimal(2)),
        ] {
            let error = refusal(first, second, x(dtype, convert.clone()));
            assert!(error.contains("the bytes of decimals of scale"), "{error}");
        }
        let found = becomes(&decimal(2), &decimal(2), x(dtype, convert), bytes(1));
        assert_eq!(found.len(), 1);
    }
}

#[test]
fn symbols_have_the_numbers_of_the_first_enum() {
    let first = symbols(r#""A", "B", "C""#);
    for (dtype, convert) in [
        (DType::Int32, Convert::Exact),
        (DType::Int64, Convert::Cast),
    ] {
        let number = |names: &str, index| {
            let feature = x(dtype, convert.clone());
            let found = becomes(&first, &symbols(names), feature, Value::Enum(index));
            match found[0] {
                Scalar::Int32(number) => number.into(),
                Scalar::Int64(number) => number,
                _ => panic!("the column is of integers"),
            }
        };
        assert_eq!([0, 1].map(|index| number(r#""B", "A""#, index)), [1, 0]);
        assert_eq!(
            [0, 1, 2].map(|index| number(r#""C", "A", "B""#, index)),
            [2, 0, 1]
        );
        let error = refusal(&first, &symbols(r#""B", "D""#), x(dtype, convert.clone()));
        assert_eq!(
            error,
            "feature 'x': the values are the numbers of the symbols 'B', 'D' (enum 'E'), but the numbers of the symbols 'A', 'B', 'C' (enum 'E') in \
             first.avro, which fixed the column's type; 'D' has no number there: read them as strings, or give the feature a `vocabulary`, or a \
             `reader_schema` whose enum has all symbols"
        );
    }
    let feature = x(DType::String, Convert::Exact);
    let found = becomes(&first, &symbols(r#""D""#), feature, Value::Enum(0));
    assert_eq!(found, [Scalar::String(b"D".to_vec())]);
}

#[test]
fn a_uuid_is_text_whatever_it_is_stored_as() {
    let fixed = r#"{"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}"#;
    let plain = r#"{"type": "fixed", "name": "U", "size": 16}"#;
    let text = logical("string", "uuid");
    let string = || x(DType::String, Convert::Exact);
    let written = "00010203-0405-0607-0809-0a0b0c0d0e0f";
    for first in [&*text, fixed, r#""string""#] {
        let found = becomes(first, fixed, string(), Value::Fixed((0..16).collect()));
        assert_eq!(found, [Scalar::String(written.into())]);
        for second in [&*text, r#""string""#] {
            let found = becomes(first, second, string(), Value::String(written.into()));
            assert_eq!(found, [Scalar::String(written.into())]);
        }
    }
    for (first, second) in [
        (plain, fixed),
        (fixed, plain),
        (&text, plain),
        (plain, &text),
    ] {
        let error = refusal(first, second, string());
        assert!(
            error.contains("plain bytes") && error.contains("the text of UUIDs"),
            "{error}"
        );
        let hashed = x(DType::Int64, Convert::HashBuckets(10));
        assert!(refusal(first, second, hashed).contains("the text of UUIDs"));
    }
}

/// A schema whose field `x` is an array of records with a time, an id and a value.
fn entries(at: &str, id: &str) -> Arc<Schema> {
    record_of(&format!(
        r#"{{"name": "x", "type": {{"type": "array", "items": {{"type": "record", "name": "Item",
            "fields": [{{"name": "at", "type": {at}}}, {{"name": "id", "type": {id}}},
                {{"name": "v", "type": "int"}}]}}}}}},
           {{"name": "now", "type": {at}}}"#
    ))
}

fn entry(at: i64, id: Value, v: i32) -> Value {
    Value::Record(vec![Value::Long(at), id, Value::Int(v)])
}

#[test]
fn filters_compare_what_the_first_schema_has() {
    let fixed = r#"{"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}"#;
    let text = logical("string", "uuid");
    let first = entries(&timestamp("micros"), &text);
    let second = entries(&timestamp("millis"), fixed);
    let id = |byte| Value::Fixed(vec![byte; 16]);
    let values = |expression: &str| {
        let feature = Feature::varlen(expression, &[-1], DType::Int32).with_layout(Layout::Ragged);
        let record = Value::Record(vec![
            Value::Array(vec![
                entry(5, id(0), 1),
                entry(5000, id(1), 2),
                entry(i64::MAX, id(2), 3),
            ]),
            Value::Long(5000),
        ]);
        later(&first, &second, feature)
            .unwrap()
            .read(record)
            .unwrap()
    };
    assert_eq!(values("x[at=5000].v"), [Scalar::Int32(1)]);
    assert_eq!(values("x[at=5].v"), []);
    // Both operands are converted.
    assert_eq!(values("x[at=@now].v"), [Scalar::Int32(2)]);
    assert_eq!(values("x[@now=5000000].v").len(), 3);
    let found = values("x[id='02020202-0202-0202-0202-020202020202'].v");
    assert_eq!(found, [Scalar::Int32(3)]);

    let feature = Feature::varlen("x[at=5].v", &[-1], DType::Int32).with_layout(Layout::Ragged);
    let error = later(&second, &first, feature).err().unwrap().to_string();
    assert!(
        error.contains("the values that a filter compares are timestamps in micros")
            && error.contains("but timestamps in millis")
            && error.ends_with("fixed their type: give a `reader_schema` that has the finer unit"),
        "{error}"
    );
}

#[test]
fn features_that_share_a_filter_have_its_meaning_each() {
    let (first, second) = (
        entries(&timestamp("micros"), r#""int""#),
        entries(&timestamp("millis"), r#""int""#),
    );
    let varlen = |expression: &str| {
        Feature::varlen(expression, &[-1], DType::Int32).with_layout(Layout::Ragged)
    };
    let features = Features::new([varlen("x[at=5000].v"), varlen("x[at=5000].id")]).unwrap();
    let fixed = Plan::compile(&first, &features, &PlanOptions::default()).unwrap();
    let mut options = PlanOptions::default();
    options.meanings = fixed.meanings().clone();
    let plan = Plan::compile(&second, &features, &options).unwrap();
    let record = Value::Record(vec![
        Value::Array(vec![
            entry(5, Value::Int(8), 1),
            entry(5000, Value::Int(9), 2),
        ]),
        Value::Long(0),
    ]);
    let mut data = Vec::new();
    encode(
        &second,
        second.root(),
        &record,
        &mut data,
        &EncodeOptions::default(),
    )
    .unwrap();
    let expected = reference::tensors(&second, &[record], &features, &options).unwrap();
    assert_agrees(&expected, &run(&plan, &data, &[1], 1).unwrap());
    assert!(format!("{expected:?}").contains("Int32(8)"), "{expected:?}");
}

#[test]
fn indices_and_values_of_sparse_features_have_one_meaning() {
    let (first, second) = (
        entries(&timestamp("micros"), &decimal(4)),
        entries(&timestamp("millis"), &decimal(2)),
    );
    let feature = || Feature::sparse_keys("x", &["at"], "id", &[1 << 40], DType::Int64);
    let record = Value::Record(vec![
        Value::Array(vec![entry(7, Value::Bytes(vec![3]), 0)]),
        Value::Long(0),
    ]);
    let found = later(&first, &second, feature()).unwrap().read(record);
    assert_eq!(found.unwrap(), [Scalar::Int64(300)]);
    let error = later(&second, &first, feature()).err().unwrap();
    assert!(matches!(error.kind, PlanErrorKind::Meaning(_)), "{error}");
}

#[test]
fn the_first_schema_that_has_a_value_fixes_its_meaning() {
    let features = Features::new([int64()]).unwrap();
    let compile = |ty: &str, meanings: &Meanings| {
        let mut options = PlanOptions::default();
        options.meanings = meanings.clone();
        Plan::compile(&field_of(ty), &features, &options)
    };
    let first = compile(&timestamp("micros"), &Meanings::default()).unwrap();
    assert_eq!(first.meanings().len(), 1);
    // The meaning of the first schema stays.
    let second = compile(&timestamp("millis"), first.meanings()).unwrap();
    assert_eq!(second.meanings(), first.meanings());
    let error = compile(&timestamp("nanos"), second.meanings()).unwrap_err();
    let PlanErrorKind::Meaning(error) = error.kind else {
        panic!("{error}");
    };
    let (found, column) = (error.found, error.column);
    let clock = Clock::Timestamp;
    let unit = TimeUnit::Nanos;
    assert_eq!(found, Meaning::Time { clock, unit });
    let unit = TimeUnit::Micros;
    assert_eq!(column, Meaning::Time { clock, unit });
}

#[test]
fn what_means_the_same_compiles_to_the_same() {
    let enumeration = symbols(r#""A", "B""#);
    let fixed = r#"{"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}"#;
    let types = [
        timestamp("micros"),
        logical("int", "date"),
        decimal(2),
        enumeration,
        fixed.to_owned(),
        r#""long""#.to_owned(),
        r#""string""#.to_owned(),
    ];
    for ty in types {
        for &dtype in DType::ALL {
            let schema = field_of(&ty);
            let features = Features::new([x(dtype, Convert::Cast)]).unwrap();
            let Ok(alone) = Plan::compile(&schema, &features, &PlanOptions::default()) else {
                continue;
            };
            let mut options = PlanOptions::default();
            options.meanings = alone.meanings().clone();
            let after = Plan::compile(&schema, &features, &options).unwrap();
            // The text of the plan without its number.
            let shown = |plan: &Plan| {
                let shown = format!("{plan:?}");
                let (_, rest) = shown.split_once(',').unwrap();
                rest.to_owned()
            };
            assert_eq!(shown(&alone), shown(&after), "{ty}");
        }
    }
}

#[test]
fn many_symbols_are_looked_up_and_not_searched() {
    let names: Vec<String> = (0..60_000).map(|number| format!("S{number}")).collect();
    let list = |names: Vec<&String>| format!("{names:?}").trim_matches(['[', ']']).to_owned();
    let first = symbols(&list(names.iter().collect()));
    let second = symbols(&list(names.iter().rev().collect()));
    let feature = x(DType::Int32, Convert::Exact);
    let found = becomes(&first, &second, feature, Value::Enum(0));
    assert_eq!(found, [Scalar::Int32(59_999)]);
}
