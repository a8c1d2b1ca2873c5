//! Any entry is an error, or is read as a feature that can be written and read again.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::super::{from_json, to_json};

const KINDS: [&str; 6] = [
    "dense",
    "sparse",
    "varlen",
    "fixed_len",
    "fixed_len_sequence",
    "var_len",
];

const DTYPES: [&str; 8] = [
    "int8", "uint16", "int32", "int64", "bfloat16", "float32", "bool", "string",
];

/// Keys of all kinds, with valid and other values.
fn key() -> impl Strategy<Value = (&'static str, Value)> {
    let shapes = json!([[], [2], [2, 1], [-1, 3], [null, 2], 3]);
    let defaults = json!([
        1, 0.1, -1e300, "NaN", "x", {"bytes": "\u{ff}"}, true, [1, 2], [[1], [2]],
        [["a"], [{"bytes": "\u{80}"}]]
    ]);
    let keys = vec![
        ("expression", json!(["a[*].b", 1])),
        ("shape", shapes),
        ("rank", json!([0, 2, 99, -1])),
        ("layout", json!(["coo", "ragged", "x"])),
        (
            "partitions",
            json!([
                [["row_lengths", "a"]],
                [
                    ["row_starts", "a"],
                    ["row_limits", "b"],
                    ["uniform_row_length", 3]
                ],
                [["uniform_row_length", "a"]],
                [["rows", "a"]],
                []
            ]),
        ),
        ("index_key", json!(["i", ["i", "@j"], []])),
        ("value_key", json!(["v", ["v"]])),
        ("size", json!([9, [9, -1], [], 0.5])),
        ("already_sorted", json!([true, false])),
        ("allow_missing", json!([true, false, 1])),
        ("default", defaults),
        ("mask", json!(["m", 0])),
        ("row_mask", json!(["r"])),
        ("truncate", json!([true, false, 1])),
        ("cast", json!([true, false])),
        ("hash_buckets", json!([0, u64::MAX])),
        ("vocabulary", json!([["a", "b"], [], ["a", "a"]])),
        ("unknown", json!([-1, 7])),
        ("unit", json!(["days", "nanos"])),
        ("other", json!([null])),
    ];
    select(keys).prop_flat_map(|(key, values)| {
        let values = values.as_array().unwrap().clone();
        (Just(key), select(values))
    })
}

/// An entry that is valid if its kind needs no other keys.
fn entry() -> impl Strategy<Value = Map<String, Value>> {
    let keys = vec(key(), 0..5);
    (select(&KINDS[..]), select(&DTYPES[..]), keys).prop_map(|(kind, dtype, keys)| {
        let mut entry = Map::new();
        entry.insert("kind".into(), kind.into());
        entry.insert("dtype".into(), dtype.into());
        for (key, value) in keys {
            entry.insert(key.into(), value);
        }
        entry
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_read_is_written_and_read_again(entry in entry()) {
        let text = json!({"f": entry}).to_string();
        if let Ok(features) = from_json(&text) {
            let written = to_json(&features).to_string();
            prop_assert_eq!(from_json(&written).unwrap(), features, "{}", written);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[{}\\[\\]\":,a-z0-9_ .*@-]{0,60}") {
        let _ = from_json(&text);
    }
}
