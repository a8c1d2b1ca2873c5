//! The pipeline's errors as those of the facade.

use std::error::Error as StdError;
use std::sync::Arc;

use atds_format::Location;
use avro_block::DecompressError;

use crate::avro;

use super::{Error, ErrorKind, is_folder};

impl From<atds_pipeline::Error> for Error {
    /// The pipeline does not know whether a file is packed as a whole: `unpacked` is false.
    #[cold]
    fn from(error: atds_pipeline::Error) -> Self {
        let mut place = error.place;
        let kind = kind(error.kind, place.location.as_ref());
        if matches!(&kind, ErrorKind::Io(error) if is_folder(error)) {
            (place.offset, place.block) = (None, None);
        }
        Error { kind, place }
    }
}

fn kind(kind: atds_pipeline::ErrorKind, location: Option<&Location>) -> ErrorKind {
    use atds_pipeline::ErrorKind as Kind;
    match kind {
        Kind::Io(error) => ErrorKind::of_reading(error),
        Kind::Thread(error) => ErrorKind::Thread(error),
        Kind::Format(error) => of_format(error, location),
        Kind::TooManyRecords { records, bytes } => ErrorKind::TooManyRecords { records, bytes },
        Kind::ShapesDiffer { shape, first } => ErrorKind::ShapesDiffer { shape, first },
        Kind::RecordsChanged { counted, found } => ErrorKind::RecordsChanged { counted, found },
        Kind::MemoryLimit { limit, needed } => ErrorKind::MemoryLimit { limit, needed },
        Kind::BlockTooLarge { limit } => {
            let error = DecompressError::TooLarge { limit };
            avro::ErrorKind::Container(error.into()).into()
        }
        other => ErrorKind::Format(Arc::new(other)),
    }
}

/// The kind of an error of a format or a source: Avro, or a kind of the facade, as it is.
fn of_format(error: Arc<dyn StdError + Send + Sync>, location: Option<&Location>) -> ErrorKind {
    if let Some(kind) = error.downcast_ref::<avro::ErrorKind>() {
        return kind.clone().in_file(location);
    }
    match error.downcast_ref::<ErrorKind>() {
        Some(kind) => kind.clone(),
        None => ErrorKind::Format(error),
    }
}

#[cfg(all(test, feature = "deflate"))]
mod tests;
