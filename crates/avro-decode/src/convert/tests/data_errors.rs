//! Values that cannot be converted: the message, and the offset.

use super::*;

fn fault(schema: &str, dtype: DType, convert: Convert, data: &[u8]) -> (String, usize) {
    Case::of(schema, dtype, convert).fault(data, 2)
}

#[test]
fn long_outside_int32() {
    for (value, expected) in [
        (1 << 31, "2147483648 is not in the range of int32"),
        (
            i64::MIN,
            "-9223372036854775808 is not in the range of int32",
        ),
    ] {
        let data = varints(&[64, value]);
        let (message, position) = fault(r#""long""#, DType::Int32, Convert::Cast, &data);
        assert_eq!((message.as_str(), position), (expected, 2));
    }
}

#[test]
fn the_first_fault_is_reported_in_whatever_chunk() {
    // Reading by chunks meets the second fault first: the end of the data.
    for before in [0, 5, 63, 64, 200] {
        let mut values = vec![0; before];
        values.extend([1 << 40, 0]);
        let case = Case::of(r#""long""#, DType::Int32, Convert::Cast);
        let (message, position) = case.fault(&varints(&values), before + 10);
        assert_eq!(message, "1099511627776 is not in the range of int32");
        assert_eq!(position, before);
    }
}

#[test]
fn decimal_outside_int64() {
    let mut bytes = vec![0; 9];
    bytes[1] = 0x80;
    let data = [vec![0], delimited(&bytes)].concat();
    let (message, position) = fault(&decimal_type(1), DType::Int64, Convert::Exact, &data);
    assert_eq!(
        message,
        "the unscaled number of a decimal of 9 bytes is not in the range of int64: read it as \
         float64, the number nearest to it, or as bytes"
    );
    assert_eq!(position, 1);
}

#[test]
fn decimal_too_long_for_a_float() {
    let longest = delimited(&[1; 1024]);
    let data = [longest.clone(), delimited(&[0; 1025])].concat();
    let (message, position) = fault(&decimal_type(1), DType::Float64, Convert::Exact, &data);
    assert_eq!(
        message,
        "a decimal of 1025 bytes is too long for a float: the maximum is 1024 bytes"
    );
    assert_eq!(position, longest.len());
}

#[test]
fn time_outside_int64() {
    let data = varints(&[1, 9_223_372_036_855]);
    let convert = Convert::Unit(TimeUnit::Nanos);
    let (message, position) = fault(TIMESTAMP_MILLIS, DType::Int64, convert, &data);
    assert_eq!(
        message,
        "a time of 9223372036855 millis is not in the range of int64 as nanos: give a coarser `unit`"
    );
    assert_eq!(position, 1);
}

#[test]
fn symbol_that_the_reader_lacks() {
    for dtype in [DType::Int32, DType::String] {
        let mut case = Case::of(ENUM, dtype, Convert::Exact);
        case.symbols = Some(vec![Some(0), None, Some(2)]);
        let (message, position) = case.fault(&[0, 2], 2);
        assert_eq!(
            message,
            "enum 'Suit' has neither the symbol 'heart' nor a default"
        );
        assert_eq!(position, 1);
    }
}

#[test]
fn index_of_no_symbol() {
    for (index, expected) in [
        (6, "enum index 3 where there are 3 symbols"),
        (1, "enum index -1 where there are 3 symbols"),
    ] {
        for dtype in [DType::Int32, DType::String] {
            let (message, position) = fault(ENUM, dtype, Convert::Exact, &[0, index]);
            assert_eq!((message.as_str(), position), (expected, 1));
        }
    }
}

/// The id of a string is that of its bytes, even if they are not UTF-8.
#[test]
fn ids_do_not_check_strings() {
    let words = [&b"ok"[..], b"\xff"].map(Vec::from);
    let vocabulary = Vocabulary::new(words.clone(), -1).unwrap().into();
    let data = [&b"\xff"[..], b"\xc3", b"\xa9", b"ok"]
        .map(delimited)
        .concat();
    for schema in [r#""string""#, r#""bytes""#] {
        let ids = Case::of(
            schema,
            DType::Int64,
            Convert::Vocabulary(Arc::clone(&vocabulary)),
        );
        let expected = [1, -1, -1, 0].map(Scalar::Int64);
        assert_eq!(ids.read(&data, 4), expected);
    }
    let [text, bytes] = [r#""string""#, r#""bytes""#]
        .map(|schema| Case::of(schema, DType::Int64, Convert::HashBuckets(1000)).read(&data, 4));
    assert_eq!(text, bytes);
}

#[test]
fn data_that_ends() {
    let decimal = decimal_type(1);
    for (schema, data, expected) in [
        (FIXED, &b"abcde"[..], 3),
        (UUID, &[0; 20], 16),
        (&decimal, &[0], 1),
    ] {
        let (message, position) = fault(schema, DType::String, Convert::Exact, data);
        assert_eq!(message, "the input ends inside a value");
        assert_eq!(position, expected);
    }
    let (message, position) = fault(DURATION, DType::Int64, Convert::Exact, &[0; 23]);
    assert_eq!(
        (message.as_str(), position),
        ("the input ends inside a value", 12)
    );
}
