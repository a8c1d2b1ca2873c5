//! Logical types (Avro 1.12, "Logical Types").

use atds_features::words::counted;
use atds_features::{Clock, TimeUnit};
use serde_json::{Map, Value as Json};

use super::Node;

/// The meaning of a type's values. Values are read and written as the underlying type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogicalType {
    /// `bytes` or `fixed`: an unscaled big-endian two's complement number
    /// with `scale` digits after the point.
    Decimal {
        /// Number of digits in all, above 0.
        precision: u32,
        /// Number of digits after the point, at most `precision`.
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
    /// A name that the specification does not define.
    Unknown(String),
}

impl LogicalType {
    /// The clock and the unit of a date, time or timestamp.
    pub(crate) fn time(&self) -> Option<(Clock, TimeUnit)> {
        use LogicalType as L;
        Some(match self {
            L::Date => (Clock::Date, TimeUnit::Days),
            L::TimeMillis => (Clock::TimeOfDay, TimeUnit::Millis),
            L::TimeMicros => (Clock::TimeOfDay, TimeUnit::Micros),
            L::TimestampMillis => (Clock::Timestamp, TimeUnit::Millis),
            L::TimestampMicros => (Clock::Timestamp, TimeUnit::Micros),
            L::TimestampNanos => (Clock::Timestamp, TimeUnit::Nanos),
            L::LocalTimestampMillis => (Clock::LocalTimestamp, TimeUnit::Millis),
            L::LocalTimestampMicros => (Clock::LocalTimestamp, TimeUnit::Micros),
            L::LocalTimestampNanos => (Clock::LocalTimestamp, TimeUnit::Nanos),
            _ => return None,
        })
    }

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

    /// The logical type that `attributes` declare for `node`; `None` if they declare none.
    ///
    /// # Errors
    /// The name and the reason, if the logical type is invalid for `node`.
    pub(super) fn of(
        node: &Node,
        attributes: &Map<String, Json>,
    ) -> Result<Option<LogicalType>, NotTaken> {
        let Some(named) = attributes.get("logicalType") else {
            return Ok(None);
        };
        let Some(name) = named.as_str() else {
            return Err(NotTaken::new(
                &named.to_string(),
                "its name is not a string",
            ));
        };
        let logical = match name {
            "decimal" => decimal(node, attributes).map_err(|why| NotTaken::new(name, &why))?,
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
        if logical.is_valid_for(node) {
            return Ok(Some(logical));
        }
        let found = match node {
            Node::Fixed(fixed) => format!("fixed of {}", counted(fixed.size, "byte")),
            node => node.type_name().to_owned(),
        };
        let why = format!("it is of {} and not of {found}", logical.valid_types());
        Err(NotTaken::new(name, &why))
    }

    /// The types that the logical type is valid for.
    fn valid_types(&self) -> &'static str {
        match self {
            LogicalType::Decimal { .. } => "bytes or fixed",
            LogicalType::BigDecimal => "bytes",
            LogicalType::Uuid => "string or fixed of 16 bytes",
            LogicalType::Date | LogicalType::TimeMillis => "int",
            LogicalType::Duration => "fixed of 12 bytes",
            LogicalType::Unknown(_) => "any type",
            _ => "long",
        }
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

/// An invalid logical type, which is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotTaken {
    /// The name in the schema.
    pub(super) name: String,
    /// The reason.
    pub(super) why: String,
}

impl NotTaken {
    #[cold]
    fn new(name: &str, why: &str) -> Self {
        NotTaken {
            name: name.to_owned(),
            why: why.to_owned(),
        }
    }
}

/// The decimal that `attributes` describe, or the reason why they are invalid.
fn decimal(node: &Node, attributes: &Map<String, Json>) -> Result<LogicalType, String> {
    let digits = |value: &Json| value.as_u64().and_then(|n| u32::try_from(n).ok());
    let named = |attribute: &str| match attributes.get(attribute) {
        None => Ok(None),
        Some(json) => match digits(json) {
            Some(digits) => Ok(Some(digits)),
            None => Err(format!(
                "its {attribute} is {json}, which is not a number of digits"
            )),
        },
    };
    let Some(precision) = named("precision")? else {
        return Err("it has no precision".to_owned());
    };
    let scale = named("scale")?.unwrap_or(0);
    let max_precision = match node {
        Node::Fixed(fixed) => max_precision(fixed.size),
        _ => u32::MAX,
    };
    if precision == 0 {
        return Err("its precision is 0".to_owned());
    }
    if scale > precision {
        return Err(format!(
            "its scale {scale} is above its precision {precision}"
        ));
    }
    match node {
        Node::Fixed(fixed) if precision > max_precision => Err(format!(
            "its precision {precision} is above the {} of {}",
            counted(max_precision, "digit"),
            counted(fixed.size, "byte")
        )),
        _ => Ok(LogicalType::Decimal { precision, scale }),
    }
}

/// The largest number of digits such that every number of that many digits fits in `size` bytes of
/// two's complement: floor(log10(2^(8 * size - 1) - 1)).
fn max_precision(size: usize) -> u32 {
    let bits = (size as u64).saturating_mul(8).saturating_sub(1);
    // No power of 2 but 1 is a power of 10, so the -1 changes nothing.
    (bits as f64 * std::f64::consts::LOG10_2).floor() as u32
}
