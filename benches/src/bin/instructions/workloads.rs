//! What is counted.

use std::hint::black_box;
use std::path::Path;

use atds::generate::{GenerateOptions, Preset, generate};
use atds::{Codec, Dataset, Features, Threads};
use atds_benches::runs::{Decoder, runs};
use tempfile::TempDir;

use crate::Result;

/// A workload, always the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) counted: Counted,
    run: fn(&Path) -> Result<()>,
    batches: usize,
}

/// The part that is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counted {
    /// What runs within functions with this in their names.
    Within(&'static str),
    /// The process, from start to end, on all its threads.
    Process,
}

impl Workload {
    /// Records that are counted.
    pub(crate) fn records(&self) -> usize {
        self.batches * BATCH_SIZE
    }
}

pub(crate) const WORKLOADS: [Workload; 3] = [
    Workload {
        name: "decode",
        about: "inflated blocks of ads to batches, all features",
        counted: Counted::Within("counted_batches"),
        run: |_| decode(|_| true),
        batches: DECODED,
    },
    Workload {
        name: "skip",
        about: "inflated blocks of ads to batches, one scalar of 19 features",
        counted: Counted::Within("counted_batches"),
        run: |_| decode(|name| name == "s_label"),
        batches: DECODED,
    },
    Workload {
        name: "deflate",
        about: "the pipeline on deflate, one thread besides the reader, with start and end",
        counted: Counted::Process,
        run: pipeline,
        batches: EPOCHS * FILES,
    },
];

const BATCH_SIZE: usize = 1_024;

/// Batches of the workloads that decode only.
const DECODED: usize = 4;

/// Epochs over the files, each of which has the records of a batch.
const EPOCHS: usize = 5;
const FILES: usize = 2;

/// Runs the workload `name`.
pub(crate) fn run(name: &str, files: &Path) -> Result<()> {
    let workload = WORKLOADS.iter().find(|workload| workload.name == name);
    (workload.ok_or("no such workload")?.run)(files)
}

/// The files that workloads read.
pub(crate) fn files() -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let mut options = GenerateOptions::new(Preset::Ads, (FILES * BATCH_SIZE) as u64);
    (options.files, options.codec) = (FILES, Codec::Deflate);
    generate(folder.path(), &options)?;
    Ok(folder)
}

fn decode(selected: impl Fn(&str) -> bool) -> Result<()> {
    let mut features = Preset::Ads.features();
    features.retain(|feature| selected(&feature.name));
    let mut decoder = Decoder::new(&Features::new(features)?);
    let runs = runs(DECODED, BATCH_SIZE);
    // So that memory is there, as it is after the first batches of an epoch.
    runs.iter().for_each(|runs| drop(decoder.batch(runs)));
    counted_batches(|| {
        runs.iter()
            .for_each(|runs| drop(black_box(decoder.batch(runs))))
    });
    Ok(())
}

/// Named to be found by callgrind.
#[inline(never)]
fn counted_batches(batches: impl FnOnce()) {
    batches();
    // A call in place of a jump, so that the end of it is seen.
    black_box(());
}

fn pipeline(files: &Path) -> Result<()> {
    let dataset = Dataset::builder(files, BATCH_SIZE)
        .features(Preset::Ads.features())
        .threads(Threads::Fixed(1))
        .epochs(EPOCHS as u64)
        .build()?;
    for batch in &dataset {
        black_box(batch?);
    }
    Ok(())
}
