//! Every path that a schema offers.

use std::collections::HashMap;

use crate::limits::{MAX_DECODE_DEPTH, MAX_INFERRED_FIELDS, MAX_NAME_BYTES, MAX_PATH_STEPS};
use crate::path::{Path, Step};
use crate::schema::numbered::numbered;
use crate::schema::{Node, NodeId, Schema};

/// The paths of a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaPaths {
    /// The paths, each before those inside it, in the order of the schema.
    pub paths: Vec<SchemaPath>,
    /// Those of the record's fields, in its order; of another schema that of its
    /// value, `@`, or of the branches of a union.
    pub fields: Vec<usize>,
    /// Whether there are more, which are left out: beyond
    /// [`MAX_INFERRED_FIELDS`](crate::limits::MAX_INFERRED_FIELDS), or deeper
    /// than anything that can be decoded.
    pub truncated: bool,
}

/// A path of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaPath {
    /// The path [expression](crate::path), such as `friends[*].age`.
    pub expression: String,
    /// The type, in a few words: without the null where it is nullable, with its
    /// logical type, such as `int (date)`.
    pub schema_type: String,
    /// Whether the value may be null, or, of a branch of a union, another's.
    pub nullable: bool,
    /// Whether it is a record inside itself, whose fields are not followed
    /// again.
    pub recursive: bool,
    /// What is inside, as places among all paths: the fields of a record, the
    /// elements of an array or a map, then the keys of the map, the branches of a union of several types
    /// besides null.
    pub inside: Vec<usize>,
}

/// Every path that `schema` offers: the fields of records, the elements of
/// arrays and the values of maps (`[*]`), the keys of maps (`.keys()`), and, of a union of several types
/// besides null, each (`:type`).
///
/// A record that holds itself is not followed. The value of a schema that is
/// not a record is `@`.
///
/// ```
/// use avro_decode::{Schema, paths};
///
/// let schema = Schema::parse(
///     r#"{"type": "record", "name": "R", "fields": [
///         {"name": "day", "type": {"type": "int", "logicalType": "date"}},
///         {"name": "tags", "type": ["null", {"type": "array", "items": "string"}]}]}"#,
/// )?;
/// let found = paths(&schema).paths;
/// let found: Vec<_> = found.iter().map(|p| (&*p.expression, &*p.schema_type)).collect();
/// assert_eq!(found, [("day", "int (date)"), ("tags", "array of string"), ("tags[*]", "string")]);
/// # Ok::<(), avro_decode::SchemaError>(())
/// ```
pub fn paths(schema: &Schema) -> SchemaPaths {
    let mut walk = Walk {
        schema,
        found: SchemaPaths::default(),
        way: Path { steps: Vec::new() },
        open: Vec::new(),
    };
    walk.found.fields = walk.root();
    walk.found
}

struct Walk<'a> {
    schema: &'a Schema,
    found: SchemaPaths,
    /// The way to where the walk is.
    way: Path,
    /// The records being walked, to stop at those that hold themselves.
    open: Vec<NodeId>,
}

