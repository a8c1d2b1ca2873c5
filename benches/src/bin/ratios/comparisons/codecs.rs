//! Every codec: the pipeline against inflating alone and the pipeline on inflated files.

use atds::Codec;
use atds::generate::{GenerateOptions, Preset};
use avro_block::{InflateBuffer, Inflater};

use super::Comparison;
use crate::data::RECORDS;
use crate::measure::in_turn;
use crate::pipeline::{epochs, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "codecs",
    about: "each codec against inflating its blocks, then the pipeline on null, one thread",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let compressed = Codec::ALL.into_iter().filter(|codec| *codec != Codec::Null);
    compressed.map(|codec| row(lab, codec)).collect()
}

fn row(lab: &Lab, codec: Codec) -> Result<Row> {
    let records = match codec {
        // They take ten times as long as the others.
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
    let (mut inflater, mut out) = (Inflater::new(), InflateBuffer::new());
    let [ours, inflating, on_null] = in_turn(
        lab.effort,
        [
            epochs(pipeline(&files, Preset::Ads))?,
            Box::new(|| {
                for block in &blocks {
                    inflater.inflate(codec, &block.payload, &mut out, MAX_BLOCK_BYTES)?;
                }
                Ok(records)
            }),
            epochs(pipeline(&inflated, Preset::Ads))?,
        ],
    )?;
    let parts = inflating.and_then(&on_null);
    let row = Row::time(
        format!("ads, {codec}"),
        ("pipeline", &ours),
        ("inflating + null", &parts),
    );
    Ok(row.at_most(1.1))
}

/// Above any block of the sample files.
const MAX_BLOCK_BYTES: usize = 1 << 16;
