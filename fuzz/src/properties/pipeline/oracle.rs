//! Reads a file slowly, record by record.

use std::ops::Range;

use avro_block::{BlockReader, DecompressBuffer, DecompressError, Decompressor};
use avro_decode::reference::{self, RecordError, ReferenceTensors};
use avro_decode::{
    Convert, DecodeError, DecodeErrorKind, Feature, Features, PlanOptions, Schema, Value,
};

/// Maximum number of records, since trees of values are large.
pub(super) const MAX_RECORDS: usize = 1 << 12;

/// Maximum size of a block, above the pipeline's memory limit.
pub(super) const MAX_BLOCK_BYTES: usize = 4 << 20;

/// The content of a file.
pub(super) struct Expected {
    schema: Schema,
    features: Features,
    options: PlanOptions,
    /// The records before the first error.
    pub(super) records: Vec<Value>,
    pub(super) end: End,
}

/// The end of a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// The file ends without an error.
    Whole,
    /// An error outside blocks, after all records of the blocks before it.
    Framing,
    /// An error in a block, after `whole` records of the blocks before it.
    Block { whole: usize },
    /// The plan may read on: it skips the values with the error, or there are too many records for
    /// this reader.
    Unknown,
}

/// The schema of a file with a valid header.
pub(super) fn schema(file: &[u8]) -> Option<Schema> {
    let blocks = BlockReader::new(file).ok()?;
    Schema::parse_lenient(blocks.header().schema()).ok()
}

/// Reads a file with a valid header and schema.
pub(super) fn read(
    file: &[u8],
    schema: Schema,
    features: &Features,
    options: &PlanOptions,
) -> Expected {
    let mut blocks = BlockReader::new(file).expect("the header is good");
    let codec = blocks.header().codec();
    let mut records = Vec::new();
    let (mut inflater, mut inflated) = (Decompressor::new(), DecompressBuffer::new());
    let end = loop {
        let block = match blocks.next() {
            None => break End::Whole,
            Some(Err(_)) => break End::Framing,
            Some(Ok(block)) => block,
        };
        match inflater.decompress(codec, &block.payload, &mut inflated, MAX_BLOCK_BYTES) {
            Ok(()) => {}
            Err(DecompressError::TooLarge { .. }) => break End::Unknown,
            // The pipeline does not decompress an empty payload of a block without records.
            Err(_) if block.count == 0 && block.payload.is_empty() => continue,
            Err(_) => {
                break End::Block {
                    whole: records.len(),
                };
            }
        }
        if let Some(end) = read_block(&schema, features, &inflated, block.count, &mut records) {
            break end;
        }
    };
    Expected {
        schema,
        features: features.clone(),
        options: options.clone(),
        records,
        end,
    }
}

/// Reads the records of a block. Returns the end of the file if it ends here.
fn read_block(
    schema: &Schema,
    features: &Features,
    inflated: &[u8],
    count: u64,
    records: &mut Vec<Value>,
) -> Option<End> {
    let mut position = 0;
    let whole = records.len();
    for _ in 0..count {
        if records.len() == MAX_RECORDS {
            return Some(End::Unknown);
        }
        match reference::decode(schema, schema.root(), inflated, &mut position) {
            Ok(record) => records.push(record),
            Err(error) => {
                return Some(if is_noticed(features, &error) {
                    End::Block { whole }
                } else {
                    End::Unknown
                });
            }
        }
    }
    (position < inflated.len()).then_some(End::Block { whole })
}

/// Whether features read the value with the error, so that the plan has the error, too.
pub(super) fn is_noticed(features: &Features, error: &DecodeError) -> bool {
    let field = error.field.as_deref().unwrap_or_default();
    let is_tree_limit = error.kind == DecodeErrorKind::TooManyZeroSizeValues;
    // The plan does not check texts that become ids or bytes.
    let any_bytes = |feature: &Feature| {
        let convert = &feature.convert;
        let is_ids = matches!(convert, Convert::HashBuckets(_) | Convert::Vocabulary(_));
        is_ids || feature.any_bytes
    };
    let is_unchecked = error.kind == DecodeErrorKind::InvalidUtf8 && features.iter().any(any_bytes);
    is_read(features, field) && !is_tree_limit && !is_unchecked
}

/// Whether a feature reads this field, a part of it, or a value around it. Features of elements of
/// arrays and maps do not count, since the plan may read fewer elements than the reference.
fn is_read(features: &Features, field: &str) -> bool {
    let is_inside = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut ways = features.iter().map(|feature| feature.expression());
    ways.any(|way| !way.contains(['[', ':']) && (is_inside(field, way) || is_inside(way, field)))
}

impl Expected {
    /// The tensors of some of the records.
    pub(super) fn tensors(&self, records: Range<usize>) -> Result<ReferenceTensors, RecordError> {
        reference::tensors(
            &self.schema,
            &self.records[records],
            &self.features,
            &self.options,
        )
    }
}
