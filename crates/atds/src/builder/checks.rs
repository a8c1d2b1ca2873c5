//! Checks of the options of a dataset.

use atds_pipeline::Options;
use tensor_batch::{BatchSpec, ColumnSpec, DType};

use crate::builder::DatasetBuilder;
use crate::damage::MaxSkipped;
use crate::interleave::check_turns;
use crate::iteration::no_shuffling;
use crate::limits::{MAX_PREFETCH, MAX_THREADS};
use crate::source::OnceInputs;
use crate::{Error, ErrorKind, Threads};

impl DatasetBuilder {
    /// An error if an option is out of its range, or two contradict each other.
    pub(super) fn check_options(&self) -> Result<(), Error> {
        let is_fraction = |max| match max {
            MaxSkipped::Fraction(part) => (0.0..=1.0).contains(&part),
            MaxSkipped::Records(_) => true,
        };
        let is_right = self.run.skips.max.is_none_or(is_fraction);
        Error::check(
            is_right,
            "max_skipped",
            "a number of records, or a part from 0 to 1",
        )?;
        let pipeline = &self.run.pipeline;
        Error::check(pipeline.batch_size > 0, "batch_size", "above 0")?;
        let is_apart = pipeline.shuffle_files || pipeline.shuffle_blocks;
        let is_right = !(pipeline.shuffle_runs && is_apart);
        let must =
            "\"none\" beside `shuffle_files` and `shuffle_blocks`, whose orders it would replace";
        Error::check(is_right, "shuffle", must)?;
        check_turns(pipeline)?;
        self.run.reading.check()?;
        Error::check(
            pipeline.prefetch <= MAX_PREFETCH,
            "prefetch",
            "at most 1024",
        )?;
        let threads = match self.run.threads {
            Threads::Fixed(threads) | Threads::UpTo(threads) => threads,
            Threads::Auto => 1,
        };
        let is_right = (1..=MAX_THREADS).contains(&threads);
        Error::check(is_right, "threads", "from 1 to 1024, or automatic")?;
        let is_empty = self.features.as_ref().is_some_and(Vec::is_empty);
        Error::check(!is_empty, "features", "at least one, or not given")
    }

    /// An error if blocks are shuffled and a file that was opened is packed as a whole.
    pub(crate) fn check_packed(&self, inputs: &OnceInputs) -> Result<(), Error> {
        let reason = no_shuffling(&self.run.pipeline);
        match reason.zip(inputs.packed.first()) {
            Some((reason, (path, packing))) => {
                Err(Error::new(ErrorKind::Packed { packing, reason }).in_file(&path))
            }
            None => Ok(()),
        }
    }

    /// An error if the options need to read an input twice that can be read only once.
    pub(super) fn check_once(&self, inputs: &OnceInputs) -> Result<(), Error> {
        let run = &self.run;
        let reason = if run.epochs > 1 {
            "set `epochs` to 1"
        } else if run.pipeline.shuffle_runs {
            "leave `shuffle=\"blocks\"` out"
        } else if run.pipeline.shuffle_blocks {
            "leave `shuffle_blocks` out"
        } else if run.mmap {
            "leave `mmap` out"
        } else if self.split.is_some() {
            "leave `split` out, which tells records by the names of their files"
        } else {
            return Ok(());
        };
        inputs.refuse(reason)
    }
}

/// The columns of the features, and those of the pipeline: the places of records, the mask.
pub(super) fn with_own_columns(spec: &BatchSpec, pipeline: &Options) -> Result<BatchSpec, Error> {
    let places = |name| ("provenance", ColumnSpec::dense(name, &[2], DType::Int64));
    let mask = |name| ("mask", ColumnSpec::dense(name, &[], DType::Bool));
    let own = pipeline.provenance.iter().map(places);
    let mut spec = spec.clone();
    for (option, column) in own.chain(pipeline.mask.iter().map(mask)) {
        let mut columns = spec.columns().to_vec();
        columns.push(column);
        let must = "a name that no other column has";
        spec = BatchSpec::new(columns).map_err(|_| Error::option(option, must))?;
    }
    Ok(spec)
}
