//! Presets: predefined shapes of records.

use std::fmt;

use atds_features::Feature;

use crate::field::{Length, Values};
use crate::people;
use crate::shape::{Column, RecordShape};

/// A shape of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preset {
    /// Advertising: 6 scalars, 8 dense vectors of 8 to 128 values, 5 sparse vectors. About 1,990
    /// bytes a record; deflate compresses them by a factor of about 1.39.
    #[default]
    Ads,
    /// The fields of [`Preset::Ads`], each in a union with null; 5 % of the values are null.
    AdsNullable,
    /// 210 scalars, 30 of each type.
    Wide,
    /// Arrays of varying length: ranks 1 to 3, of every fixed-width type.
    Varlen,
    /// Strings and bytes: scalars, dense, varlen and sparse.
    Strings,
    /// Nested records: a person with addresses, friends who have addresses and jobs, and a map of
    /// cars; read by eight path expressions, two of them filters. Every person has three friends
    /// or more and a car under the key `nickname`, and no list is empty.
    People,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 6] = [
        Self::Ads,
        Self::AdsNullable,
        Self::Wide,
        Self::Varlen,
        Self::Strings,
        Self::People,
    ];

    /// The preset of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// The name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ads => "ads",
            Self::AdsNullable => "ads-nullable",
            Self::Wide => "wide",
            Self::Varlen => "varlen",
            Self::Strings => "strings",
            Self::People => "people",
        }
    }

    /// The Avro schema of the records, as JSON text.
    pub fn schema(self) -> String {
        self.shape().schema()
    }

    /// Features that read the records: all fields, in the order of the schema; for
    /// [`Preset::People`], path expressions. Dimensions are known if they are the same in every
    /// record. A null is read as 0, false or the empty string, and in a sparse feature as no
    /// entries.
    pub fn features(self) -> Vec<Feature> {
        self.shape().features().to_vec()
    }

    pub(crate) fn shape(self) -> RecordShape {
        let columns = match self {
            Self::People => return people::shape(),
            Self::Ads => ads(),
            Self::AdsNullable => ads().into_iter().map(Column::nullable).collect(),
            Self::Wide => wide(),
            Self::Varlen => varlen(),
            Self::Strings => strings(),
        };
        RecordShape::of_columns(self, columns)
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn ads() -> Vec<Column> {
    use Values::{Boolean, Double, Float, Id, Int, Long, Word};
    let dense = |name, values, n| Column::array(name, values, &[Length::Fixed(n)]);
    vec![
        Column::scalar("s_label", Int),
        Column::scalar("s_weight", Float),
        Column::scalar("s_member", Id),
        Column::scalar("s_bid", Double),
        Column::scalar("s_click", Boolean),
        Column::scalar("s_country", Word(&COUNTRIES)),
        dense("d0", Float, 8),
        dense("d1", Float, 16),
        dense("d2", Double, 16),
        dense("d3", Long, 32),
        dense("d4", Int, 32),
        dense("d5", Float, 64),
        dense("d6", Float, 64),
        dense("d7", Float, 128),
        Column::sparse("sp0", Float, &[50_001], 12.0),
        Column::sparse("sp1", Float, &[200_000], 25.0),
        Column::sparse("sp2", Float, &[1_000], 6.0),
        Column::sparse("sp3", Long, &[5_000_000], 40.0),
        Column::sparse("sp4", Double, &[100], 4.0),
    ]
}

fn wide() -> Vec<Column> {
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
        .map(|(name, values)| Column::scalar(name, values))
        .collect()
}

fn varlen() -> Vec<Column> {
    use Length::{Fixed, Poisson};
    use Values::{Boolean, Double, Float, Id, Int, Long};
    vec![
        Column::scalar("label", Int),
        Column::array("v1_int", Int, &[Poisson(20.0)]),
        Column::array("v1_long", Id, &[Poisson(10.0)]),
        Column::array("v1_float", Float, &[Poisson(40.0)]),
        Column::array("v1_double", Double, &[Poisson(8.0)]),
        Column::array("v1_boolean", Boolean, &[Poisson(16.0)]),
        Column::array("v2_float", Float, &[Poisson(5.0), Poisson(6.0)]),
        Column::array("v2_long", Long, &[Poisson(3.0), Poisson(12.0)]),
        Column::array("v2_pairs", Int, &[Poisson(8.0), Fixed(2)]),
        Column::array(
            "v3_float",
            Float,
            &[Poisson(2.0), Poisson(3.0), Poisson(4.0)],
        ),
        Column::array("v3_double", Double, &[Fixed(2), Poisson(2.0), Poisson(3.0)]),
    ]
}

fn strings() -> Vec<Column> {
    use Length::{Fixed, Poisson};
    use Values::{Bytes, Text, Word};
    vec![
        Column::scalar("s_country", Word(&COUNTRIES)),
        Column::scalar("s_title", Text),
        Column::scalar("s_token", Bytes),
        Column::array("d_words", Text, &[Fixed(4)]),
        Column::array("d_keys", Bytes, &[Fixed(2), Fixed(2)]),
        Column::array("v_words", Text, &[Poisson(15.0)]),
        Column::array("v_blobs", Bytes, &[Poisson(5.0)]),
        Column::array("v_sentences", Text, &[Poisson(3.0), Poisson(6.0)]),
        Column::sparse("sp_words", Text, &[10_000], 8.0),
        Column::sparse("sp_cells", Bytes, &[100, 100], 4.0),
    ]
}

/// ISO 3166-1 codes.
const COUNTRIES: [&str; 16] = [
    "AU", "BR", "CA", "CN", "DE", "ES", "FR", "GB", "ID", "IN", "IT", "JP", "MX", "NG", "US", "ZA",
];
