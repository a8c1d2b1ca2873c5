//! Columns of types with different meanings: every ordered pair of types, and the expected value of
//! the second type in a column of the first.
//!
//! These rules are written independently of the library, by the names of the types.

use atds::features::TimeUnit;

use atds::{Batch, Convert, DType, Feature};
use avro_decode::encode::write_long;

/// A type of Avro, with its logical type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// `int` without a logical type.
    Int,
    Long,
    Float,
    Double,
    /// `long` with an unknown logical type.
    Odd,
    Time(&'static str),
    /// A decimal in `bytes`: its scale.
    Decimal(u32),
    /// A decimal in a `fixed`: its scale, and the size of the `fixed` in bytes.
    FixedDecimal(u32, usize),
    Enum(&'static [&'static str]),
    String,
    Bytes,
    /// A `fixed` of 16 bytes.
    Fixed,
    UuidText,
    UuidFixed,
    BigDecimal,
}

pub(crate) const KINDS: [Kind; 30] = [
    Kind::Int,
    Kind::Long,
    Kind::Float,
    Kind::Double,
    Kind::Odd,
    Kind::Time("date"),
    Kind::Time("time-millis"),
    Kind::Time("time-micros"),
    Kind::Time("timestamp-millis"),
    Kind::Time("timestamp-micros"),
    Kind::Time("timestamp-nanos"),
    Kind::Time("local-timestamp-millis"),
    Kind::Time("local-timestamp-micros"),
    Kind::Time("local-timestamp-nanos"),
    Kind::Decimal(0),
    Kind::Decimal(2),
    Kind::Decimal(5),
    Kind::FixedDecimal(0, 5),
    Kind::FixedDecimal(2, 5),
    Kind::FixedDecimal(2, 8),
    Kind::FixedDecimal(5, 8),
    Kind::Enum(&["A", "B", "C"]),
    Kind::Enum(&["C", "A", "B"]),
    Kind::Enum(&["A", "B", "C", "D"]),
    Kind::String,
    Kind::Bytes,
    Kind::Fixed,
    Kind::UuidText,
    Kind::UuidFixed,
    Kind::BigDecimal,
];

/// The dtype and conversion of a feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ReadAs {
    Int64,
    Float64,
    String,
    /// The stored bytes, as strings.
    Bytes,
    Ids,
    /// Times in seconds.
    Unit,
}

pub(crate) const READ_AS: [ReadAs; 6] = [
    ReadAs::Int64,
    ReadAs::Float64,
    ReadAs::String,
    ReadAs::Bytes,
    ReadAs::Ids,
    ReadAs::Unit,
];

/// Numbers from which each type's values are made.
pub(crate) const SAMPLES: [u8; 3] = [0, 1, 2];

impl ReadAs {
    /// A feature that reads the field `x`.
    pub(crate) fn feature(self) -> Feature {
        let (dtype, convert) = match self {
            ReadAs::Int64 => (DType::Int64, Convert::Cast),
            ReadAs::Float64 => (DType::Float64, Convert::Cast),
            ReadAs::String | ReadAs::Bytes => (DType::String, Convert::Exact),
            ReadAs::Ids => (DType::Int64, Convert::HashBuckets(1 << 40)),
            ReadAs::Unit => (DType::Int64, Convert::Unit(TimeUnit::Seconds)),
        };
        let feature = Feature::dense("x", &[], dtype).with_convert(convert);
        match self {
            ReadAs::Bytes => feature.with_any_bytes(),
            _ => feature,
        }
    }

    /// Whether a feature read in this way can read the type.
    pub(crate) fn reads(self, kind: Kind) -> bool {
        match (self, kind) {
            (ReadAs::Unit, kind) => matches!(kind, Kind::Time(_)),
            (ReadAs::Int64, kind) => {
                !is_text(kind) && !matches!(kind, Kind::Float | Kind::Double)
                    || matches!(kind, Kind::Enum(_))
            }
            (ReadAs::Float64, kind) => !is_text(kind),
            (ReadAs::String | ReadAs::Bytes, kind) => is_text(kind) || is_decimal(kind),
            (ReadAs::Ids, kind) => !matches!(kind, Kind::Float | Kind::Double),
        }
    }

    /// The elements of a column as text.
    pub(crate) fn column(self, batch: &Batch) -> Vec<String> {
        match self {
            ReadAs::Float64 => {
                let values = batch.dense::<f64>("x").unwrap();
                values.iter().map(f64::to_string).collect()
            }
            ReadAs::String | ReadAs::Bytes => {
                let values = batch.strings("x").unwrap();
                values.iter().map(|text| format!("{text:?}")).collect()
            }
            _ => {
                let values = batch.dense::<i64>("x").unwrap();
                values.iter().map(i64::to_string).collect()
            }
        }
    }

