//! What a generated field is: its type, and how its values are drawn.

use serde_json::{Value, json};
use tensor_batch::DType;

/// A field of the generated records.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) ty: Type,
}

/// A type, and how its values are drawn.
#[derive(Clone, Debug)]
pub(super) enum Type {
    /// A single value.
    Value(Values),
    /// An array.
    Array(Length, Box<Type>),
    /// A record of `indices0..` and `values`: distinct cells in row-major order.
    Sparse {
        values: Values,
        dims: Vec<u64>,
        /// The mean number of values, Poisson distributed.
        mean: f64,
    },
    /// A union with null, which one in [`ONE_NULL_IN`] is.
    Nullable(Box<Type>),
}

/// Of so many values of a nullable field one is null.
pub(super) const ONE_NULL_IN: u64 = 20;

/// How single values are drawn.
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

/// The length of an array.
#[derive(Clone, Copy, Debug)]
pub(super) enum Length {
    /// The same in every record.
    Fixed(usize),
    /// Poisson distributed with this mean.
    Poisson(f64),
}

impl Field {
    pub(super) fn new(name: impl Into<String>, ty: Type) -> Self {
        let name = name.into();
        Field { name, ty }
    }

    /// The field in its record's schema.
    pub(super) fn schema(&self) -> Value {
        let mut field = json!({"name": self.name, "type": self.ty.schema(&self.name)});
        if let Type::Nullable(_) = self.ty {
            field["default"] = Value::Null;
        }
        field
    }
}

impl Type {
    /// Nested arrays, the outermost length first; a single value if there are none.
    pub(super) fn arrays(values: Values, lengths: &[Length]) -> Self {
        let array = |items, length: &Length| Type::Array(*length, Box::new(items));
        lengths.iter().rev().fold(Type::Value(values), array)
    }

    /// The schema, in a field of this name.
    fn schema(&self, field: &str) -> Value {
        let array = |items: Value| json!({"type": "array", "items": items});
        match self {
            Type::Value(values) => json!(values.avro_type()),
            Type::Array(_, items) => array(items.schema(field)),
            Type::Sparse { values, dims, .. } => {
                let indices = (0..dims.len())
                    .map(|i| json!({"name": format!("indices{i}"), "type": array(json!("long"))}));
                let values = json!({"name": "values", "type": array(json!(values.avro_type()))});
                let fields: Vec<Value> = indices.chain([values]).collect();
                json!({"type": "record", "name": format!("{field}_sparse"), "fields": fields})
            }
            Type::Nullable(ty) => json!(["null", ty.schema(field)]),
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

    pub(super) fn dtype(self) -> DType {
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
