//! Two threads against one.

use atds::generate::Preset;
use atds::{Codec, Threads};

use super::Comparison;
use crate::measure::in_turn;
use crate::pipeline::{epochs, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "threads",
    about: "two threads against one",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    // Null is bound by memory.
    let codecs = [(Codec::Deflate, 1.85), (Codec::Null, 1.6)];
    let row = |(codec, least)| {
        let files = lab.data.of(Preset::Ads, codec)?;
        let with = |threads| epochs(pipeline(&files, Preset::Ads).threads(Threads::Fixed(threads)));
        let [two, one] = in_turn(lab.epochs, [with(2)?, with(1)?])?;
        let what = format!("ads, {codec}");
        Ok(Row::speed(what, ("two", &two), ("one", &one)).at_least(least))
    };
    codecs.into_iter().map(row).collect()
}
