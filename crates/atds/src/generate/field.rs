//! What a generated field is: its schema and its column.

use serde_json::{Value, json};
use tensor_batch::{ColumnSpec, DType, UNKNOWN};

/// A field of the generated records.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) values: Values,
    pub(super) shape: Shape,
}

/// How a field's values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Uniform below 1,000; not 0 in a sparse field.
    Int,
    /// Uniform below 1,000; not 0 in a sparse field.
    Long,
    /// A long, uniform below 2^40.
    Id,
    /// Normal, in thousandths, 30 % of them 0; none in a sparse field.
    Float,
    /// Normal, in thousandths, 30 % of them 0; none in a sparse field.
    Double,
    /// True and false alike.
    Boolean,
    /// The two letters of a country.
    Country,
    /// Letters of several alphabets, about 12.
    Text,
    /// Any bytes, about 12.
    Bytes,
}

/// How a field's values are arranged.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// In nested arrays, the outermost length first; a scalar has none.
    Array(Vec<Length>),
    /// In a record of `indices0..` and `values`: distinct cells in row-major order.
    Sparse {
        /// The dimensions.
        dims: Vec<u64>,
        /// The mean number of values, Poisson distributed.
        mean: f64,
    },
}

/// The length of an array.
#[derive(Clone, Copy, Debug)]
pub(super) enum Length {
    /// The same in every record.
    Fixed(usize),
    /// Poisson distributed with this mean.
    Poisson(f64),
}

impl Field {
    pub(super) fn scalar(name: impl Into<String>, values: Values) -> Self {
        Self::array(name, values, &[])
    }

    pub(super) fn array(name: impl Into<String>, values: Values, lengths: &[Length]) -> Self {
        Field {
            name: name.into(),
            values,
            shape: Shape::Array(lengths.to_vec()),
        }
    }

    pub(super) fn sparse(name: impl Into<String>, values: Values, dims: &[u64], mean: f64) -> Self {
        Field {
            name: name.into(),
            values,
            shape: Shape::Sparse {
                dims: dims.to_vec(),
                mean,
            },
        }
    }

    /// The field in its record's schema.
    pub(super) fn schema(&self) -> Value {
        let values = self.values.avro_type();
        let array = |items: Value| json!({"type": "array", "items": items});
        let avro_type = match &self.shape {
            Shape::Array(lengths) => lengths.iter().fold(json!(values), |items, _| array(items)),
            Shape::Sparse { dims, .. } => {
                let indices = (0..dims.len())
                    .map(|i| json!({"name": format!("indices{i}"), "type": array(json!("long"))}));
                let values = json!({"name": "values", "type": array(json!(values))});
                let fields: Vec<Value> = indices.chain([values]).collect();
                json!({"type": "record", "name": format!("{}_sparse", self.name), "fields": fields})
            }
        };
        json!({"name": self.name, "type": avro_type})
    }

    /// The column that the field is read as.
    pub(super) fn column(&self) -> ColumnSpec {
        let dtype = self.values.dtype();
        match &self.shape {
            Shape::Array(lengths) => {
                let fixed: Option<Vec<usize>> =
                    lengths.iter().map(|length| length.fixed()).collect();
                match fixed {
                    Some(shape) => ColumnSpec::dense(&self.name, &shape, dtype),
                    None => {
                        let dim = |length: &Length| length.fixed().map_or(UNKNOWN, |n| n as i64);
                        let shape: Vec<i64> = lengths.iter().map(dim).collect();
                        ColumnSpec::varlen(&self.name, &shape, dtype)
                    }
                }
            }
            Shape::Sparse { dims, .. } => {
                let shape: Vec<i64> = dims.iter().map(|&dim| dim as i64).collect();
                ColumnSpec::sparse(&self.name, &shape, dtype)
            }
        }
    }
}

impl Length {
    fn fixed(self) -> Option<usize> {
        match self {
            Length::Fixed(n) => Some(n),
            Length::Poisson(_) => None,
        }
    }
}

impl Values {
    fn avro_type(self) -> &'static str {
        match self {
            Values::Int => "int",
            Values::Long | Values::Id => "long",
            Values::Float => "float",
            Values::Double => "double",
            Values::Boolean => "boolean",
            Values::Country | Values::Text => "string",
            Values::Bytes => "bytes",
        }
    }

    fn dtype(self) -> DType {
        match self {
            Values::Int => DType::Int32,
            Values::Long | Values::Id => DType::Int64,
            Values::Float => DType::Float32,
            Values::Double => DType::Float64,
            Values::Boolean => DType::Bool,
            Values::Country | Values::Text | Values::Bytes => DType::String,
        }
    }
}
