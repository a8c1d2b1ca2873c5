//! Schemas (Avro 1.12, "Schema Declaration"), parsed once into an arena, so that recursive types
//! refer to one another by index.
//!
//! # What is accepted
//! Everything that the specification defines. Files in practice need more, so these are accepted
//! too:
//!
//! - a type wrapped in more than one `{"type": ..}`;
//! - a reference without a namespace to a type defined without a namespace, from within another
//!   namespace;
//! - `null` for an optional attribute;
//! - attributes that the specification does not define.
//!
//! Invalid logical types are ignored, as the specification asks. Defaults that do not match their
//! type are kept, since reading does not need them; see [`Schema::check_defaults`].
//!
//! Names and symbols must follow the specification: letters, digits and underscores.
//!
//! # What is accepted of a file
//! Some programs write files whose schemas violate the specification, and whose data can still be
//! read. [`Schema::parse_lenient`] is for such files. It accepts the following, and records each as
//! a [deviation](Schema::deviations):
//!
//! - **A name, namespace, alias or symbol with any text** is kept as it is. A missing name is
//!   empty. A number as a name or a symbol becomes its text.
//! - **A name defined more than once**: a reference means the last definition before it in the
//!   text.
//! - **Two fields with one name**: the second is called `name#2`, the next `name#3`, skipping names
//!   that other fields have.
//! - **A repeated symbol** is kept, since data refers to symbols by number.
//! - **A repeated type in a union** is kept, since data refers to branches by number.
//! - **A namespace that is not a string, invalid aliases, an unknown order** are ignored.
//! - **`NaN`, `Infinity` and `-Infinity`**, which Python writes for defaults although JSON lacks
//!   them, become null. A byte order mark before the text, and zero bytes after it, are ignored.
//!
//! Types that cannot be read are still errors: an unknown type, a record without fields, an enum
//! without symbols, a fixed without a size, a union in a union. The limits on sizes apply.

mod attributes;
mod canonical;
pub(crate) mod defaults;
pub(crate) mod describe;
mod error;
mod fingerprint;
mod logical;
mod name;
mod near_json;
mod node;
pub(crate) mod numbered;
mod parse;
mod path;
mod print;
mod size;

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

pub use error::{SchemaError, SchemaErrorKind};
pub use logical::LogicalType;
pub use name::Name;
pub use node::{Enum, Field, Fixed, Node, Order, Record};

/// A schema: types that refer to one another by [`NodeId`].
///
/// ```
/// use avro_decode::schema::{Node, Schema};
///
/// let schema = Schema::parse(
///     r#"{"type": "record", "name": "Pair", "namespace": "org.example", "fields": [
///         {"name": "left", "type": "int"},
///         {"name": "rest", "type": ["null", "Pair"]}
///     ]}"#,
/// )?;
/// let Node::Record(pair) = schema.node(schema.root()) else {
///     panic!("not a record");
/// };
/// assert_eq!(pair.name.to_string(), "org.example.Pair");
/// assert_eq!(schema.min_encoded_len(schema.root()), 2);
/// # Ok::<(), avro_decode::SchemaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schema {
    slots: Vec<Slot>,
    root: NodeId,
    named: HashMap<Name, NodeId>,
    min_encoded_lens: Vec<u64>,
    defaults: Vec<defaults::LocatedDefault>,
    deviations: Vec<SchemaError>,
    not_taken: Vec<SchemaError>,
}

/// The index of a type in its [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

#[derive(Clone, Debug)]
struct Slot {
    node: Node,
    logical: Option<LogicalType>,
    /// An invalid logical type of this type, which is ignored, and the reason.
    not_taken: Option<Box<logical::NotTaken>>,
}

impl Schema {
    /// Parses a schema's JSON text by the strict rules of the specification: a reader's schema, or
    /// a schema to write files with.
    ///
    /// # Errors
    /// If the text is not JSON or not a schema, or exceeds the [limits](crate::limits). The error
    /// has the position.
    pub fn parse(text: &str) -> Result<Schema, SchemaError> {
        Schema::parse_by(text, parse::Rules::Strict)
    }

    /// Parses the schema of a file or a message. Names and attributes may violate the specification
    /// if the data can still be read; see [what is accepted](self#what-is-accepted-of-a-file).
    ///
    /// ```
    /// use avro_decode::Schema;
    ///
    /// let text = r#"{"type": "record", "name": "", "fields": [{"name": "user-id", "type": "int"}]}"#;
    /// assert!(Schema::parse(text).is_err());
    /// let schema = Schema::parse_lenient(text)?;
    /// let noted: Vec<_> = schema.deviations().iter().map(|at| &*at.path).collect();
    /// assert_eq!(noted, ["/name", "/fields/0/name"]);
    /// # Ok::<(), avro_decode::SchemaError>(())
    /// ```
    ///
    /// # Errors
    /// If the text is not JSON, a type cannot be determined, or the text exceeds the
    /// [limits](crate::limits). The error has the position.
    pub fn parse_lenient(text: &str) -> Result<Schema, SchemaError> {
        Schema::parse_by(text, parse::Rules::Lenient)
    }

