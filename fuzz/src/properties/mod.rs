//! What must hold for any bytes, a property for each fuzz target. Each panics where it does not.
//!
//! Nothing here needs libFuzzer: a plain test of the crate `atds` runs these too, on the seeds and
//! on what fuzzing has found.

mod expression;
mod filter;
mod framing;
mod header;
mod inflate;
mod inflate_twin;
mod input;
mod pipeline;
mod plan;
mod resolver;
mod schema;
mod varints;

use atds_codec::Codec;

/// A property and its limits.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// The target's name, and that of its folders of seeds and artefacts.
    pub name: &'static str,
    /// The memory that checking it may take.
    pub memory: Memory,
    /// Checks it.
    pub check: fn(&[u8]),
}

/// The most bytes that may be allocated at a time for an input.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// For any input.
    pub fixed: usize,
    /// For each of its bytes besides.
    pub per_byte: usize,
}

impl Property {
    const fn new(name: &'static str, memory: Memory, check: fn(&[u8])) -> Self {
        Property {
            name,
            memory,
            check,
        }
    }
}

const MIB: usize = 1 << 20;

/// A file framed in pieces of one byte has some 100 bytes of bookkeeping for each.
const FRAMED: Memory = Memory {
    fixed: MIB,
    per_byte: 1 << 10,
};

/// The largest limit inflated to, in two buffers, and the working memory of the codecs that are
/// written in Rust.
const INFLATED: Memory = Memory {
    fixed: 32 * MIB,
    per_byte: 1 << 8,
};

/// Paths, what they print as, and errors, which have a copy of the text.
const EXPRESSION_PARSED: Memory = Memory {
    fixed: MIB,
    per_byte: 1 << 8,
};

/// The values of a run, a few times over.
const RUN_READ: Memory = Memory {
    fixed: MIB,
    per_byte: 1 << 8,
};

/// A tree of JSON and the schema made of it; the names of inferred fields.
const PARSED: Memory = Memory {
    fixed: 64 * MIB,
    per_byte: 1 << 13,
};

/// Trees of values, in which those that take no bytes have a limit of their own.
const DECODED: Memory = Memory {
    fixed: 512 * MIB,
    per_byte: 1 << 12,
};

/// The header is the same however the file is cut up, keeps to its limits, and written again it
/// reads the same.
pub const HEADER: Property = Property::new("header", FRAMED, header::check);

/// The framer tells the same of a file however it is cut up, and no byte is lost.
pub const FRAMER_CHUNKED: Property =
    Property::new("framer_chunked", FRAMED, framing::whole_equals_chunked);

/// The index of a file says what the framer says.
pub const INDEX_VS_FRAMER: Property =
    Property::new("index_vs_framer", FRAMED, framing::index_equals_framer);

/// Deflate: any payload is inflated within the limit or refused, always alike; what is compressed
/// inflates to the same.
pub const INFLATE_DEFLATE: Property = Property::new("inflate_deflate", INFLATED, |data| {
    inflate::check(Codec::Deflate, data);
});

/// The same of snappy.
pub const INFLATE_SNAPPY: Property = Property::new("inflate_snappy", INFLATED, |data| {
    inflate::check(Codec::Snappy, data);
});

/// The same of zstandard.
pub const INFLATE_ZSTANDARD: Property = Property::new("inflate_zstandard", INFLATED, |data| {
    inflate::check(Codec::Zstandard, data);
});

/// The same of bzip2.
pub const INFLATE_BZIP2: Property = Property::new("inflate_bzip2", INFLATED, |data| {
    inflate::check(Codec::Bzip2, data);
});

/// The same of xz.
pub const INFLATE_XZ: Property = Property::new("inflate_xz", INFLATED, |data| {
    inflate::check(Codec::Xz, data);
});

/// Raw deflate streams inflated several at once, whatever they are, are what they are bit by bit,
/// and to libdeflate.
pub const INFLATE_TWIN: Property = Property::new("inflate_twin", INFLATED, inflate_twin::check);

/// A schema printed and parsed again is the same; what is inferred of it compiles.
pub const SCHEMA: Property = Property::new("schema", PARSED, schema::check);

/// A record transcoded to another schema is what the reference resolves it to, or refused by both.
pub const RESOLVER: Property = Property::new("resolver", DECODED, resolver::check);

/// A path expression is refused, and the error points into it, or it prints to one that parses to
/// the same.
pub const EXPRESSION: Property = Property::new("expression", EXPRESSION_PARSED, expression::check);

/// A filter of any text is refused, or keeps the elements that the reference keeps.
pub const FILTER: Property = Property::new("filter", DECODED, filter::check);

/// The plan makes of any records what the reference makes of them, or refuses them as it does.
pub const PLAN_VS_REFERENCE: Property = Property::new("plan_vs_reference", DECODED, plan::check);

/// Runs of varints are read by every kernel as they are one by one.
pub const VARINTS: Property = Property::new("varints", RUN_READ, varints::check);

/// The batches of any file are those of the reference, for any number of threads, or an error
/// that names the file.
pub const PIPELINE: Property = Property::new("pipeline", DECODED, pipeline::any_file);

/// The same of files that were good before they were damaged.
pub const PIPELINE_DAMAGED: Property =
    Property::new("pipeline_damaged", DECODED, pipeline::damaged_file);

/// All of them.
pub const ALL: [Property; 17] = [
    HEADER,
    FRAMER_CHUNKED,
    INDEX_VS_FRAMER,
    INFLATE_DEFLATE,
    INFLATE_SNAPPY,
    INFLATE_ZSTANDARD,
    INFLATE_BZIP2,
    INFLATE_XZ,
    INFLATE_TWIN,
    SCHEMA,
    EXPRESSION,
    FILTER,
    RESOLVER,
    PLAN_VS_REFERENCE,
    VARINTS,
    PIPELINE,
    PIPELINE_DAMAGED,
];
