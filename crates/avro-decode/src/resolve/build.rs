//! Builds the pairs of types of two schemas.

use std::collections::HashMap;

use super::defaults::{BadDefault, Defaults};
use super::matching::{
    Branches, FieldIndices, aliases, field_indices, logical_types_differ, match_fields,
    names_match, promotions,
};
use super::never::{Never, Why};
use super::{DefaultField, Resolved, ResolvedId};
use crate::limits::MAX_RESOLVED_PARTS;
use crate::schema::{Enum, Node, NodeId, Record, Schema};

/// The pairs, and the reasons of those that are [`Resolved::Never`].
pub(super) struct Built {
    pub(super) nodes: Vec<Resolved>,
    pub(super) never: Never,
}

/// All pairs that can be reached from the pair of the two roots, which comes first; `None` if there
/// are too many.
pub(super) fn build(writer: &Schema, reader: &Schema) -> Option<Built> {
    let mut builder = Builder {
        writer,
        reader,
        pairs: Vec::new(),
        ids: HashMap::new(),
        parts: 0,
        branches: HashMap::new(),
        writer_indices: HashMap::new(),
        reader_indices: HashMap::new(),
        defaults: Defaults::new(reader),
    };
    let mut nodes = Vec::new();
    let mut never = Never::default();
    builder.pair(writer.root(), reader.root());
    // Pairs are appended when they are found, without recursion: names may nest types as deep as a
    // schema is long.
    while let Some(&(w, r)) = builder.pairs.get(nodes.len()) {
        builder.count(w, r)?;
        let node = builder.resolve(w, r).unwrap_or_else(|why| {
            never.insert(ResolvedId(nodes.len() as u32), why);
            Resolved::Never {
                writer: w,
                reader: r,
            }
        });
        nodes.push(node);
    }
    never.spread(&mut nodes, &builder.pairs);
    Some(Built { nodes, never })
}

struct Builder<'s> {
    writer: &'s Schema,
    reader: &'s Schema,
    /// The pair at each [`ResolvedId`].
    pairs: Vec<(NodeId, NodeId)>,
    ids: HashMap<(NodeId, NodeId), ResolvedId>,
    /// Number of pairs, fields, symbols, branches and aliases so far.
    parts: usize,
    branches: HashMap<NodeId, Branches<'s>>,
    writer_indices: HashMap<NodeId, FieldIndices<'s>>,
    reader_indices: HashMap<NodeId, FieldIndices<'s>>,
    defaults: Defaults<'s>,
}

impl<'s> Builder<'s> {
    fn pair(&mut self, writer: NodeId, reader: NodeId) -> ResolvedId {
        *self.ids.entry((writer, reader)).or_insert_with(|| {
            // The number of pairs has a limit, so it fits.
            let id = ResolvedId(self.pairs.len() as u32);
            self.pairs.push((writer, reader));
            id
        })
    }

    /// Adds to the cost of resolving the pair, and checks its limit.
    fn count(&mut self, writer: NodeId, reader: NodeId) -> Option<()> {
        self.parts += 1 + match (self.writer.node(writer), self.reader.node(reader)) {
            (Node::Union(branches), _) => branches.len(),
            // A reader's union is counted once for all its pairs.
            (_, Node::Union(_)) => 0,
            (writer, reader) => parts(writer) + parts(reader),
        };
        (self.parts <= MAX_RESOLVED_PARTS).then_some(())
    }

    fn resolve(&mut self, writer: NodeId, reader: NodeId) -> Result<Resolved, Why> {
        let (w, r) = (self.writer.node(writer), self.reader.node(reader));
        Ok(match (w, r) {
            (Node::Union(branches), _) => Resolved::Union {
                writer,
                branches: branches
                    .iter()
                    .map(|&branch| self.pair(branch, reader))
                    .collect(),
            },
            (_, Node::Union(branches)) => self.branch(writer, reader, branches)?,
            (&Node::Array(w), &Node::Array(r)) => Resolved::Array {
                writer,
                reader,
                item: self.pair(w, r),
            },
            (&Node::Map(w), &Node::Map(r)) => Resolved::Map {
                writer,
                reader,
                value: self.pair(w, r),
            },
            (Node::Record(w), Node::Record(record)) => {
                named_alike(names_match(&w.name, r))?;
                self.record((writer, w), (reader, record))?
            }
            (Node::Enum(w), Node::Enum(symbols)) => {
                named_alike(names_match(&w.name, r))?;
                let symbols = match_symbols(w, symbols);
                Resolved::Enum {
                    writer,
                    reader,
                    symbols,
                }
            }
            (Node::Fixed(w), Node::Fixed(fixed)) => {
                named_alike(names_match(&w.name, r))?;
                if w.size != fixed.size {
                    return Err(Why::Sizes);
                }
                self.leaf(writer, reader)?
            }
            _ if w == r || promotions(w).contains(r) => self.leaf(writer, reader)?,
            _ => return Err(Why::Types),
        })
    }

