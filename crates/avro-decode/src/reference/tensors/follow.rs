//! Follows expressions: to a value, to lists of values, or to a missing value.

use atds_features::feature::CheckedFeature;
use atds_features::path::{Slice, Step};

use super::compared::is_kept;
use crate::schema::numbered::numbered;
use crate::schema::{LogicalType, Node, NodeId, Record, Schema};
use crate::{DecodeErrorKind, Meanings, Value};

/// The result of following an expression.
#[derive(Clone, Debug)]
pub(super) enum Found<'a> {
    /// A missing value, with its error.
    Missing(DecodeErrorKind),
    /// A value.
    At(TypedValue<'a>),
    /// A key of a map.
    Key(&'a str),
    /// The result for each element.
    List(Vec<Found<'a>>),
}

/// A value in a record, with its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct TypedValue<'a> {
    pub(super) schema: &'a Schema,
    pub(super) ty: NodeId,
    pub(super) value: &'a Value,
    pub(super) context: Context<'a>,
}

/// The options that affect following.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    pub(super) checked: &'a CheckedFeature,
    /// The meanings of the columns.
    pub(super) meanings: &'a Meanings,
}

/// The precondition of this module, for panics.
const COMPILES: &str = "the plan compiles, and the value is of the schema";

impl<'a> TypedValue<'a> {
    /// The value of a whole record.
    pub(super) fn root(schema: &'a Schema, value: &'a Value, context: Context<'a>) -> Self {
        TypedValue {
            schema,
            ty: schema.root(),
            value,
            context,
        }
    }

