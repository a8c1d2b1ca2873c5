//! Shapes of generated records: the fields, and the features that read them.

use atds_features::{Feature, Fill};
use tensor_batch::{ColumnSpec, Scalar, UNKNOWN};

use crate::field::{Field, Length, Type, Values, record_schema};
use crate::preset::Preset;

/// The shape of records to generate: a schema and the distributions of its values. It is made from
/// a [`Preset`] or [from features](RecordShape::of_features).
#[derive(Clone, Debug)]
pub struct RecordShape {
    pub(crate) preset: Option<Preset>,
    /// The name of the record in its schema.
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
    pub(crate) features: Vec<Feature>,
}

impl RecordShape {
    /// The Avro schema of the records, as JSON text.
    pub fn schema(&self) -> String {
        record_schema(&self.name, &self.fields).to_string()
    }

    /// Features that read the records.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// The preset that has this shape.
    pub fn preset(&self) -> Option<Preset> {
        self.preset
    }

    /// The shape of `preset`, with these columns in this order.
    pub(crate) fn of_columns(preset: Preset, columns: Vec<Column>) -> Self {
        let columns = columns
            .into_iter()
            .map(|column| (column.field, column.feature));
        let (fields, features) = columns.unzip();
        RecordShape {
            preset: Some(preset),
            // Avro's names have no hyphens.
            name: preset.name().replace('-', "_"),
            fields,
            features,
        }
    }
}

impl From<Preset> for RecordShape {
    fn from(preset: Preset) -> Self {
        preset.shape()
    }
}

/// A field, and the feature that reads it.
pub(crate) struct Column {
    field: Field,
    feature: Feature,
}

impl Column {
    pub(crate) fn scalar(name: impl Into<String>, values: Values) -> Self {
        Self::array(name, values, &[])
    }

    /// Nested arrays, the outermost length first; dense if all lengths are fixed.
    pub(crate) fn array(name: impl Into<String>, values: Values, lengths: &[Length]) -> Self {
        let (name, dtype) = (name.into(), values.dtype());
        let fixed: Option<Vec<usize>> = lengths.iter().map(|length| length.fixed()).collect();
        let column = match fixed {
            Some(shape) => ColumnSpec::dense(&name, &shape, dtype),
            None => {
                let dim = |length: &Length| length.fixed().map_or(UNKNOWN, |n| n as i64);
                let shape: Vec<i64> = lengths.iter().map(dim).collect();
                ColumnSpec::varlen(&name, &shape, dtype)
            }
        };
        Column {
            field: Field::new(name, Type::arrays(values, lengths)),
            feature: column.into(),
        }
    }

    /// A sparse record of `mean` values.
    pub(crate) fn sparse(name: impl Into<String>, values: Values, dims: &[u64], mean: f64) -> Self {
        let (name, dims) = (name.into(), dims.to_vec());
        let shape: Vec<i64> = dims.iter().map(|&dim| dim as i64).collect();
        Column {
            feature: ColumnSpec::sparse(&name, &shape, values.dtype()).into(),
            field: Field::new(name, Type::Sparse { values, dims, mean }),
        }
    }

    /// The column with some nulls, which are read as 0, false, the empty string, or no entries.
    pub(crate) fn nullable(self) -> Self {
        let Field { name, ty } = self.field;
        let zero = Scalar::zero(self.feature.dtype);
        Column {
            field: Field::new(name, Type::Nullable(Box::new(ty))),
            feature: self.feature.with_default(Fill::Scalar(zero)),
        }
    }
}
