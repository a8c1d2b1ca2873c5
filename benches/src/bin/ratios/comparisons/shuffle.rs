//! What shuffling costs.

use atds::Codec;
use atds::generate::Preset;

use super::Comparison;
use crate::measure::in_turn;
use crate::pipeline::{epochs, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "shuffle",
    about: "a shuffle buffer of 8,192 records against reading in order, one thread",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let codecs = [(Codec::Null, 1.35), (Codec::Deflate, 1.05)];
    let row = |(codec, most)| {
        let files = lab.data.of(Preset::Ads, codec)?;
        let shuffled = pipeline(&files, Preset::Ads)
            .shuffle_buffer_size(8_192)
            .seed(1);
        let in_order = pipeline(&files, Preset::Ads);
        let [shuffled, in_order] = in_turn(lab.effort, [epochs(shuffled)?, epochs(in_order)?])?;
        let (a, b) = (("shuffled", &shuffled), ("in order", &in_order));
        Ok(Row::time(format!("ads, {codec}"), a, b).at_most(most))
    };
    codecs.into_iter().map(row).collect()
}
