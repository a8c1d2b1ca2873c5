//! Skips values that no feature reads.

use std::collections::HashMap;
use std::sync::Arc;

use super::blocks::next_block;
use super::cursor::{Cursor, Fault};
use crate::DecodeErrorKind;
use crate::limits::{DEEPEST, MAX_DECODE_DEPTH};
use crate::schema::{Node, NodeId, Schema};

/// How to skip a value.
#[derive(Clone, Debug)]
pub(crate) enum Skip {
    /// This many bytes.
    Bytes(usize),
    /// This many varints.
    Varints(usize),
    /// A length and the bytes that it counts.
    Length,
    /// Blocks of items; maps are arrays of a key and a value.
    Items { item: Arc<Skip>, min_item: usize },
    /// A branch number and that branch.
    Union(Arc<[Skip]>),
    /// Several skips in order.
    Sequence(Box<[Skip]>),
    /// A record in the table, so that types can refer to themselves.
    Record(usize),
}

impl Skip {
    const NOTHING: Skip = Skip::Bytes(0);

    /// Whether the skip moves past no bytes.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Skip::Bytes(0))
    }

    /// The skips in order, in as few steps as their sizes allow.
    pub(crate) fn all(skips: impl Iterator<Item = Skip>) -> Skip {
        let mut sequence = Vec::new();
        skips.for_each(|skip| skip.push_to(&mut sequence));
        Skip::sequence(sequence)
    }

    /// Appends the skip to a sequence; joins it with the last one if possible.
    fn push_to(self, sequence: &mut Vec<Skip>) {
        match (sequence.last_mut(), self) {
            (_, Skip::Bytes(0)) => {}
            (_, Skip::Sequence(inner)) => inner.into_iter().for_each(|s| s.push_to(sequence)),
            (Some(Skip::Bytes(last)), Skip::Bytes(n)) => *last = last.saturating_add(n),
            (Some(Skip::Varints(last)), Skip::Varints(n)) => *last += n,
            (_, other) => sequence.push(other),
        }
    }

    fn sequence(mut sequence: Vec<Skip>) -> Skip {
        match sequence.len() {
            0 => Skip::NOTHING,
            1 => sequence.remove(0),
            _ => Skip::Sequence(sequence.into()),
        }
    }
}

/// The records of a schema, each skipped by its fields.
#[derive(Clone, Debug)]
pub(crate) struct SkipTable {
    /// Maximum nesting of values; bounded because skipping recurses.
    max_depth: usize,
    records: Vec<Skip>,
    /// The index of each record, by the address of its schema and its id: types of different
    /// schemas have the same ids.
    record_indices: HashMap<(usize, NodeId), usize>,
    /// The skips of arrays, maps and unions. They may be large, and are needed at each use of their
    /// type.
    known: HashMap<(usize, NodeId), Skip>,
    /// Records with an index but no skip yet. Records can nest through their names as deep as a
    /// schema is long, so the table does not recurse into them.
    pending: Vec<NodeId>,
}

impl Default for SkipTable {
    fn default() -> Self {
        Self::with_max_depth(MAX_DECODE_DEPTH)
    }
}

impl SkipTable {
    /// A table without records, for values nested at most `max_depth` deep.
    pub(crate) fn with_max_depth(max_depth: usize) -> Self {
        SkipTable {
            max_depth: max_depth.min(DEEPEST),
            records: Vec::new(),
            record_indices: HashMap::new(),
            known: HashMap::new(),
            pending: Vec::new(),
        }
    }

    /// How to skip a value of `node`.
    pub(crate) fn skip_of(&mut self, schema: &Schema, node: NodeId) -> Skip {
        let skip = self.make(schema, node);
        while let Some(node) = self.pending.pop() {
            if let Node::Record(record) = schema.node(node) {
                let fields = record.fields.iter();
                let skip = Skip::all(fields.map(|field| self.make(schema, field.ty)));
                self.records[self.record_indices[&key(schema, node)]] = skip;
            }
        }
        skip
    }

    fn make(&mut self, schema: &Schema, node: NodeId) -> Skip {
        if schema.is_always_empty(node) {
            return Skip::NOTHING;
        }
        match schema.node(node) {
            Node::Null => Skip::NOTHING,
            Node::Boolean => Skip::Bytes(1),
            Node::Int | Node::Long | Node::Enum(_) => Skip::Varints(1),
            Node::Float => Skip::Bytes(4),
            Node::Double => Skip::Bytes(8),
            Node::Bytes | Node::String => Skip::Length,
            Node::Fixed(fixed) => Skip::Bytes(fixed.size),
            Node::Array(_) | Node::Map(_) | Node::Union(_) => {
                if let Some(known) = self.known.get(&key(schema, node)) {
                    return known.clone();
                }
                let skip = self.make_large(schema, node);
                self.known.insert(key(schema, node), skip.clone());
                skip
            }
            Node::Record(_) => {
                let record_indices = &mut self.record_indices;
                let index = *record_indices.entry(key(schema, node)).or_insert_with(|| {
                    self.records.push(Skip::NOTHING);
                    self.pending.push(node);
                    self.records.len() - 1
                });
                Skip::Record(index)
            }
        }
    }

