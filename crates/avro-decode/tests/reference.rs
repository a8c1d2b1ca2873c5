//! Bytes that the reference decoder reads or refuses.

#![allow(clippy::unwrap_used)]

use avro_decode::DecodeErrorKind as Kind;
use avro_decode::limits::{MAX_DECODE_DEPTH, MAX_ZERO_SIZE_VALUES};
use avro_decode::{DecodeError, Schema, Value, reference};

fn decode(schema: &str, bytes: &[u8]) -> Result<Value, DecodeError> {
    let schema = Schema::parse(schema).unwrap();
    let mut position = 0;
    let value = reference::decode(&schema, schema.root(), bytes, &mut position)?;
    assert_eq!(position, bytes.len(), "all is read");
    Ok(value)
}

/// The position and the kind of the error.
fn refused(schema: &str, bytes: &[u8]) -> (usize, Kind) {
    let error = decode(schema, bytes).unwrap_err();
    assert_eq!((error.record, &error.field), (None, &None));
    (error.offset, error.kind)
}

fn ints(values: &[i32]) -> Value {
    Value::Array(values.iter().map(|&value| Value::Int(value)).collect())
}

const INTS: &str = r#"{"type": "array", "items": "int"}"#;
const NULLS: &str = r#"{"type": "array", "items": "null"}"#;
const INT_MAP: &str = r#"{"type": "map", "values": "int"}"#;
const LIST: &str = r#"{"type": "record", "name": "List", "fields": [
    {"name": "value", "type": "int"}, {"name": "next", "type": ["null", "List"]}]}"#;

