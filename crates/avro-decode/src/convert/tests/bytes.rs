//! Strings, enums, fixed, UUIDs and decimals.

use super::*;

#[test]
fn strings_and_bytes_are_read_plainly_and_checked_if_one_side_says_string() {
    for (writer, reader, expected) in [
        ("bytes", "bytes", Leaf::Bytes),
        ("bytes", "string", Leaf::String),
        ("string", "bytes", Leaf::String),
        ("string", "string", Leaf::String),
    ] {
        let [writer, reader] = [writer, reader].map(|ty| format!(r#""{ty}""#));
        match Case::resolved(&writer, &reader, DType::String, Convert::Exact).compile() {
            Ok(Source::Plain(leaf)) => assert_eq!(leaf, expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn enums_are_symbols_or_indices() {
    let data = [4, 0, 2];
    let case = Case::of(ENUM, DType::String, Convert::Exact);
    let expected: [&[u8]; 3] = [b"spade", b"club", b"heart"];
    assert_eq!(case.read(&data, 3), expected.map(string));
    let case = Case::of(ENUM, DType::Int32, Convert::Exact);
    assert_eq!(case.read(&data, 3), [2, 0, 1].map(Scalar::Int32));
    let case = Case::of(ENUM, DType::Int64, Convert::Cast);
    assert_eq!(case.read(&data, 3), [2, 0, 1].map(Scalar::Int64));
}

#[test]
fn enums_are_the_readers() {
    let reader = r#"{"type": "enum", "name": "Suit", "symbols": ["spade", "club"]}"#;
    let read = |dtype| {
        let mut case = Case::resolved(ENUM, reader, dtype, Convert::Exact);
        case.symbols = Some(vec![Some(1), None, Some(0)]);
        case.read(&[4, 0], 2)
    };
    assert_eq!(read(DType::Int32), [0, 1].map(Scalar::Int32));
    assert_eq!(read(DType::String), [string(b"spade"), string(b"club")]);
}

#[test]
fn fixed_is_its_bytes_and_a_uuid_its_text() {
    let case = Case::of(FIXED, DType::String, Convert::Exact);
    assert_eq!(
        case.read(b"abc\0\xff\0", 2),
        [string(b"abc"), string(b"\0\xff\0")]
    );
    let case = Case::of(UUID, DType::String, Convert::Exact);
    let uuid = [
        0xf8, 0x1d, 0x4f, 0xae, 0x7d, 0xec, 0x11, 0xd0, 0xa7, 0x65, 0x00, 0xa0, 0xc9, 0x1e, 0x6b,
        0xf6,
    ];
    let text = b"f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
    assert_eq!(case.read_one(&uuid), string(text));
    let case = Case {
        any_bytes: true,
        ..case
    };
    assert_eq!(case.read_one(&uuid), string(&uuid));
    let schema = r#"{"type": "string", "logicalType": "uuid"}"#;
    let case = Case::of(schema, DType::String, Convert::Exact);
    assert_eq!(case.read_one(&delimited(b"As it is")), string(b"As it is"));
}

#[test]
fn a_decimal_is_the_nearest_float() {
    let read = |bytes: &[u8], scale| {
        let case = Case::of(&decimal_type(scale), DType::Float64, Convert::Exact);
        case.read_one(&delimited(bytes))
    };
    assert_eq!(read(&[], 0), Scalar::Float64(0.0));
    assert_eq!(read(&[0], 2), Scalar::Float64(0.0));
    assert_eq!(read(&[0x7b], 2), Scalar::Float64(1.23));
    assert_eq!(read(&[0xff, 0x85], 2), Scalar::Float64(-1.23));
    // 2^53 + 1 and a tenth of it, which floats cannot represent exactly.
    let more = (1i64 << 53) + 1;
    let rounded = Scalar::Float64(9_007_199_254_740_992.0);
    assert_eq!(read(&more.to_be_bytes(), 0), rounded);
    let tenth = Scalar::Float64(900_719_925_474_099.3);
    assert_eq!(read(&more.to_be_bytes(), 1), tenth);
    let large = [&[1][..], &[0; 128]].concat();
    assert_eq!(read(&large, 0), Scalar::Float64(f64::INFINITY));
    assert_eq!(read(&large, 30), Scalar::Float64(1.797_693_134_862_316e278));
    assert_eq!(read(&[1], 4_000_000_000), Scalar::Float64(0.0));
    assert_eq!(read(&[0xff], 400), Scalar::Float64(-0.0));
    assert_eq!(read(&[5], 324), Scalar::Float64(5e-324));
}

#[test]
fn a_decimal_is_its_unscaled_number_or_its_bytes() {
    let read = |bytes: &[u8], dtype| {
        let case = Case::of(&decimal_type(2), dtype, Convert::Exact);
        case.read_one(&delimited(bytes))
    };
    let number = |bytes: &[u8]| read(bytes, DType::Int64);
    assert_eq!(number(&[]), Scalar::Int64(0));
    assert_eq!(number(&[0xff, 0x85]), Scalar::Int64(-123));
    assert_eq!(number(&i64::MIN.to_be_bytes()), Scalar::Int64(i64::MIN));
    let padded = [&[0xff; 2000][..], &[0x85]].concat();
    assert_eq!(number(&padded), Scalar::Int64(-123));
    assert_eq!(read(b"\0\x01", DType::String), string(b"\0\x01"));
}

#[test]
fn a_decimal_may_be_fixed_and_cast() {
    let fixed = r#"{"type": "fixed", "name": "P", "size": 3, "logicalType": "decimal",
        "precision": 6, "scale": 1}"#;
    let read = |dtype| Case::of(fixed, dtype, Convert::Cast).read_one(&[0xff, 0xff, 0xf1]);
    assert_eq!(read(DType::Float64), Scalar::Float64(-1.5));
    assert_eq!(read(DType::Float32), Scalar::Float32(-1.5));
    assert_eq!(read(DType::Float16), Scalar::Float16(f16::from_f32(-1.5)));
    assert_eq!(
        read(DType::BFloat16),
        Scalar::BFloat16(bf16::from_f32(-1.5))
    );
    assert_eq!(read(DType::Int64), Scalar::Int64(-15));
    assert_eq!(read(DType::String), string(b"\xff\xff\xf1"));
}
