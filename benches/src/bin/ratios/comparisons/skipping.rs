//! One scalar against all features.

use atds::generate::Preset;
use atds::Codec;

use super::Comparison;
use crate::data::Files;
use crate::measure::{Epoch, in_turn};
use crate::pipeline::{BATCH_SIZE, epochs, in_batches, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "skipping",
    about: "one scalar against all features, null codec, one thread",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let ads = lab.data.of(Preset::Ads, Codec::Null)?;
    let [label, member, country, all] = in_turn(
        lab.epochs,
        [
            one(&ads, Preset::Ads, "s_label")?,
            one(&ads, Preset::Ads, "s_member")?,
            one(&ads, Preset::Ads, "s_country")?,
            epochs(pipeline(&ads, Preset::Ads))?,
        ],
    )?;
    let row = |name, times| {
        let all = ("all 19", &all);
        Row::speed(format!("ads, {name}"), (name, times), all).at_least(3.0)
    };
    let mut rows = vec![
        row("s_label", &label),
        row("s_member", &member),
        row("s_country", &country),
    ];

    let strings = lab.data.of(Preset::Strings, Codec::Null)?;
    let [one, all] = in_turn(
        lab.epochs,
        [
            one(&strings, Preset::Strings, "s_country")?,
            epochs(pipeline(&strings, Preset::Strings))?,
        ],
    )?;
    let row = Row::speed("strings, s_country", ("s_country", &one), ("all 10", &all));
    rows.push(row.at_least(4.0));
    Ok(rows)
}

/// Epochs of the feature `name` alone.
fn one<'a>(files: &Files, preset: Preset, name: &str) -> Result<Epoch<'a>> {
    let mut features = preset.features();
    features.retain(|feature| feature.name == name);
    epochs(in_batches(files, BATCH_SIZE).features(features))
}
