//! Schema resolution (Avro 1.12, "Schema Resolution"): how to read values written with one schema
//! as values of another.
//!
//! # What matches
//! - **Primitives** match the same type, and can be promoted. `int` becomes `long`, `float` or
//!   `double`; `long` becomes `float` or `double`; `float` becomes `double`; `string` and `bytes`
//!   become each other.
//! - **Arrays and maps** match if their items and values do.
//! - **Records, enums and fixeds** match if the reader's name, or one of its aliases, is the
//!   writer's name. Namespaces are ignored. This also applies to the record at the root. A writer's
//!   name that the specification does not allow (`""`, `user-id`) matches any name, since no
//!   reader's schema can have it. Fixeds must have the same size.
//! - **Fields** match by name, otherwise by the reader's aliases, which may be any text. A field
//!   that only the writer has is skipped. A field that only the reader has takes its default.
//! - **Symbols** match by name. A symbol that the reader lacks becomes the reader's default symbol.
//!   Without a default, it is an error if it occurs in the data.
//! - **A writer's union**: each branch is matched separately. A branch that does not match is an
//!   error if it occurs in the data.
//! - **A reader's union**: a value becomes the first branch of its own type. A branch of the same
//!   full name is preferred to one with an alias, or with the same name in another namespace. If
//!   the specification does not allow the writer's name, the value becomes the only branch of its
//!   type. If no branch has its type, the value becomes the first branch that it can be promoted
//!   to. Only type and name choose a branch, not its contents.
//! - **Logical types** that both schemas have must be the same. Decimals must have the same
//!   precision and scale. Times convert to a finer unit: `timestamp-millis` is multiplied by 1000
//!   if the reader has `timestamp-micros`. A `date` becomes the local timestamp of its midnight. A
//!   coarser unit, or another kind of time, is an error. A logical type that only one schema has
//!   changes no value: `long` is read as `timestamp-millis` with the same number, and vice versa.
//!
//! A default of a union may be of any branch, and becomes the first branch that it matches.

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

pub use defaults::default_value;
pub use error::{ResolveError, ResolveErrorKind};

/// The mapping from a writer's values to a reader's. Pairs of types refer to one another by
/// [`ResolvedId`], so recursive types are possible.
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
    /// The schema that the data was written with.
    pub writer: Arc<Schema>,
    /// The schema that the data is read as.
    pub reader: Arc<Schema>,
    /// Every pair of a writer's and a reader's type that occurs.
    pub nodes: Vec<Resolved>,
    /// The pair of the two schemas' roots.
    pub root: ResolvedId,
    never: Never,
    reader_identity: OnceLock<Arc<Resolution>>,
    is_identity: bool,
}

/// The index of a pair of types in its [`Resolution`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResolvedId(pub u32);

/// How to read one type of the writer as one of the reader.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Resolved {
    /// A primitive or a fixed: the same on both sides, or promoted.
    Leaf {
        /// The writer's type.
        writer: NodeId,
        /// The reader's type.
        reader: NodeId,
    },
    /// An enum.
    Enum {
        /// The writer's enum.
        writer: NodeId,
        /// The reader's.
        reader: NodeId,
        /// The reader's symbol for each of the writer's, or the reader's default for a symbol that
        /// it lacks. `None` if there is no default.
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
        /// For each field of the writer, in the order of the data: the index of the reader's field,
        /// and the pair of their types. `None` if the field is skipped.
        fields: Box<[Option<(usize, ResolvedId)>]>,
        /// The reader's fields that the writer lacks.
        defaults: Box<[DefaultField]>,
    },
    /// The writer has a union: a branch number, then that branch.
    Union {
        /// The writer's union.
        writer: NodeId,
        /// The pair for each branch.
        branches: Box<[ResolvedId]>,
    },
    /// The reader has a union, and the value becomes this branch.
    Branch {
        /// The reader's union.
        reader: NodeId,
        /// The index of the branch in the union.
        branch: usize,
        /// The value.
        value: ResolvedId,
    },
    /// The writer's type cannot be read as the reader's. It is an error if the data has such a
    /// value.
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
    /// The index of the field in the reader's record.
    pub field: usize,
    /// The field's default, encoded by the reader's schema.
    pub encoded: Arc<[u8]>,
    /// Number of values in the default, and bytes of their strings; see
    /// [`MAX_FILLED_PARTS`](crate::limits::MAX_FILLED_PARTS).
    pub parts: usize,
    /// Nesting of records, arrays, maps and unions in the default.
    pub depth: usize,
}

impl Resolution {
    /// Resolves the schema `writer` to the schema `reader`.
    ///
    /// # Errors
    /// If no value of the writer's schema can be read: its type and the reader's do not match, the
    /// types of a field do not match, or a field has no default. For the branches of a writer's
    /// union, only if none matches. Arrays and maps whose items or values do not match are an error
    /// too, even though they may be empty.
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

    /// The resolution of `schema` to itself: every value stays the same.
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

    /// The identity of the reader's schema, for reading [`DefaultField::encoded`]; created on first
    /// use.
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
    /// If `id` is from another, larger resolution.
    pub fn node(&self, id: ResolvedId) -> &Resolved {
        &self.nodes[id.index()]
    }

    /// The pair of the type at `id` with itself.
    ///
    /// # Panics
    /// If this is not an [`identity`](Self::identity), or `id` is from another, larger schema.
    pub fn at(&self, id: NodeId) -> ResolvedId {
        assert!(
            self.is_identity && id.index() < self.reader.node_count(),
            "the type is of the identity's schema"
        );
        identity::at(id)
    }
}

impl ResolvedId {
    /// The index as a `usize`, for tables with an entry per pair.
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
