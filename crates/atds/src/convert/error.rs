//! Errors that only a conversion has.

use avro_decode::ValueError;

use super::LossKind;
use crate::avro::schema::SchemaError;
use crate::{Error, ErrorKind, FileFormat};

/// Why a file cannot be converted.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A value has no place in the new format.
    #[error(
        "{}{} has no place in {}: `allow_loss` {}, and counts it",
        .kind.what(), .value.as_ref().map(|value| format!(" ({value})")).unwrap_or_default(), .to.title(),
        .kind.becomes()
    )]
    NoPlace {
        /// What the value is.
        kind: LossKind,
        /// The value, if it is a number.
        value: Option<String>,
        /// The new format.
        to: FileFormat,
    },
    /// The new file exists.
    #[error("it exists already: give the name of a new file, or `force` to replace it")]
    Exists,
    /// The new file is the file that is read.
    #[error("it is the file to convert, which is not changed: give the name of a new file")]
    InPlace,
    /// The name of the new file tells no format.
    #[error("its name tells no format: end it in .avro, .tfrecord or .btable, or give `to`")]
    UnknownFormat,
    /// The name of the new file tells a compression that the format does not have.
    #[error("its name ends in {suffix}, but {} files are not packed so; give another name", .format.title())]
    Packing {
        /// The end of the name.
        suffix: String,
        /// The new format.
        format: FileFormat,
    },
    /// Both files have the same format.
    #[error("both files have the format {format}: nothing would be converted")]
    SameFormat {
        /// The format.
        format: FileFormat,
    },
    /// A schema was given for a file that has none, or takes none.
    #[error("`schema` is for Avro files that are made of TFRecord files")]
    SchemaNotTaken,
    /// The values of an Avro file, or of a schema, are no records.
    #[error("the values of the schema are {found}: only records have fields")]
    NotRecords {
        /// The type of the values.
        found: String,
    },
    /// No field has a place in the new format.
    #[error("no field has a place in {}", .to.title())]
    NoFields {
        /// The new format.
        to: FileFormat,
    },
    /// Two fields would have one key in TFRecord.
    #[error("two fields have the name '{}', but keys are different", .name.escape_debug())]
    SameKey {
        /// The name.
        name: String,
    },
    /// Records have more keys than an Avro schema is made for.
    #[error("the records have more than {limit} keys: give `schema`")]
    TooManyKeys {
        /// The limit.
        limit: usize,
    },
    /// The nested records have more fields than `flatten` makes, or longer names.
    #[error(
        "`flatten` makes more than {fields} fields, or names of more than {bytes} bytes together, of the \
         nested records: leave it out, or write a schema with fewer of them"
    )]
    TooManyFields {
        /// The limit of fields.
        fields: usize,
        /// The limit of the bytes of their names.
        bytes: usize,
    },
    /// A value does not fit the schema that was given.
    #[error("the schema has {expected}, but the record has {found}")]
    DoesNotFit {
        /// The schema's type.
        expected: String,
        /// What the record has.
        found: String,
    },
    /// The schema that was given, or made of names, is none.
    #[error("the schema: {0}")]
    Schema(SchemaError),
    /// A value does not fit the schema.
    #[error("{0}")]
    Value(ValueError),
    /// A BTable cannot be written.
    #[cfg(feature = "btable")]
    #[error("{0}")]
    BTable(atds_btable::ErrorKind),
}

impl ConvertError {
    /// Whether the options, or the names of the files, are at fault.
    pub fn is_of_options(&self) -> bool {
        matches!(
            self,
            ConvertError::UnknownFormat
                | ConvertError::Packing { .. }
                | ConvertError::SameFormat { .. }
                | ConvertError::SchemaNotTaken
                | ConvertError::InPlace
        )
    }
}

impl From<ConvertError> for Error {
    #[cold]
    fn from(error: ConvertError) -> Self {
        Error::new(ErrorKind::Convert(Box::new(error)))
    }
}
