//! Each codec: the pipeline beside decompression alone plus the pipeline on uncompressed files.

use atds::Codec;
use atds_generate::{GenerateOptions, Preset};
use avro_block::{DecompressBuffer, Decompressor};

use super::{Comparison, of_each};
use crate::data::RECORDS;
use crate::measure::Epoch;
use crate::pipeline::{epochs, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "codecs",
    about: "each codec beside decompressing its blocks, then the pipeline on null, one thread",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let compressed = Codec::ALL.into_iter().filter(|codec| *codec != Codec::Null);
    of_each(compressed, |codec| row(lab, codec))
}

fn row(lab: &Lab, codec: Codec) -> Result<Vec<Row>> {
    let records = match codec {
        // These codecs take ten times as long as the others.
        Codec::Bzip2 | Codec::Xz => RECORDS / 10,
        _ => RECORDS,
    };
    let files = |codec| {
        let mut options = GenerateOptions::new(Preset::Ads, records);
        options.codec = codec;
        lab.data
            .generated(&format!("ads-{codec}-{records}"), options)
    };
    let (files, inflated) = (files(codec)?, files(Codec::Null)?);
    let blocks = files.blocks()?;
    let (mut inflater, mut out) = (Decompressor::new(), DecompressBuffer::new());
    let inflating: Epoch<'_> = Box::new(|| {
        for block in &blocks {
            inflater.decompress(codec, &block.payload, &mut out, MAX_BLOCK_BYTES)?;
        }
        Ok(records)
    });
    let sides = [
        epochs(pipeline(&files, Preset::Ads))?,
        inflating,
        epochs(pipeline(&inflated, Preset::Ads))?,
    ];
    lab.rows(sides, |[ours, inflating, on_null]| {
        let parts = inflating.and_then(on_null);
        let (a, b) = (("pipeline", ours), ("decompressing + null", &parts));
        vec![Row::time(format!("ads, {codec}"), a, b).at_most(1.1)]
    })
}

/// A limit above each block of the sample files.
const MAX_BLOCK_BYTES: usize = 1 << 16;
