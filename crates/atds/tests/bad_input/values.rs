//! Values of each type, and arrays of fixed dimensions.

use atds::{Codec, ColumnSpec, DType, Dataset};

use crate::Messages;
use crate::common::{Folder, container};
use crate::made::{OVERLONG, field_schema, longs};

/// A field of the type, with one valid and one invalid value.
fn field_case(ty: &str, good: &[u8], bad: &[u8], column: ColumnSpec) -> String {
    let folder = Folder::new();
    let payload = [good, bad].concat();
    folder.write(
        "x.avro",
        &container(&field_schema(ty), Codec::Null, [(2, payload)]),
    );
    let dataset = Dataset::builder(folder.path(), 4).features([column]);
    match dataset.build().unwrap().iter().find_map(Result::err) {
        None => "no error".to_owned(),
        Some(error) => folder.message(&error),
    }
}

#[test]
fn values_of_each_type() {
    let mut messages = Messages::default();
    let mut case = |ty: &str, good: &[u8], bad: &[u8], dtype: DType, expected: &str| {
        let column = ColumnSpec::dense("f", &[], dtype);
        messages.check(ty, field_case(ty, good, bad, column), expected);
    };
    case(
        r#""boolean""#,
        &[1],
        &[2],
        DType::Bool,
        "x.avro: block 0 at byte 132: record 1: field 'f': a boolean is 2, neither 0 nor 1",
    );
    case(
        r#""int""#,
        &[1],
        &longs(&[1 << 31]),
        DType::Int32,
        "x.avro: block 0 at byte 128: record 1: field 'f': 2147483648 is not in the range of int",
    );
    case(
        r#""int""#,
        &[1],
        &[0x80, 0x80, 0x80, 0x80, 0x80, 0],
        DType::Int32,
        "x.avro: block 0 at byte 128: record 1: field 'f': a varint is longer than its type allows",
    );
    case(
        r#""int""#,
        &[1],
        &OVERLONG,
        DType::Int32,
        "x.avro: block 0 at byte 128: record 1: field 'f': a varint is longer than its type allows",
    );
    case(
        r#""float""#,
        &[0; 4],
        &[0; 3],
        DType::Float32,
        "x.avro: block 0 at byte 133: record 1: field 'f': the input ends inside a value",
    );
    case(
        r#""double""#,
        &[0; 8],
        &[0; 7],
        DType::Float64,
        "x.avro: block 0 at byte 138: record 1: field 'f': the input ends inside a value",
    );
    case(
        r#""bytes""#,
        &[0],
        &[0xc8, 0x01],
        DType::String,
        "x.avro: block 0 at byte 130: record 1: field 'f': a length of 100 bytes where 0 are left",
    );
    case(
        r#"["null", "int"]"#,
        &[2, 0],
        &[0],
        DType::Int32,
        "x.avro: block 0 at byte 139: record 1: field 'f': a null, where the feature has neither a `default` nor a `mask`",
    );
    case(
        r#"["int", "null"]"#,
        &[0, 0],
        &[2],
        DType::Int32,
        "x.avro: block 0 at byte 139: record 1: field 'f': a null, where the feature has neither a `default` nor a `mask`",
    );
    case(
        r#"["null", "int"]"#,
        &[2, 0],
        &[4],
        DType::Int32,
        "x.avro: block 0 at byte 139: record 1: field 'f': union branch 2 where there are 2",
    );
    case(
        r#"["null", "int"]"#,
        &[2, 0],
        &[1],
        DType::Int32,
        "x.avro: block 0 at byte 139: record 1: field 'f': union branch -1 where there are 2",
    );
}

#[test]
fn arrays_of_fixed_dimensions() {
    let mut messages = Messages::default();
    let ty = r#"{"type": "array", "items": {"type": "array", "items": "int"}}"#;
    let array = |lists: &[&[i64]]| {
        let mut out = longs(&[lists.len() as i64]);
        for list in lists {
            out.extend(longs(&[&[list.len() as i64], *list, &[0]].concat()));
        }
        out.push(0);
        out
    };
    let good = array(&[&[1, 2], &[3, 4]]);
    let dense = || ColumnSpec::dense("f", &[2, 2], DType::Int32);
    let varlen = || ColumnSpec::varlen("f", &[2, -1], DType::Int32);
    let mut case = |what: &str, bad: Vec<u8>, column: ColumnSpec, expected: &str| {
        messages.check(what, field_case(ty, &good, &bad, column), expected);
    };
    case("good", good.clone(), dense(), "no error");
    case(
        "dense, inner short",
        array(&[&[1, 2], &[3]]),
        dense(),
        "x.avro: block 0 at byte 198: record 1: field 'f': an array of 1 value, where the shape says 2; a dense feature with a `default` or a `mask` fills the rest",
    );
    case(
        "dense, inner long",
        array(&[&[1, 2], &[3, 4, 5]]),
        dense(),
        "x.avro: block 0 at byte 198: record 1: field 'f': an array of 3 values, where the shape says 2; `truncate` drops the rest",
    );
    case(
        "dense, outer short",
        array(&[&[1, 2]]),
        dense(),
        "x.avro: block 0 at byte 193: record 1: field 'f': an array of 1 value, where the shape says 2; a dense feature with a `default` or a `mask` fills the rest",
    );
    case(
        "varlen, any inner",
        array(&[&[1, 2, 3], &[3]]),
        varlen(),
        "no error",
    );
    case(
        "varlen, outer long",
        array(&[&[1], &[2], &[3]]),
        varlen(),
        "x.avro: block 0 at byte 193: record 1: field 'f': an array of 3 values, where the shape says 2; `truncate` drops the rest",
    );
    case(
        "varlen, outer short",
        array(&[&[1]]),
        varlen(),
        "x.avro: block 0 at byte 193: record 1: field 'f': an array of 1 value, where the shape says 2; a dense feature with a `default` or a `mask` fills the rest",
    );
}
