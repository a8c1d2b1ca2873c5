//! The pipeline beside a loop written by hand for one schema.

use std::hint::black_box;

use atds::Codec;
use atds_benches::handwritten::HandwrittenLoop;
use atds_generate::Preset;

use super::Comparison;
use crate::measure::Epoch;
use crate::pipeline::{BATCH_SIZE, epochs, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "yardstick",
    about: "the pipeline beside a loop written by hand for the schema, codec null, one thread",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let files = lab.data.of(Preset::Ads, Codec::Null)?;
    let mut handwritten = HandwrittenLoop::new(BATCH_SIZE);
    let by_hand: Epoch<'_> = Box::new(|| {
        Ok(handwritten.epoch(&files.paths, |batch| {
            black_box(batch);
        })?)
    });
    let ours = epochs(pipeline(&files, Preset::Ads))?;
    lab.rows([ours, by_hand], |[ours, by_hand]| {
        let (a, b) = (("pipeline", ours), ("by hand", by_hand));
        vec![Row::speed("ads, null", a, b).at_least(0.85)]
    })
}
