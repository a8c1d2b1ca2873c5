//! Checks that defaults match their types (Avro 1.12, "Complex Types", the table "field default
//! values").

use std::collections::HashMap;

use serde_json::Value as Json;

use super::{Enum, Node, NodeId, Schema, SchemaError, SchemaErrorKind};

/// A default in the schema: the JSON pointer to it, and its owner.
#[derive(Clone, Debug)]
pub(super) struct LocatedDefault {
    pub(super) path: String,
    pub(super) node: NodeId,
    /// The index of a record's field; `None` for an enum.
    pub(super) field: Option<usize>,
}

/// An error for each default that does not match its type.
pub(super) fn bad_defaults(schema: &Schema, defaults: &[LocatedDefault]) -> Vec<SchemaError> {
    let mut matcher = Matcher::new(schema);
    let bad = defaults.iter().filter(|default| !matcher.is_good(default));
    bad.map(|default| SchemaError {
        kind: SchemaErrorKind::BadDefault,
        path: default.path.clone(),
    })
    .collect()
}

/// Matches JSON values with types.
#[derive(Debug)]
pub(crate) struct Matcher<'s> {
    schema: &'s Schema,
    /// Results for a union and the JSON at an address. Without them, nested records of unions of
    /// records would take exponential time.
    unions: HashMap<(NodeId, *const Json), bool>,
    /// For each enum matched so far, the indices of its symbols.
    symbols: HashMap<NodeId, HashMap<&'s str, u32>>,
}

impl<'s> Matcher<'s> {
    pub(crate) fn new(schema: &'s Schema) -> Self {
        Matcher {
            schema,
            unions: HashMap::new(),
            symbols: HashMap::new(),
        }
    }

    /// The index of a symbol of the enum at `id`.
    pub(crate) fn symbol(&mut self, id: NodeId, symbols: &'s Enum, symbol: &str) -> Option<u32> {
        let defaults = self.symbols.entry(id).or_insert_with(|| {
            let symbols = symbols.symbols.iter().map(String::as_str);
            symbols.zip(0..).collect()
        });
        defaults.get(symbol).copied()
    }

    fn is_good(&mut self, default: &LocatedDefault) -> bool {
        match (self.schema.node(default.node), default.field) {
            (Node::Record(record), Some(field)) => {
                let field = &record.fields[field];
                let default = field.default.as_ref();
                default.is_none_or(|default| self.matches(field.ty, default))
            }
            (Node::Enum(symbols), _) => {
                let default = symbols.default.as_ref();
                default.is_some_and(|default| symbols.symbols.contains(default))
            }
            _ => true,
        }
    }

    /// Whether the JSON of a default is a value of the type at `id`.
    ///
    /// The recursion is as deep as the JSON, whose depth the JSON parser limits.
    pub(crate) fn matches(&mut self, id: NodeId, json: &'s Json) -> bool {
        match self.schema.node(id) {
            Node::Null => json.is_null(),
            Node::Boolean => json.is_boolean(),
            Node::Int => json.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
            Node::Long => json.is_i64(),
            Node::Float | Node::Double => json.is_number(),
            Node::Bytes => byte_count(json).is_some(),
            Node::String => json.is_string(),
            Node::Fixed(fixed) => byte_count(json) == Some(fixed.size),
            Node::Enum(symbols) => json
                .as_str()
                .is_some_and(|symbol| self.symbol(id, symbols, symbol).is_some()),
            &Node::Array(items) => match json {
                Json::Array(json) => json.iter().all(|json| self.matches(items, json)),
                _ => false,
            },
            &Node::Map(values) => match json {
                Json::Object(json) => json.values().all(|json| self.matches(values, json)),
                _ => false,
            },
            Node::Union(branches) => self.matches_union(id, branches, json),
            Node::Record(record) => match json {
                Json::Object(json) => {
                    record
                        .fields
                        .iter()
                        .all(|field| match json.get(&field.name) {
                            Some(json) => self.matches(field.ty, json),
                            // The field's own default is checked separately.
                            None => field.default.is_some(),
                        })
                }
                _ => false,
            },
        }
    }

    fn matches_union(&mut self, id: NodeId, branches: &[NodeId], json: &'s Json) -> bool {
        let key = (id, std::ptr::from_ref(json));
        if let Some(&known) = self.unions.get(&key) {
            return known;
        }
        let matches = branches.iter().any(|&branch| self.matches(branch, json));
        self.unions.insert(key, matches);
        matches
    }
}

/// Number of bytes that a JSON string encodes in ISO-8859-1; `None` if a character is not in
/// ISO-8859-1.
fn byte_count(json: &Json) -> Option<usize> {
    json.as_str()?
        .chars()
        .try_fold(0, |count, c| (c <= '\u{ff}').then_some(count + 1))
}
