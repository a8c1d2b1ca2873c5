//! Random expressions that lead to a value of a schema.

use avro_decode::Schema;
use avro_decode::path::{Constant, Filter, Operand, Path, Slice, Step};
use avro_decode::schema::{Node, NodeId, Record};

use super::Source;
use super::constants::Sort;
use super::schemas::is_sparse_name;

/// Maximum number of steps. Recursive types would allow any number.
const MAX_STEPS: usize = 9;

/// The wanted end of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    /// A value, or arrays of values.
    Values,
    /// A value, with or without lists around it.
    Value,
    /// An int or a long, with or without lists around it.
    Index,
    /// A single value that a filter can compare.
    Operand,
    /// A sparse record.
    SparseRecord,
    /// A record, or an array of records.
    Entries,
}

/// A path, and the type at its end.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) path: Path,
    /// Number of `[*]` steps and filters.
    pub(super) lists: usize,
    /// The type at the end, inside a nullable union.
    pub(super) end: NodeId,
}

/// A path from the type `from`, which is in a record of the schema. `None` if the random paths lead
/// elsewhere.
pub(super) fn way(schema: &Schema, from: NodeId, to: To, source: &mut Source) -> Option<Way> {
    let tries = 0..3;
    tries.into_iter().find_map(|_| {
        let mut walk = Walk {
            schema,
            to,
            source,
            steps: Vec::new(),
            lists: 0,
        };
        let end = walk.go(from)?;
        let (steps, lists) = (walk.steps, walk.lists);
        let is_path = matches!(steps.first(), Some(Step::Field(_)));
        let path = Path { steps };
        is_path.then_some(Way { path, lists, end })
    })
}

/// The number of nested arrays at the end of a path, and the type in them. `None` if a union needs
/// a branch.
pub(super) fn arrays(schema: &Schema, ty: NodeId) -> Option<(usize, NodeId)> {
    let ty = past_union(schema, ty)?;
    match schema.node(ty) {
        Node::Array(item) if schema.is_always_empty(*item) => None,
        Node::Array(item) => {
            let (inner, ty) = arrays(schema, *item)?;
            Some((inner + 1, ty))
        }
        _ => Some((0, ty)),
    }
}

/// The only type of a union that is not null.
fn past_union(schema: &Schema, ty: NodeId) -> Option<NodeId> {
    let Node::Union(branches) = schema.node(ty) else {
        return Some(ty);
    };
    let is_value = |branch: &&NodeId| *schema.node(**branch) != Node::Null;
    let mut values = branches.iter().filter(is_value);
    match (values.next(), values.next()) {
        (Some(only), None) => Some(*only),
        _ => None,
    }
}

struct Walk<'a> {
    schema: &'a Schema,
    to: To,
    source: &'a mut Source,
    steps: Vec<Step>,
    lists: usize,
}

