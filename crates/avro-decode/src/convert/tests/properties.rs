//! Compares every conversion with its slow twin, on valid and damaged data.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

use super::*;
use crate::schema::Node;
use crate::{DecodeErrorKind, Value, encode, reference};

/// Pairs of a writer's and a reader's type, by the names in [`schema`]. The reader's enum lacks a
/// symbol.
const RESOLVED: [(&str, &str); 15] = [
    ("int", "long"),
    ("int", "float"),
    ("int", "double"),
    ("long", "float"),
    ("long", "double"),
    ("float", "double"),
    ("bytes", "string"),
    ("string", "bytes"),
    ("int", "timestamp-millis"),
    ("timestamp-micros", "long"),
    ("timestamp-millis", "timestamp-micros"),
    ("timestamp-micros", "timestamp-nanos"),
    ("time-millis", "time-micros"),
    ("date", "local-timestamp-nanos"),
    ("enum", "fewer"),
];

const SAME: [&str; 22] = [
    "int",
    "long",
    "float",
    "double",
    "boolean",
    "string",
    "bytes",
    "fixed",
    "enum",
    "uuid",
    "uuid-fixed",
    "duration",
    "decimal",
    "decimal-fixed",
    "decimal-tiny",
    "date",
    "time-millis",
    "time-micros",
    "timestamp-millis",
    "timestamp-micros",
    "timestamp-nanos",
    "local-timestamp-nanos",
];

