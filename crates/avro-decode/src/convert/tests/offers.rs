//! The dtypes to which each type converts, and the messages for others.

use super::*;

const TYPES: [(&str, &str); 13] = [
    ("int", r#""int""#),
    ("long", r#""long""#),
    ("float", r#""float""#),
    ("double", r#""double""#),
    ("boolean", r#""boolean""#),
    ("string", r#""string""#),
    ("bytes", r#""bytes""#),
    ("enum", ENUM),
    ("fixed", FIXED),
    ("uuid", UUID),
    ("duration", DURATION),
    ("date", DATE),
    ("time-micros", TIME_MICROS),
];

/// The dtypes of each type, as text.
fn offers(convert: Convert) -> Vec<String> {
    let decimal = decimal_type(2);
    let types = TYPES.into_iter().chain([("decimal", decimal.as_str())]);
    types
        .map(|(name, schema)| {
            let has = |&dtype: &DType| Case::of(schema, dtype, convert.clone()).compile().is_ok();
            let dtypes = DType::ALL.iter().copied().filter(has).map(DType::name);
            format!("{name}: {}", dtypes.collect::<Vec<_>>().join(" "))
        })
        .collect()
}

#[test]
fn exact_is_the_default() {
    assert_eq!(Convert::default(), Convert::Exact);
    let expected = [
        "int: int32",
        "long: int64",
        "float: float32",
        "double: float64",
        "boolean: bool",
        "string: string",
        "bytes: uint8 string",
        "enum: int32 string",
        "fixed: uint8 string",
        "uuid: string",
        "duration: int64",
        "date: int32",
        "time-micros: int64",
        "decimal: int64 float64 string",
    ];
    assert_eq!(offers(Convert::Exact), expected);
}

#[test]
fn casts_are_from_numbers_to_floats_wider_numbers_and_bool() {
    let expected = [
        "int: int8 int16 int32 int64 uint8 uint16 float16 bfloat16 float32 float64 bool",
        "long: int8 int16 int32 int64 uint8 uint16 float16 bfloat16 float32 float64 bool",
        "float: float16 bfloat16 float32 float64 bool",
        "double: float16 bfloat16 float32 float64 bool",
        "boolean: int8 int16 int32 int64 uint8 uint16 float16 bfloat16 float32 float64 bool",
        "string: string",
        "bytes: uint8 string",
        "enum: int8 int16 int32 int64 uint8 uint16 string",
        "fixed: uint8 string",
        "uuid: string",
        "duration: int64",
        "date: int8 int16 int32 int64 uint8 uint16 float16 bfloat16 float32 float64 bool",
        "time-micros: int8 int16 int32 int64 uint8 uint16 float16 bfloat16 float32 float64 bool",
        "decimal: int64 float16 bfloat16 float32 float64 string",
    ];
    assert_eq!(offers(Convert::Cast), expected);
}

#[test]
fn ids_are_of_strings_enums_and_whole_numbers() {
    let with = |dtypes: &str| {
        let types = [
            ("int", true),
            ("long", true),
            ("float", false),
            ("double", false),
            ("boolean", false),
            ("string", true),
            ("bytes", true),
            ("enum", true),
            ("fixed", true),
            ("uuid", true),
            ("duration", false),
            ("date", true),
            ("time-micros", true),
            ("decimal", true),
        ];
        types.map(|(name, has)| format!("{name}: {}", if has { dtypes } else { "" }))
    };
    assert_eq!(offers(Convert::HashBuckets(9)), with("int64"));
    let vocabulary = Vocabulary::new([], 0).unwrap();
    let vocabulary = Convert::Vocabulary(vocabulary.into());
    assert_eq!(
        offers(vocabulary),
        with("int8 int16 int32 int64 uint8 uint16")
    );
}

#[test]
fn a_dtype_that_the_type_does_not_have_is_refused() {
    let refusal = |schema: &str, dtype, convert| Case::of(schema, dtype, convert).refusal();
    assert_eq!(
        refusal(r#""int""#, DType::Int64, Convert::Exact),
        "the values are int, read as int32, not int64; ask for it with `cast=true`"
    );
    assert_eq!(
        refusal(r#""string""#, DType::Int64, Convert::Exact),
        "the values are string, read as string, not int64; ask for ids, by `hash_buckets` or a \
         `vocabulary`"
    );
    assert_eq!(
        refusal(&decimal_type(2), DType::Int32, Convert::Exact),
        "the values are bytes (decimal), read as int64, float64 or string, not int32"
    );
    assert_eq!(
        refusal(ENUM, DType::Float32, Convert::Exact),
        "the values are enum 'Suit', read as int32 or string, not float32"
    );
    assert_eq!(
        refusal(r#""float""#, DType::Int32, Convert::Cast),
        "the values are float, cast to float16, bfloat16, float32, float64 or bool, not int32"
    );
    assert_eq!(
        refusal(r#""double""#, DType::UInt8, Convert::Cast),
        "the values are double, cast to float16, bfloat16, float32, float64 or bool, not uint8"
    );
    assert_eq!(
        refusal(r#""string""#, DType::UInt16, Convert::Exact),
        "the values are string, read as string, not uint16; ask for ids, by `hash_buckets` or a \
         `vocabulary`"
    );
    assert_eq!(
        refusal(r#""long""#, DType::Int8, Convert::Exact),
        "the values are long, read as int64, not int8; ask for it with `cast=true`"
    );
    assert_eq!(
        refusal(r#""string""#, DType::Int32, Convert::HashBuckets(2)),
        "the values are string, hashed to int64, not int32"
    );
    let vocabulary = Arc::new(Vocabulary::new([], 0).unwrap());
    assert_eq!(
        refusal(FIXED, DType::Float32, Convert::Vocabulary(vocabulary)),
        "the values are fixed 'F', with the ids of a vocabulary as int8, int16, int32, int64, \
         uint8 or uint16, not float32"
    );
    assert_eq!(
        refusal(DATE, DType::Int32, Convert::Unit(TimeUnit::Hours)),
        "the values are int (date), in hours as int64, not int32"
    );
}

#[test]
fn the_readers_type_decides() {
    let case = Case::resolved(r#""int""#, r#""long""#, DType::Int32, Convert::Exact);
    assert_eq!(
        case.refusal(),
        "the values are long, read as int64, not int32; ask for it with `cast=true`"
    );
    let case = Case::resolved(
        r#""int""#,
        r#""float""#,
        DType::Int64,
        Convert::HashBuckets(1),
    );
    assert_eq!(
        case.refusal(),
        "the values are float; only strings, bytes, fixed, enums, int and long have ids"
    );
}

#[test]
fn conversions_that_a_type_does_not_have_are_refused() {
    for buckets in [0, 1 << 63] {
        let case = Case::of(r#""string""#, DType::Int64, Convert::HashBuckets(buckets));
        let expected =
            format!("`hash_buckets` is {buckets}, not between 1 and 9223372036854775807");
        assert_eq!(case.refusal(), expected);
    }
    let case = Case::of(DURATION, DType::Int64, Convert::HashBuckets(1));
    assert_eq!(
        case.refusal(),
        "the values are fixed 'D' (duration); \
         only strings, bytes, fixed, enums, int and long have ids"
    );
    let case = Case::of(r#""long""#, DType::Int64, Convert::Unit(TimeUnit::Days));
    assert_eq!(
        case.refusal(),
        "the values are long, not a date, time or timestamp, so they have no unit"
    );
    for unknown in [1 << 31, -(1 << 31) - 1] {
        let vocabulary = Arc::new(Vocabulary::new([], unknown).unwrap());
        let convert = Convert::Vocabulary(vocabulary);
        let case = Case::of(r#""string""#, DType::Int32, convert.clone());
        let expected = format!("the vocabulary has the id {unknown}, which is outside int32");
        assert_eq!(case.refusal(), expected);
        assert!(
            Case::of(r#""string""#, DType::Int64, convert)
                .compile()
                .is_ok()
        );
    }
}

#[test]
fn what_has_no_dtype_is_refused() {
    for (schema, expected) in [
        (r#""null""#, "null"),
        (r#"{"type": "array", "items": "int"}"#, "array of int"),
        (r#"["null", "int"]"#, r#"["null", "int"]"#),
    ] {
        let case = Case::of(schema, DType::Int32, Convert::Cast);
        let expected = format!("the values are {expected}, which cannot be an element of a tensor");
        assert_eq!(case.refusal(), expected);
    }
}

#[test]
fn types_that_are_not_resolved_are_refused() {
    let other_fixed = r#"{"type": "fixed", "name": "F", "size": 4}"#;
    for (writer, reader, expected) in [
        (
            r#""long""#,
            r#""int""#,
            "data of type long cannot be read as int",
        ),
        (
            r#""int""#,
            r#""boolean""#,
            "data of type int cannot be read as boolean",
        ),
        (
            r#""null""#,
            r#""int""#,
            "data of type null cannot be read as int",
        ),
        (
            FIXED,
            other_fixed,
            "data of type fixed 'F' cannot be read as fixed 'F'",
        ),
        (
            ENUM,
            r#""string""#,
            "data of type enum 'Suit' cannot be read as string",
        ),
    ] {
        let case = Case::resolved(writer, reader, DType::Int32, Convert::Cast);
        assert_eq!(case.refusal(), expected);
    }
}

#[test]
#[should_panic(expected = "the values are of the conversion's dtype")]
fn another_dtype_than_the_conversions_is_not_filled() {
    let case = Case::of(ENUM, DType::Int32, Convert::Exact);
    let Ok(Source::Other(conversion)) = case.compile() else {
        panic!("enums are converted")
    };
    let _ = conversion.read(&mut Cursor::new(&[0], 0), Out::Float32(&mut [0.0]));
}
