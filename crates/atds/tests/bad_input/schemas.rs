//! All ways in which features and a schema do not fit each other.

use atds::{Codec, ColumnSpec, DType, Dataset, Feature};

use crate::Messages;
use crate::common::{Folder, SCHEMA, container, rows_file};
use crate::made::field_schema as field;

/// The message of building a dataset of one file without records.
pub(crate) fn built<F: Into<Feature>>(
    schema: &str,
    columns: impl IntoIterator<Item = F>,
) -> String {
    let folder = Folder::new();
    folder.write("x.avro", &container(schema, Codec::Null, None));
    let dataset = Dataset::builder(folder.path(), 1).features(columns);
    match dataset.build() {
        Ok(_) => "no error".to_owned(),
        Err(error) => folder.message(&error),
    }
}

/// A field that is a record with these fields.
fn record(fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, ty)| format!(r#"{{"name": "{name}", "type": {ty}}}"#))
        .collect();
    let fields = fields.join(", ");
    field(&format!(
        r#"{{"type": "record", "name": "S", "fields": [{fields}]}}"#
    ))
}

const LONGS: &str = r#"{"type": "array", "items": "long"}"#;
const FLOATS: &str = r#"{"type": "array", "items": "float"}"#;

#[test]
fn schemas() {
    let mut messages = Messages::default();
    let column = || [ColumnSpec::dense("f", &[], DType::Int32)];
    let mut case = |schema: &str, expected: &str| {
        messages.check(schema, built(schema, column()), expected);
    };
    case(
        r#""int""#,
        "x.avro: feature 'f': the schema is int, not a record, so it has no fields: its value is '@'",
    );
    case(
        LONGS,
        "x.avro: feature 'f': the schema is array of long, not a record, so it has no fields: its value is '@'",
    );
    case(
        r#"["null", "int"]"#,
        "x.avro: feature 'f': the schema is int, not a record, so it has no fields: its value is '@'",
    );
    case(
        r#"{"type": "enum", "name": "E", "symbols": ["A"]}"#,
        "x.avro: feature 'f': the schema is enum 'E', not a record, so it has no fields: its value is '@'",
    );
}

