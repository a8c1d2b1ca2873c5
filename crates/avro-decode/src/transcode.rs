//! Converts encoded records of one schema to encoded records of another.

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

/// Re-encodes data of a writer's schema by a reader's schema, without a tree of values. It is the
/// fast twin of decoding, [`reference::resolve`](crate::reference::resolve()) and encoding.
///
/// A transcoder is compiled once from a [`Resolution`]. It writes every value in its shortest
/// encoding: varints are not padded. Blocks of arrays and maps keep their counts, but lose their
/// sizes. Fields that the reader lacks are skipped, not checked.
///
/// See [`Resolution`] for an example.
#[derive(Clone, Debug)]
pub struct Transcoder {
    writer: Arc<Schema>,
    reader: Arc<Schema>,
    /// The step for each pair of types of the resolution.
    steps: Box<[TypeStep]>,
    root: ResolvedId,
    /// How to skip fields that are not read, or are read later.
    skips: Skips,
    options: DecodeOptions,
}

impl Transcoder {
    /// Compiles a resolution.
    pub fn new(resolution: &Resolution) -> Transcoder {
        Self::with_options(resolution, &DecodeOptions::default())
    }

    /// Compiles a resolution with options.
    pub fn with_options(resolution: &Resolution, options: &DecodeOptions) -> Transcoder {
        let mut options = *options;
        options.max_depth = options.max_depth.min(DEEPEST);
        compile::compile(resolution, options)
    }

    /// Appends the value that starts at the first byte of `record` to `out`, in the reader's
    /// schema. Returns the number of bytes that the value takes in `record`.
    ///
    /// # Errors
    /// If the bytes are not a value of the writer's schema, or the value cannot be read with the
    /// reader's schema. `out` is then unchanged. The error has the writer's field names, if the
    /// writer has the field.
    pub fn transcode(&self, record: &[u8], out: &mut Vec<u8>) -> Result<usize, DecodeError> {
        let start = out.len();
        let result = run::run(self, record, out);
        if result.is_err() {
            out.truncate(start);
        }
        result.map_err(|error| *error)
    }
}

/// The step for a pair of types: the input that it reads, and the output that it writes.
#[derive(Clone, Debug)]
enum TypeStep {
    /// A primitive or a fixed.
    Leaf(Leaf),
    /// Reads a symbol's index, and writes the reader's index.
    Enum {
        writer: NodeId,
        reader: NodeId,
        symbols: Box<[Option<u32>]>,
    },
    /// Reads and writes blocks of items.
    Array {
        item: ResolvedId,
        /// Minimum number of bytes per item.
        min_item: usize,
    },
    /// Reads and writes blocks of keys and values.
    Map {
        value: ResolvedId,
        /// Minimum number of bytes of a key and a value.
        min_entry: usize,
    },
    /// Reads fields, and writes them in the reader's order, with some skipped or added.
    Record(Box<RecordStep>),
    /// Reads a branch number and that branch, and writes the resolved branch.
    Union(Box<[ResolvedId]>),
    /// Reads a value, and writes the branch number and the value.
    Branch { branch: usize, value: ResolvedId },
    /// Returns an error.
    Never { writer: NodeId, reader: NodeId },
}

/// The conversion of a primitive or a fixed.
#[derive(Clone, Copy, Debug)]
enum Leaf {
    /// `null`.
    Nothing,
    Boolean,
    /// `int` to itself or to `long`, which have the same encoding.
    Int,
    IntToFloat,
    IntToDouble,
    Long,
    /// Times to a finer unit.
    Times {
        /// Whether the data has type `long`; otherwise it has type `int`.
        long: bool,
        rescale: Rescale,
    },
    LongToFloat,
    LongToDouble,
    FloatToDouble,
    /// `float`, `double` and `fixed` to themselves: this number of bytes.
    Fixed(usize),
    /// `bytes` to itself.
    Bytes,
    /// `string` to itself, and to and from `bytes`: a length and UTF-8.
    Text,
}

/// How to skip the values of types.
#[derive(Clone, Debug)]
struct Skips {
    table: SkipTable,
    skips: Vec<Skip>,
}
