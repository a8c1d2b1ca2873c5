//! Errors that only Avro has.

use std::path::Path;

use atds_features::words;
use atds_format::Location;
use avro_decode::single_object::SingleObjectError;
use avro_decode::{DecodeError, LeftOut, ResolveError, Sampled, SchemaError, ValueErrorKind};

use crate::Error;

#[doc(inline)]
pub use avro_block::{CompressedFormat, Found};
#[doc(inline)]
pub use avro_decode::{DecodeErrorKind, PlanError, PlanErrorKind};

/// The kind of an error that only Avro has.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Framing or a payload is damaged.
    #[error("{0}")]
    Container(avro_block::ErrorKind),
    /// The schema in a file's header is not one.
    #[error("{0}")]
    Schema(SchemaError),
    /// A feature that does not fit the file's schema.
    #[error("{0}")]
    Plan(Box<PlanError>),
    /// A feature asks for a field or a union branch that the file's schema lacks, and has no
    /// default and no mask. Or all schemas lack it.
    #[error("{error}{}", remedy(found_in))]
    MissingField {
        /// The error of the missing field or branch.
        error: Box<PlanError>,
        /// A file, or another origin, whose schema has the field.
        found_in: Option<String>,
    },
    /// Messages of one schema that cannot be read as another's.
    #[error("{0}")]
    Resolve(Box<ResolveError>),
    /// A message without the header of a single object.
    #[error("{0}")]
    SingleObject(SingleObjectError),
    /// The message's schema is none of the given schemas.
    #[error(
        "the message's schema has the fingerprint {fingerprint:016x}, which none of the writer \
         schemas has"
    )]
    UnknownSchema {
        /// The fingerprint in the message's header.
        fingerprint: u64,
    },
    /// Two writer schemas have the same fingerprint, which does not cover logical types, but differ
    /// in logical types.
    #[error(
        "two writer schemas have this fingerprint but differ in their logical types, and \
         messages do not say which one they have"
    )]
    SameFingerprint,
    /// A schema from which no feature can be inferred.
    #[error(
        "nothing can be inferred: the schema is {schema_type}{}",
        nothing_in(left_out)
    )]
    NoFeatures {
        /// The type of the schema.
        schema_type: String,
        /// The schema's values, each with the reason why it is no feature.
        left_out: Vec<LeftOut>,
    },
    /// The schema has too many fields to infer features from.
    #[error("the schema has more than {limit} fields: name the `features` to read")]
    TooManyFields {
        /// The maximum number of fields.
        limit: usize,
    },
    /// A record does not fit its schema or a feature.
    #[error("{0}")]
    Decode(DecodeErrorKind),
    /// A value that does not fit the schema of the file to write.
    #[error("{0}")]
    Value(ValueErrorKind),
    /// An array has another length than the arrays of the sample from which its feature was
    /// inferred.
    #[error(
        "an array of {actual} values; the feature was inferred as dense because all arrays \
         of the {records} sampled records have {expected}: name the column in `features`, as \
         varlen, or dense with `truncate` or a `default`"
    )]
    SampledLength {
        /// The length of the arrays in the sample.
        expected: usize,
        /// The length of this array; a lower bound if the array is too long.
        actual: usize,
        /// Number of records in the sample.
        records: u64,
    },
    /// A block's records end before its payload does.
    #[error(
        "the block's {} {} before its payload does; `tolerate` 'trailing-block-bytes' leaves {} \
         out",
        if *records == 1 { "1 record ends".to_owned() } else { format!("{records} records end") },
        words::counted(*left, "byte"),
        if *left == 1 { "it" } else { "them" }
    )]
    TrailingBytes {
        /// Number of records that the block claims.
        records: u64,
        /// Number of bytes after the last record.
        left: usize,
    },
}

/// Advice about a field that a schema lacks. `found_in` is a file whose schema has the field, if any.
fn remedy(found_in: &Option<String>) -> String {
    match found_in {
        Some(other) => format!(
            "; {other} has it: give the feature a `default` or a `mask`, or read all files with a \
             `reader_schema` that has a default for the field"
        ),
        None => {
            " (a `default` or a `mask` fills a field that some of the schemas lack, not one that \
                 all of them lack: a `reader_schema` can add the field)"
                .to_owned()
        }
    }
}

/// Maximum number of listed values; the others are counted.
const MAX_LISTED: usize = 8;

/// The values of a schema without any feature.
fn nothing_in(left_out: &[LeftOut]) -> String {
    let listed = left_out.iter().take(MAX_LISTED).map(LeftOut::in_words);
    let listed = listed.collect::<Vec<_>>().join(", ");
    match left_out.len() {
        0 => ", which holds no value".to_owned(),
        len if len > MAX_LISTED => format!("; in it {listed} and {} more", len - MAX_LISTED),
        _ => format!("; in it {listed}"),
    }
}

impl ErrorKind {
    /// The kind of an error in the file at `location`.
    #[cold]
    pub(crate) fn in_file(mut self, location: Option<&Location>) -> crate::ErrorKind {
        if let ErrorKind::Container(avro_block::ErrorKind::NotAvro { found }) = &mut self
            && let (None, Some(location)) = (&found, location)
        {
            *found = Found::by_name(Path::new(location.as_os_str()));
        }
        self.into()
    }
}

/// Whether `expression` leads to `field`, or through it.
fn is_on_way(field: &str, expression: &str) -> bool {
    let rest = expression.strip_prefix(field);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.', ':']))
}

impl Error {
    /// The error, with a hint if its feature was inferred from a sample.
    #[cold]
    pub(crate) fn of_sampled(mut self, sampled: &[Sampled]) -> Self {
        if let Some(&ErrorKind::Decode(DecodeErrorKind::ArrayLength { expected, actual })) =
            self.kind.avro()
            && let Some(field) = &self.place.field
            && let Some(sample) = sampled.iter().find(|one| is_on_way(field, &one.expression))
        {
            let records = sample.records;
            self.kind = crate::ErrorKind::from(ErrorKind::SampledLength {
                expected,
                actual,
                records,
            });
        }
        self
    }

    /// A fault in a message, whose record starts at byte `start`.
    #[cold]
    pub(crate) fn decode_message(error: DecodeError, start: usize) -> Self {
        let mut located = Error::new(ErrorKind::Decode(error.kind));
        located.place.offset = Some((start + error.offset) as u64);
        located.place.field = error.field;
        located
    }

    /// Adds the fingerprint of the message's schema, if messages have one.
    #[cold]
    pub(crate) fn of_schema(mut self, fingerprint: Option<u64>) -> Self {
        self.place.schema = fingerprint;
        self
    }
}