    /// The text of a sample of the type `second` in a column whose meaning `first` fixed. `None` if
    /// the column cannot hold both types.
    pub(crate) fn expected(self, first: Kind, second: Kind, sample: u8) -> Option<String> {
        let number = i64::from(sample);
        match self {
            ReadAs::Unit => {
                let (Kind::Time(column), Kind::Time(name)) = (first, second) else {
                    panic!("only times have a unit");
                };
                let has_zone = |clock| clock == "timestamp" || clock == "local-timestamp";
                let is_date = column == "date" && has_zone(clock(name))
                    || name == "date" && has_zone(clock(column));
                (clock(column) == clock(name) || is_date)
                    .then(|| (number * nanos(name) / 1_000_000_000).to_string())
            }
            ReadAs::Int64 => self.integer(first, second, sample).map(|n| n.to_string()),
            ReadAs::Float64 if is_decimal(second) && !matches!(first, Kind::Time(_)) => {
                Some((number as f64 / 10f64.powi(scale(second) as i32)).to_string())
            }
            ReadAs::Float64 if is_decimal(first) && is_plain(second) => Some(number.to_string()),
            ReadAs::Float64 => self.integer(first, second, sample).map(|n| n.to_string()),
            ReadAs::String => {
                goes_as_text(self, first, second).then(|| format!("{:?}", text(second, sample)))
            }
            ReadAs::Bytes => {
                let stored = match second {
                    Kind::UuidFixed => vec![sample; 16],
                    _ => text(second, sample),
                };
                goes_as_text(self, first, second).then(|| format!("{stored:?}"))
            }
            ReadAs::Ids => {
                let text = match (first, second) {
                    (Kind::Time(_), _) => {
                        let number = self.integer(first, second, sample)?;
                        number.to_string().into_bytes()
                    }
                    _ if goes_as_text(self, first, second) => text(second, sample),
                    _ => return None,
                };
                Some(farmhash(&text).to_string())
            }
        }
    }

    fn integer(self, first: Kind, second: Kind, sample: u8) -> Option<i64> {
        let number = i64::from(sample);
        match (first, second) {
            (Kind::Time(column), Kind::Time(name)) => {
                let same = clock(column) == clock(name)
                    || name == "date" && clock(column) == "local-timestamp";
                let (from, to) = (nanos(name), nanos(column));
                (same && from >= to).then(|| number * (from / to))
            }
            (Kind::Enum(column), Kind::Enum(symbols)) => {
                let position = |symbol: &&str| column.iter().position(|known| known == symbol);
                let positions: Option<Vec<_>> = symbols.iter().map(position).collect();
                Some(positions?[usize::from(sample)] as i64)
            }
            _ if is_decimal(first) && is_decimal(second) => {
                let digits = scale(first).checked_sub(scale(second))?;
                Some(number * 10i64.pow(digits))
            }
            _ if is_plain(first) && is_plain(second) => Some(number),
            _ if is_plain(first) && is_decimal(second) => (scale(second) == 0).then_some(number),
            _ if is_decimal(first) && is_plain(second) => (scale(first) == 0).then_some(number),
            _ => None,
        }
    }
}

impl Kind {
    /// The type as JSON.
    pub(crate) fn json(self) -> String {
        let logical =
            |ty: &str, name: &str| format!(r#"{{"type": "{ty}", "logicalType": "{name}"}}"#);
        match self {
            Kind::Int => r#""int""#.into(),
            Kind::Long => r#""long""#.into(),
            Kind::Float => r#""float""#.into(),
            Kind::Double => r#""double""#.into(),
            Kind::Odd => logical("long", "timestamp-fortnights"),
            Kind::Time(name) => logical(if is_int(name) { "int" } else { "long" }, name),
            Kind::Decimal(scale) => format!(
                r#"{{"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": {scale}}}"#
            ),
            Kind::FixedDecimal(scale, size) => format!(
                r#"{{"type": "fixed", "name": "F", "size": {size}, "logicalType": "decimal",
                    "precision": 9, "scale": {scale}}}"#
            ),
            Kind::Enum(symbols) => {
                format!(r#"{{"type": "enum", "name": "E", "symbols": {symbols:?}}}"#)
            }
            Kind::String => r#""string""#.into(),
            Kind::Bytes => r#""bytes""#.into(),
            Kind::Fixed => r#"{"type": "fixed", "name": "F", "size": 16}"#.into(),
            Kind::UuidText => logical("string", "uuid"),
            Kind::UuidFixed => {
                r#"{"type": "fixed", "name": "F", "size": 16, "logicalType": "uuid"}"#.into()
            }
            Kind::BigDecimal => logical("bytes", "big-decimal"),
        }
    }

