//! Features inferred from a schema: a feature for each value that a feature can read.

use avro_decode::Schema;
use avro_decode::limits::MAX_INFERRED_FIELDS;
#[doc(inline)]
pub use avro_decode::{Inferred, LeftOut, LeftOutReason, Rounded, Sampled, infer};

use crate::{Error, avro};

/// The features of a schema, see [`infer`]; an error if there are none or too many.
///
/// # Errors
/// The schema has too many fields, or none that can be a feature.
pub fn infer_features(schema: &Schema) -> Result<Inferred, Error> {
    let inferred = infer_all(schema)?;
    if inferred.features.is_empty() {
        return Err(Error::new(avro::ErrorKind::NoFeatures {
            schema_type: schema.describe(schema.root()),
            left_out: inferred.left_out,
        }));
    }
    Ok(inferred)
}

/// Maximum number of warnings; the others are counted.
const MAX_WARNINGS: usize = 16;

/// Warnings about inferred features: values that are left out or rounded, with the expressions that
/// read them, and ignored logical types.
pub fn inference_warnings(inferred: &Inferred) -> Vec<String> {
    let rounded = inferred.rounded.iter().map(ToString::to_string);
    let left_out = inferred.left_out.iter().map(ToString::to_string);
    let not_taken = inferred.not_taken.iter().map(ToString::to_string);
    let mut sentences: Vec<String> = left_out.chain(rounded).chain(not_taken).collect();
    let more = sentences.len().saturating_sub(MAX_WARNINGS);
    if more > 0 {
        sentences.truncate(MAX_WARNINGS);
        let values = match more {
            1 => "1 more value is".to_owned(),
            more => format!("{more} more values are"),
        };
        sentences.push(format!(
            "{values} left out, rounded or read as another type"
        ));
    }
    sentences
}

pub(crate) fn warn_of(inferred: &Inferred) {
    for sentence in inference_warnings(inferred) {
        log::warn!("{sentence}");
    }
}

/// The features of a schema; an error if there are too many.
pub(crate) fn infer_all(schema: &Schema) -> Result<Inferred, Error> {
    let inferred = infer(schema);
    if inferred.truncated {
        let limit = MAX_INFERRED_FIELDS;
        return Err(Error::new(avro::ErrorKind::TooManyFields { limit }));
    }
    Ok(inferred)
}
