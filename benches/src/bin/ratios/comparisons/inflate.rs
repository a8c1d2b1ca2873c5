//! The pipeline on deflate beside decompression alone.

use atds::Codec;
use atds_generate::Preset;
use libdeflater::Decompressor;

use super::Comparison;
use crate::measure::Epoch;
use crate::pipeline::{epochs, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "inflate",
    about: "the pipeline on deflate beside libdeflate on the same blocks, one thread",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let files = lab.data.of(Preset::Ads, Codec::Deflate)?;
    let blocks = files.blocks()?;
    let records = blocks.iter().map(|block| block.count).sum();
    let mut library = Decompressor::new();
    let mut out = vec![0; MAX_BLOCK_BYTES];
    let bare: Epoch<'_> = Box::new(|| {
        for block in &blocks {
            library.deflate_decompress(&block.payload, &mut out)?;
        }
        Ok(records)
    });
    let ours = epochs(pipeline(&files, Preset::Ads))?;
    lab.rows([ours, bare], |[ours, bare]| {
        let (a, b) = (("pipeline", ours), ("libdeflate alone", bare));
        vec![Row::time("ads, deflate", a, b).at_most(1.25)]
    })
}

/// A limit above each block of the sample files.
pub(super) const MAX_BLOCK_BYTES: usize = 1 << 16;
