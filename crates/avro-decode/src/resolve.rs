//! Schema resolution (Avro 1.12, "Schema Resolution"): how values that one
//! schema wrote are read as another's.

use std::sync::Arc;

use crate::schema::{NodeId, Schema};

/// How a writer's values become a reader's: types that refer to one another by
/// [`ResolvedId`], so that recursive types are indices.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// What the data was written with.
    pub writer: Arc<Schema>,
    /// What it is read as.
    pub reader: Arc<Schema>,
    /// Every pair of types that meet.
    pub nodes: Vec<Resolved>,
    /// The pair of the two schemas' roots.
    pub root: ResolvedId,
}

/// The place of a pair of types in its [`Resolution`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResolvedId(pub u32);

/// How one type of the writer is read as one of the reader.
#[derive(Clone, Debug)]
pub enum Resolved {
    /// A primitive or a fixed: the same on both sides, or promoted.
    Leaf {
        /// The type of the data.
        writer: NodeId,
        /// What it is read as.
        reader: NodeId,
    },
    /// An enum.
    Enum {
        /// The writer's enum.
        writer: NodeId,
        /// The reader's.
        reader: NodeId,
        /// Per writer's symbol the reader's (its default, where it does not
        /// have that symbol), or none.
        symbols: Box<[Option<u32>]>,
    },
    /// An array.
    Array {
        /// The writer's array.
        writer: NodeId,
        /// The reader's.
        reader: NodeId,
        /// The items.
        item: ResolvedId,
    },
    /// A map.
    Map {
        /// The writer's map.
        writer: NodeId,
        /// The reader's.
        reader: NodeId,
        /// The values.
        value: ResolvedId,
    },
    /// A record.
    Record {
        /// The writer's record.
        writer: NodeId,
        /// The reader's.
        reader: NodeId,
        /// Per field of the writer, in the order of the data: the place of the
        /// reader's field that it becomes and how, or none if it is skipped.
        fields: Box<[Option<(usize, ResolvedId)>]>,
        /// The reader's fields that the writer does not have.
        defaults: Box<[DefaultField]>,
    },
    /// The writer has a union: a branch number, then that branch.
    Union {
        /// The writer's union.
        writer: NodeId,
        /// Per branch how it is read.
        branches: Box<[ResolvedId]>,
    },
    /// The reader has a union, and this branch of it is what the value becomes.
    Branch {
        /// The reader's union.
        reader: NodeId,
        /// The place of the branch in it.
        branch: usize,
        /// The value.
        value: ResolvedId,
    },
    /// The writer's value cannot become one of the reader: an error where data
    /// has such a value.
    Never {
        /// The writer's type.
        writer: NodeId,
        /// The reader's.
        reader: NodeId,
    },
}

/// A field that only the reader has.
#[derive(Clone, Debug)]
pub struct DefaultField {
    /// Its place in the reader's record.
    pub field: usize,
    /// Its default, encoded by the reader's schema.
    pub encoded: Box<[u8]>,
}
