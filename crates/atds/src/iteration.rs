//! The files of a data set, as the pipeline reads them.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use atds_features::words::counted;
use atds_format::{ByteSource, Format, Layout, Location};
use atds_pipeline::{BlockCounts, Options, Pipeline};
use atds_sched::Threads;
use twox_hash::XxHash3_64;

use crate::damage::Skipped;
use crate::dataset::Settings;
use crate::error::Place;
use crate::formats::two_formats;
use crate::lock::lock;
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
        let packing = self.inputs.packed.packing(path);
        match packing.zip(no_shuffling(&self.run.pipeline)) {
            Some((packing, reason)) => Err(io::Error::other(ErrorKind::Packed { packing, reason })),
            None => {
                let checked = self.index.check_hashed(path);
                checked.map_err(|error| io::Error::other(error.kind))?;
                Ok(source)
            }
        }
    }

    fn format(&self, _: usize) -> Arc<dyn Format> {
        self.format.clone()
    }

    fn block_records(&self, file: usize) -> Option<Arc<[u64]>> {
        lock(&self.file_prints).as_ref()?.block_records(file)
    }

    fn layout(&self, file: usize) -> Option<Layout> {
        self.index.layout(&self.files[file])
    }

    fn check_blocks(&self, file: usize, found: BlockCounts) -> io::Result<()> {
        let checked = self.index.check_blocks(&self.files[file], found);
        checked.map_err(|error| io::Error::other(error.kind))
    }

    fn version(&self, file: usize) -> Option<u64> {
        let metadata = std::fs::metadata(&self.files[file]).ok()?;
        let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let numbers = [metadata.len(), since.as_nanos() as u64];
        Some(XxHash3_64::oneshot(&numbers.map(u64::to_le_bytes).concat()))
    }

    fn mapped_bytes(&self) -> u64 {
        let mappings = self.mappings.as_ref();
        mappings.map_or(0, |mappings| mappings.bytes())
    }

    fn left_out(&self, file: usize, trailing_bytes: u64) {
        let what = counted(trailing_bytes, "byte") + " after the last block";
        self.log.name(&self.location(file), &what);
    }
}

/// Why the blocks of a packed file are not shuffled, and what to do; `None` if they need not be.
pub(crate) fn no_shuffling(options: &Options) -> Option<&'static str> {
    if options.shuffle_runs {
        Some("leave `shuffle=\"blocks\"` out, or unpack the file")
    } else if options.shuffle_blocks {
        Some("leave `shuffle_blocks` out, or unpack the file")
    } else {
        None
    }
}

impl Settings {
    /// Takes the inputs that are read only once for an iteration.
    ///
    /// # Errors
    /// An iteration has taken one of them already.
    pub(crate) fn claim(&self) -> Result<(), Error> {
        let own = self.run.pipeline.files.as_ref();
        if own.is_some_and(|own| own.is_empty()) {
            log::warn!(
                "there are fewer files, {}, than readers that share them by file: this one has none, and no batches",
                self.files.len()
            );
        }
        let own: Option<HashSet<&Path>> =
            own.map(|own| own.iter().map(|&file| &*self.files[file]).collect());
        self.inputs
            .claim(|path| own.as_ref().is_none_or(|own| own.contains(path)))
    }

    /// The pipeline of an iteration.
    pub(crate) fn pipeline(self: &Arc<Self>) -> Pipeline {
        let run = &self.run;
        let mut options = run.pipeline.clone();
        options.threads = match run.cores {
            Some(cores) => run.threads.number_on(cores),
            None => run.threads.number(),
        };
        options.max_block_bytes = run.reading.max_block_bytes;
        options.read_size = run.reading.buffer_size;
        options.automatic = !matches!(run.threads, Threads::Fixed(_));
        options.costs = Some(self.costs.clone());
        options.blocks = Some(self.blocks.clone());
        options.spare = Some(self.spare.clone());
        options.pool = run.keep_threads.then(|| self.threads.clone());
        Pipeline::new(self.spec.clone(), self.clone(), options)
    }

    /// Damage that the pipeline has left out, as the data set has it.
    pub(crate) fn skipped(&self, skipped: atds_pipeline::Skipped) -> Skipped {
        let error = self.error(skipped.error.clone());
        Skipped {
            error,
            ..skipped.into()
        }
    }

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
        let error = two_formats(error, self.file_format, &self.files, &self.inputs);
        error.of_sampled(&self.sampled)
    }

    /// Says whether the file of a place is packed as a whole: offsets are then those of the unpacked
    /// file.
    fn note_packed(&self, place: &mut Place) {
        let path = place.location.as_ref().and_then(Location::path);
        place.unpacked = path.is_some_and(|path| self.inputs.packed.packing(path).is_some());
    }
}