    fn parse_by(text: &str, rules: parse::Rules) -> Result<Schema, SchemaError> {
        let parsed = parse::parse(text, rules)?;
        let min_encoded_lens = size::min_encoded_lens(&parsed.slots);
        Ok(Schema {
            slots: parsed.slots,
            root: parsed.root,
            named: parsed.named,
            defaults: parsed.defaults,
            deviations: parsed.deviations,
            not_taken: parsed.not_taken,
            min_encoded_lens,
        })
    }

    /// The errors that [`Schema::parse`] would return for the schema's text, in the order of the
    /// text; at most [`MAX_DEVIATIONS`](crate::limits::MAX_DEVIATIONS).
    pub fn deviations(&self) -> &[SchemaError] {
        &self.deviations
    }

    /// The invalid logical types in the schema's text, each with its position and the reason; at
    /// most [`MAX_DEVIATIONS`](crate::limits::MAX_DEVIATIONS). They are ignored, as the
    /// specification asks, so they are no errors in strict parsing either.
    pub fn logical_types_not_taken(&self) -> &[SchemaError] {
        &self.not_taken
    }

    /// The type that the schema describes.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// The type at `id`.
    ///
    /// # Panics
    /// If `id` is from another, larger schema.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.slots[id.index()].node
    }

    /// The logical type at `id`, if it has a valid one.
    pub fn logical(&self, id: NodeId) -> Option<&LogicalType> {
        self.slots[id.index()].logical.as_ref()
    }

    /// The name of an invalid logical type at `id`, and the reason.
    pub fn logical_not_taken(&self, id: NodeId) -> Option<(&str, &str)> {
        let not_taken = self.slots[id.index()].not_taken.as_deref()?;
        Some((&not_taken.name, &not_taken.why))
    }

    /// The record, enum or fixed with this full name, such as `org.example.Pair`. If several have
    /// the name, the last.
    pub fn find(&self, full_name: &str) -> Option<NodeId> {
        self.named.get(&Name::from_full(full_name)).copied()
    }

    /// Number of types. The [`index`](NodeId::index) of every [`NodeId`] is below it.
    pub fn node_count(&self) -> usize {
        self.slots.len()
    }

    /// The ids of all types.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        // A type takes at least one byte of text, and the text has a limit.
        (0..self.slots.len() as u32).map(NodeId)
    }

    /// The minimum number of bytes of a value of the type at `id`. It is `u64::MAX` if the type has
    /// no finite value: it contains itself directly, or is an empty union.
    pub fn min_encoded_len(&self, id: NodeId) -> u64 {
        self.min_encoded_lens[id.index()]
    }

    /// Whether every value of the type at `id` takes no bytes.
    pub fn is_always_empty(&self, id: NodeId) -> bool {
        // A type whose values can take bytes takes at least one.
        self.min_encoded_len(id) == 0
    }

    /// Checks that all defaults match their types. A field's default must match the field's type,
    /// or any branch of a union. An enum's default must be one of its symbols.
    ///
    /// # Errors
    /// Every default that does not match, with its position.
    pub fn check_defaults(&self) -> Result<(), Vec<SchemaError>> {
        let bad = defaults::bad_defaults(self, &self.defaults);
        if bad.is_empty() { Ok(()) } else { Err(bad) }
    }

    /// The schema in Parsing Canonical Form (Avro 1.12, "Parsing Canonical Form for Schemas"). It
    /// contains only what reading data depends on, in one spelling. Schemas whose data is read in
    /// the same way have the same canonical form.
    ///
    /// ```
    /// use avro_decode::Schema;
    ///
    /// let schema = Schema::parse(
    ///     r#"{"type": "fixed", "size": 16, "name": "Id", "namespace": "x", "doc": "An id."}"#,
    /// )?;
    /// assert_eq!(schema.canonical_form(), r#"{"name":"x.Id","type":"fixed","size":16}"#);
    /// # Ok::<(), avro_decode::SchemaError>(())
    /// ```
    pub fn canonical_form(&self) -> String {
        canonical::canonical_form(self)
    }

    /// The CRC-64-AVRO fingerprint of the canonical form (Avro 1.12, "Schema
    /// Fingerprints"), by which
    /// [single-object encoding](crate::single_object) names a schema.
    pub fn fingerprint(&self) -> u64 {
        fingerprint::crc_64_avro(self.canonical_form().as_bytes())
    }

    /// The schema as JSON, with full names and without unknown attributes. Parsing it in the same
    /// mode gives the same schema.
    pub fn to_json(&self) -> serde_json::Value {
        print::to_json(self)
    }
}

impl NodeId {
    /// The index as a `usize`, for tables with an entry per type.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl FromStr for Schema {
    type Err = SchemaError;

    fn from_str(text: &str) -> Result<Schema, SchemaError> {
        Schema::parse(text)
    }
}

/// Prints [`Schema::to_json`] on one line, or indented on several lines with `{:#}`.
impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Value` prints indented for the alternate form.
        fmt::Display::fmt(&self.to_json(), f)
    }
}