#[test]
fn primitives() {
    assert_eq!(decode(r#""null""#, &[]).unwrap(), Value::Null);
    assert_eq!(decode(r#""boolean""#, &[1]).unwrap(), Value::Boolean(true));
    assert_eq!(decode(r#""int""#, &[0x7f]).unwrap(), Value::Int(-64));
    assert_eq!(decode(r#""long""#, &[0x80, 1]).unwrap(), Value::Long(64));
    assert_eq!(
        decode(r#""float""#, &1.5f32.to_le_bytes()).unwrap(),
        Value::Float(1.5)
    );
    assert_eq!(
        decode(r#""double""#, &(-0.25f64).to_le_bytes()).unwrap(),
        Value::Double(-0.25)
    );
    assert_eq!(
        decode(r#""bytes""#, &[4, 0xff, 0]).unwrap(),
        Value::Bytes(vec![0xff, 0])
    );
    assert_eq!(
        decode(r#""string""#, &[4, 0xc3, 0xa9]).unwrap(),
        Value::String("é".into())
    );
}

#[test]
fn padded_varints_are_read() {
    assert_eq!(
        decode(r#""int""#, &[0x82, 0x80, 0x80, 0x80, 0x00]).unwrap(),
        Value::Int(1)
    );
    assert_eq!(
        decode(INTS, &[0x82, 0x00, 0x02, 0x80, 0x00]).unwrap(),
        ints(&[1])
    );
}

#[test]
fn primitives_that_are_not() {
    assert_eq!(refused(r#""boolean""#, &[2]), (0, Kind::BadBoolean(2)));
    assert_eq!(refused(r#""boolean""#, &[]), (0, Kind::UnexpectedEnd));
    assert_eq!(
        refused(r#""int""#, &[0x80, 0x80, 0x80, 0x80, 0x10]),
        (0, Kind::IntOutOfRange(1 << 31))
    );
    assert_eq!(refused(r#""int""#, &[0x80; 5]), (0, Kind::VarintTooLong));
    assert_eq!(refused(r#""long""#, &[0x80; 10]), (0, Kind::VarintTooLong));
    assert_eq!(refused(r#""float""#, &[0; 3]), (0, Kind::UnexpectedEnd));
    assert_eq!(refused(r#""double""#, &[0; 7]), (0, Kind::UnexpectedEnd));
    assert_eq!(
        refused(r#""bytes""#, &[1, 0]),
        (0, Kind::NegativeLength(-1))
    );
    let beyond = Kind::LengthBeyondEnd {
        length: 2,
        remaining: 1,
    };
    assert_eq!(refused(r#""bytes""#, &[4, 0]), (0, beyond));
    assert_eq!(
        refused(r#""string""#, &[4, 0xff, 0xff]),
        (0, Kind::InvalidUtf8)
    );
    let fixed = r#"{"type": "fixed", "name": "F", "size": 18446744073709551615}"#;
    assert_eq!(refused(fixed, &[0; 9]), (0, Kind::UnexpectedEnd));
}

#[test]
fn blocks_with_and_without_sizes() {
    let expected = ints(&[1, 2, 3]);
    assert_eq!(decode(INTS, &[6, 2, 4, 6, 0]).unwrap(), expected);
    assert_eq!(decode(INTS, &[2, 2, 4, 4, 6, 0]).unwrap(), expected);
    assert_eq!(decode(INTS, &[5, 6, 2, 4, 6, 0]).unwrap(), expected);
    assert_eq!(decode(INTS, &[3, 4, 2, 4, 2, 6, 0]).unwrap(), expected);
    assert_eq!(decode(INTS, &[0]).unwrap(), ints(&[]));
    let map = Value::Map(vec![
        ("a".into(), Value::Int(1)),
        ("a".into(), Value::Int(2)),
    ]);
    assert_eq!(
        decode(INT_MAP, &[2, 2, 0x61, 2, 1, 6, 2, 0x61, 4, 0]).unwrap(),
        map
    );
}

#[test]
fn blocks_that_lie() {
    let size = |declared, actual| Kind::BadBlockSize { declared, actual };
    assert_eq!(refused(INTS, &[1, 4, 2, 0, 0]), (3, size(2, 1)));
    assert_eq!(
        refused(INTS, &[1, 2, 0x80, 0x01, 0]),
        (4, size(1, 2)),
        "an item that goes beyond its block"
    );
    assert_eq!(refused(INTS, &[1, 1]), (1, Kind::NegativeLength(-1)));
    let beyond = Kind::LengthBeyondEnd {
        length: 3,
        remaining: 2,
    };
    assert_eq!(refused(INTS, &[1, 6, 2, 0]), (1, beyond));
    assert_eq!(refused(NULLS, &[3, 2, 0, 0]), (2, size(1, 0)));
}

#[test]
fn counts_that_cannot_be() {
    let too_many = |count, most| Kind::TooManyItems { count, most };
    assert_eq!(refused(INTS, &[8, 0, 0, 0]), (0, too_many(4, 3)));
    assert_eq!(
        refused(INTS, &[7, 6, 0, 0, 0, 0]),
        (0, too_many(4, 3)),
        "the block's size is the room there is"
    );
    assert_eq!(refused(INT_MAP, &[4, 0, 0, 0]), (0, too_many(2, 1)));
    let doubles = r#"{"type": "array", "items": "double"}"#;
    assert_eq!(refused(doubles, &[4; 16]), (0, too_many(2, 1)));
    let mut least = vec![0xff; 9];
    least.extend([0x01, 0x00]);
    assert_eq!(refused(INTS, &least), (0, too_many(1 << 63, 0)));
    let mut most = vec![0xfe];
    most.extend([0xff; 8]);
    most.extend([0x01, 0x00]);
    assert_eq!(
        refused(INTS, &most),
        (0, too_many(i64::MAX.unsigned_abs(), 1))
    );
}

#[test]
fn items_without_bytes_are_bounded() {
    let million = [0x80, 0x80, 0x80, 0x01];
    assert_eq!(MAX_ZERO_SIZE_VALUES, 1 << 20);
    let mut bytes = million.to_vec();
    bytes.push(0);
    match decode(NULLS, &bytes).unwrap() {
        Value::Array(nulls) => assert_eq!(nulls.len(), 1 << 20),
        other => panic!("not an array: {other:?}"),
    }
    let one_more = [0x82, 0x80, 0x80, 0x01, 0];
    let kind = Kind::TooManyItems {
        count: (1 << 20) + 1,
        most: 1 << 20,
    };
    assert_eq!(refused(NULLS, &one_more), (0, kind));
    // The limit also counts items of several blocks and arrays.
    let mut bytes = million.to_vec();
    bytes.extend([2, 0]);
    assert_eq!(refused(NULLS, &bytes), (5, Kind::TooManyZeroSizeValues));
    let arrays = format!(r#"{{"type": "array", "items": {NULLS}}}"#);
    let bytes = [&[4], &million[..], &[0, 2, 0, 0]].concat();
    assert_eq!(refused(&arrays, &bytes), (7, Kind::TooManyZeroSizeValues));
}

#[test]
fn records_that_double_in_number_without_bytes_are_bounded() {
    let mut fields =
        String::from(r#"{"name": "f0", "type": {"type": "record", "name": "R0", "fields": []}}"#);
    for i in 1..60 {
        let below = i - 1;
        fields += &format!(
            r#", {{"name": "f{i}", "type": {{"type": "record", "name": "R{i}", "fields": [
                {{"name": "a", "type": "R{below}"}}, {{"name": "b", "type": "R{below}"}}]}}}}"#
        );
    }
    let schema = format!(r#"{{"type": "record", "name": "R", "fields": [{fields}]}}"#);
    let error = decode(&schema, &[]).unwrap_err();
    assert_eq!(error.kind, Kind::TooManyZeroSizeValues);
}

#[test]
fn branches_and_symbols() {
    let union = r#"["null", "int"]"#;
    let one = Value::Union(1, Box::new(Value::Int(1)));
    assert_eq!(decode(union, &[2, 2]).unwrap(), one);
    let bad = |branch| Kind::BadUnionBranch {
        branch,
        branches: 2,
    };
    assert_eq!(refused(union, &[4]), (0, bad(2)));
    assert_eq!(refused(union, &[1]), (0, bad(-1)));
    let symbols = r#"{"type": "enum", "name": "E", "symbols": ["A", "B"]}"#;
    assert_eq!(decode(symbols, &[2]).unwrap(), Value::Enum(1));
    let bad = |index| Kind::BadEnumIndex { index, symbols: 2 };
    assert_eq!(refused(symbols, &[4]), (0, bad(2)));
    assert_eq!(refused(symbols, &[1]), (0, bad(-1)));
    assert_eq!(
        refused("[]", &[0]),
        (
            0,
            Kind::BadUnionBranch {
                branch: 0,
                branches: 0
            }
        )
    );
}

#[test]
fn errors_name_the_field() {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "a", "type": "int"},
        {"name": "b", "type": {"type": "array", "items": {
            "type": "record", "name": "S", "fields": [{"name": "c", "type": "boolean"}]}}}]}"#;
    let error = decode(schema, &[2, 4, 1, 9, 0]).unwrap_err();
    assert_eq!(error.offset, 3);
    assert_eq!(error.field.as_deref(), Some("b.c"));
    assert_eq!(
        error.in_record(4).to_string(),
        "record 4, field 'b.c', byte 3: a boolean is 9, neither 0 nor 1"
    );
}

#[test]
fn depth_is_bounded() {
    // Each list takes two levels, for a record and a union.
    let lists = MAX_DECODE_DEPTH / 2;
    let list = |n: usize| {
        let mut bytes = [0, 2].repeat(n - 1);
        bytes.extend([0, 0]);
        bytes
    };
    decode(LIST, &list(lists)).unwrap();
    let error = decode(LIST, &list(lists + 1)).unwrap_err();
    assert_eq!(error.kind, Kind::TooDeep { limit: 100 });
    assert_eq!(error.offset, 2 * lists);
    // A type without any finite value.
    let endless = r#"{"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}"#;
    assert_eq!(
        decode(endless, &[]).unwrap_err().kind,
        Kind::TooDeep { limit: 100 }
    );
}

#[test]
fn a_small_stack_is_enough() {
    let nested = r#"{"type": "record", "name": "R", "fields": [
        {"name": "r", "type": {"type": "array", "items": {"type": "map", "values": ["R", "int"]}}}]}"#;
    // Arrays of one map with one entry "", whose value is the record again.
    let bytes = [2, 2, 0, 0].repeat(1000);
    let decode = move || decode(nested, &bytes).unwrap_err().kind;
    let thread = std::thread::Builder::new().stack_size(512 << 10);
    let kind = thread.spawn(decode).unwrap().join().unwrap();
    assert_eq!(kind, Kind::TooDeep { limit: 100 });
}
