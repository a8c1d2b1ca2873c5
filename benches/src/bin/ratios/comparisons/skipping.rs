//! Reading one scalar, compared with reading all features.

use atds::{Codec, Feature};
use atds_generate::{GenerateOptions, Preset};

use super::Comparison;
use crate::data::{Files, RECORDS};
use crate::measure::Epoch;
use crate::pipeline::{BATCH_SIZE, epochs, in_batches, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "skipping",
    about: "one scalar beside all features, codec null, one thread",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    Ok([scalars(lab)?, byte_sizes(lab)?, strings(lab)?].concat())
}

/// The first scalar, a scalar in the middle and the string, among arrays of plain values.
fn scalars(lab: &Lab) -> Result<Vec<Row>> {
    let files = lab.data.of(Preset::Ads, Codec::Null)?;
    let sides = [
        one(&files, Preset::Ads, "s_label")?,
        one(&files, Preset::Ads, "s_member")?,
        one(&files, Preset::Ads, "s_country")?,
        epochs(pipeline(&files, Preset::Ads))?,
    ];
    lab.rows(sides, |[label, member, country, all]| {
        let row = |name, one| {
            let (a, b) = ((name, one), ("all 19", all));
            Row::speed(format!("ads, {name}"), a, b).at_least(3.0)
        };
        vec![
            row("s_label", label),
            row("s_member", member),
            row("s_country", country),
        ]
    })
}

/// The first scalar among the same arrays with byte sizes. These sides run in rounds of their own, because
/// files that other sides read too would be in a large cache more often.
fn byte_sizes(lab: &Lab) -> Result<Vec<Row>> {
    let plain = lab.data.of(Preset::Ads, Codec::Null)?;
    let sized = with_byte_sizes(lab, Preset::Ads)?;
    let sides = [
        one(&sized, Preset::Ads, "s_label")?,
        one(&plain, Preset::Ads, "s_label")?,
    ];
    lab.rows(sides, |[sized, plain]| {
        let (sized, plain) = (("byte sizes", sized), ("none", plain));
        vec![Row::speed("ads, s_label, arrays with byte sizes", sized, plain).at_least(1.0)]
    })
}

/// A scalar among arrays of strings.
fn strings(lab: &Lab) -> Result<Vec<Row>> {
    let plain = lab.data.of(Preset::Strings, Codec::Null)?;
    let sized = with_byte_sizes(lab, Preset::Strings)?;
    let sides = [
        one(&plain, Preset::Strings, "s_country")?,
        one(&sized, Preset::Strings, "s_country")?,
        epochs(pipeline(&plain, Preset::Strings))?,
        epochs(pipeline(&sized, Preset::Strings))?,
    ];
    lab.rows(sides, |[one_plain, one_sized, all_plain, all_sized]| {
        let row =
            |what, one, all| Row::speed(what, ("s_country", one), ("all 10", all)).at_least(4.0);
        let sized = "strings, s_country, arrays with byte sizes";
        vec![
            row("strings, s_country", one_plain, all_plain),
            row(sized, one_sized, all_sized),
        ]
    })
}

fn with_byte_sizes(lab: &Lab, preset: Preset) -> Result<Files> {
    let mut options = GenerateOptions::new(preset, RECORDS);
    options.byte_sizes = true;
    lab.data.generated(&format!("{preset}-byte-sizes"), options)
}

/// A pipeline of the feature `name` alone.
fn one<'a>(files: &Files, preset: Preset, name: &str) -> Result<Epoch<'a>> {
    let mut features = preset.features();
    features.retain(|feature: &Feature| feature.name == name);
    epochs(in_batches(files, BATCH_SIZE).features(features))
}