    pub(super) fn node(self) -> &'a Node {
        self.schema.node(self.ty)
    }

    pub(super) fn inside(self, ty: NodeId, value: &'a Value) -> Self {
        TypedValue { ty, value, ..self }
    }

    /// The value itself; for a union, the value of its branch.
    pub(super) fn resolve(self) -> Found<'a> {
        self.follow(&[], self)
    }

    /// Follows `steps` from here, in the record `root`.
    pub(super) fn follow(self, steps: &[Step], root: TypedValue<'a>) -> Found<'a> {
        if let (Node::Union(branches), Value::Union(number, value)) = (self.node(), self.value) {
            let inside = self.inside(branches[*number], value);
            return inside.follow_branch(branches, *number, steps, root);
        }
        if *self.node() == Node::Null {
            return Found::Missing(DecodeErrorKind::Null);
        }
        let Some((step, rest)) = steps.split_first() else {
            return Found::At(self);
        };
        match step {
            Step::Field(_) => {
                let (Node::Record(record), Value::Record(values)) = (self.node(), self.value)
                else {
                    panic!("{COMPILES}");
                };
                let Some((field, rest)) = field_of(record, steps) else {
                    // A field that the schema lacks is missing.
                    return Found::Missing(DecodeErrorKind::Null);
                };
                let field = self.inside(record.fields[field].ty, &values[field]);
                field.follow(rest, root)
            }
            Step::Index(index) => {
                let elements = self.elements().into_iter();
                match elements.enumerate().find(|(i, _)| *i as u64 == *index) {
                    Some((_, element)) => element.follow(rest, root),
                    None => Found::Missing(DecodeErrorKind::NoItem { index: *index }),
                }
            }
            Step::Key(key) => {
                let (Node::Map(ty), Value::Map(entries)) = (self.node(), self.value) else {
                    panic!("{COMPILES}");
                };
                match entries.iter().find(|(name, _)| name == key) {
                    Some((_, value)) => self.inside(*ty, value).follow(rest, root),
                    None => Found::Missing(DecodeErrorKind::NoKey { key: key.clone() }),
                }
            }
            Step::SomeKeys(_) => panic!("{COMPILES}"),
            Step::Keys => {
                let Value::Map(entries) = self.value else {
                    panic!("{COMPILES}");
                };
                let keys = entries.iter().map(|(key, _)| Found::Key(key));
                Found::List(keys.collect())
            }
            Step::All => {
                let elements = self.elements().into_iter();
                Found::List(elements.map(|one| one.follow(rest, root)).collect())
            }
            Step::Slice(slice) => {
                let elements = self.elements();
                let kept = slice_of(*slice, elements.len());
                Found::List(kept.map(|i| elements[i].follow(rest, root)).collect())
            }
            Step::Filter(filter) => {
                let elements = self.elements().into_iter();
                let kept = elements.filter(|one| is_kept(filter, *one, root));
                Found::List(kept.map(|one| one.follow(rest, root)).collect())
            }
            // Outside a union, a branch step names the type itself.
            Step::Branch(name) => match branch_of(self.schema, &[self.ty], name) {
                Some(_) => self.follow(rest, root),
                None => Found::Missing(DecodeErrorKind::Null),
            },
        }
    }

    /// As [`follow`](Self::follow) from the union around this value, which is in the branch with
    /// the given index.
    fn follow_branch(
        self,
        branches: &[NodeId],
        number: usize,
        steps: &[Step],
        root: TypedValue<'a>,
    ) -> Found<'a> {
        let is_null = *self.value == Value::Null;
        match steps.split_first() {
            Some((Step::Branch(name), rest)) => {
                if branch_of(self.schema, branches, name) == Some(number) {
                    self.follow(rest, root)
                } else if is_null {
                    Found::Missing(DecodeErrorKind::Null)
                } else {
                    Found::Missing(DecodeErrorKind::OtherBranch {
                        asked: name.clone(),
                        found: full_name(self.schema, self.ty),
                    })
                }
            }
            _ if is_null => Found::Missing(DecodeErrorKind::Null),
            // Several records of a union may have the field.
            Some((Step::Field(name), _)) if is_several(self.schema, branches) => {
                if has_field(self.node(), steps) {
                    return self.follow(steps, root);
                }
                Found::Missing(DecodeErrorKind::OtherBranch {
                    asked: name.clone(),
                    found: full_name(self.schema, self.ty),
                })
            }
            _ => self.follow(steps, root),
        }
    }

    /// The items of an array, or the values of a map.
    pub(super) fn elements(self) -> Vec<TypedValue<'a>> {
        match (self.node(), self.value) {
            (Node::Array(ty), Value::Array(items)) => {
                items.iter().map(|item| self.inside(*ty, item)).collect()
            }
            (Node::Map(ty), Value::Map(entries)) => {
                let values = entries.iter().map(|(_, value)| value);
                values.map(|value| self.inside(*ty, value)).collect()
            }
            _ => panic!("{COMPILES}"),
        }
    }
}

/// The indices of a slice's elements in an array of length `length`.
fn slice_of(slice: Slice, length: usize) -> impl Iterator<Item = usize> {
    let absolute = |bound: i64| {
        if bound < 0 {
            i128::from(bound) + length as i128
        } else {
            i128::from(bound)
        }
    };
    let (start, end) = (slice.start.map(absolute), slice.end.map(absolute));
    (0..length).filter(move |&i| {
        let i = i as i128;
        start.is_none_or(|start| start <= i) && end.is_none_or(|end| i < end)
    })
}

