//! Block sizes and record sizes, in bytes a second.

use atds::{DType, Feature, Features};
use atds_generate::{GenerateOptions, Preset, RecordShape};

use super::{Comparison, of_each};
use crate::data::RECORDS;
use crate::measure::Times;
use crate::pipeline::{epochs, in_batches};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "blocks",
    about: "a block size beside the next, for small and large records, codec null, one thread",
    measure,
};

/// The size at which [`WriterOptions`](avro_block::WriterOptions) close a block, and its label.
const BLOCKS: [(usize, &str); 4] = [
    (4_000, "4 KB"),
    (16_000, "16 KB"),
    (64_000, "64 KB"),
    (1_000_000, "1 MB"),
];

/// Records of one kind.
struct Records {
    name: &'static str,
    shape: RecordShape,
    count: u64,
    /// Records of a batch: some megabytes.
    batch_size: usize,
}

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    of_each([small()?, ads(), large()?], |kind| rows(lab, &kind))
}

/// Three scalars: some ten bytes.
fn small() -> Result<Records> {
    Ok(Records {
        name: "3 scalars",
        shape: shape([
            Feature::dense("a", &[], DType::Int32),
            Feature::dense("b", &[], DType::Int64),
            Feature::dense("c", &[], DType::Float32),
        ])?,
        count: 50 * RECORDS,
        batch_size: 65_536,
    })
}

/// About 2 KB.
fn ads() -> Records {
    Records {
        name: "ads",
        shape: Preset::Ads.into(),
        count: RECORDS,
        batch_size: 1_024,
    }
}

/// 100 KB of floats.
fn large() -> Result<Records> {
    Ok(Records {
        name: "100 KB",
        shape: shape([Feature::dense("image", &[25_000], DType::Float32)])?,
        count: RECORDS / 50,
        batch_size: 16,
    })
}

fn shape<const N: usize>(features: [Feature; N]) -> Result<RecordShape> {
    // The mean length of lists without a fixed length.
    Ok(RecordShape::of_features(&Features::new(features)?, 1.0)?)
}

/// A row for each two neighbouring sizes, the slower size first.
fn rows(lab: &Lab, records: &Records) -> Result<Vec<Row>> {
    let mut sides = Vec::new();
    let mut bytes = Vec::new();
    for (block_bytes, _) in BLOCKS {
        let mut options = GenerateOptions::new(records.shape.clone(), records.count);
        options.block_bytes = block_bytes;
        let name = format!("{}-blocks-{block_bytes}", records.name.replace(' ', "-"));
        let files = lab.data.generated(&name, options)?;
        bytes.push(files.payload_bytes()?);
        let builder = in_batches(&files, records.batch_size);
        sides.push(epochs(builder.features(records.shape.features().to_vec()))?);
    }
    let row = |pair: &[(&str, Times)]| {
        let [mut slow, mut fast] = [&pair[0], &pair[1]].map(|(label, times)| (*label, times));
        if slow.1.median_speed() > fast.1.median_speed() {
            (slow, fast) = (fast, slow);
        }
        Row::speed(records.name, slow, fast).at_least(0.5)
    };
    lab.rows_of_all(sides, |times| {
        let times = times.iter().zip(&bytes);
        let times = times.map(|(times, &bytes)| times.clone().of_bytes(bytes));
        let sides: Vec<_> = BLOCKS.map(|block| block.1).into_iter().zip(times).collect();
        sides.windows(2).map(row).collect()
    })
}
