//! The limits of this crate, and the reason for each.

pub use atds_features::limits::{MAX_PATH_BYTES, MAX_PATH_STEPS};

/// Maximum size of a schema's text in bytes. Schemas with thousands of fields stay far below it. A
/// parsed schema takes some tens of bytes per byte of text.
pub const MAX_SCHEMA_BYTES: usize = 4 << 20;

/// Maximum nesting of types in a schema's text. The parser recurses, and must not overflow the
/// stack.
pub const MAX_SCHEMA_DEPTH: usize = 64;

/// Maximum size of a full name in bytes. Every reference looks up its full name, so the time to
/// parse a schema grows with the length of its namespaces.
pub const MAX_NAME_BYTES: usize = 1024;

/// Maximum number of deviations from the specification that are recorded for a schema. A schema can
/// have a deviation every few bytes, but people read the record.
pub const MAX_DEVIATIONS: usize = 100;

/// Maximum nesting of records, arrays, maps and unions in a value, by default. Only recursive types
/// come near it. Decoders recurse, and must not overflow the stack, even that of a spawned thread
/// in a debug build.
pub const MAX_DECODE_DEPTH: usize = 100;

/// Upper bound of the option for [`MAX_DECODE_DEPTH`]. Decoding a tree of values in a debug build
/// takes the deepest stack. At this nesting it takes less than three quarters of the 2 MiB of a
/// spawned thread.
pub const DEEPEST: usize = 300;

/// Maximum number of items in a block of an array whose items take no bytes, such as an array of
/// `null`. The input does not bound their number.
pub const MAX_ZERO_SIZE_ITEMS: usize = 1 << 20;

/// Maximum number of values that take no bytes in one decoded tree: `null`, `fixed` of size 0, or a
/// record of such fields. Values in unions do not count. A few named records, each with two fields
/// of the previous record, would otherwise make billions of values from empty input. Decoding into
/// columns has no such limit.
pub const MAX_ZERO_SIZE_VALUES: usize = 1 << 20;

/// Maximum size in bytes of a decimal that becomes a float. The time to find the nearest float
/// grows with the square of the size. Decimals in databases take some tens of bytes.
pub const MAX_DECIMAL_BYTES: usize = 1024;

/// Maximum number of fields that [`infer`](crate::infer()) visits. Nested records that repeat each
/// other's types can have exponentially many.
pub const MAX_INFERRED_FIELDS: usize = 1 << 16;

/// Maximum size of a [`Resolution`](crate::resolve::Resolution): its pairs of types, with their
/// fields, symbols and branches. A schema of [`MAX_SCHEMA_BYTES`] has far fewer types. But n
/// records of one name in different namespaces can meet in n² pairs.
pub const MAX_RESOLVED_PARTS: usize = 1 << 21;

/// Maximum number of values, and bytes of their strings, in all defaults that a
/// [`Resolution`](crate::resolve::Resolution) fills in. A default may leave out fields that have
/// defaults themselves, so a few records can make billions of values.
pub const MAX_DEFAULT_PARTS: usize = 1 << 20;

/// Maximum number of values, and bytes of their strings, that defaults add to one value read with
/// another schema. An array of small records in the data can become an array of large defaults.
pub const MAX_FILLED_PARTS: usize = 1 << 22;

/// Maximum number of steps of a plan's compiler: types visited and requests handled. Schemas that
/// name a record repeatedly can lead an expression through exponentially many types.
pub const MAX_PLAN_PARTS: usize = 1 << 20;

/// Maximum number of items in arrays that are read before the sizes of columns are looked at.
pub(crate) const MAX_UNCHECKED_ITEMS: usize = 1 << 14;

/// Maximum number of bytes of records, or of one value, that are read before the sizes of columns are
/// looked at.
pub(crate) const MAX_UNCHECKED_BYTES: usize = 1 << 16;

/// Minimum size of a batch in bytes for prefetching the memory that is written next. Smaller
/// batches stay in the caches of a core, together with the batches that they alternate with.
pub(crate) const LARGE_BATCH_BYTES: usize = 2 << 20;