    /// A record with a field `x` of the type.
    pub(crate) fn schema(self) -> String {
        let ty = self.json();
        format!(r#"{{"type": "record", "name": "R", "fields": [{{"name": "x", "type": {ty}}}]}}"#)
    }

    /// A record with the value of `sample`.
    pub(crate) fn record(self, sample: u8) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Kind::Float => out.extend(f32::from(sample).to_le_bytes()),
            Kind::Double => out.extend(f64::from(sample).to_le_bytes()),
            Kind::FixedDecimal(..) | Kind::Fixed => out.extend(text(self, sample)),
            Kind::UuidFixed => out.extend([sample; 16]),
            Kind::Decimal(_) | Kind::String | Kind::Bytes | Kind::UuidText | Kind::BigDecimal => {
                let text = text(self, sample);
                write_long(&mut out, text.len() as i64);
                out.extend(text);
            }
            _ => write_long(&mut out, sample.into()),
        }
        out
    }
}

/// The text or bytes of a value.
fn text(kind: Kind, sample: u8) -> Vec<u8> {
    match kind {
        Kind::Enum(symbols) => symbols[usize::from(sample)].into(),
        Kind::Decimal(_) => vec![sample],
        Kind::FixedDecimal(_, size) => {
            let mut bytes = vec![0; size];
            bytes[size - 1] = sample;
            bytes
        }
        Kind::Fixed => vec![sample; 16],
        Kind::UuidText | Kind::UuidFixed => {
            let digits = |n: usize| format!("{sample:02x}").repeat(n);
            format!(
                "{}-{}-{}-{}-{}",
                digits(4),
                digits(2),
                digits(2),
                digits(2),
                digits(6)
            )
            .into()
        }
        _ => sample.to_string().into(),
    }
}

/// Whether one column of text or bytes can hold both types.
fn goes_as_text(form: ReadAs, first: Kind, second: Kind) -> bool {
    // The 16 bytes of a UUID differ from its text.
    let stored = form == ReadAs::Bytes && [first, second].contains(&Kind::UuidFixed);
    if stored {
        return [first, second]
            .iter()
            .all(|kind| matches!(kind, Kind::UuidFixed | Kind::Bytes | Kind::Fixed));
    }
    let is_uuid = |kind| matches!(kind, Kind::UuidText | Kind::UuidFixed);
    let is_bytes = |kind| matches!(kind, Kind::Bytes | Kind::Fixed);
    let is_words = |kind| matches!(kind, Kind::String | Kind::Enum(_));
    let is_number = |kind| form == ReadAs::Ids && is_plain(kind);
    let size = |kind| match kind {
        Kind::FixedDecimal(_, size) => Some(size),
        _ => None,
    };
    let pair = |one: &dyn Fn(Kind) -> bool, other: &dyn Fn(Kind) -> bool| {
        one(first) && other(second) || other(first) && one(second)
    };
    if is_decimal(first) && is_decimal(second) {
        return scale(first) == scale(second) && size(first) == size(second);
    }
    first == Kind::BigDecimal && second == Kind::BigDecimal
        || pair(&is_words, &|kind| {
            is_words(kind) || is_uuid(kind) || is_bytes(kind) || is_number(kind)
        })
        || pair(&is_uuid, &is_uuid)
        || pair(&is_bytes, &|kind| is_bytes(kind) || is_number(kind))
        || pair(&is_number, &is_number)
}

fn is_text(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Enum(_)
            | Kind::String
            | Kind::Bytes
            | Kind::Fixed
            | Kind::UuidText
            | Kind::UuidFixed
            | Kind::BigDecimal
    )
}

fn is_decimal(kind: Kind) -> bool {
    matches!(kind, Kind::Decimal(_) | Kind::FixedDecimal(..))
}

fn is_plain(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Int | Kind::Long | Kind::Float | Kind::Double | Kind::Odd
    )
}

fn scale(kind: Kind) -> u32 {
    match kind {
        Kind::Decimal(scale) | Kind::FixedDecimal(scale, _) => scale,
        _ => panic!("a decimal"),
    }
}

fn is_int(name: &str) -> bool {
    name == "date" || name == "time-millis"
}

fn clock(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |(clock, _)| clock)
}

fn nanos(name: &str) -> i64 {
    match name.rsplit_once('-') {
        Some((_, "millis")) => 1_000_000,
        Some((_, "micros")) => 1_000,
        Some((_, "nanos")) => 1,
        _ => 86_400_000_000_000,
    }
}

/// The hash bucket of a text among 2^40, from a column of this text alone.
fn farmhash(text: &[u8]) -> i64 {
    use atds::avro::messages::MessageDecoder;
    let schema = atds::avro::Schema::parse(&Kind::Bytes.schema()).unwrap();
    let decoder = MessageDecoder::builder(schema, [ReadAs::Ids.feature()]).build();
    let mut message = Vec::new();
    write_long(&mut message, text.len() as i64);
    message.extend(text);
    decoder
        .unwrap()
        .decode(&[message])
        .unwrap()
        .dense::<i64>("x")
        .unwrap()[0]
}