fn schema(name: &str) -> String {
    let logical = |ty: &str| format!(r#"{{"type": "{ty}", "logicalType": "{name}"}}"#);
    match name {
        "fixed" => FIXED.into(),
        "enum" => ENUM.into(),
        "fewer" => r#"{"type": "enum", "name": "Suit", "symbols": ["spade", "club"]}"#.into(),
        "uuid" => logical("string"),
        "uuid-fixed" => UUID.into(),
        "duration" => DURATION.into(),
        "decimal" => decimal_type(5),
        "decimal-tiny" => decimal_type(330),
        "decimal-fixed" => r#"{"type": "fixed", "name": "P", "size": 9,
            "logicalType": "decimal", "precision": 20, "scale": 19}"#
            .into(),
        "date" | "time-millis" => logical("int"),
        _ if name.contains('-') => logical("long"),
        _ => format!(r#""{name}""#),
    }
}

#[test]
fn every_conversion_agrees_with_its_slow_twin() {
    let cases = all_cases();
    assert!(cases.len() > 300, "the lists have nearly nothing");
    for case in cases {
        let source = case.compile().unwrap();
        // A runner counts cases over all its runs, so each run has a new one.
        let mut runner = TestRunner::new(ProptestConfig {
            cases: 24,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        let ran = runner.run(&any_data(&case.writer), |(data, values)| {
            let mut cursor = Cursor::new(&data, 0);
            let read = source.read(&mut cursor, case.dtype, values);
            let (expected, position) = expected(&case, &data, values);
            match (read, expected) {
                (Ok(read), Ok(expected)) => prop_assert_eq!(read, expected),
                (Err(_), Err(_)) if fails_as_a_whole(&source) => return Ok(()),
                (Err(fault), Err(kind)) => {
                    prop_assert!(same_kind(&fault, &kind), "{fault}, not {kind}");
                }
                (read, expected) => prop_assert!(false, "{read:?}, not {expected:?}"),
            }
            prop_assert_eq!(cursor.position(), position);
            Ok(())
        });
        let Case {
            writer,
            reader,
            dtype,
            convert,
            ..
        } = case;
        ran.unwrap_or_else(|error| panic!("{writer} as {reader}, {dtype}, {convert:?}: {error}"));
    }
}

/// All conversions of all types.
fn all_cases() -> Vec<Case> {
    let words = ["", "0", "-1", "spade", "club", "a"].map(Vec::from);
    let mut converts = vec![
        Convert::Exact,
        Convert::Cast,
        Convert::HashBuckets(1000),
        Convert::HashBuckets(i64::MAX as u64),
        Convert::Vocabulary(Arc::new(Vocabulary::new(words, -1).unwrap())),
    ];
    converts.extend(TimeUnit::ALL.map(Convert::Unit));

    let types = SAME.map(|name| (name, name)).into_iter().chain(RESOLVED);
    let mut cases = Vec::new();
    for (writer, reader) in types {
        for &dtype in DType::ALL {
            for convert in &converts {
                let (from, to) = (schema(writer), schema(reader));
                let mut case = Case::resolved(&from, &to, dtype, convert.clone());
                if reader == "fewer" {
                    case.symbols = Some(vec![Some(1), None, Some(0)]);
                }
                // The plan reads lists of bytes, since it knows their length.
                if case.compile().map_or(true, |source| source.is_octets()) {
                    continue;
                }
                for column in columns(reader, dtype, convert) {
                    let column = Some(column);
                    cases.push(Case {
                        writer: Schema::parse(&from).unwrap(),
                        reader: Schema::parse(&to).unwrap(),
                        symbols: case.symbols.clone(),
                        convert: convert.clone(),
                        dtype,
                        column,
                        any_bytes: false,
                    });
                }
                cases.push(case);
            }
        }
    }
    cases
}

/// Meanings that a column may have for values of a type, other than the type's own meaning.
fn columns(reader: &str, dtype: DType, convert: &Convert) -> Vec<Meaning> {
    if let Convert::Unit(_) = convert {
        return Vec::new();
    }
    let time = |clock, unit| Meaning::Time { clock, unit };
    match reader {
        // An exact column is int32 and cannot have this meaning, which is of longs.
        "date" if *convert != Convert::Exact => {
            vec![time(Clock::LocalTimestamp, TimeUnit::Micros)]
        }
        "time-millis" if *convert != Convert::Exact => {
            vec![time(Clock::TimeOfDay, TimeUnit::Micros)]
        }
        "timestamp-millis" => vec![
            time(Clock::Timestamp, TimeUnit::Micros),
            time(Clock::Timestamp, TimeUnit::Nanos),
        ],
        "timestamp-micros" => vec![time(Clock::Timestamp, TimeUnit::Nanos)],
        "decimal" if dtype == DType::Int64 && !has_ids(convert) => {
            [6, 15, 40].map(|scale| Meaning::Decimal { scale }).into()
        }
        "enum" | "fewer" if dtype != DType::String && !has_ids(convert) => {
            let symbols = ["club", "heart", "diamond", "spade"].map(String::from);
            vec![Meaning::Symbols(symbols.into())]
        }
        _ => Vec::new(),
    }
}

fn has_ids(convert: &Convert) -> bool {
    matches!(convert, Convert::HashBuckets(_) | Convert::Vocabulary(_))
}

/// The result of the twin for `data`, and the offset at which it stops.
fn expected(
    case: &Case,
    data: &[u8],
    values: usize,
) -> (Result<Vec<Scalar>, DecodeErrorKind>, usize) {
    let (mut scalars, mut position) = (Vec::new(), 0);
    for _ in 0..values {
        let start = position;
        // The id of a text is that of its bytes.
        let bytes = Schema::parse("\"bytes\"").unwrap();
        let is_ids = matches!(
            case.convert,
            Convert::HashBuckets(_) | Convert::Vocabulary(_)
        );
        let writer = match case.writer.node(case.writer.root()) {
            Node::String if is_ids => &bytes,
            _ => &case.writer,
        };
        let value = match reference::decode(writer, writer.root(), data, &mut position) {
            Ok(value) => value,
            Err(error) => return (Err(error.kind), error.offset),
        };
        let converted = resolved(case, value).and_then(|value| {
            let (schema, root) = (&case.reader, case.reader.root());
            let (dtype, column) = (case.dtype, case.column.as_ref());
            reference::convert::convert(schema, root, &value, dtype, &case.convert, column)
        });
        match converted {
            Ok(converted) => scalars.extend(converted),
            Err(kind) => return (Err(kind), start),
        }
    }
    (Ok(scalars), position)
}

/// The writer's value, resolved to the reader's type.
fn resolved(case: &Case, value: Value) -> Result<Value, DecodeErrorKind> {
    let units = units(
        case.writer.logical(case.writer.root()),
        case.reader.logical(case.reader.root()),
    );
    let value = match (value, units) {
        (Value::Int(time), Some([from, to, _])) if from != to => finer(time.into(), from, to)?,
        (Value::Long(time), Some([from, to, _])) if from != to => finer(time, from, to)?,
        (value, _) => value,
    };
    Ok(match (value, case.reader.node(case.reader.root())) {
        (Value::Int(value), Node::Long) => Value::Long(value.into()),
        (Value::Int(value), Node::Float) => Value::Float(value as f32),
        (Value::Int(value), Node::Double) => Value::Double(value.into()),
        (Value::Long(value), Node::Float) => Value::Float(value as f32),
        (Value::Long(value), Node::Double) => Value::Double(value as f64),
        (Value::Float(value), Node::Double) => Value::Double(value.into()),
        (Value::String(text), Node::Bytes) => Value::Bytes(text.into()),
        (Value::Bytes(bytes), Node::String)
            if !matches!(
                case.convert,
                Convert::HashBuckets(_) | Convert::Vocabulary(_)
            ) =>
        {
            let text = String::from_utf8(bytes);
            Value::String(text.map_err(|_| DecodeErrorKind::InvalidUtf8)?)
        }
        (Value::Enum(index), _) => {
            let symbols = case.symbols.as_ref();
            match symbols.map_or(Some(index), |symbols| symbols[index as usize]) {
                Some(index) => Value::Enum(index),
                None => {
                    let symbol = "heart".into();
                    let reader = "enum 'Suit'".into();
                    return Err(DecodeErrorKind::UnknownSymbol { symbol, reader });
                }
            }
        }
        (value, _) => value,
    })
}

/// A time in the reader's unit.
fn finer(value: i64, from: TimeUnit, to: TimeUnit) -> Result<Value, DecodeErrorKind> {
    match reference::convert::in_unit(value, from, to) {
        Some(time) => Ok(Value::Long(time)),
        None => Err(DecodeErrorKind::TimeOverflow { value, from, to }),
    }
}

/// Whether two errors are the same. A varint that is too long for an int may be reported before or
/// after its end is searched.
fn same_kind(fault: &DecodeErrorKind, kind: &DecodeErrorKind) -> bool {
    use DecodeErrorKind::{UnexpectedEnd, VarintOverflow, VarintTooLong};
    let longer = matches!(fault, UnexpectedEnd | VarintOverflow) && *kind == VarintTooLong;
    fault == kind || longer
}

/// Whether an early end of the data is noticed before any value is read.
fn fails_as_a_whole(source: &Source) -> bool {
    matches!(
        source,
        Source::Plain(Leaf::Float | Leaf::Double | Leaf::Boolean)
    )
}

/// Data of some values, mostly whole, and the number of values to read.
fn any_data(schema: &Schema) -> BoxedStrategy<(Vec<u8>, usize)> {
    let root = schema.root();
    let schema = schema.clone();
    let data = prop::collection::vec(any_value(&schema), 0..100).prop_map(move |values| {
        let mut data = Vec::new();
        for value in &values {
            encode::encode(&schema, root, value, &mut data, &Default::default()).unwrap();
        }
        (data, values.len())
    });
    let damage = prop::option::weighted(0.2, (any::<Index>(), any::<u8>(), any::<bool>()));
    (data, damage)
        .prop_map(|((mut data, values), damage)| {
            match damage {
                Some((at, _, true)) => data.truncate(at.index(data.len() + 1)),
                Some((at, byte, false)) if !data.is_empty() => {
                    let at = at.index(data.len());
                    data[at] = byte;
                }
                _ => {}
            }
            (data, values)
        })
        .boxed()
}

fn any_value(schema: &Schema) -> BoxedStrategy<Value> {
    match schema.node(schema.root()) {
        Node::Int => any_long()
            .prop_map(|value| Value::Int(value as i32))
            .boxed(),
        Node::Long => any_long().prop_map(Value::Long).boxed(),
        Node::Float => any_double()
            .prop_map(|value| Value::Float(value as f32))
            .boxed(),
        Node::Double => any_double().prop_map(Value::Double).boxed(),
        Node::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        Node::String => any::<String>().prop_map(Value::String).boxed(),
        Node::Bytes => any_bytes().prop_map(Value::Bytes).boxed(),
        Node::Enum(symbols) => (0..symbols.symbols.len() as u32)
            .prop_map(Value::Enum)
            .boxed(),
        Node::Fixed(fixed) => prop::collection::vec(any::<u8>(), fixed.size)
            .prop_map(Value::Fixed)
            .boxed(),
        other => panic!("{} is not an element", other.type_name()),
    }
}

/// Numbers of every size, near the ends of ranges, and near ties between floats. Most fit int32, so
/// that long runs succeed.
fn any_long() -> impl Strategy<Value = i64> {
    let around = |bits: std::ops::Range<u32>| {
        (bits, 0..1i64 << 12, -1..=1i64, any::<bool>()).prop_map(|(shift, top, off, minus)| {
            let value = ((top << shift) & i64::MAX).wrapping_add(off);
            if minus { -value } else { value }
        })
    };
    prop_oneof![
        1 => any::<i64>(),
        1 => around(30..52),
        40 => around(0..18),
        40 => any::<i32>().prop_map(i64::from),
        20 => -2..=2i64,
    ]
}

/// Floats of every kind, and floats near ties between smaller floats.
fn any_double() -> impl Strategy<Value = f64> {
    let around = |value: f64, off: i64| f64::from_bits(value.to_bits().wrapping_add_signed(off));
    let tie = |low: f64, high: f64| (low + high) / 2.0;
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        any::<u32>().prop_map(|bits| f32::from_bits(bits).into()),
        (any::<u16>(), -1..=1i64).prop_map(move |(bits, off)| {
            let next = bits.wrapping_add(1);
            let [low, high] = [bits, next].map(|bits| f16::from_bits(bits).to_f64());
            around(tie(low, high), off)
        }),
        (any::<u16>(), -1..=1i64).prop_map(move |(bits, off)| {
            let next = bits.wrapping_add(1);
            let [low, high] = [bits, next].map(|bits| bf16::from_bits(bits).to_f64());
            around(tie(low, high), off)
        }),
        (any::<u32>(), -1..=1i64).prop_map(move |(bits, off)| {
            let next = bits.wrapping_add(1);
            let [low, high] = [bits, next].map(|bits| f64::from(f32::from_bits(bits)));
            around(tie(low, high), off)
        }),
        -3.0..3.0f64,
    ]
}

/// Bytes that may be text, numbers of every size, and some too long for a decimal.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        200 => prop::collection::vec(any::<u8>(), 0..9),
        40 => prop::collection::vec(any::<u8>(), 9..40),
        40 => any::<String>().prop_map(String::into_bytes),
        40 => any_long().prop_map(|number| number.to_be_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1000..1030),
    ]
}
