//! The pipeline on deflate against inflating and nothing else.

use atds::Codec;
use atds::generate::Preset;
use libdeflater::Decompressor;

use super::Comparison;
use crate::measure::in_turn;
use crate::pipeline::{epochs, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "inflate",
    about: "the pipeline on deflate against libdeflate inflating the same blocks, one thread",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let files = lab.data.of(Preset::Ads, Codec::Deflate)?;
    let blocks = files.blocks()?;
    let records = blocks.iter().map(|block| block.count).sum();
    let mut library = Decompressor::new();
    let mut out = vec![0; MAX_BLOCK_BYTES];
    let [ours, bare] = in_turn(
        lab.effort,
        [
            epochs(pipeline(&files, Preset::Ads))?,
            Box::new(|| {
                for block in &blocks {
                    library.deflate_decompress(&block.payload, &mut out)?;
                }
                Ok(records)
            }),
        ],
    )?;
    let row = Row::time(
        "ads, deflate",
        ("pipeline", &ours),
        ("libdeflate alone", &bare),
    );
    Ok(vec![row.at_most(1.25)])
}

/// Above any block of the sample files.
pub(super) const MAX_BLOCK_BYTES: usize = 1 << 16;
