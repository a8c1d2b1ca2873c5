//! Records of one schema as records of another, from bytes to bytes.

mod compile;
mod record;
mod run;

use std::sync::Arc;

use crate::convert::Rescale;
use crate::limits::DEEPEST;
use crate::plan::skip::{Skip, SkipTable};
use crate::resolve::{Resolution, ResolvedId};
use crate::schema::{NodeId, Schema};
use crate::{DecodeError, DecodeOptions};
use record::RecordStep;

/// Re-encodes data of a writer's schema by a reader's, without a tree of
/// values: the fast twin of [`reference::resolve`](crate::reference::resolve())
/// between decoding and encoding.
///
/// Compiled once from a [`Resolution`]. Types that are alike are written as the
/// shortest encoding of what was read: numbers without padding, blocks of arrays
/// and maps as they are, but without their sizes. Fields that the reader does
/// not have are skipped, not checked.
///
/// See [`Resolution`] for an example.
#[derive(Clone, Debug)]
pub struct Transcoder {
    writer: Arc<Schema>,
    reader: Arc<Schema>,
    /// What to do for each pair of types of the resolution.
    steps: Box<[Step]>,
    root: ResolvedId,
    /// How to get past fields that are not read, or not yet.
    skips: Skips,
    options: DecodeOptions,
}

impl Transcoder {
    /// Compiles a resolution.
    pub fn new(resolution: &Resolution) -> Transcoder {
        Self::with_options(resolution, &DecodeOptions::default())
    }

    /// Compiles a resolution, by choice of what is read.
    pub fn with_options(resolution: &Resolution, options: &DecodeOptions) -> Transcoder {
        let mut options = *options;
        options.max_depth = options.max_depth.min(DEEPEST);
        compile::compile(resolution, options)
    }

    /// Appends the value that starts at the first byte of `record` to `out`, by
    /// the reader's schema, and says how many bytes it takes in `record`.
    ///
    /// # Errors
    /// The bytes are not a value of the writer's schema, or of one that the
    /// reader's has no place for; `out` is as before. Fields have the writer's
    /// names, if it has them.
    pub fn transcode(&self, record: &[u8], out: &mut Vec<u8>) -> Result<usize, DecodeError> {
        let start = out.len();
        let result = run::run(self, record, out);
        if result.is_err() {
            out.truncate(start);
        }
        result.map_err(|error| *error)
    }
}

/// What to do for a pair of types: what is read, and what is written for it.
#[derive(Clone, Debug)]
enum Step {
    /// A primitive or a fixed.
    Leaf(Leaf),
    /// A symbol's place; the other one.
    Enum {
        writer: NodeId,
        reader: NodeId,
        symbols: Box<[Option<u32>]>,
    },
    /// Blocks of items; the same.
    Array {
        item: ResolvedId,
        /// The fewest bytes of an item.
        min_item: usize,
    },
    /// Blocks of keys and values; the same.
    Map {
        value: ResolvedId,
        /// The fewest bytes of a key and a value.
        min_entry: usize,
    },
    /// Fields; in another order, without some, with others.
    Record(Box<RecordStep>),
    /// A branch number and that branch; what the branch becomes.
    Union(Box<[ResolvedId]>),
    /// A value; the branch number and the value.
    Branch { branch: usize, value: ResolvedId },
    /// Whatever it is, an error.
    Never { writer: NodeId, reader: NodeId },
}

/// What a primitive or a fixed becomes.
#[derive(Clone, Copy, Debug)]
enum Leaf {
    /// `null`.
    Nothing,
    Boolean,
    /// `int` to itself or `long`, which are written alike.
    Int,
    IntToFloat,
    IntToDouble,
    Long,
    /// Times to a finer unit.
    Times {
        /// Whether the data has `long`, else it has `int`.
        long: bool,
        rescale: Rescale,
    },
    LongToFloat,
    LongToDouble,
    FloatToDouble,
    /// `float`, `double` and `fixed` to themselves: so many bytes.
    Fixed(usize),
    /// `bytes` to itself.
    Bytes,
    /// `string` to itself, and to and from `bytes`: a length and UTF-8.
    Text,
}

/// How to get past the values of types.
#[derive(Clone, Debug)]
struct Skips {
    table: SkipTable,
    skips: Vec<Skip>,
}
