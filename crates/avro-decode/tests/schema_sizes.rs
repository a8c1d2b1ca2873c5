//! The minimum number of bytes of a type's values.

#![allow(clippy::unwrap_used)]

use avro_decode::Schema;

#[test]
fn the_fewest_bytes() {
    let len = |text: &str| {
        let schema = Schema::parse(text).unwrap();
        let len = schema.min_encoded_len(schema.root());
        assert_eq!(schema.is_always_empty(schema.root()), len == 0);
        len
    };
    assert_eq!(len(r#""null""#), 0);
    assert_eq!(len(r#""string""#), 1);
    assert_eq!(len(r#""float""#), 4);
    assert_eq!(len(r#""double""#), 8);
    assert_eq!(len(r#"["double", "null"]"#), 1);
    assert_eq!(len(r#"["double", "float"]"#), 5);
    assert_eq!(len(r#"{"type": "fixed", "name": "F", "size": 3}"#), 3);
    assert_eq!(len(r#"{"type": "fixed", "name": "F", "size": 0}"#), 0);
    assert_eq!(len(r#"{"type": "array", "items": "double"}"#), 1);
    assert_eq!(len(r#"{"type": "record", "name": "R", "fields": []}"#), 0);
    assert_eq!(
        len(r#"{"type": "record", "name": "R", "fields": [
            {"name": "a", "type": "null"}, {"name": "b", "type": "float"},
            {"name": "c", "type": ["R", "boolean"]}]}"#),
        6
    );
    assert_eq!(
        len(r#"{"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}"#),
        u64::MAX
    );
    assert_eq!(len("[]"), u64::MAX);
    assert_eq!(
        len(
            r#"[{"type": "fixed", "name": "F", "size": 18446744073709551615},
                {"type": "record", "name": "R", "fields": [
                    {"name": "a", "type": "F"}, {"name": "b", "type": "F"}]}]"#
        ),
        u64::MAX
    );
}

#[test]
fn the_fewest_bytes_of_many_records_that_refer_to_one_another() {
    let mut fields = Vec::new();
    for i in 1..1000 {
        let below = i - 1;
        fields.push(format!(
            r#"{{"name": "f{i}", "type": {{"type": "record", "name": "R{i}", "fields": [
                {{"name": "a", "type": ["R{below}", {{"type": "record", "name": "S{i}",
                    "fields": [{{"name": "b", "type": "R{i}"}}]}}]}}]}}}}"#
        ));
    }
    let schema = Schema::parse(&format!(
        r#"{{"type": "record", "name": "R", "fields": [
            {{"name": "f0", "type": {{"type": "fixed", "name": "R0", "size": 5}}}}, {}]}}"#,
        fields.join(",")
    ))
    .unwrap();
    let last = schema.find("R999").unwrap();
    assert_eq!(schema.min_encoded_len(last), 5 + 999);
    let inner = schema.find("S999").unwrap();
    assert_eq!(schema.min_encoded_len(inner), 5 + 999);
}
