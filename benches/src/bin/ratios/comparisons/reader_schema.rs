//! A reader's schema that lacks fields beside features that do not request them.

use atds::avro::Schema;
use atds::{Codec, Feature};
use atds_generate::Preset;
use serde_json::Value;

use super::Comparison;
use crate::pipeline::{BATCH_SIZE, epochs, in_batches};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "reader",
    about: "fields that the reader's schema lacks beside fields without a feature, one thread",
    measure,
};

/// The names of the fields that are read.
const KEPT: [&str; 4] = ["s_label", "s_country", "d3", "sp1"];

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let files = lab.data.of(Preset::Ads, Codec::Null)?;
    let mut features = Preset::Ads.features();
    features.retain(|feature: &Feature| KEPT.contains(&feature.name.as_str()));
    let writer = in_batches(&files, BATCH_SIZE).features(features);
    let reader = writer.clone().reader_schema(reader_schema()?);
    lab.rows([epochs(reader)?, epochs(writer)?], |[reader, writer]| {
        let (a, b) = (
            ("4 of 19 in the reader's schema", reader),
            ("4 of 19 features", writer),
        );
        vec![Row::speed("ads, null", a, b).at_least(0.95)]
    })
}

/// The preset's schema with the fields [`KEPT`] alone.
fn reader_schema() -> Result<Schema> {
    let mut schema: Value = serde_json::from_str(&Preset::Ads.schema())?;
    let fields = schema["fields"]
        .as_array_mut()
        .ok_or("a record's schema has fields")?;
    fields.retain(|field| {
        field["name"]
            .as_str()
            .is_some_and(|name| KEPT.contains(&name))
    });
    Ok(Schema::parse(&schema.to_string())?)
}
