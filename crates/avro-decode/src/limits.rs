//! What this crate refuses, and why.

/// Bytes of a schema's text. Schemas of thousands of fields stay far below
/// it; a parsed schema takes some tens of bytes per byte of text.
pub const MAX_SCHEMA_BYTES: usize = 4 << 20;

/// Types nested in one another in a schema's text. The parser recurses, and
/// must not run out of stack.
pub const MAX_SCHEMA_DEPTH: usize = 64;

/// Bytes of a full name. Every reference looks up its full name, so the time
/// to parse a schema grows with the length of its namespaces.
pub const MAX_NAME_BYTES: usize = 1024;

/// What is noted of a schema that is not by the specification. A schema can have a
/// deviation every few bytes; a note is for reading.
pub const MAX_DEVIATIONS: usize = 100;

/// Records, arrays, maps and unions that are open at once in a value. Only
/// recursive types come near it; decoders recurse, and must not run out of
/// stack, even that of a spawned thread in a debug build.
pub const MAX_DECODE_DEPTH: usize = 100;

/// The most that the option for [`MAX_DECODE_DEPTH`] can be. The deepest stacks are those of
/// trees of values in a debug build: so many values take less than three quarters of the 2 MiB that a spawned
/// thread has.
pub const DEEPEST: usize = 300;

/// Items of a block of an array whose items take no bytes, such as an array
/// of `null`: nothing in the input bounds their number.
pub const MAX_ZERO_SIZE_ITEMS: usize = 1 << 20;

/// Values without bytes (of type `null`, `fixed` of size 0, or a record of
/// nothing else) outside unions in one tree of values. A few named records,
/// each with two fields of the one before, otherwise make billions of them
/// out of no input at all. Decoding without a tree has no such limit.
pub const MAX_ZERO_SIZE_VALUES: usize = 1 << 20;

/// Bytes of a decimal that becomes a float: the time to find the nearest one
/// grows with their square. The decimals of databases take some tens.
pub const MAX_DECIMAL_BYTES: usize = 1024;

/// Fields that [`infer`](crate::infer()) looks at. Nested records that repeat
/// each other's types can have exponentially many.
pub const MAX_INFERRED_FIELDS: usize = 1 << 16;

/// Bytes of a path expression. Those that people write are far below it; an
/// error has a copy of the whole.
pub const MAX_PATH_BYTES: usize = 4096;

/// Steps of a path, those of a filter's sides counted each for themselves. A
/// step leads into what the one before leads to, and what is compiled of them
/// nests like that; with a recursive type no schema bounds it.
pub const MAX_PATH_STEPS: usize = 64;

/// Parts of a [`Resolution`](crate::resolve::Resolution): pairs of types that
/// meet, with their fields, symbols and branches. Far more than a schema of
/// [`MAX_SCHEMA_BYTES`] has of its own, but a few records of one name in
/// different namespaces can meet in as many pairs as there are of them.
pub const MAX_RESOLVED_PARTS: usize = 1 << 21;

/// Values, and bytes of their strings, in all the defaults that a
/// [`Resolution`](crate::resolve::Resolution) fills in. A default may leave out
/// fields that have defaults themselves, so that a few records can make
/// billions of values.
pub const MAX_DEFAULT_PARTS: usize = 1 << 20;

/// Values, and bytes of their strings, that come from defaults in one value
/// that is read as another schema's. An array of small records in the data
/// becomes one of large defaults.
pub const MAX_FILLED_PARTS: usize = 1 << 22;

/// What the compiler of a plan visits: types, and what wants something of them.
/// Schemas that name a record again and again can lead an expression through
/// exponentially many.
pub const MAX_PLAN_PARTS: usize = 1 << 20;

/// Bytes of a batch's memory from which on it is asked for ahead of what is written to
/// it: smaller ones stay in the caches near a core, with the batches that take turns with
/// them.
pub(crate) const LARGE_BATCH_BYTES: usize = 2 << 20;
