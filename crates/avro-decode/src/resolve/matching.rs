//! Which types and fields go together.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

use crate::convert::{Clock, Rescale};
use crate::schema::{LogicalType, Name, Node, NodeId, Record, Schema};

/// Whether the reader's type goes by the writer's name: its own name or an
/// alias is that, the namespaces aside. A name that a reader's schema cannot
/// have, such as the empty one, does not tell types apart.
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

/// Whether the values of two logical types mean different things, and do not
/// become one another without a loss. Times of a coarser unit become those of
/// a finer one. A type that only one of the schemas has tells what the values
/// of the other are.
pub(super) fn logical_types_differ(
    writer: Option<&LogicalType>,
    reader: Option<&LogicalType>,
) -> bool {
    let (Some(writer), Some(reader)) = (writer, reader) else {
        return false;
    };
    if let (Some((from, unit)), Some((to, finer))) = (Clock::of(writer), Clock::of(reader)) {
        return !from.becomes(to) || !Rescale::is_exact(unit, finer);
    }
    let is_known = |logical: &LogicalType| !matches!(logical, LogicalType::Unknown(_));
    is_known(writer) && is_known(reader) && writer != reader
}

/// What a primitive type is promoted to, itself aside.
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

/// The other names of a record, enum or fixed.
pub(super) fn aliases(node: &Node) -> &[Name] {
    match node {
        Node::Record(record) => &record.aliases,
        Node::Enum(symbols) => &symbols.aliases,
        Node::Fixed(fixed) => &fixed.aliases,
        _ => &[],
    }
}

/// The branches of a reader's union, by what a writer's type can be like.
pub(super) struct Branches<'s> {
    by_trait: HashMap<Trait<'s>, usize>,
    /// The branch of a kind; none if there are several.
    only: HashMap<Kind, Option<usize>>,
}

/// What a type of the writer and a branch may have in common.
#[derive(PartialEq, Eq, Hash)]
enum Trait<'s> {
    Type(Discriminant<Node>),
    Name(Kind, &'s Name),
    Alias(Kind, &'s Name),
    SimpleName(Kind, &'s str),
    SimpleAlias(Kind, &'s str),
}

/// What named types must have in common besides a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    ty: Discriminant<Node>,
    /// Of a fixed.
    size: Option<usize>,
}

impl<'s> Branches<'s> {
    pub(super) fn new(schema: &'s Schema, branches: &[NodeId]) -> Self {
        let mut by_trait = HashMap::new();
        let mut only = HashMap::new();
        for (place, &branch) in branches.iter().enumerate() {
            let node = schema.node(branch);
            // Of several branches the first.
            let mut add = |has| {
                by_trait.entry(has).or_insert(place);
            };
            let kind = Kind::of(node);
            only.entry(kind)
                .and_modify(|only| *only = None)
                .or_insert(Some(place));
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

    /// The place of the branch that a value of the writer's type becomes: the
    /// first of its type and, if it has one, its name, or the only one of its
    /// type where no branch can have that name; else the first that it is
    /// promoted to.
    pub(super) fn choose(&self, writer: &Node) -> Option<usize> {
        let kind = Kind::of(writer);
        let place = |wanted| self.by_trait.get(&wanted).copied();
        match writer.name() {
            Some(name) => place(Trait::Name(kind, name))
                .or_else(|| place(Trait::Alias(kind, name)))
                .or_else(|| place(Trait::SimpleName(kind, name.simple())))
                .or_else(|| place(Trait::SimpleAlias(kind, name.simple())))
                .or_else(|| {
                    if name.is_plain() {
                        None
                    } else {
                        *self.only.get(&kind)?
                    }
                }),
            None => place(Trait::Type(kind.ty)).or_else(|| {
                let promotions = promotions(writer).iter();
                promotions
                    .filter_map(|to| place(Trait::Type(discriminant(to))))
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

/// The places of a record's fields.
pub(super) type Places<'s> = HashMap<&'s str, usize>;

pub(super) fn places(record: &Record) -> Places<'_> {
    let names = record.fields.iter().map(|field| field.name.as_str());
    names.zip(0..).collect()
}

/// Per field of the writer the place of the reader's that it becomes: the one
/// of its name, else the first that has its name as an alias and no field of
/// its own name.
pub(super) fn match_fields(
    writer: &Record,
    writer_places: &Places<'_>,
    reader: &Record,
    reader_places: &Places<'_>,
) -> Vec<Option<usize>> {
    let by_name = |name: &str| reader_places.get(name).copied();
    let mut matched: Vec<_> = writer
        .fields
        .iter()
        .map(|field| by_name(&field.name))
        .collect();
    for (place, field) in reader.fields.iter().enumerate() {
        if writer_places.contains_key(field.name.as_str()) {
            continue;
        }
        let mut aliases = field.aliases.iter();
        let old = aliases.find_map(|alias| {
            let &old = writer_places.get(alias.as_str())?;
            matched[old].is_none().then_some(old)
        });
        if let Some(old) = old {
            matched[old] = Some(place);
        }
    }
    matched
}
