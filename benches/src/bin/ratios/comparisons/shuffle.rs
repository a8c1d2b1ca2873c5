//! The cost of shuffling.

use atds::Codec;
use atds_generate::Preset;

use super::{Comparison, of_each};
use crate::pipeline::{epochs, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "shuffle",
    about: "a shuffle buffer of 8,192 records beside reading in order, one thread",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let codecs = [(Codec::Null, 1.35), (Codec::Deflate, 1.05)];
    let row = |(codec, most)| -> Result<Vec<Row>> {
        let files = lab.data.of(Preset::Ads, codec)?;
        let shuffled = pipeline(&files, Preset::Ads)
            .shuffle_buffer_size(8_192)
            .seed(1);
        let in_order = pipeline(&files, Preset::Ads);
        lab.rows(
            [epochs(shuffled)?, epochs(in_order)?],
            |[shuffled, in_order]| {
                let (a, b) = (("shuffled", shuffled), ("in order", in_order));
                vec![Row::time(format!("ads, {codec}"), a, b).at_most(most)]
            },
        )
    };
    of_each(codecs, row)
}
