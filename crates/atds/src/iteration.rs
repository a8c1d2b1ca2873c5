//! The files of a data set, as the pipeline reads them.

use std::io;
use std::sync::Arc;

use atds_features::words::counted;
use atds_format::{ByteSource, Format, Location};

use crate::dataset::Settings;
use crate::error::Place;
use crate::source::open;
use crate::{Error, ErrorKind};

impl atds_pipeline::Files for Settings {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn location(&self, file: usize) -> Location {
        self.files[file].clone().into()
    }

    fn source(&self, file: usize) -> io::Result<Arc<dyn ByteSource>> {
        let path = &self.files[file];
        let source = open(path, self.mappings.as_ref(), &self.inputs)?;
        match self.inputs.packed.packing(path) {
            Some(packing) if self.run.pipeline.shuffle_blocks => {
                let reason = NO_SHUFFLING;
                Err(io::Error::other(ErrorKind::Packed { packing, reason }))
            }
            _ => Ok(source),
        }
    }

    fn format(&self, _: usize) -> Arc<dyn Format> {
        self.format.clone()
    }

    fn mapped_bytes(&self) -> u64 {
        let mappings = self.mappings.as_ref();
        mappings.map_or(0, |mappings| mappings.bytes())
    }

    fn left_out(&self, file: usize, trailing_bytes: u64) {
        let what = counted(trailing_bytes, "byte") + " after the last block";
        self.format.log.name(&self.location(file), &what);
    }
}

/// Why the blocks of a packed file are not shuffled, and what to do.
pub(crate) const NO_SHUFFLING: &str = "leave `shuffle_blocks` out, or unpack the file";

impl Settings {
    /// An error of the pipeline, as the data set has it.
    #[cold]
    pub(crate) fn error(&self, error: atds_pipeline::Error) -> Error {
        let mut error = Error::from(error);
        self.note_packed(&mut error.place);
        if let ErrorKind::ShapesDiffer {
            first: Some(first), ..
        } = &mut error.kind
        {
            self.note_packed(&mut first.0);
        }
        error.of_sampled(&self.sampled)
    }

    /// Says whether the file of a place is packed as a whole: offsets are then those of the unpacked
    /// file.
    fn note_packed(&self, place: &mut Place) {
        let path = place.location.as_ref().and_then(Location::path);
        place.unpacked = path.is_some_and(|path| self.inputs.packed.packing(path).is_some());
    }
}