#[test]
fn names() {
    let mut messages = Messages::default();
    let schema = record(&[("a", r#""int""#)]);
    let mut case = |name: &str, expected: &str| {
        let columns = [ColumnSpec::dense(name, &[], DType::Int32)];
        messages.check(name, built(&schema, columns), expected);
    };
    case("f.a", "no error");
    case(
        "g",
        "x.avro: feature 'g': the schema has no field 'g': the record 'R' has 'f'",
    );
    case(
        "F",
        "x.avro: feature 'F': the schema has no field 'F'; did you mean 'f'? The record 'R' has 'f'",
    );
    case(
        "f.b",
        "x.avro: feature 'f.b': the schema has no field 'f.b': the record 'S' has 'a'",
    );
    case(
        "f.a.b",
        "x.avro: feature 'f.a.b': 'f.a' is int, not a record, so it has no fields",
    );
    case(
        "",
        "x.avro: no field has this name, and it is not an expression: the expression is empty",
    );
    case(
        "f.",
        "x.avro: feature 'f.': no field has this name, and it is not an expression: expected a field's name at character 3 of 'f.'",
    );
}

#[test]
fn dense_features() {
    let mut messages = Messages::default();
    let mut case = |ty: &str, shape: &[usize], dtype: DType, expected: &str| {
        let columns = [ColumnSpec::dense("f", shape, dtype)];
        messages.check(ty, built(&field(ty), columns), expected);
    };
    for (ty, dtype) in [
        ("int", DType::Int32),
        ("long", DType::Int64),
        ("float", DType::Float32),
        ("double", DType::Float64),
        ("boolean", DType::Bool),
        ("string", DType::String),
        ("bytes", DType::String),
    ] {
        let ty = format!("\"{ty}\"");
        for &asked in DType::ALL {
            // No dtype is cast to another by default. The message suggests a cast or ids if there
            // are any.
            let is_integer = asked.is_integer();
            let instead = match dtype {
                DType::String if is_integer => "; ask for ids, by `hash_buckets` or a `vocabulary`",
                DType::String => "",
                _ if asked == DType::String => "",
                DType::Float32 | DType::Float64 if is_integer => "",
                _ => "; ask for it with `cast=true`",
            };
            let is_bytes = ty == "\"bytes\"";
            let dtypes = if is_bytes {
                // `bytes` are a list of uint8, which a scalar is not.
                "uint8 or string"
            } else {
                dtype.name()
            };
            let expected = if is_bytes && asked == DType::UInt8 {
                "x.avro: feature 'f': the shape has rank 0, but the schema has rank 1".to_owned()
            } else {
                format!(
                    "x.avro: feature 'f': the values are {}, read as {dtypes}, not {asked}{instead}",
                    ty.trim_matches('"')
                )
            };
            case(
                &ty,
                &[],
                asked,
                if asked == dtype {
                    "no error"
                } else {
                    &expected
                },
            );
        }
    }
    case(
        LONGS,
        &[],
        DType::Int64,
        "x.avro: feature 'f': the shape has rank 0, but the schema has rank 1",
    );
    case(
        LONGS,
        &[2, 2],
        DType::Int64,
        "x.avro: feature 'f': the shape has rank 2, but the schema has rank 1",
    );
    case(
        r#""long" "#,
        &[3],
        DType::Int64,
        "x.avro: feature 'f': the shape has rank 1, but the schema has rank 0",
    );
    case(
        r#""null""#,
        &[],
        DType::Int32,
        "x.avro: feature 'f': 'f' is null in every record",
    );
    case(
        r#"{"type": "map", "values": "int"}"#,
        &[],
        DType::Int32,
        "x.avro: feature 'f': the values are map of int, which cannot be an element of a tensor",
    );
    case(
        r#"{"type": "enum", "name": "E", "symbols": ["A"]}"#,
        &[],
        DType::Int64,
        "x.avro: feature 'f': the values are enum 'E', read as int32 or string, not int64; ask for it with `cast=true`",
    );
    case(
        r#"{"type": "fixed", "name": "F", "size": 4}"#,
        &[],
        DType::Int32,
        "x.avro: feature 'f': the values are fixed 'F', read as uint8 or string, not int32; ask for ids, by `hash_buckets` or a `vocabulary`",
    );
    case(
        r#"{"type": "record", "name": "S", "fields": [{"name": "x", "type": "int"}]}"#,
        &[],
        DType::Int32,
        "x.avro: feature 'f': the values are record 'S', which cannot be an element of a tensor",
    );
    case(
        r#"["int", "long"]"#,
        &[],
        DType::Int32,
        r#"x.avro: feature 'f': the values are ["int", "long"], read as int64, not int32; ask for it with `cast=true`"#,
    );
    case(
        r#"["null", "int", "long"]"#,
        &[],
        DType::Int32,
        r#"x.avro: feature 'f': the values are ["null", "int", "long"], read as int64, not int32; ask for it with `cast=true`"#,
    );
    case(
        r#"["null"]"#,
        &[],
        DType::Int32,
        r#"x.avro: feature 'f': the values are ["null"], which cannot be an element of a tensor"#,
    );
    case(r#"["int"]"#, &[], DType::Int32, "no error");
    case(r#"["null", "int"]"#, &[], DType::Int32, "no error");
    case(r#"["int", "null"]"#, &[], DType::Int32, "no error");
}

#[test]
fn varlen_features() {
    let mut messages = Messages::default();
    let mut case = |ty: &str, shape: &[i64], dtype: DType, expected: &str| {
        let columns = [ColumnSpec::varlen("f", shape, dtype)];
        messages.check(ty, built(&field(ty), columns), expected);
    };
    case(LONGS, &[-1], DType::Int64, "no error");
    case(
        LONGS,
        &[-1, -1],
        DType::Int64,
        "x.avro: feature 'f': the shape has rank 2, but the schema has rank 1",
    );
    case(
        LONGS,
        &[-1],
        DType::Int32,
        "x.avro: feature 'f': the values are long, read as int64, not int32; ask for it with `cast=true`",
    );
    case(
        r#""long""#,
        &[-1],
        DType::Int64,
        "x.avro: feature 'f': the shape has rank 1, but the schema has rank 0",
    );
    case(
        r#"{"type": "array", "items": ["int", "string"]}"#,
        &[-1],
        DType::Int32,
        r#"x.avro: feature 'f': the values are ["int", "string"], read as string, not int32; ask for ids, by `hash_buckets` or a `vocabulary`"#,
    );
    case(
        r#"{"type": "array", "items": ["int", "boolean"]}"#,
        &[-1],
        DType::Int32,
        r#"x.avro: feature 'f': the union ["int", "boolean"] has several types: name one, as in 'field:type'"#,
    );
    case(
        r#"{"type": "array", "items": {"type": "map", "values": "int"}}"#,
        &[-1],
        DType::Int32,
        "x.avro: feature 'f': the values are map of int, which cannot be an element of a tensor",
    );
}

#[test]
fn sparse_features() {
    let mut messages = Messages::default();
    let mut case = |what: &str, schema: &str, shape: &[i64], expected: &str| {
        let columns = [ColumnSpec::sparse("f", shape, DType::Float32)];
        messages.check(what, built(schema, columns), expected);
    };
    let (i0, i1, values) = (("indices0", LONGS), ("indices1", LONGS), ("values", FLOATS));
    case("any order", &record(&[values, i1, i0]), &[3, 3], "no error");
    case(
        "not a record",
        &field(LONGS),
        &[3],
        "x.avro: feature 'f': a sparse feature is a record of indices0.. and values, but the field is array of long",
    );
    case(
        "no values",
        &record(&[i0]),
        &[3],
        "x.avro: feature 'f': the sparse record has no field 'values'",
    );
    case(
        "no indices",
        &record(&[values]),
        &[3],
        "x.avro: feature 'f': the sparse record has no field 'indices0'",
    );
    case(
        "a gap",
        &record(&[i0, ("indices2", LONGS), values]),
        &[3, 3],
        "x.avro: feature 'f': the sparse record has no field 'indices1'",
    );
    case(
        "from 1",
        &record(&[i1, values]),
        &[3],
        "x.avro: feature 'f': the sparse record has no field 'indices0'",
    );
    case(
        "an extra field",
        &record(&[i0, values, ("weight", r#""int""#)]),
        &[3],
        "x.avro: feature 'f': the sparse record has the field 'weight', which is neither values nor indicesN",
    );
    case(
        "a leading zero",
        &record(&[("indices00", LONGS), values]),
        &[3],
        "x.avro: feature 'f': the sparse record has the field 'indices00', which is neither values nor indicesN",
    );
    case(
        "float indices",
        &record(&[("indices0", FLOATS), values]),
        &[3],
        "x.avro: feature 'f': the field 'indices0' of the sparse record is array of float, not an array of int or long",
    );
    case(
        "a scalar index",
        &record(&[("indices0", r#""long""#), values]),
        &[3],
        "x.avro: feature 'f': the field 'indices0' of the sparse record is long, not an array of int or long",
    );
    case(
        "a scalar value",
        &record(&[i0, ("values", r#""float""#)]),
        &[3],
        "x.avro: feature 'f': the field 'values' of the sparse record is float, not an array of a primitive",
    );
    case(
        "map values",
        &record(&[i0, ("values", r#"{"type": "map", "values": "float"}"#)]),
        &[3],
        "x.avro: feature 'f': the field 'values' of the sparse record is map of float, not an array of a primitive",
    );
    case(
        "long values",
        &record(&[i0, ("values", LONGS)]),
        &[3],
        "x.avro: feature 'f': the values are long, read as int64, not float32; ask for it with `cast=true`",
    );
    case(
        "rank above",
        &record(&[i0, values]),
        &[3, 3],
        "x.avro: feature 'f': the shape has rank 2, but the schema has rank 1",
    );
    case(
        "rank below",
        &record(&[i0, i1, values]),
        &[3],
        "x.avro: feature 'f': the shape has rank 1, but the schema has rank 2",
    );
}

/// All files are checked against the features at once. Without the check, later files are checked
/// when they are read.
#[test]
fn a_later_file_without_a_feature() {
    let folder = Folder::new();
    folder.write("0.avro", &rows_file(0..5, 2, Codec::Null));
    let other = SCHEMA.replace("\"text\"", "\"name\"");
    folder.write("1.avro", &container(&other, Codec::Null, None));
    let dataset = folder.rows(2).check_files(false).build().unwrap();
    let (ids, error) = crate::common::read(dataset.iter());
    assert_eq!(ids, [vec![0, 1], vec![2, 3], vec![4]]);
    for error in [error.unwrap(), folder.rows(2).build().unwrap_err()] {
        let message = folder.message(&error);
        let expected = "1.avro: feature 'text': the schema has no field 'text': the record 'Row' \
                        has 'id', 'skipped', 'pair', 'name', 'list', 'cells'; '";
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn nothing_that_can_be_a_tensor() {
    let mut messages = Messages::default();
    let mut case = |ty: &str, expected: &str| {
        let folder = Folder::new();
        folder.write("x.avro", &container(ty, Codec::Null, None));
        let error = Dataset::builder(folder.path(), 1).build().unwrap_err();
        messages.check(ty, folder.message(&error), expected);
    };
    case(
        &field(r#"{"type": "array", "items": {"type": "fixed", "name": "N", "size": 0}}"#),
        "x.avro: nothing can be inferred: the schema is record 'R'; in it 'f' is array of fixed 'N' \
         (its items take no bytes)",
    );
    case(
        r#"{"type": "record", "name": "R", "fields": []}"#,
        "x.avro: nothing can be inferred: the schema is record 'R'; in it '@' is record 'R' (it \
         holds no value)",
    );
    case(
        r#""null""#,
        "x.avro: nothing can be inferred: the schema is null; in it '@' is null (it holds no value)",
    );
}
