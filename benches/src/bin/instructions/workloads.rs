//! The workloads.

use std::hint::black_box;

use atds::{Codec, Features};
use atds_benches::runs::{Decoder, runs};
use atds_generate::{GenerateOptions, Preset};

use crate::Result;

/// A workload: always the same work, on one thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    codec: Codec,
    selected: fn(&str) -> bool,
}

pub(crate) const WORKLOADS: [Workload; 3] = [
    Workload {
        name: "decode",
        about: "decompressed blocks of ads to batches, all features",
        codec: Codec::Null,
        selected: |_| true,
    },
    Workload {
        name: "skip",
        about: "decompressed blocks of ads to batches, one scalar of 19 features",
        codec: Codec::Null,
        selected: |name| name == "s_label",
    },
    Workload {
        name: "deflate",
        about: "blocks of ads in deflate to batches, all features",
        codec: Codec::Deflate,
        selected: |_| true,
    },
];

/// Number of records.
pub(crate) const RECORDS: usize = BATCHES * BATCH_SIZE;

const BATCHES: usize = 4;
const BATCH_SIZE: usize = 1_024;

/// Part of the name of the function whose instructions are counted.
pub(crate) const COUNTED: &str = "counted_batches";

/// Runs the workload `name`.
pub(crate) fn run(name: &str) -> Result<()> {
    let workload = WORKLOADS.iter().find(|workload| workload.name == name);
    let workload = workload.ok_or("no such workload")?;
    let mut features = Preset::Ads.features();
    features.retain(|feature| (workload.selected)(&feature.name));
    let mut decoder = Decoder::new(Preset::Ads, &Features::new(features)?);
    let mut options = GenerateOptions::new(Preset::Ads, 0);
    options.codec = workload.codec;
    let runs = runs(options, BATCHES, BATCH_SIZE);
    // The first run allocates memory; later runs reuse it, as batches of an epoch do.
    runs.iter().for_each(|runs| drop(decoder.batch(runs)));
    counted_batches(|| {
        runs.iter()
            .for_each(|runs| drop(black_box(decoder.batch(runs))))
    });
    Ok(())
}

/// See [`COUNTED`].
#[inline(never)]
fn counted_batches(batches: impl FnOnce()) {
    batches();
    // The last call must not become a jump, which would not return through this function.
    black_box(());
}