    fn make_large(&mut self, schema: &Schema, node: NodeId) -> Skip {
        match schema.node(node) {
            Node::Array(item) => self.items(schema, *item, None),
            Node::Map(value) => self.items(schema, *value, Some(Skip::Length)),
            Node::Union(branches) => {
                let branches = branches.iter().map(|&branch| self.make(schema, branch));
                Skip::Union(branches.collect())
            }
            _ => Skip::NOTHING,
        }
    }

    fn items(&mut self, schema: &Schema, item: NodeId, key: Option<Skip>) -> Skip {
        // A key takes at least one byte, for its length.
        let key_bytes = usize::from(key.is_some());
        let min = schema
            .min_encoded_len(item)
            .saturating_add(key_bytes as u64);
        let item = Skip::all(key.into_iter().chain([self.make(schema, item)]));
        Skip::Items {
            item: Arc::new(item),
            min_item: usize::try_from(min).unwrap_or(usize::MAX),
        }
    }

    /// What is skipped in a value: for a record, all its fields.
    pub(crate) fn inside<'a>(&'a self, skip: &'a Skip) -> &'a Skip {
        match skip {
            Skip::Record(index) => &self.records[*index],
            other => other,
        }
    }

    /// The skips of a record's fields, in order; `None` if a field is a record itself.
    pub(crate) fn fields(&self, index: usize) -> Option<&[Skip]> {
        let fields = match &self.records[index] {
            Skip::Sequence(fields) => fields,
            field => std::slice::from_ref(field),
        };
        let is_record = |field: &Skip| matches!(field, Skip::Record(_));
        (!fields.iter().any(is_record)).then_some(fields)
    }

    /// Skips a value.
    pub(crate) fn run(&self, skip: &Skip, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        self.skip(skip, cursor, 1, 0)
    }

    /// Skips a value within `depth` records, arrays, maps and unions.
    pub(crate) fn run_within(
        &self,
        depth: usize,
        skip: &Skip,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), Fault> {
        self.skip(skip, cursor, 1, depth)
    }

    /// Skips `times` values.
    pub(crate) fn run_times(
        &self,
        skip: &Skip,
        cursor: &mut Cursor<'_>,
        times: usize,
    ) -> Result<(), Fault> {
        self.skip(skip, cursor, times, 0)
    }

    /// Skips `n` values. `depth` counts the records, arrays, maps and unions around them.
    fn skip(
        &self,
        skip: &Skip,
        cursor: &mut Cursor<'_>,
        n: usize,
        depth: usize,
    ) -> Result<(), Fault> {
        match skip {
            Skip::Bytes(bytes) => cursor.bytes(bytes.saturating_mul(n)).map(drop),
            Skip::Varints(varints) => cursor.skip_varints(varints * n),
            Skip::Length => (0..n).try_for_each(|_| {
                let length = cursor.length()?;
                cursor.bytes(length).map(drop)
            }),
            Skip::Items { item, min_item } => (0..n).try_for_each(|_| {
                let depth = self.deeper(depth)?;
                while let Some(block) = next_block(cursor, *min_item)? {
                    match (block.bytes, &**item) {
                        (Some(bytes), _) => cursor.bytes(bytes).map(drop)?,
                        (None, Skip::Bytes(each)) => {
                            cursor.bytes(each.saturating_mul(block.count)).map(drop)?;
                        }
                        (None, Skip::Varints(each)) => cursor.skip_varints(each * block.count)?,
                        (None, item) => self.skip(item, cursor, block.count, depth)?,
                    }
                }
                Ok(())
            }),
            Skip::Union(branches) => (0..n).try_for_each(|_| {
                let start = *cursor;
                let branch = cursor.long()?;
                let Some(skip) = usize::try_from(branch).ok().and_then(|b| branches.get(b)) else {
                    *cursor = start;
                    return Err(bad_branch(branch, branches.len()));
                };
                self.skip(skip, cursor, 1, self.deeper(depth)?)
            }),
            Skip::Sequence(sequence) => (0..n).try_for_each(|_| {
                let mut skips = sequence.iter();
                skips.try_for_each(|skip| self.skip(skip, cursor, 1, depth))
            }),
            Skip::Record(index) => self.skip(&self.records[*index], cursor, n, self.deeper(depth)?),
        }
    }

    /// The depth inside one more value; an error beyond the limit.
    #[inline]
    fn deeper(&self, depth: usize) -> Result<usize, Fault> {
        if depth < self.max_depth {
            Ok(depth + 1)
        } else {
            Err(too_deep(self.max_depth))
        }
    }
}

fn key(schema: &Schema, node: NodeId) -> (usize, NodeId) {
    (std::ptr::from_ref(schema).addr(), node)
}

#[cold]
fn bad_branch(branch: i64, branches: usize) -> Fault {
    Box::new(DecodeErrorKind::BadUnionBranch { branch, branches })
}

#[cold]
fn too_deep(limit: usize) -> Fault {
    Box::new(DecodeErrorKind::TooDeep { limit })
}
