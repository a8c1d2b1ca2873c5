//! Path expressions and keys that a schema does not have.

use atds::{DType, Feature};

use crate::Messages;
use crate::schemas::built;

/// Expressions that lead to no value, or to a value that does not fit the feature.
#[test]
fn expressions() {
    let mut messages = Messages::default();
    let schema = r#"{"type": "record", "name": "R", "namespace": "com.x", "fields": [
        {"name": "id", "type": "int"},
        {"name": "name", "type": "string"},
        {"name": "union", "type": ["null", "int", "string", {"type": "enum", "name": "Suit",
            "symbols": ["A"]}]},
        {"name": "map", "type": {"type": "map", "values": "int"}},
        {"name": "friends", "type": {"type": "array", "items": {"type": "record",
            "name": "Friend", "fields": [
                {"name": "age", "type": ["null", "int"]},
                {"name": "gender", "type": "string"},
                {"name": "tags", "type": {"type": "array", "items": "string"}}]}}},
        {"name": "nulls", "type": {"type": "array", "items": "null"}}]}"#;
    let mut case = |expression: &str, expected: &str| {
        let feature = Feature::var_len("f", DType::Int32).at(expression);
        let expected = match expected {
            "no error" => expected.to_owned(),
            expected => format!("x.avro: feature 'f': {expected}"),
        };
        messages.check(expression, built(schema, [feature]), &expected);
    };
    case("friends[*].age", "no error");
    case("com.x.id", "no error");
    case("com.x.R.map[*]", "no error");
    case(
        "friends[*].ages",
        "the schema has no field 'friends[*].ages'; did you mean 'age'? The record 'com.x.Friend' has 'age', 'gender', 'tags'",
    );
    case(
        "com.y.id",
        "the schema has no field 'com': the record 'com.x.R' has 'id', 'name', 'union', 'map', 'friends', 'nulls'",
    );
    case(
        "friends[0]",
        "the values are record 'com.x.Friend', which cannot be an element of a tensor",
    );
    case(
        "friends.age",
        "'friends' is array of record 'com.x.Friend': a field of its elements is 'friends[*].age'",
    );
    case("id[0]", "'id' is int, to which '[0]' does not apply");
    case(
        "map[0]",
        "'map' is map of int, to which '[0]' does not apply",
    );
    case(
        "friends['a']",
        "'friends' is array of record 'com.x.Friend', to which '['a']' does not apply",
    );
    case("id.x", "'id' is int, not a record, so it has no fields");
    case("name[*]", "'name' is string, to which '[*]' does not apply");
    case(
        "union",
        r#"the values are ["null", "int", "string", "enum 'com.x.Suit'"], read as string, not int32; ask for ids, by `hash_buckets` or a `vocabulary`"#,
    );
    case(
        "union:long",
        "the union has no branch 'long', only 'null', 'int', 'string', 'com.x.Suit'",
    );
    case("id:long", "the union has no branch 'long', only 'int'");
    case("id:int", "no error");
    case("union:int", "no error");
    case(
        "friends[gendre='a'].age",
        "the schema has no field 'friends[*].gendre'; did you mean 'gender'? The record 'com.x.Friend' has 'age', 'gender', 'tags'",
    );
    case(
        "friends[tags='a'].age",
        "a filter compares single values, not array of string",
    );
    case(
        "friends[gender=1].age",
        "the sides of '[gender=1]' are of types that are never equal",
    );
    case(
        "friends[age=@name].age",
        "the sides of '[age=@name]' are of types that are never equal",
    );
    case(
        "nulls[*]",
        "the items of array of null take no bytes, so nothing bounds their number",
    );
}
/// Sparse features with entries or keys of a wrong type.
/// Sparse features whose entries or keys are not what they must be.
#[test]
fn sparse_keys() {
    let mut messages = Messages::default();
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "id", "type": "int"},
        {"name": "engine", "type": {"type": "record", "name": "Engine", "fields": [
            {"name": "id", "type": "int"},
            {"name": "label", "type": "string"},
            {"name": "power", "type": "float"}]}},
        {"name": "numbers", "type": {"type": "array", "items": "int"}}]}"#;
    let mut case = |expression: &str, index: &str, value: &str, expected: &str| {
        let feature = Feature::sparse_keys("f", &[index], value, &[9], DType::Float32);
        let found = built(schema, [feature.at(expression)]);
        messages.check(expected, found, expected);
    };
    case("engine", "id", "power", "no error");
    case("engine", "@id", "power", "no error");
    case(
        "engine",
        "di",
        "power",
        "x.avro: feature 'f': the schema has no field 'engine.di': the record 'Engine' has 'id', 'label', 'power'",
    );
    case(
        "engine",
        "label",
        "power",
        "x.avro: feature 'f': the index key 'engine.label' is string, not int or long",
    );
    case(
        "engine",
        "id",
        "label",
        "x.avro: feature 'f': the values are string, read as string, not float32",
    );
    case(
        "id",
        "id",
        "power",
        "x.avro: feature 'f': the entries of a sparse feature are a record or an array of records, not int",
    );
    case(
        "numbers",
        "id",
        "power",
        "x.avro: feature 'f': the entries of a sparse feature are a record or an array of records, not int",
    );
    case(
        "engine",
        "id[",
        "power",
        "feature 'f': expected an index, a slice, '*', a key in quotes or a filter at character 4 of 'id['",
    );
}
