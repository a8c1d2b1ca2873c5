//! The types of Avro.

use super::{Name, NodeId};

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// `null`
    Null,
    /// `boolean`
    Boolean,
    /// `int`, 32 bits
    Int,
    /// `long`, 64 bits
    Long,
    /// `float`, 32 bits
    Float,
    /// `double`, 64 bits
    Double,
    /// `bytes`
    Bytes,
    /// `string`, UTF-8
    String,
    /// `array` of items of a type
    Array(NodeId),
    /// `map` from strings to values of a type
    Map(NodeId),
    /// One of several types.
    Union(Vec<NodeId>),
    /// `record`
    Record(Record),
    /// `enum`
    Enum(Enum),
    /// `fixed`
    Fixed(Fixed),
}

/// A record: fields one after the other.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Record {
    /// The full name.
    pub name: Name,
    /// Full aliases, by which a reader's schema matches other names.
    pub aliases: Vec<Name>,
    /// The documentation in the schema.
    pub doc: Option<String>,
    /// The fields, in the order of the data.
    pub fields: Vec<Field>,
}

impl Record {
    /// The field called `name`, and its index among the fields.
    pub fn field(&self, name: &str) -> Option<(usize, &Field)> {
        let mut fields = self.fields.iter().enumerate();
        fields.find(|(_, field)| field.name == name)
    }
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Field {
    /// The name, unique in the record.
    pub name: String,
    /// The type.
    pub ty: NodeId,
    /// The value, as JSON, of a reader's field that the writer lacks. It need not match the type;
    /// see [`Schema::check_defaults`](super::Schema::check_defaults).
    pub default: Option<serde_json::Value>,
    /// Aliases, by which a reader's schema matches other names.
    pub aliases: Vec<String>,
    /// How the field affects the order of records.
    pub order: Order,
    /// The documentation in the schema.
    pub doc: Option<String>,
}

/// How a field affects the order of records (Avro 1.12, "Sort Order").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Smaller values first.
    #[default]
    Ascending,
    /// Larger values first.
    Descending,
    /// The field is ignored.
    Ignore,
}

/// An enum: one of several symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Enum {
    /// The full name.
    pub name: Name,
    /// Full aliases, by which a reader's schema matches other names.
    pub aliases: Vec<Name>,
    /// The documentation in the schema.
    pub doc: Option<String>,
    /// The symbols, in the order of their indices.
    pub symbols: Vec<String>,
    /// The symbol that a reader uses for a symbol that its schema lacks. It need not be one of the
    /// symbols; see [`Schema::check_defaults`](super::Schema::check_defaults).
    pub default: Option<String>,
}

/// A fixed: a given number of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fixed {
    /// The full name.
    pub name: Name,
    /// Full aliases, by which a reader's schema matches other names.
    pub aliases: Vec<Name>,
    /// The documentation in the schema.
    pub doc: Option<String>,
    /// Number of bytes of a value.
    pub size: usize,
}

impl Node {
    /// The type's name in the specification, such as `record`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Node::Null => "null",
            Node::Boolean => "boolean",
            Node::Int => "int",
            Node::Long => "long",
            Node::Float => "float",
            Node::Double => "double",
            Node::Bytes => "bytes",
            Node::String => "string",
            Node::Array(_) => "array",
            Node::Map(_) => "map",
            Node::Union(_) => "union",
            Node::Record(_) => "record",
            Node::Enum(_) => "enum",
            Node::Fixed(_) => "fixed",
        }
    }

    /// The full name of a record, enum or fixed.
    pub fn name(&self) -> Option<&Name> {
        match self {
            Node::Record(record) => Some(&record.name),
            Node::Enum(symbols) => Some(&symbols.name),
            Node::Fixed(fixed) => Some(&fixed.name),
            _ => None,
        }
    }

    /// The primitive type called `name`.
    pub(super) fn primitive(name: &str) -> Option<Node> {
        Some(match name {
            "null" => Node::Null,
            "boolean" => Node::Boolean,
            "int" => Node::Int,
            "long" => Node::Long,
            "float" => Node::Float,
            "double" => Node::Double,
            "bytes" => Node::Bytes,
            "string" => Node::String,
            _ => return None,
        })
    }
}
