//! The pipeline as a side of a comparison.

use atds::{Dataset, DatasetBuilder, Threads};
use atds_generate::Preset;

use crate::Result;
use crate::data::Files;
use crate::measure::Epoch;

/// Number of records of a batch, unless a comparison says otherwise.
pub(crate) const BATCH_SIZE: usize = 1_024;

/// A pipeline of all features of `preset` from mapped files, in order, on one thread.
pub(crate) fn pipeline(files: &Files, preset: Preset) -> DatasetBuilder {
    in_batches(files, BATCH_SIZE).features(preset.features())
}

/// As [`pipeline`], with given features and batch size.
pub(crate) fn in_batches(files: &Files, batch_size: usize) -> DatasetBuilder {
    Dataset::builder(files.folder.as_path(), batch_size)
        .threads(Threads::Fixed(1))
        .mmap(true)
}

/// Runs epochs of a data set and drops the batches. Starting and ending the threads and opening the files
/// are part of an epoch; checking the options is not.
pub(crate) fn epochs<'a>(builder: DatasetBuilder) -> Result<Epoch<'a>> {
    let dataset = builder.build()?;
    Ok(Box::new(move || {
        let mut records = 0;
        for batch in &dataset {
            records += batch?.rows() as u64;
        }
        Ok(records)
    }))
}
