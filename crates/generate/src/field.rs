//! Generated fields: their types and the distributions of their values.

use std::collections::HashSet;

use serde_json::{Value, json};
use tensor_batch::DType;

/// A field of the generated records.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Type,
}

/// A type and the distribution of its values.
#[derive(Clone, Debug)]
pub(crate) enum Type {
    /// A single value.
    Value(Values),
    /// An array.
    Array(Length, Box<Type>),
    /// A map with the first of the keys, and each of the others with a probability of one half.
    Map {
        keys: &'static [&'static str],
        values: Box<Type>,
    },
    /// A record.
    Record {
        name: &'static str,
        fields: Vec<Field>,
    },
    /// A record of `indices0..` and `values`: distinct cells in row-major order.
    Sparse {
        values: Values,
        dims: Vec<u64>,
        /// The mean number of values, Poisson distributed.
        mean: f64,
    },
    /// A union with null. One value in [`ONE_NULL_IN`] is null.
    Nullable(Box<Type>),
}

/// The mean number of values of a nullable field for each null.
pub(crate) const ONE_NULL_IN: u64 = 20;

/// The type and distribution of single values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// Uniform below 1,000; not 0 in a sparse field.
    Int,
    /// Uniform below 1,000; not 0 in a sparse field.
    Long,
    /// A long, uniform below 2^40.
    Id,
    /// Normal, in thousandths; 30 % are 0, but none in a sparse field.
    Float,
    /// Normal, in thousandths; 30 % are 0, but none in a sparse field.
    Double,
    /// An int, uniform below 100.
    Small,
    /// True and false with the same probability.
    Boolean,
    /// A string of this list.
    Word(&'static [&'static str]),
    /// An enum; all symbols have the same probability.
    Symbol(&'static Symbols),
    /// About 12 letters of several alphabets.
    Text,
    /// About 12 random bytes.
    Bytes,
}

/// An enum.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Symbols {
    pub(crate) name: &'static str,
    pub(crate) symbols: &'static [&'static str],
}

/// The length of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    /// The same in every record.
    Fixed(usize),
    /// Poisson distributed with this mean.
    Poisson(f64),
    /// A constant plus a Poisson distributed number with this mean.
    AtLeast(usize, f64),
}

impl Field {
    pub(crate) fn new(name: impl Into<String>, ty: Type) -> Self {
        let name = name.into();
        Field { name, ty }
    }

    /// The field in its record's schema.
    fn schema(&self, named: &mut HashSet<&'static str>) -> Value {
        let mut field = json!({"name": self.name, "type": self.ty.schema(&self.name, named)});
        if let Type::Nullable(_) = self.ty {
            field["default"] = Value::Null;
        }
        field
    }
}

/// The schema of a record.
pub(crate) fn record_schema(name: &str, fields: &[Field]) -> Value {
    record(name, fields, &mut HashSet::new())
}

/// The schema of a record. Types in `named` were defined earlier and are referred to by name.
fn record(name: &str, fields: &[Field], named: &mut HashSet<&'static str>) -> Value {
    let fields: Vec<Value> = fields.iter().map(|field| field.schema(named)).collect();
    json!({"type": "record", "name": name, "fields": fields})
}

fn array(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

impl Type {
    /// Nested arrays, the outermost length first; a single value if there are none.
    pub(crate) fn arrays(values: Values, lengths: &[Length]) -> Self {
        let array = |items, length: &Length| Type::Array(*length, Box::new(items));
        lengths.iter().rev().fold(Type::Value(values), array)
    }

    /// The schema of the type in a field of this name. A type in `named` is referred to by name.
    fn schema(&self, field: &str, named: &mut HashSet<&'static str>) -> Value {
        match self {
            Type::Value(Values::Symbol(Symbols { name, symbols })) => {
                if named.insert(name) {
                    json!({"type": "enum", "name": name, "symbols": symbols})
                } else {
                    json!(name)
                }
            }
            Type::Value(values) => json!(values.avro_type()),
            Type::Array(_, items) => array(items.schema(field, named)),
            Type::Map { values, .. } => {
                json!({"type": "map", "values": values.schema(field, named)})
            }
            Type::Record { name, fields } => {
                if named.insert(name) {
                    record(name, fields, named)
                } else {
                    json!(name)
                }
            }
            Type::Sparse { values, dims, .. } => {
                let indices = (0..dims.len())
                    .map(|i| json!({"name": format!("indices{i}"), "type": array(json!("long"))}));
                let values = json!({"name": "values", "type": array(json!(values.avro_type()))});
                let fields: Vec<Value> = indices.chain([values]).collect();
                json!({"type": "record", "name": format!("{field}_sparse"), "fields": fields})
            }
            Type::Nullable(ty) => json!(["null", ty.schema(field, named)]),
        }
    }
}

impl Length {
    /// The length, if it is the same in every record.
    pub(crate) fn fixed(self) -> Option<usize> {
        match self {
            Length::Fixed(n) => Some(n),
            Length::Poisson(_) | Length::AtLeast(..) => None,
        }
    }

    pub(crate) fn mean(self) -> f64 {
        match self {
            Length::Fixed(n) => n as f64,
            Length::Poisson(mean) => mean,
            Length::AtLeast(least, mean) => least as f64 + mean,
        }
    }
}

impl Values {
    fn avro_type(self) -> &'static str {
        match self {
            Values::Int | Values::Small => "int",
            Values::Long | Values::Id => "long",
            Values::Float => "float",
            Values::Double => "double",
            Values::Boolean => "boolean",
            Values::Word(_) | Values::Text => "string",
            Values::Symbol(_) => "enum",
            Values::Bytes => "bytes",
        }
    }

    pub(crate) fn dtype(self) -> DType {
        match self {
            Values::Int | Values::Small => DType::Int32,
            Values::Long | Values::Id => DType::Int64,
            Values::Float => DType::Float32,
            Values::Double => DType::Float64,
            Values::Boolean => DType::Bool,
            Values::Word(_) | Values::Symbol(_) | Values::Text | Values::Bytes => DType::String,
        }
    }
}
