//! Ids from vocabularies, for every type that can be looked up as a string.

use super::*;

fn vocabulary(words: &[&str]) -> Convert {
    let words = words.iter().map(|word| word.as_bytes().to_vec());
    Convert::Vocabulary(Arc::new(Vocabulary::new(words, -7).unwrap()))
}

#[test]
fn words_have_their_place_and_others_the_unknown_id() {
    let convert = vocabulary(&["red", "", "green"]);
    let data = [
        delimited(b"green"),
        delimited(b""),
        delimited(b"blue"),
        delimited(b"red"),
    ]
    .concat();
    for schema in [r#""string""#, r#""bytes""#] {
        let case = Case::of(schema, DType::Int64, convert.clone());
        assert_eq!(case.read(&data, 4), [2, 1, -7, 0].map(Scalar::Int64));
        let case = Case::of(schema, DType::Int32, convert.clone());
        assert_eq!(case.read(&data, 4), [2, 1, -7, 0].map(Scalar::Int32));
        let case = Case::of(schema, DType::Int8, convert.clone());
        assert_eq!(case.read(&data, 4), [2, 1, -7, 0].map(Scalar::Int8));
    }
}

#[test]
fn numbers_are_looked_up_by_their_decimal_text() {
    let lowest = i64::MIN.to_string();
    let convert = vocabulary(&["-1", "10", &lowest, "00"]);
    let data = varints(&[10, -1, 0]);
    let case = Case::of(r#""int""#, DType::Int64, convert.clone());
    assert_eq!(case.read(&data, 3), [1, 0, -7].map(Scalar::Int64));
    let case = Case::of(r#""long""#, DType::Int32, convert);
    let data = varints(&[i64::MIN, 10]);
    assert_eq!(case.read(&data, 2), [2, 1].map(Scalar::Int32));
}

#[test]
fn symbols_are_looked_up_as_the_reader_has_them() {
    let reader = r#"{"type": "enum", "name": "Suit", "symbols": ["other", "spade"]}"#;
    let mut case = Case::resolved(ENUM, reader, DType::Int64, vocabulary(&["spade", "other"]));
    case.symbols = Some(vec![Some(0), Some(0), Some(1)]);
    let data = varints(&[2, 0, 1]);
    assert_eq!(case.read(&data, 3), [0, 1, 1].map(Scalar::Int64));
}

#[test]
fn long_and_short_strings_in_any_order_have_the_ids_of_each() {
    let lengths = [0, 63, 64, 1, 127, 128, 2, 3, 63, 300, 9_000, 0];
    let strings = lengths.map(|length| "é".repeat(length / 2) + &"x".repeat(length % 2));
    let data = strings
        .each_ref()
        .map(|string| delimited(string.as_bytes()))
        .concat();
    let case = Case::of(r#""string""#, DType::Int64, Convert::HashBuckets(1 << 40));
    let id = |string: &String| fingerprint64(string.as_bytes()) % (1 << 40);
    let expected: Vec<Scalar> = strings
        .iter()
        .map(|s| Scalar::Int64(id(s) as i64))
        .collect();
    assert_eq!(case.read(&data, strings.len()), expected);
}

#[test]
fn ids_are_those_of_the_strings_that_the_types_become() {
    let words = ["00112233-4455-6677-8899-aabbccddeeff", "a-1"];
    let case = Case::of(UUID, DType::Int64, vocabulary(&words));
    let uuid: Vec<u8> = (0..16).map(|i| i * 0x11).collect();
    assert_eq!(case.read_one(&uuid), Scalar::Int64(0));
    let case = Case::of(FIXED, DType::Int64, vocabulary(&words));
    assert_eq!(case.read_one(b"a-1"), Scalar::Int64(1));
    let case = Case::of(&decimal_type(2), DType::Int64, vocabulary(&words));
    assert_eq!(case.read_one(&delimited(b"a-1")), Scalar::Int64(1));
}
