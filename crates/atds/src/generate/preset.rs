//! The shapes of records to choose from.

use std::fmt;

use serde_json::{Value, json};
use tensor_batch::ColumnSpec;

use super::field::{Field, Length, Values};

/// A shape of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preset {
    /// Advertising: 6 scalars, 8 dense vectors of 8 to 128 values, 5 sparse vectors. About 1,990
    /// bytes a record; deflate makes them smaller by about 1.39.
    #[default]
    Ads,
    /// 210 scalars, 30 of each type.
    Wide,
    /// Arrays of varying length: ranks 1 to 3, of every fixed-width type.
    Varlen,
    /// Strings and bytes: scalars, dense, varlen and sparse.
    Strings,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 4] = [Self::Ads, Self::Wide, Self::Varlen, Self::Strings];

    /// The preset of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// The name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ads => "ads",
            Self::Wide => "wide",
            Self::Varlen => "varlen",
            Self::Strings => "strings",
        }
    }

    /// The Avro schema of the records, as JSON text.
    pub fn schema(self) -> String {
        let fields: Vec<Value> = self.fields().iter().map(Field::schema).collect();
        json!({"type": "record", "name": self.name(), "fields": fields}).to_string()
    }

    /// All fields as columns, in the order of the schema; their dimensions are known where they
    /// are the same in every record.
    pub fn features(self) -> Vec<ColumnSpec> {
        self.fields().iter().map(Field::column).collect()
    }

    pub(super) fn fields(self) -> Vec<Field> {
        match self {
            Self::Ads => ads(),
            Self::Wide => wide(),
            Self::Varlen => varlen(),
            Self::Strings => strings(),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn ads() -> Vec<Field> {
    use Values::{Boolean, Country, Double, Float, Id, Int, Long};
    let dense = |name, values, n| Field::array(name, values, &[Length::Fixed(n)]);
    vec![
        Field::scalar("s_label", Int),
        Field::scalar("s_weight", Float),
        Field::scalar("s_member", Id),
        Field::scalar("s_bid", Double),
        Field::scalar("s_click", Boolean),
        Field::scalar("s_country", Country),
        dense("d0", Float, 8),
        dense("d1", Float, 16),
        dense("d2", Double, 16),
        dense("d3", Long, 32),
        dense("d4", Int, 32),
        dense("d5", Float, 64),
        dense("d6", Float, 64),
        dense("d7", Float, 128),
        Field::sparse("sp0", Float, &[50_001], 12.0),
        Field::sparse("sp1", Float, &[200_000], 25.0),
        Field::sparse("sp2", Float, &[1_000], 6.0),
        Field::sparse("sp3", Long, &[5_000_000], 40.0),
        Field::sparse("sp4", Double, &[100], 4.0),
    ]
}

fn wide() -> Vec<Field> {
    use Values::{Boolean, Bytes, Double, Float, Int, Long, Text};
    let types = [
        ("int", Int),
        ("long", Long),
        ("float", Float),
        ("double", Double),
        ("boolean", Boolean),
        ("string", Text),
        ("bytes", Bytes),
    ];
    let rounds = (0..30).map(|i| types.map(|(name, values)| (format!("{name}_{i}"), values)));
    rounds
        .flatten()
        .map(|(name, values)| Field::scalar(name, values))
        .collect()
}

fn varlen() -> Vec<Field> {
    use Length::{Fixed, Poisson};
    use Values::{Boolean, Double, Float, Id, Int, Long};
    vec![
        Field::scalar("label", Int),
        Field::array("v1_int", Int, &[Poisson(20.0)]),
        Field::array("v1_long", Id, &[Poisson(10.0)]),
        Field::array("v1_float", Float, &[Poisson(40.0)]),
        Field::array("v1_double", Double, &[Poisson(8.0)]),
        Field::array("v1_boolean", Boolean, &[Poisson(16.0)]),
        Field::array("v2_float", Float, &[Poisson(5.0), Poisson(6.0)]),
        Field::array("v2_long", Long, &[Poisson(3.0), Poisson(12.0)]),
        Field::array("v2_pairs", Int, &[Poisson(8.0), Fixed(2)]),
        Field::array(
            "v3_float",
            Float,
            &[Poisson(2.0), Poisson(3.0), Poisson(4.0)],
        ),
        Field::array("v3_double", Double, &[Fixed(2), Poisson(2.0), Poisson(3.0)]),
    ]
}

fn strings() -> Vec<Field> {
    use Length::{Fixed, Poisson};
    use Values::{Bytes, Country, Text};
    vec![
        Field::scalar("s_country", Country),
        Field::scalar("s_title", Text),
        Field::scalar("s_token", Bytes),
        Field::array("d_words", Text, &[Fixed(4)]),
        Field::array("d_keys", Bytes, &[Fixed(2), Fixed(2)]),
        Field::array("v_words", Text, &[Poisson(15.0)]),
        Field::array("v_blobs", Bytes, &[Poisson(5.0)]),
        Field::array("v_sentences", Text, &[Poisson(3.0), Poisson(6.0)]),
        Field::sparse("sp_words", Text, &[10_000], 8.0),
        Field::sparse("sp_cells", Bytes, &[100, 100], 4.0),
    ]
}
