//! Hashed ids equal TensorFlow's in `testdata/hash_golden.json`, which
//! `scripts/make_hash_golden.py` made.

use super::*;
use serde_json::Value as Json;

const GOLDEN: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../testdata/hash_golden.json"
));

#[test]
fn bytes_and_fixed_have_the_ids_that_tensorflow_gives() {
    each_id("strings", |entry, buckets, id| {
        let bytes = from_hex(entry["hex"].as_str().unwrap());
        let case = Case::of(r#""bytes""#, DType::Int64, Convert::HashBuckets(buckets));
        assert_eq!(case.read_one(&delimited(&bytes)), id, "{entry}");
        let fixed = format!(
            r#"{{"type": "fixed", "name": "F", "size": {}}}"#,
            bytes.len()
        );
        let case = Case::of(&fixed, DType::Int64, Convert::HashBuckets(buckets));
        assert_eq!(case.read_one(&bytes), id, "{entry}");
    });
}

#[test]
fn strings_and_symbols_have_the_ids_that_tensorflow_gives() {
    let mut symbols = 0;
    each_id("strings", |entry, buckets, id| {
        let Ok(text) = String::from_utf8(from_hex(entry["hex"].as_str().unwrap())) else {
            return;
        };
        let convert = Convert::HashBuckets(buckets);
        let case = Case::of(r#""string""#, DType::Int64, convert.clone());
        assert_eq!(case.read_one(&delimited(text.as_bytes())), id, "{entry}");
        let schema = format!(r#"{{"type": "enum", "name": "E", "symbols": ["{text}"]}}"#);
        if Schema::parse(&schema).is_ok() {
            symbols += 1;
            let case = Case::of(&schema, DType::Int64, convert);
            assert_eq!(case.read_one(&[0]), id, "{entry}");
        }
    });
    assert!(symbols >= 3);
}

#[test]
fn numbers_have_the_ids_that_tensorflow_gives_to_their_text() {
    let check = |writer: &'static str, reader: &'static str| {
        move |entry: &Json, buckets, id| {
            let convert = Convert::HashBuckets(buckets);
            let case = Case::resolved(writer, reader, DType::Int64, convert);
            let value = entry["value"].as_i64().unwrap();
            assert_eq!(case.read_one(&varints(&[value])), id, "{entry}");
        }
    };
    each_id("int", check(r#""int""#, r#""int""#));
    each_id("int", check(r#""int""#, r#""long""#));
    each_id("long", check(r#""long""#, r#""long""#));
}

/// Calls `check` for each entry of a list, with each number of buckets and the expected id.
fn each_id(list: &str, mut check: impl FnMut(&Json, u64, Scalar)) {
    let golden: Json = serde_json::from_str(GOLDEN).unwrap();
    let buckets = golden["buckets"].as_array().unwrap();
    for entry in golden[list].as_array().unwrap() {
        let ids = entry["ids"].as_array().unwrap();
        assert_eq!(ids.len(), buckets.len());
        for (buckets, id) in buckets.iter().zip(ids) {
            let id = Scalar::Int64(id.as_i64().unwrap());
            check(entry, buckets.as_u64().unwrap(), id);
        }
    }
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}
