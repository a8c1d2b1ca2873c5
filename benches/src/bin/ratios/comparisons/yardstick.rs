//! The plan against a loop written by hand for the one schema.

use std::hint::black_box;

use atds::Codec;
use atds::generate::Preset;
use atds_benches::handwritten::HandwrittenLoop;

use super::Comparison;
use crate::measure::in_turn;
use crate::pipeline::{BATCH_SIZE, epochs, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "yardstick",
    about: "the pipeline against a loop written by hand for the schema, null codec, one thread",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let files = lab.data.of(Preset::Ads, Codec::Null)?;
    let mut handwritten = HandwrittenLoop::new(BATCH_SIZE);
    let [ours, by_hand] = in_turn(
        lab.effort,
        [
            epochs(pipeline(&files, Preset::Ads))?,
            Box::new(|| {
                Ok(handwritten.epoch(&files.paths, |batch| {
                    black_box(batch);
                })?)
            }),
        ],
    )?;
    let row = Row::speed("ads, null", ("pipeline", &ours), ("by hand", &by_hand));
    Ok(vec![row.at_least(0.85)])
}