    /// Resolves a primitive or a fixed.
    fn leaf(&self, writer: NodeId, reader: NodeId) -> Result<Resolved, Why> {
        if logical_types_differ(self.writer.logical(writer), self.reader.logical(reader)) {
            return Err(Why::LogicalTypes);
        }
        Ok(Resolved::Leaf { writer, reader })
    }

    fn branch(
        &mut self,
        writer: NodeId,
        reader: NodeId,
        branches: &'s [NodeId],
    ) -> Result<Resolved, Why> {
        let known = self.branches.entry(reader).or_insert_with(|| {
            let nodes = branches.iter().map(|&branch| self.reader.node(branch));
            self.parts += nodes.map(|node| 1 + aliases(node).len()).sum::<usize>();
            Branches::new(self.reader, branches)
        });
        let chosen = known.choose(self.writer.node(writer));
        let branch = chosen.ok_or(Why::Types)?;
        Ok(Resolved::Branch {
            reader,
            branch,
            value: self.pair(writer, branches[branch]),
        })
    }

    fn record(
        &mut self,
        (writer, w): (NodeId, &'s Record),
        (reader, r): (NodeId, &'s Record),
    ) -> Result<Resolved, Why> {
        let written = self.writer_indices.entry(writer);
        let written = written.or_insert_with(|| field_indices(w));
        let read = self.reader_indices.entry(reader);
        let read = read.or_insert_with(|| field_indices(r));
        let matched = match_fields(w, written, r, read);

        let mut is_read = vec![false; r.fields.len()];
        for &field in matched.iter().flatten() {
            is_read[field] = true;
        }
        let mut defaults = Vec::new();
        let unread = r.fields.iter().enumerate();
        for (field, found) in unread.filter(|&(field, _)| !is_read[field]) {
            let default = match self.defaults.of(reader, field, found) {
                None => return Err(Why::Missing { field }),
                Some(Err(BadDefault::Mismatch)) => return Err(Why::BadDefault { field }),
                Some(Err(BadDefault::TooLarge)) => return Err(Why::DefaultTooLarge { field }),
                Some(Ok(default)) => default,
            };
            defaults.push(DefaultField {
                field,
                encoded: default.encoded,
                parts: default.parts,
                depth: default.depth,
            });
        }
        let fields = w.fields.iter().zip(matched).map(|(old, matched)| {
            matched.map(|field| (field, self.pair(old.ty, r.fields[field].ty)))
        });
        Ok(Resolved::Record {
            writer,
            reader,
            fields: fields.collect(),
            defaults: defaults.into(),
        })
    }
}

fn named_alike(alike: bool) -> Result<(), Why> {
    if alike { Ok(()) } else { Err(Why::Names) }
}

fn match_symbols(writer: &Enum, reader: &Enum) -> Box<[Option<u32>]> {
    let indices: HashMap<&str, u32> = reader.symbols.iter().map(String::as_str).zip(0..).collect();
    let index = |symbol: &String| indices.get(symbol.as_str()).copied();
    let default = reader.default.as_ref().and_then(index);
    writer
        .symbols
        .iter()
        .map(|symbol| index(symbol).or(default))
        .collect()
}

/// Number of parts of a type other than a union.
fn parts(node: &Node) -> usize {
    let inner = match node {
        Node::Record(record) => {
            let fields = record.fields.iter().map(|field| 1 + field.aliases.len());
            fields.sum()
        }
        Node::Enum(symbols) => symbols.symbols.len(),
        _ => 0,
    };
    inner + aliases(node).len()
}
