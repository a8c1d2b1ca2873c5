//! Lists every path that a schema offers.

use std::collections::HashMap;

use atds_features::path::{Path, Step};

use crate::limits::{MAX_DECODE_DEPTH, MAX_INFERRED_FIELDS, MAX_NAME_BYTES, MAX_PATH_STEPS};
use crate::schema::numbered::numbered;
use crate::schema::{Node, NodeId, Schema};

/// The paths of a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaPaths {
    /// The paths, each before the paths inside it, in the order of the schema.
    pub paths: Vec<SchemaPath>,
    /// Indices in `paths` of the outermost paths. These are the root record's fields, the branches
    /// of a root union, or the root value `@`.
    pub fields: Vec<usize>,
    /// Whether paths were left out: beyond
    /// [`MAX_INFERRED_FIELDS`](crate::limits::MAX_INFERRED_FIELDS), or nested deeper than a value
    /// can be decoded.
    pub truncated: bool,
}

/// A path of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaPath {
    /// The path [expression](crate::path), such as `friends[*].age`.
    pub expression: String,
    /// The type in a few words, such as `int (date)`: with its logical type, and without null if it
    /// is nullable.
    pub schema_type: String,
    /// Whether the value may be null, or may be in another branch of the union.
    pub nullable: bool,
    /// Whether it is a record inside itself; its fields are not listed again.
    pub recursive: bool,
    /// Indices in `paths` of the paths inside this one: the fields of a record, the elements of an
    /// array or a map followed by a map's keys, or a union's branches other than null.
    pub inside: Vec<usize>,
}

/// Lists every path that `schema` offers. These are the fields of records, the elements of arrays
/// and the values of maps (`[*]`), and the keys of maps (`.keys()`). A union of several types
/// besides null offers each type (`:type`).
///
/// The fields of a record inside itself are not listed again. If the schema is not a record, its
/// value is `@`.
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
    let mut lister = PathLister {
        schema,
        found: SchemaPaths::default(),
        way: Path { steps: Vec::new() },
        open: Vec::new(),
    };
    lister.found.fields = lister.root();
    lister.found
}

struct PathLister<'a> {
    schema: &'a Schema,
    found: SchemaPaths,
    /// The path to the value being visited.
    way: Path,
    /// The enclosing records, to stop at a record inside itself.
    open: Vec<NodeId>,
}

impl PathLister<'_> {
    /// Adds the paths of the schema itself and returns the indices of the outermost.
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

    /// Adds the path of a value and all paths inside it. Returns its index, or `None` if the limit
    /// is reached.
    fn path(&mut self, step: Step, node: NodeId) -> Option<usize> {
        // Records that repeat each other's types can have far more fields than the schema has
        // bytes.
        let index = self.found.paths.len();
        if index == MAX_INFERRED_FIELDS {
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
        self.found.paths[index].inside = self.inside(value);
        self.way.steps.pop();
        Some(index)
    }

    /// Adds the paths inside a value and returns their indices.
    fn inside(&mut self, node: NodeId) -> Vec<usize> {
        let schema = self.schema;
        let mut indices = Vec::new();
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
                    indices.extend(self.path(Step::Field(field.name.clone()), field.ty));
                }
                self.open.pop();
            }
            Node::Array(item) => indices.extend(self.path(Step::All, *item)),
            Node::Map(item) => {
                indices.extend(self.path(Step::All, *item));
                indices.extend(self.keys());
            }
            Node::Union(branches) => {
                let names = branch_names(schema, branches);
                for (&branch, name) in branches.iter().zip(names) {
                    if *schema.node(branch) != Node::Null {
                        indices.extend(self.path(Step::Branch(name), branch));
                    }
                }
            }
            _ => {}
        }
        indices
    }

    /// Adds the path of a map's keys. Returns its index, or `None` if the limit is reached.
    fn keys(&mut self) -> Option<usize> {
        let index = self.found.paths.len();
        if index == MAX_INFERRED_FIELDS {
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
        Some(index)
    }

    /// Whether to leave out the paths inside the last one: they are nested too deep to decode, or
    /// the expression is so long that listing them would take far more memory than the schema.
    fn is_too_deep(&self) -> bool {
        let last = self.found.paths.last();
        self.open.len() >= MAX_DECODE_DEPTH
            || self.way.steps.len() >= MAX_PATH_STEPS
            || last.is_some_and(|last| last.expression.len() > MAX_NAME_BYTES)
    }

    /// The type of a union other than null, if there is exactly one.
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

/// The names of a union's branches in expressions: the simple name, unless another branch has it as
/// a name too. If several branches have one full name, that name and a number.
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