impl Walk<'_> {
    fn go(&mut self, ty: NodeId) -> Option<NodeId> {
        if self.steps.len() > MAX_STEPS {
            return None;
        }
        let schema = self.schema;
        let ty = self.past_union(ty)?;
        if self.is_end(ty) {
            return Some(ty);
        }
        match schema.node(ty) {
            Node::Record(record) => self.field(record),
            Node::Array(item) if schema.is_always_empty(*item) => None,
            Node::Array(item) => {
                let index = Step::Index(self.source.below(3) as u64);
                self.element(*item, index)
            }
            Node::Map(value) => {
                let key = self.source.one_of(&["k", "l", "m", "'"]).to_owned();
                self.element(*value, Step::Key(key))
            }
            _ => None,
        }
    }

    /// Whether the path ends here. Sometimes a random choice decides.
    fn is_end(&mut self, ty: NodeId) -> bool {
        let node = self.schema.node(ty);
        let is_record = |ty| matches!(self.schema.node(ty), Node::Record(_));
        let arrays = arrays(self.schema, ty);
        let in_arrays = arrays.map(|(_, ty)| self.schema.node(ty));
        match self.to {
            To::Values => {
                in_arrays.is_some_and(is_leaf) && (is_leaf(node) || self.source.below(3) > 0)
            }
            To::Value => is_leaf(node),
            To::Index => matches!(node, Node::Int | Node::Long),
            To::Operand => Sort::of(node).is_some(),
            To::SparseRecord => match node {
                Node::Record(record) => is_sparse(record),
                _ => false,
            },
            To::Entries => {
                let ends = arrays.is_some_and(|(_, ty)| is_record(ty));
                ends && !self.steps.is_empty() && self.source.below(3) > 0
            }
        }
    }

    fn past_union(&mut self, ty: NodeId) -> Option<NodeId> {
        let schema = self.schema;
        let Node::Union(branches) = schema.node(ty) else {
            // A branch step with its own name leads to a type outside a union.
            if !self.steps.is_empty() && self.source.below(16) == 15 {
                let name = self.name_of(ty, &[ty]);
                self.steps.push(Step::Branch(name));
            }
            return Some(ty);
        };
        if let Some(only) = past_union(schema, ty)
            && self.source.below(4) < 3
        {
            return Some(only);
        }
        let is_value = |branch: &&NodeId| *schema.node(**branch) != Node::Null;
        let values: Vec<NodeId> = branches.iter().filter(is_value).copied().collect();
        if values.is_empty() {
            return None;
        }
        let branch = self.source.one_of(&values);
        let name = self.name_of(branch, branches);
        self.steps.push(Step::Branch(name));
        Some(branch)
    }

    /// The full name of a branch, or its simple name if that is unique.
    fn name_of(&mut self, branch: NodeId, branches: &[NodeId]) -> String {
        let name = |ty: NodeId| self.schema.node(ty).name();
        let Some(full) = name(branch) else {
            return self.schema.node(branch).type_name().to_owned();
        };
        let mut others = branches.iter().filter(|&&other| other != branch);
        let is_other =
            others.any(|&other| name(other).is_some_and(|n| n.simple() == full.simple()));
        if is_other || self.source.flag() {
            full.to_string()
        } else {
            full.simple().to_owned()
        }
    }

    fn field(&mut self, record: &Record) -> Option<NodeId> {
        if record.fields.is_empty() {
            return None;
        }
        let field = &record.fields[self.source.below(record.fields.len())];
        if self.source.below(8) == 7 {
            let full = record.name.to_string();
            let prefix = match record.name.namespace() {
                Some(namespace) if self.source.flag() => namespace,
                _ => &full,
            };
            let first = prefix.split('.').next().unwrap_or_default();
            if record.field(first).is_none() {
                let names = prefix.split('.').map(|name| Step::Field(name.to_owned()));
                self.steps.extend(names);
            }
        }
        self.steps.push(Step::Field(field.name.clone()));
        self.go(field.ty)
    }

    /// Goes from an array or a map to its elements; `one` is a step to a single element.
    fn element(&mut self, item: NodeId, one: Step) -> Option<NodeId> {
        let has_lists = !matches!(self.to, To::Operand | To::SparseRecord);
        let choice = self.source.byte();
        let step = match choice % 6 {
            // Only some bytes choose a slice, so that other cases keep their meaning.
            0..2 if has_lists && choice >= 192 && matches!(one, Step::Index(_)) => {
                Step::Slice(self.slice())
            }
            0..2 if has_lists => Step::All,
            2..5 if has_lists => match self.filter(item) {
                Some(filter) => Step::Filter(filter),
                None => Step::All,
            },
            _ => one,
        };
        self.lists += usize::from(step.is_list());
        self.steps.push(step);
        self.go(item)
    }

    fn slice(&mut self) -> Slice {
        let mut bound = || match self.source.below(10) {
            0 => None,
            n => Some(n as i64 - 5),
        };
        Slice {
            start: bound(),
            end: bound(),
        }
    }

    fn filter(&mut self, item: NodeId) -> Option<Filter> {
        let (left, sort, end) = match self.source.below(4) {
            3 => self.operand(None)?,
            _ => self.operand(Some(item))?,
        };
        let right = match self.source.below(4) {
            0 | 1 => None,
            2 => self.operand(None),
            _ => self.operand(Some(item)),
        };
        let right = match right {
            Some((right, of, _)) if of == sort => right,
            _ => Operand::Constant(match self.schema.node(end) {
                // Other texts are refused.
                Node::Enum(symbols) => Constant::String(
                    symbols.symbols[self.source.below(symbols.symbols.len())].clone(),
                ),
                _ => sort.constant(self.source),
            }),
        };
        Some(if self.source.flag() {
            Filter {
                left: right,
                right: left,
            }
        } else {
            Filter { left, right }
        })
    }

    /// An operand of a filter, from the element or from the root, and its type.
    fn operand(&mut self, item: Option<NodeId>) -> Option<(Operand, Sort, NodeId)> {
        let from = match item {
            Some(item) => past_union(self.schema, item)?,
            None => self.schema.root(),
        };
        let Node::Record(_) = self.schema.node(from) else {
            return None;
        };
        let way = way(self.schema, from, To::Operand, self.source)?;
        let sort = Sort::of(self.schema.node(way.end))?;
        let operand = match item {
            Some(_) => Operand::Element(way.path),
            None => Operand::Root(way.path),
        };
        Some((operand, sort, way.end))
    }
}

fn is_leaf(node: &Node) -> bool {
    match node {
        Node::Fixed(fixed) => fixed.size > 0,
        Node::Null | Node::Array(_) | Node::Map(_) | Node::Union(_) | Node::Record(_) => false,
        _ => true,
    }
}

/// Whether a record is a sparse record.
pub(super) fn is_sparse(record: &Record) -> bool {
    record.fields.iter().any(|field| field.name == "values")
        && record
            .fields
            .iter()
            .all(|field| is_sparse_name(&field.name))
}
