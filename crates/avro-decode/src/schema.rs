//! Schemas (Avro 1.12, "Schema Declaration"), parsed once into an arena, so
//! that recursive types are indices and not cycles.
//!
//! # What is accepted
//! Everything that the specification defines. In addition, since files in
//! the wild have it: a type wrapped in more than one `{"type": ..}`; a name
//! without a namespace that is not defined in the enclosing namespace but is
//! without one; `null` for an attribute that may be left out; attributes that
//! the specification does not know. Logical types that are not valid are
//! ignored, as the specification asks. Defaults that do not match their type
//! are kept, since reading does not need them; see
//! [`Schema::check_defaults`].
//!
//! Names and symbols must be as the specification says: letters, digits and
//! underscores.
//!
//! # What is accepted of a file
//! Other programs write files whose schemas are not by the specification, and
//! whose data can be read all the same. [`Schema::parse_lenient`] is for those.
//! Each of these is accepted, and noted among the
//! [deviations](Schema::deviations):
//!
//! - **A name, namespace, alias or symbol of any text** is kept as it is. A name
//!   that is missing is empty; one that is a number, and such a symbol, is the
//!   number's text.
//! - **A name that is defined more than once**: a reference means the last
//!   definition before it in the text.
//! - **Two fields of one name**: the second is called `name#2`, the next
//!   `name#3`, leaving out the names that other fields have of their own.
//! - **A symbol that is there more than once** is kept as often; data has numbers.
//! - **A union with a type more than once**: data has the number of the branch.
//! - **A namespace that is no string, aliases that are none, an unknown order**
//!   are left out.
//! - **`NaN`, `Infinity` and `-Infinity`**, which JSON lacks and Python writes for
//!   defaults, are null; a byte order mark before the text and zero bytes behind it
//!   are left out.
//!
//! Types that cannot be read stay errors: an unknown one, a record without
//! fields, an enum without symbols, a fixed without a size, a union in a union.
//! The limits on sizes hold.

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
    defaults: Vec<defaults::DefaultPlace>,
    deviations: Vec<SchemaError>,
    not_taken: Vec<SchemaError>,
}

/// The place of a type in its [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

#[derive(Clone, Debug)]
struct Slot {
    node: Node,
    logical: Option<LogicalType>,
    /// That which the schema names in its place, and why it is not taken.
    not_taken: Option<Box<logical::NotTaken>>,
}

impl Schema {
    /// Parses a schema's JSON text, which must be as the specification says: a
    /// schema that is written, or a reader's.
    ///
    /// # Errors
    /// The text is not JSON or not a schema, or goes beyond the
    /// [limits](crate::limits); the error says where.
    pub fn parse(text: &str) -> Result<Schema, SchemaError> {
        Schema::parse_by(text, parse::Rules::Strict)
    }

    /// Parses the schema of a file or a message, whose data can be read though
    /// names and attributes are not as the specification says; see
    /// [what is accepted](self#what-is-accepted-of-a-file).
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
    /// The text is not JSON, a type cannot be told, or the text goes beyond the
    /// [limits](crate::limits); the error says where.
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

    /// What [`Schema::parse`] refuses in the schema's text, in its order; the
    /// first [`MAX_DEVIATIONS`](crate::limits::MAX_DEVIATIONS) of it.
    pub fn deviations(&self) -> &[SchemaError] {
        &self.deviations
    }

    /// The logical types in the schema's text that are not valid where they stand, and are not
    /// taken, as the specification has it: where, and why. No error even by strict rules; the
    /// first [`MAX_DEVIATIONS`](crate::limits::MAX_DEVIATIONS).
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
    /// If `id` is of another, larger schema.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.slots[id.index()].node
    }

    /// The logical type at `id`, if it has one that is valid for its type.
    pub fn logical(&self, id: NodeId) -> Option<&LogicalType> {
        self.slots[id.index()].logical.as_ref()
    }

    /// The name of a logical type that stands at `id` and is not taken, and why.
    pub fn logical_not_taken(&self, id: NodeId) -> Option<(&str, &str)> {
        let not_taken = self.slots[id.index()].not_taken.as_deref()?;
        Some((&not_taken.name, &not_taken.why))
    }

    /// The record, enum or fixed with this full name, such as
    /// `org.example.Pair`; of several the last.
    pub fn find(&self, full_name: &str) -> Option<NodeId> {
        self.named.get(&Name::from_full(full_name)).copied()
    }

    /// How many types there are: every [`NodeId`]'s
    /// [`index`](NodeId::index) is below it.
    pub fn node_count(&self) -> usize {
        self.slots.len()
    }

    /// The places of all types.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        // A type takes a byte of text or more, and the text has a limit.
        (0..self.slots.len() as u32).map(NodeId)
    }

    /// The fewest bytes that a value of the type at `id` takes; `u64::MAX`
    /// if there is no such value, because the type contains itself without
    /// an array, map or union between, or is a union of nothing.
    pub fn min_encoded_len(&self, id: NodeId) -> u64 {
        self.min_encoded_lens[id.index()]
    }

    /// Whether every value of the type at `id` takes no bytes.
    pub fn is_always_empty(&self, id: NodeId) -> bool {
        // Whatever can take bytes takes at least one.
        self.min_encoded_len(id) == 0
    }

    /// Whether all defaults match their types: a field's default its type
    /// (of a union, any branch), an enum's default one of its symbols.
    ///
    /// # Errors
    /// Every default that does not, with its place.
    pub fn check_defaults(&self) -> Result<(), Vec<SchemaError>> {
        let bad = defaults::bad_defaults(self, &self.defaults);
        if bad.is_empty() { Ok(()) } else { Err(bad) }
    }

    /// The schema in Parsing Canonical Form (Avro 1.12, "Parsing Canonical Form
    /// for Schemas"): nothing but what reading data depends on, always written
    /// alike. Schemas whose data is read alike have the same.
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

    /// The schema as JSON, with full names and without the attributes that
    /// the specification does not know. Parsing it gives the same schema, in the
    /// way that this one was parsed.
    pub fn to_json(&self) -> serde_json::Value {
        print::to_json(self)
    }
}

impl NodeId {
    /// The place as a number, for tables with an entry per type.
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

/// [`Schema::to_json`] on one line; over several, indented, with `{:#}`.
impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Value` prints indented for the alternate form.
        fmt::Display::fmt(&self.to_json(), f)
    }
}
