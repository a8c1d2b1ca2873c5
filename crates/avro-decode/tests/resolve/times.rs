//! Logical types of the writer and the reader: which pairs resolve, and the converted values.

use avro_decode::resolve::ResolveErrorKind;
use avro_decode::{DecodeErrorKind, Resolution, TimeUnit, Value, ValueErrorKind};
use proptest::prelude::*;

use super::harness::{fails, read, record, refused, schema};

/// Pairs of a type and a logical type; the first ones are times.
const TYPES: [(&str, &str, &str); 17] = [
    ("int", "date", "days"),
    ("int", "time-millis", "millis"),
    ("long", "time-micros", "micros"),
    ("long", "timestamp-millis", "millis"),
    ("long", "timestamp-micros", "micros"),
    ("long", "timestamp-nanos", "nanos"),
    ("long", "local-timestamp-millis", "millis"),
    ("long", "local-timestamp-micros", "micros"),
    ("long", "local-timestamp-nanos", "nanos"),
    ("int", "", ""),
    ("long", "", ""),
    ("int", "unheard-of", ""),
    ("long", "unheard-of", ""),
    ("float", "", ""),
    ("double", "", ""),
    ("string", "", ""),
    ("string", "uuid", ""),
];

fn json((ty, logical, _): (&str, &str, &str)) -> String {
    match logical {
        "" => format!(r#""{ty}""#),
        _ => format!(r#"{{"type": "{ty}", "logicalType": "{logical}"}}"#),
    }
}

/// The kind of a time, without its unit.
fn clock(logical: &str) -> &str {
    logical.rsplit_once('-').map_or(logical, |(clock, _)| clock)
}

fn nanos(unit: &str) -> i64 {
    match unit {
        "days" => 86_400_000_000_000,
        "millis" => 1_000_000,
        "micros" => 1_000,
        _ => 1,
    }
}

/// The factor from the writer's unit of time to the reader's, computed from the names. `None` if
/// the types do not resolve.
fn factor(writer: (&str, &str, &str), reader: (&str, &str, &str)) -> Option<i64> {
    if writer.2.is_empty() || reader.2.is_empty() {
        return Some(1);
    }
    let same = clock(writer.1) == clock(reader.1);
    let midnight = writer.1 == "date" && clock(reader.1) == "local-timestamp";
    let (from, to) = (nanos(writer.2), nanos(reader.2));
    ((same || midnight) && from % to == 0).then_some(from / to)
}

fn is_promoted(writer: &str, reader: &str) -> bool {
    let order = ["int", "long", "float", "double"];
    let position = |ty| order.iter().position(|other| *other == ty);
    match (position(writer), position(reader)) {
        (Some(writer), Some(reader)) => writer <= reader,
        _ => writer == reader,
    }
}

#[test]
fn every_pair_is_converted_or_refused() {
    let (mut converted, mut lossy, mut other) = (0, 0, 0);
    for writer in TYPES {
        for reader in TYPES {
            if !is_promoted(writer.0, reader.0) {
                let error = refused(&json(writer), &json(reader));
                assert_eq!(error.kind, ResolveErrorKind::Types, "{writer:?} {reader:?}");
                continue;
            }
            let Some(factor) = factor(writer, reader) else {
                let error = refused(&json(writer), &json(reader));
                let ResolveErrorKind::LogicalTypes {
                    writer: written,
                    reader: read,
                    is_coarser,
                } = &error.kind
                else {
                    panic!("{writer:?} as {reader:?}: {error}");
                };
                assert_eq!((&**written, &**read), (writer.1, reader.1));
                assert_eq!(*is_coarser, clock(writer.1) == clock(reader.1));
                let counted = if *is_coarser { &mut lossy } else { &mut other };
                *counted += 1;
                continue;
            };
            if writer.0 == "string" {
                Resolution::new(schema(&json(writer)), schema(&json(reader))).unwrap();
                continue;
            }
            for time in [0, 1, -1, 19_000, -9_999] {
                let value = match writer.0 {
                    "int" => Value::Int(time),
                    "long" => Value::Long(time.into()),
                    "float" => Value::Float(time as f32),
                    _ => Value::Double(time.into()),
                };
                let expected = match reader.0 {
                    "int" => Value::Int(time),
                    "long" => Value::Long(i64::from(time) * factor),
                    "float" => Value::Float(time as f32),
                    _ => Value::Double(time.into()),
                };
                assert_eq!(read(&json(writer), &json(reader), &value), expected);
            }
            converted += i32::from(factor > 1);
        }
    }
    // For both kinds of timestamps: two pairs to microseconds or nanoseconds, and one more to
    // nanoseconds. One pair of times of day. Dates to each local timestamp.
    assert_eq!((converted, lossy), (3 + 3 + 1 + 3, 3 + 3));
    assert!(other > 20, "{other}");
}

#[test]
fn the_messages_say_what_is_in_the_way() {
    let of = |ty, logical| {
        let ty = json((ty, logical, ""));
        record(&format!(r#"{{"name": "at", "type": {ty}}}"#))
    };
    let error = refused(
        &of("long", "timestamp-micros"),
        &of("long", "timestamp-millis"),
    );
    assert_eq!(
        error.to_string(),
        "field 'at': long cannot be read as long: timestamp-micros does not become \
         timestamp-millis without a loss; the reader's type must have the finer unit"
    );
    let error = refused(&of("int", "date"), &of("long", "timestamp-millis"));
    assert_eq!(
        error.to_string(),
        "field 'at': int cannot be read as long: the values are date, not timestamp-millis"
    );
}

#[test]
fn other_logical_types_are_the_same_or_refused() {
    let decimal = |scale| {
        format!(
            r#"{{"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": {scale}}}"#
        )
    };
    let fixed = |size, logical| {
        format!(r#"{{"type": "fixed", "name": "F", "size": {size}, "logicalType": "{logical}"}}"#)
    };
    let big = r#"{"type": "bytes", "logicalType": "big-decimal"}"#;
    let decimal_16 = r#"{"type": "fixed", "name": "F", "size": 16, "logicalType": "decimal",
        "precision": 9}"#;
    for (writer, reader) in [
        (decimal(2), big.to_owned()),
        (big.to_owned(), decimal(2)),
        (decimal_16.to_owned(), fixed(16, "uuid")),
        (fixed(16, "uuid"), decimal_16.to_owned()),
        (
            decimal(2),
            r#"{"type": "string", "logicalType": "uuid"}"#.to_owned(),
        ),
    ] {
        let error = refused(&writer, &reader);
        assert!(
            matches!(
                error.kind,
                ResolveErrorKind::LogicalTypes {
                    is_coarser: false,
                    ..
                }
            ),
            "{error}"
        );
    }
    let error = refused(&decimal(2), &decimal(3));
    assert!(matches!(error.kind, ResolveErrorKind::Decimals { .. }));
    let bytes = Value::Bytes(vec![1, 2]);
    for (writer, reader) in [
        (decimal(2), r#""bytes""#.to_owned()),
        (r#""bytes""#.to_owned(), decimal(2)),
        (decimal(2), decimal(2)),
    ] {
        assert_eq!(read(&writer, &reader, &bytes), bytes);
    }
    let uuid = Value::Fixed(vec![7; 16]);
    let plain = r#"{"type": "fixed", "name": "F", "size": 16}"#;
    assert_eq!(read(plain, &fixed(16, "uuid"), &uuid), uuid);
    assert_eq!(read(&fixed(16, "uuid"), plain, &uuid), uuid);
}

#[test]
fn what_is_beyond_a_long_is_an_error_of_its_field() {
    let of = |unit| {
        record(&format!(
            r#"{{"name": "at", "type": ["null", {{"type": "long", "logicalType": "timestamp-{unit}"}}]}}"#
        ))
    };
    let at = |time| Value::Record(vec![Value::Union(1, Box::new(Value::Long(time)))]);
    let most = i64::MAX / 1000;
    assert_eq!(
        read(&of("millis"), &of("micros"), &at(most)),
        at(most * 1000)
    );
    let least = i64::MIN / 1000;
    assert_eq!(
        read(&of("millis"), &of("micros"), &at(least)),
        at(least * 1000)
    );
    for value in [most + 1, least - 1, i64::MAX, i64::MIN] {
        let (slow, fast) = fails(&of("millis"), &of("micros"), &at(value));
        let (from, to) = (TimeUnit::Millis, TimeUnit::Micros);
        assert_eq!(slow.kind, ValueErrorKind::TimeOverflow { value, from, to });
        assert_eq!(fast.kind, DecodeErrorKind::TimeOverflow { value, from, to });
        assert_eq!((fast.field.as_deref(), fast.offset), (Some("at"), 1));
    }
}

proptest! {
    #[test]
    fn times_of_all_sizes_are_multiplied(time: i64, shift in 0..64u32) {
        let value = time >> shift;
        let of = |unit| format!(r#"{{"type": "long", "logicalType": "timestamp-{unit}"}}"#);
        match value.checked_mul(1_000_000) {
            Some(nanos) => {
                let found = read(&of("millis"), &of("nanos"), &Value::Long(value));
                prop_assert_eq!(found, Value::Long(nanos));
            }
            None => {
                fails(&of("millis"), &of("nanos"), &Value::Long(value));
            }
        }
    }
}