/// The number of dimensions that `steps` lead to from the type `ty`: one for each `[*]`, slice and
/// filter, and for each array at the end. A duration's three numbers add one, and so do bytes if
/// `octets` is set. `None` if the schema lacks the value.
pub(super) fn dimensions(
    schema: &Schema,
    ty: NodeId,
    steps: &[Step],
    octets: bool,
) -> Option<usize> {
    let go = |ty: NodeId, steps: &[Step]| dimensions(schema, ty, steps, octets);
    match (schema.node(ty), steps) {
        (Node::Null, _) => None,
        (Node::Union(branches), [Step::Branch(name), rest @ ..]) => {
            let branch = branch_of(schema, branches, name)?;
            go(branches[branch], rest)
        }
        (Node::Union(branches), [Step::Field(_), ..]) if is_several(schema, branches) => {
            let mut branches = branches.iter();
            let branch = branches.find(|&&branch| has_field(schema.node(branch), steps));
            go(*branch?, steps)
        }
        (Node::Union(branches), _) => {
            let mut branches = branches.iter();
            let value = branches.find(|&&branch| *schema.node(branch) != Node::Null);
            go(*value.expect(COMPILES), steps)
        }
        (_, [Step::Branch(name), rest @ ..]) => {
            branch_of(schema, &[ty], name)?;
            go(ty, rest)
        }
        (Node::Record(record), [Step::Field(_), ..]) => {
            let (field, rest) = field_of(record, steps)?;
            go(record.fields[field].ty, rest)
        }
        (Node::Map(_), [Step::Keys, ..]) => Some(1),
        (
            Node::Array(item) | Node::Map(item),
            [Step::All | Step::Slice(_) | Step::Filter(_), rest @ ..],
        ) => Some(1 + go(*item, rest)?),
        (Node::Array(item) | Node::Map(item), [_, rest @ ..]) => go(*item, rest),
        (Node::Array(item), []) => Some(1 + go(*item, steps)?),
        (Node::Bytes | Node::Fixed(_), [])
            if octets && matches!(schema.logical(ty), None | Some(LogicalType::Unknown(_))) =>
        {
            Some(1)
        }
        (_, []) => Some(usize::from(
            schema.logical(ty) == Some(&LogicalType::Duration),
        )),
        _ => panic!("{COMPILES}"),
    }
}

fn is_several(schema: &Schema, branches: &[NodeId]) -> bool {
    let is_value = |&&branch: &&NodeId| *schema.node(branch) != Node::Null;
    branches.iter().filter(is_value).count() > 1
}

/// Whether a type is a record that has the first field of `steps`.
fn has_field(node: &Node, steps: &[Step]) -> bool {
    matches!(node, Node::Record(record) if field_of(record, steps).is_some())
}

/// The first field of `steps` in `record`, and the steps after it. The steps may begin with the
/// record's namespace or full name, if its first part is not the name of a field.
fn field_of<'s>(record: &Record, steps: &'s [Step]) -> Option<(usize, &'s [Step])> {
    let namespace = record.name.namespace();
    let namespace: Vec<&str> = namespace.map_or(Vec::new(), |name| name.split('.').collect());
    let full = [&*namespace, &[record.name.simple()]].concat();
    for names in [Vec::new(), namespace, full] {
        let names = names.into_iter();
        let prefix: Vec<Step> = names.map(|name| Step::Field(name.to_owned())).collect();
        if let Some([Step::Field(name), rest @ ..]) = steps.strip_prefix(&*prefix)
            && let Some((field, _)) = record.field(name)
        {
            return Some((field, rest));
        }
    }
    None
}

/// The index of the branch called `name`: its full name, a simple name that only one branch has, or
/// a full name with `#` and its number among branches of one name.
fn branch_of(schema: &Schema, branches: &[NodeId], name: &str) -> Option<usize> {
    let names: Vec<String> = branches.iter().map(|&ty| full_name(schema, ty)).collect();
    if let Some(branch) = names.iter().position(|full| full == name) {
        return Some(branch);
    }
    let simple = |ty: NodeId| {
        schema
            .node(ty)
            .name()
            .is_some_and(|full| full.simple() == name)
    };
    let found: Vec<usize> = (0..names.len()).filter(|&i| simple(branches[i])).collect();
    match *found {
        [branch] => Some(branch),
        _ => numbered(&names)
            .iter()
            .position(|numbered| numbered == name),
    }
}

fn full_name(schema: &Schema, ty: NodeId) -> String {
    let node = schema.node(ty);
    match node.name() {
        Some(name) => name.to_string(),
        None => node.type_name().to_owned(),
    }
}