impl Walk<'_> {
    /// Adds the paths of the schema itself; the places of the outermost.
    fn root(&mut self) -> Vec<usize> {
        let root = self.schema.root();
        let value = match self.schema.node(root) {
            Node::Union(branches) => self.only_value(branches).unwrap_or(root),
            _ => root,
        };
        match self.schema.node(value) {
            Node::Record(_) | Node::Union(_) => self.inside(value),
            _ => {
                self.found.paths.push(SchemaPath {
                    expression: self.way.to_string(),
                    schema_type: self.describe(value),
                    nullable: self.allows_null(root),
                    recursive: false,
                    inside: Vec::new(),
                });
                self.found.paths[0].inside = self.inside(value);
                vec![0]
            }
        }
    }

    /// Adds the path of a value and all inside it; its place, if there is room.
    fn path(&mut self, step: Step, node: NodeId) -> Option<usize> {
        // Records that repeat each other's types can have far more fields than
        // the schema has bytes.
        let place = self.found.paths.len();
        if place == MAX_INFERRED_FIELDS {
            self.found.truncated = true;
            return None;
        }
        let value = match self.schema.node(node) {
            Node::Union(branches) => self.only_value(branches).unwrap_or(node),
            _ => node,
        };
        let nullable = matches!(step, Step::Branch(_)) || self.allows_null(node);
        self.way.steps.push(step);
        self.found.paths.push(SchemaPath {
            expression: self.way.to_string(),
            schema_type: self.describe(value),
            nullable,
            recursive: self.open.contains(&value),
            inside: Vec::new(),
        });
        self.found.paths[place].inside = self.inside(value);
        self.way.steps.pop();
        Some(place)
    }

    /// Adds the paths inside a value; their places.
    fn inside(&mut self, node: NodeId) -> Vec<usize> {
        let schema = self.schema;
        let mut places = Vec::new();
        match schema.node(node) {
            Node::Record(_) if self.open.contains(&node) => {}
            Node::Record(_) | Node::Array(_) | Node::Map(_) | Node::Union(_)
                if self.is_too_deep() =>
            {
                self.found.truncated = true;
            }
            Node::Record(record) => {
                self.open.push(node);
                for field in &record.fields {
                    places.extend(self.path(Step::Field(field.name.clone()), field.ty));
                }
                self.open.pop();
            }
            Node::Array(item) => places.extend(self.path(Step::All, *item)),
            Node::Map(item) => {
                places.extend(self.path(Step::All, *item));
                places.extend(self.keys());
            }
            Node::Union(branches) => {
                let names = branch_names(schema, branches);
                for (&branch, name) in branches.iter().zip(names) {
                    if *schema.node(branch) != Node::Null {
                        places.extend(self.path(Step::Branch(name), branch));
                    }
                }
            }
            _ => {}
        }
        places
    }

    /// Adds the path of a map's keys; its place, if there is room.
    fn keys(&mut self) -> Option<usize> {
        let place = self.found.paths.len();
        if place == MAX_INFERRED_FIELDS {
            self.found.truncated = true;
            return None;
        }
        self.way.steps.push(Step::Keys);
        self.found.paths.push(SchemaPath {
            expression: self.way.to_string(),
            schema_type: "string".to_owned(),
            nullable: false,
            recursive: false,
            inside: Vec::new(),
        });
        self.way.steps.pop();
        Some(place)
    }

    /// Whether paths inside the one added last are left out: those deeper than
    /// anything that can be decoded, and those behind so long an expression that
    /// all of them would take far more memory than the schema.
    fn is_too_deep(&self) -> bool {
        let last = self.found.paths.last();
        self.open.len() >= MAX_DECODE_DEPTH
            || self.way.steps.len() >= MAX_PATH_STEPS
            || last.is_some_and(|last| last.expression.len() > MAX_NAME_BYTES)
    }

    /// The type of a union that is not null, if there is one only.
    fn only_value(&self, branches: &[NodeId]) -> Option<NodeId> {
        let is_value = |branch: &&NodeId| *self.schema.node(**branch) != Node::Null;
        let mut values = branches.iter().filter(is_value);
        match (values.next(), values.next()) {
            (Some(&value), None) => Some(value),
            _ => None,
        }
    }

    fn allows_null(&self, node: NodeId) -> bool {
        match self.schema.node(node) {
            Node::Union(branches) => {
                let mut branches = branches.iter();
                branches.any(|&branch| *self.schema.node(branch) == Node::Null)
            }
            other => *other == Node::Null,
        }
    }

    fn describe(&self, node: NodeId) -> String {
        let described = self.schema.describe(node);
        match self.schema.logical(node) {
            Some(logical) => format!("{described} ({})", logical.name()),
            None => described,
        }
    }
}

/// What the branches of a union are called in an expression: by their simple names,
/// but for those that others have or are called by; of several with one full name
/// each by that and its number.
pub(crate) fn branch_names(schema: &Schema, branches: &[NodeId]) -> Vec<String> {
    let node = |id: &NodeId| schema.node(*id);
    let full = |node: &Node| match node.name() {
        Some(name) => name.to_string(),
        None => node.type_name().to_owned(),
    };
    let short = |id: &NodeId| match node(id).name() {
        Some(name) => name.simple(),
        None => node(id).type_name(),
    };
    let mut called: HashMap<&str, usize> = HashMap::new();
    for branch in branches {
        *called.entry(short(branch)).or_default() += 1;
    }
    let full: Vec<String> = branches.iter().map(|id| full(node(id))).collect();
    let names = branches.iter().zip(numbered(&full));
    names
        .map(|(id, full)| match called[short(id)] {
            1 => short(id).to_owned(),
            _ => full,
        })
        .collect()
}
