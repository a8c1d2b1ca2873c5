//! Matches types and fields of two schemas.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

use crate::convert::Rescale;
use crate::schema::{LogicalType, Name, Node, NodeId, Record, Schema};

/// Whether the reader's type has the writer's name, as its own name or an alias, ignoring
/// namespaces. A writer's name that no reader's schema can have, such as the empty one, matches any
/// name.
pub(super) fn names_match(writer: &Name, reader: &Node) -> bool {
    if !writer.is_plain() {
        return true;
    }
    reader
        .name()
        .into_iter()
        .chain(aliases(reader))
        .any(|name| name.simple() == writer.simple())
}

/// Whether the values of two logical types differ in meaning, and do not convert without a loss.
/// Times convert to a finer unit. A logical type that only one schema has applies to the values of
/// both.
pub(super) fn logical_types_differ(
    writer: Option<&LogicalType>,
    reader: Option<&LogicalType>,
) -> bool {
    let (Some(writer), Some(reader)) = (writer, reader) else {
        return false;
    };
    if let (Some((from, unit)), Some((to, finer))) = (writer.time(), reader.time()) {
        return !from.becomes(to) || !Rescale::is_exact(unit, finer);
    }
    let is_known = |logical: &LogicalType| !matches!(logical, LogicalType::Unknown(_));
    is_known(writer) && is_known(reader) && writer != reader
}

/// The types that a primitive type can be promoted to, without itself.
pub(super) fn promotions(writer: &Node) -> &'static [Node] {
    const OF_INT: &[Node] = &[Node::Long, Node::Float, Node::Double];
    const OF_LONG: &[Node] = &[Node::Float, Node::Double];
    const OF_FLOAT: &[Node] = &[Node::Double];
    const OF_STRING: &[Node] = &[Node::Bytes];
    const OF_BYTES: &[Node] = &[Node::String];
    match writer {
        Node::Int => OF_INT,
        Node::Long => OF_LONG,
        Node::Float => OF_FLOAT,
        Node::String => OF_STRING,
        Node::Bytes => OF_BYTES,
        _ => &[],
    }
}

/// The aliases of a record, enum or fixed.
pub(super) fn aliases(node: &Node) -> &[Name] {
    match node {
        Node::Record(record) => &record.aliases,
        Node::Enum(symbols) => &symbols.aliases,
        Node::Fixed(fixed) => &fixed.aliases,
        _ => &[],
    }
}

/// The branches of a reader's union, indexed by the properties that they can share with a writer's
/// type.
pub(super) struct Branches<'s> {
    by_trait: HashMap<Trait<'s>, usize>,
    /// The only branch of a kind; `None` if there are several.
    only: HashMap<Kind, Option<usize>>,
}

/// A property that a writer's type and a branch can share.
#[derive(PartialEq, Eq, Hash)]
enum Trait<'s> {
    Type(Discriminant<Node>),
    Name(Kind, &'s Name),
    Alias(Kind, &'s Name),
    SimpleName(Kind, &'s str),
    SimpleAlias(Kind, &'s str),
}

/// Properties that named types must share besides a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    ty: Discriminant<Node>,
    /// Size of a fixed.
    size: Option<usize>,
}

impl<'s> Branches<'s> {
    pub(super) fn new(schema: &'s Schema, branches: &[NodeId]) -> Self {
        let mut by_trait = HashMap::new();
        let mut only = HashMap::new();
        for (index, &branch) in branches.iter().enumerate() {
            let node = schema.node(branch);
            // The first of several branches counts.
            let mut add = |has| {
                by_trait.entry(has).or_insert(index);
            };
            let kind = Kind::of(node);
            only.entry(kind)
                .and_modify(|only| *only = None)
                .or_insert(Some(index));
            match node.name() {
                None => add(Trait::Type(kind.ty)),
                Some(name) => {
                    add(Trait::Name(kind, name));
                    add(Trait::SimpleName(kind, name.simple()));
                }
            }
            for alias in aliases(node) {
                add(Trait::Alias(kind, alias));
                add(Trait::SimpleAlias(kind, alias.simple()));
            }
        }
        Branches { by_trait, only }
    }

    /// The index of the branch that a value of the writer's type becomes. This is the first branch
    /// of its type and, for a named type, its name. If no branch can have that name, it is the only
    /// branch of its type. Otherwise, it is the first branch that the type can be promoted to.
    pub(super) fn choose(&self, writer: &Node) -> Option<usize> {
        let kind = Kind::of(writer);
        let find = |wanted| self.by_trait.get(&wanted).copied();
        match writer.name() {
            Some(name) => find(Trait::Name(kind, name))
                .or_else(|| find(Trait::Alias(kind, name)))
                .or_else(|| find(Trait::SimpleName(kind, name.simple())))
                .or_else(|| find(Trait::SimpleAlias(kind, name.simple())))
                .or_else(|| {
                    if name.is_plain() {
                        None
                    } else {
                        *self.only.get(&kind)?
                    }
                }),
            None => find(Trait::Type(kind.ty)).or_else(|| {
                let promotions = promotions(writer).iter();
                promotions
                    .filter_map(|to| find(Trait::Type(discriminant(to))))
                    .min()
            }),
        }
    }
}

impl Kind {
    fn of(node: &Node) -> Kind {
        Kind {
            ty: discriminant(node),
            size: match node {
                Node::Fixed(fixed) => Some(fixed.size),
                _ => None,
            },
        }
    }
}

/// The indices of a record's fields.
pub(super) type FieldIndices<'s> = HashMap<&'s str, usize>;

pub(super) fn field_indices(record: &Record) -> FieldIndices<'_> {
    let names = record.fields.iter().map(|field| field.name.as_str());
    names.zip(0..).collect()
}

/// For each field of the writer, the index of the reader's field that it becomes. This is the field
/// of the same name. Otherwise, it is the first field that has the name as an alias, and whose own
/// name the writer does not have.
pub(super) fn match_fields(
    writer: &Record,
    writer_indices: &FieldIndices<'_>,
    reader: &Record,
    reader_indices: &FieldIndices<'_>,
) -> Vec<Option<usize>> {
    let by_name = |name: &str| reader_indices.get(name).copied();
    let mut matched: Vec<_> = writer
        .fields
        .iter()
        .map(|field| by_name(&field.name))
        .collect();
    for (index, field) in reader.fields.iter().enumerate() {
        if writer_indices.contains_key(field.name.as_str()) {
            continue;
        }
        let mut aliases = field.aliases.iter();
        let old = aliases.find_map(|alias| {
            let &old = writer_indices.get(alias.as_str())?;
            matched[old].is_none().then_some(old)
        });
        if let Some(old) = old {
            matched[old] = Some(index);
        }
    }
    matched
}
