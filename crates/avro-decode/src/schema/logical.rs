//! Logical types (Avro 1.12, "Logical Types").

use serde_json::{Map, Value as Json};

use super::Node;

/// What the values of a type stand for. Values are read and written as the
/// type underneath.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogicalType {
    /// `bytes` or `fixed`: an unscaled big-endian two's complement number
    /// with `scale` digits after the point.
    Decimal {
        /// Digits in all, above 0.
        precision: u32,
        /// Digits after the point, at most `precision`.
        scale: u32,
    },
    /// `bytes`: an unscaled number and its scale.
    BigDecimal,
    /// `string` or `fixed` of 16 bytes.
    Uuid,
    /// `int`: days since 1970-01-01.
    Date,
    /// `int`: milliseconds since midnight.
    TimeMillis,
    /// `long`: microseconds since midnight.
    TimeMicros,
    /// `long`: milliseconds since 1970-01-01 00:00 UTC.
    TimestampMillis,
    /// `long`: microseconds since 1970-01-01 00:00 UTC.
    TimestampMicros,
    /// `long`: nanoseconds since 1970-01-01 00:00 UTC.
    TimestampNanos,
    /// `long`: milliseconds since 1970-01-01 00:00 in the local time zone.
    LocalTimestampMillis,
    /// `long`: microseconds since 1970-01-01 00:00 in the local time zone.
    LocalTimestampMicros,
    /// `long`: nanoseconds since 1970-01-01 00:00 in the local time zone.
    LocalTimestampNanos,
    /// `fixed` of 12 bytes: months, days and milliseconds, each 32 bits,
    /// little-endian.
    Duration,
    /// A name that the specification does not know.
    Unknown(String),
}

impl LogicalType {
    /// The name in the schema, such as `timestamp-millis`.
    pub fn name(&self) -> &str {
        match self {
            LogicalType::Decimal { .. } => "decimal",
            LogicalType::BigDecimal => "big-decimal",
            LogicalType::Uuid => "uuid",
            LogicalType::Date => "date",
            LogicalType::TimeMillis => "time-millis",
            LogicalType::TimeMicros => "time-micros",
            LogicalType::TimestampMillis => "timestamp-millis",
            LogicalType::TimestampMicros => "timestamp-micros",
            LogicalType::TimestampNanos => "timestamp-nanos",
            LogicalType::LocalTimestampMillis => "local-timestamp-millis",
            LogicalType::LocalTimestampMicros => "local-timestamp-micros",
            LogicalType::LocalTimestampNanos => "local-timestamp-nanos",
            LogicalType::Duration => "duration",
            LogicalType::Unknown(name) => name,
        }
    }

    /// The logical type that `attributes` give to `node`; `None` if there is
    /// none or it is not valid there.
    pub(super) fn of(node: &Node, attributes: &Map<String, Json>) -> Option<LogicalType> {
        let name = attributes.get("logicalType")?.as_str()?;
        let logical = match name {
            "decimal" => return decimal(node, attributes),
            "big-decimal" => LogicalType::BigDecimal,
            "uuid" => LogicalType::Uuid,
            "date" => LogicalType::Date,
            "time-millis" => LogicalType::TimeMillis,
            "time-micros" => LogicalType::TimeMicros,
            "timestamp-millis" => LogicalType::TimestampMillis,
            "timestamp-micros" => LogicalType::TimestampMicros,
            "timestamp-nanos" => LogicalType::TimestampNanos,
            "local-timestamp-millis" => LogicalType::LocalTimestampMillis,
            "local-timestamp-micros" => LogicalType::LocalTimestampMicros,
            "local-timestamp-nanos" => LogicalType::LocalTimestampNanos,
            "duration" => LogicalType::Duration,
            _ => LogicalType::Unknown(name.to_owned()),
        };
        logical.is_valid_for(node).then_some(logical)
    }

    fn is_valid_for(&self, node: &Node) -> bool {
        match self {
            LogicalType::Decimal { .. } => matches!(node, Node::Bytes | Node::Fixed(_)),
            LogicalType::BigDecimal => matches!(node, Node::Bytes),
            LogicalType::Uuid => match node {
                Node::String => true,
                Node::Fixed(fixed) => fixed.size == 16,
                _ => false,
            },
            LogicalType::Date | LogicalType::TimeMillis => matches!(node, Node::Int),
            LogicalType::TimeMicros
            | LogicalType::TimestampMillis
            | LogicalType::TimestampMicros
            | LogicalType::TimestampNanos
            | LogicalType::LocalTimestampMillis
            | LogicalType::LocalTimestampMicros
            | LogicalType::LocalTimestampNanos => matches!(node, Node::Long),
            LogicalType::Duration => matches!(node, Node::Fixed(fixed) if fixed.size == 12),
            LogicalType::Unknown(_) => true,
        }
    }
}

fn decimal(node: &Node, attributes: &Map<String, Json>) -> Option<LogicalType> {
    let digits = |value: &Json| value.as_u64().and_then(|n| u32::try_from(n).ok());
    let precision = digits(attributes.get("precision")?)?;
    let scale = attributes.get("scale").map_or(Some(0), digits)?;
    let max_precision = match node {
        Node::Fixed(fixed) => max_precision(fixed.size),
        _ => u32::MAX,
    };
    let logical = LogicalType::Decimal { precision, scale };
    let valid = (1..=max_precision).contains(&precision) && scale <= precision;
    (valid && logical.is_valid_for(node)).then_some(logical)
}

/// The digits that any number of so many digits leaves room for in `size`
/// bytes of two's complement: floor(log10(2^(8 * size - 1) - 1)).
fn max_precision(size: usize) -> u32 {
    let bits = (size as u64).saturating_mul(8).saturating_sub(1);
    // No power of 2 but 1 is a power of 10, so that the -1 changes nothing.
    (bits as f64 * std::f64::consts::LOG10_2).floor() as u32
}
