//! Nullable fields beside plain fields.

use atds::Codec;
use atds_generate::Preset;

use super::Comparison;
use crate::pipeline::{epochs, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "nullable",
    about: "each field a union with null, 5 % of values null, beside plain fields, codec null, one thread",
    measure,
};

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let of = |preset| epochs(pipeline(&lab.data.of(preset, Codec::Null)?, preset));
    let sides = [of(Preset::AdsNullable)?, of(Preset::Ads)?];
    lab.rows(sides, |[nullable, plain]| {
        vec![Row::speed("ads", ("nullable", nullable), ("plain", plain)).at_least(0.8)]
    })
}
