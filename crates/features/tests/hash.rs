//! Hashes are TensorFlow's: `testdata/hash_golden.json`, which `scripts/make_hash_golden.py` made.

#![allow(clippy::unwrap_used)]

use atds_features::fingerprint64;
use serde_json::Value;

const GOLDEN: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../testdata/hash_golden.json"
));

#[test]
fn strings_have_the_buckets_that_tensorflow_gives() {
    let golden: Value = serde_json::from_str(GOLDEN).unwrap();
    let buckets = golden["buckets"].as_array().unwrap();
    let entries = golden["strings"].as_array().unwrap();
    let mut lengths = Vec::new();
    for entry in entries {
        let text = from_hex(entry["hex"].as_str().unwrap());
        for (buckets, id) in buckets.iter().zip(entry["ids"].as_array().unwrap()) {
            let bucket = fingerprint64(&text) % buckets.as_u64().unwrap();
            assert_eq!(Some(bucket), id.as_u64(), "{entry}");
        }
        lengths.push(text.len());
    }
    // Each of the algorithm's cases is there: up to 3, 7, 16, 32, 64 bytes, and more.
    for range in [0..4, 4..8, 8..17, 17..33, 33..65, 65..usize::MAX] {
        assert!(
            lengths.iter().any(|length| range.contains(length)),
            "{range:?}"
        );
    }
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}
