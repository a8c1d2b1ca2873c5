//! Properties that must hold for any bytes, one for each fuzz target. A check panics if the
//! property does not hold.
//!
//! Nothing here needs libFuzzer. A test of the crate `atds` also checks the properties, on the
//! seeds and on inputs that fuzzing found.

mod btable;
mod decompress;
mod expression;
mod filter;
mod framing;
mod header;
mod inflate_twin;
mod input;
mod pipeline;
mod plan;
mod resolver;
mod schema;
mod tfrecord;
mod varints;

use atds_codec::Codec;

/// A property, and a limit on the memory of its check.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// The name of the target, and of its folders of seeds and artefacts.
    pub name: &'static str,
    /// The memory that the check may allocate.
    pub memory: Memory,
    /// Checks the property for an input.
    pub check: fn(&[u8]),
}

/// Maximum number of bytes allocated at a time for an input.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Number of bytes for any input.
    pub fixed: usize,
    /// Number of additional bytes for each byte of the input.
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

/// A file framed in pieces of one byte takes about 100 bytes of bookkeeping for each.
const FRAMED: Memory = Memory {
    fixed: MIB,
    per_byte: 1 << 10,
};

/// Two buffers of the largest limit, and the working memory of codecs written in Rust.
const DECOMPRESSED: Memory = Memory {
    fixed: 32 * MIB,
    per_byte: 1 << 8,
};

/// Paths, their printed text, and errors, which hold a copy of the text.
const EXPRESSION_PARSED: Memory = Memory {
    fixed: MIB,
    per_byte: 1 << 8,
};

/// Several copies of the values of a run.
const RUN_READ: Memory = Memory {
    fixed: MIB,
    per_byte: 1 << 8,
};

/// A tree of JSON, the schema made from it, and the names of inferred fields.
const PARSED: Memory = Memory {
    fixed: 64 * MIB,
    per_byte: 1 << 13,
};

/// Trees of values. Values without bytes have a limit of their own.
const DECODED: Memory = Memory {
    fixed: 512 * MIB,
    per_byte: 1 << 12,
};

/// The header does not depend on how the file is cut, keeps to its limits, and can be written and
/// read again.
pub const HEADER: Property = Property::new("header", FRAMED, header::check);

/// The framer's output does not depend on how the file is cut, and covers every byte.
pub const FRAMER_CHUNKED: Property =
    Property::new("framer_chunked", FRAMED, framing::whole_equals_chunked);

/// The index of a file agrees with the framer.
pub const INDEX_VS_FRAMER: Property =
    Property::new("index_vs_framer", FRAMED, framing::index_equals_framer);

/// Deflate: any payload is decompressed within the limit or refused, always with the same result.
/// Compressed data decompresses to the original.
pub const DECOMPRESS_DEFLATE: Property =
    Property::new("decompress_deflate", DECOMPRESSED, |data| {
        decompress::check(Codec::Deflate, data);
    });

/// The property of [`DECOMPRESS_DEFLATE`] for snappy.
pub const DECOMPRESS_SNAPPY: Property = Property::new("decompress_snappy", DECOMPRESSED, |data| {
    decompress::check(Codec::Snappy, data);
});

/// The property of [`DECOMPRESS_DEFLATE`] for zstandard.
pub const DECOMPRESS_ZSTANDARD: Property =
    Property::new("decompress_zstandard", DECOMPRESSED, |data| {
        decompress::check(Codec::Zstandard, data);
    });

/// The property of [`DECOMPRESS_DEFLATE`] for bzip2.
pub const DECOMPRESS_BZIP2: Property = Property::new("decompress_bzip2", DECOMPRESSED, |data| {
    decompress::check(Codec::Bzip2, data);
});

/// The property of [`DECOMPRESS_DEFLATE`] for xz.
pub const DECOMPRESS_XZ: Property = Property::new("decompress_xz", DECOMPRESSED, |data| {
    decompress::check(Codec::Xz, data);
});

/// Raw deflate streams inflated several at once have the results of the bit-by-bit twin and of
/// libdeflate.
pub const INFLATE_TWIN: Property = Property::new("inflate_twin", DECOMPRESSED, inflate_twin::check);

/// Parsing a printed schema gives the same schema, and its inferred features compile.
pub const SCHEMA: Property = Property::new("schema", PARSED, schema::check);

/// The transcoder gives the record that the reference resolves, or both refuse it.
pub const RESOLVER: Property = Property::new("resolver", DECODED, resolver::check);

/// A path expression is refused with a position in its text, or prints to a text that parses to the
/// same path.
pub const EXPRESSION: Property = Property::new("expression", EXPRESSION_PARSED, expression::check);

/// A filter of any text is refused, or keeps the elements that the reference keeps.
pub const FILTER: Property = Property::new("filter", DECODED, filter::check);

/// The plan makes the tensors of the reference from any records, or both refuse them.
pub const PLAN_VS_REFERENCE: Property = Property::new("plan_vs_reference", DECODED, plan::check);

/// Every kernel reads a run of varints as they are read one by one.
pub const VARINTS: Property = Property::new("varints", RUN_READ, varints::check);

/// For any number of threads, a file gives the batches of the reference, or an error that names the
/// file.
pub const PIPELINE: Property = Property::new("pipeline", DECODED, pipeline::any_file);

/// The property of [`PIPELINE`] for valid files that were damaged.
pub const PIPELINE_DAMAGED: Property =
    Property::new("pipeline_damaged", DECODED, pipeline::damaged_file);

/// All readers of a table say what their slow twin says, in any pieces; a good table is written again as it was.
pub const BTABLE_READ: Property = Property::new("btable_read", FRAMED, btable::read);

/// All writers write a table as their slow twin does, and it is read again.
pub const BTABLE_WRITE: Property = Property::new("btable_write", FRAMED, btable::write);

/// A TFRecord file gives the same blocks and errors for all ways to cut it, framed and listed, after
/// damage too, and each byte is told of once.
pub const TFRECORD_FRAMING: Property = Property::new("tfrecord_framing", FRAMED, tfrecord::framing);

/// An `Example` or `SequenceExample` of any form becomes the rows that `prost` and a slow decoder make of
/// it. Inferred features read the records that they were inferred from.
pub const EXAMPLE_TWIN: Property = Property::new("example_twin", DECODED, tfrecord::examples);

/// All properties.
pub const ALL: [Property; 21] = [
    HEADER,
    FRAMER_CHUNKED,
    INDEX_VS_FRAMER,
    DECOMPRESS_DEFLATE,
    DECOMPRESS_SNAPPY,
    DECOMPRESS_ZSTANDARD,
    DECOMPRESS_BZIP2,
    DECOMPRESS_XZ,
    INFLATE_TWIN,
    SCHEMA,
    EXPRESSION,
    FILTER,
    RESOLVER,
    PLAN_VS_REFERENCE,
    VARINTS,
    PIPELINE,
    PIPELINE_DAMAGED,
    BTABLE_READ,
    BTABLE_WRITE,
    TFRECORD_FRAMING,
    EXAMPLE_TWIN,
];
