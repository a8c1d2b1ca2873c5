//! Schema resolution (Avro 1.12, "Schema Resolution"): how values that one
//! schema wrote are read as another's.
//!
//! # What matches
//! - **Primitives** match themselves, and are promoted: `int` to `long`, `float`
//!   and `double`, `long` to `float` and `double`, `float` to `double`, `string`
//!   to `bytes` and back.
//! - **Arrays and maps** match if their items and values do.
//! - **Records, enums and fixeds** match if the reader's name, or one of its
//!   aliases, is the writer's, namespaces aside. That holds for the record at
//!   the root, too. A writer's name that no reader's schema can have, since it is
//!   not by the specification (`""`, `user-id`), matches any. Fixeds must have one
//!   size.
//! - **Fields** match by name, else by the reader's aliases, which may be any
//!   text. Those that only the
//!   writer has are skipped, those that only the reader has take their default.
//! - **Symbols** match by name. Those that the reader does not have become its
//!   default; without one they are an error where data has them.
//! - **A writer's union**: each branch is matched on its own, and those that do
//!   not match are an error where data has them.
//! - **A reader's union**: a value becomes the first branch of its own type (of
//!   the same full name, if there is one, before those of an alias or of the
//!   same name in another namespace; of a name that no reader's schema can have,
//!   the only one of its type), else the first that it is promoted to. A branch
//!   is chosen by type and name alone, whatever is in it.
//! - **Logical types** that both schemas have must be the same. Decimals must
//!   have one precision and scale. Times become a finer unit: those of
//!   `timestamp-millis` are multiplied by 1000 where the reader has
//!   `timestamp-micros`, and a `date` becomes the local timestamp of its
//!   midnight. A coarser unit is not read, nor is a time of another kind. A
//!   logical type that only one schema has changes no value: `long` is read as
//!   `timestamp-millis`, which says what old data is, and `timestamp-millis` as
//!   `long`, which gives the bare number.
//!
//! A default of a union may be of any branch, and becomes the first it matches.

mod build;
mod defaults;
mod error;
mod explain;
mod identity;
mod matching;
mod never;

use std::sync::{Arc, OnceLock};

use crate::schema::describe::describe;
use crate::schema::{NodeId, Schema};
use never::Never;

pub use error::{ResolveError, ResolveErrorKind};

/// How a writer's values become a reader's: types that refer to one another by
/// [`ResolvedId`], so that recursive types are indices.
///
/// ```
/// use std::sync::Arc;
///
/// use avro_decode::resolve::{Resolution, Resolved};
/// use avro_decode::{Schema, Transcoder};
///
/// let old = Schema::parse(r#"{"type": "record", "name": "R", "fields": [
///     {"name": "gone", "type": "string"},
///     {"name": "n", "type": "int"}
/// ]}"#)?;
/// let new = Schema::parse(r#"{"type": "record", "name": "R", "fields": [
///     {"name": "added", "type": "boolean", "default": true},
///     {"name": "n", "type": "double"}
/// ]}"#)?;
/// let resolution = Resolution::new(Arc::new(old), Arc::new(new))?;
/// let Resolved::Record { fields, defaults, .. } = resolution.node(resolution.root) else {
///     panic!("not a record");
/// };
/// assert!(fields[0].is_none());
/// assert_eq!(*defaults[0].encoded, [1]);
///
/// let mut out = Vec::new();
/// let read = Transcoder::new(&resolution).transcode(&[2, b'x', 6], &mut out)?;
/// assert_eq!(read, 3);
/// assert_eq!(out[0], 1);
/// assert_eq!(out[1..], 3f64.to_le_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    never: Never,
    reader_identity: OnceLock<Arc<Resolution>>,
    is_identity: bool,
}

/// The place of a pair of types in its [`Resolution`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResolvedId(pub u32);

/// How one type of the writer is read as one of the reader.
#[derive(Clone, Debug)]
#[non_exhaustive]
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
#[non_exhaustive]
pub struct DefaultField {
    /// Its place in the reader's record.
    pub field: usize,
    /// Its default, encoded by the reader's schema.
    pub encoded: Arc<[u8]>,
    /// Values in it, and bytes of their strings; see
    /// [`MAX_FILLED_PARTS`](crate::limits::MAX_FILLED_PARTS).
    pub parts: usize,
    /// Records, arrays, maps and unions in it that are in one another.
    pub depth: usize,
}

impl Resolution {
    /// Resolves data of the schema `writer` to values of the schema `reader`.
    ///
    /// # Errors
    /// No value of the writer's can be read, whatever the data: its type and
    /// the reader's do not match, those of a field do not, or a field has no
    /// default. What stands in branches of a writer's union is an error only if
    /// it holds for all of them. An array or a map of values that do not match
    /// does not match, even though it may be empty.
    pub fn new(writer: Arc<Schema>, reader: Arc<Schema>) -> Result<Resolution, ResolveError> {
        let Some(built) = build::build(&writer, &reader) else {
            return Err(too_large(&writer, &reader));
        };
        let resolution = Resolution {
            writer,
            reader,
            nodes: built.nodes,
            root: ResolvedId(0),
            never: built.never,
            reader_identity: OnceLock::new(),
            is_identity: false,
        };
        match resolution.why_never(resolution.root) {
            None => Ok(resolution),
            Some(error) => Err(error),
        }
    }

    /// Data of `schema` as it is: every value stays what it is.
    pub fn identity(schema: Arc<Schema>) -> Resolution {
        let nodes = identity::nodes(&schema);
        Resolution {
            root: identity::at(schema.root()),
            reader: Arc::clone(&schema),
            writer: schema,
            nodes,
            never: Never::default(),
            reader_identity: OnceLock::new(),
            is_identity: true,
        }
    }

    /// The identity of the reader's schema, by which
    /// [`DefaultField::encoded`] is read; made when it is first asked for.
    pub fn reader_identity(&self) -> &Resolution {
        if self.is_identity {
            return self;
        }
        let make = || Arc::new(Resolution::identity(Arc::clone(&self.reader)));
        self.reader_identity.get_or_init(make)
    }

    /// The pair of types at `id`.
    ///
    /// # Panics
    /// If `id` is of another, larger resolution.
    pub fn node(&self, id: ResolvedId) -> &Resolved {
        &self.nodes[id.index()]
    }

    /// The pair of the type at `id` with itself.
    ///
    /// # Panics
    /// If this is not an [`identity`](Self::identity), or `id` is of another,
    /// larger schema.
    pub fn at(&self, id: NodeId) -> ResolvedId {
        assert!(
            self.is_identity && id.index() < self.reader.node_count(),
            "the type is of the identity's schema"
        );
        identity::at(id)
    }
}

impl ResolvedId {
    /// The place as a number, for tables with an entry per pair.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[cold]
fn too_large(writer: &Schema, reader: &Schema) -> ResolveError {
    ResolveError {
        kind: ResolveErrorKind::TooLarge,
        field: String::new(),
        writer: describe(writer, writer.root()),
        reader: describe(reader, reader.root()),
    }
}
