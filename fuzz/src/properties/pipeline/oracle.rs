//! A file read slowly, record by record.

use std::ops::Range;

use avro_block::{BlockReader, DecompressBuffer, DecompressError, Decompressor};
use avro_decode::reference::{self, RecordError, ReferenceTensors};
use avro_decode::{Convert, DecodeErrorKind, Feature, Features, PlanOptions, Schema, Value};

/// Trees of values are large: this many records are read, and no more.
const MAX_RECORDS: usize = 1 << 12;

/// More than the pipeline's memory limit lets it hold.
const MAX_BLOCK_BYTES: usize = 4 << 20;

/// What is in a file.
pub(super) struct Expected {
    schema: Schema,
    features: Features,
    options: PlanOptions,
    /// Its records up to the first fault.
    pub(super) records: Vec<Value>,
    pub(super) end: End,
}

/// How a file ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// As it should.
    Whole,
    /// With a fault outside blocks, behind all records of the blocks before.
    Framing,
    /// With a block that is at fault; behind so many records of the blocks before it.
    Block { whole: usize },
    /// With what the plan may read otherwise: a fault where it skips, or more than is read here.
    Unknown,
}

/// The schema of a file, if that and the header are good.
pub(super) fn schema(file: &[u8]) -> Option<Schema> {
    let blocks = BlockReader::new(file).ok()?;
    Schema::parse_lenient(blocks.header().schema()).ok()
}

/// Reads a file whose header and schema are good.
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
            // The payload of a block without records is not looked at if it is empty.
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

/// Reads the records of a block; how the file ends if it ends here.
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
                let field = error.field.as_deref().unwrap_or_default();
                let is_tree_limit = error.kind == DecodeErrorKind::TooManyZeroSizeValues;
                // Texts that become ids, or bytes, are not checked.
                let any_bytes = |feature: &Feature| {
                    let convert = &feature.convert;
                    let is_ids =
                        matches!(convert, Convert::HashBuckets(_) | Convert::Vocabulary(_));
                    is_ids || feature.any_bytes
                };
                let is_unchecked =
                    error.kind == DecodeErrorKind::InvalidUtf8 && features.iter().any(any_bytes);
                let is_read = is_read(features, field) && !is_tree_limit && !is_unchecked;
                return Some(if is_read {
                    End::Block { whole }
                } else {
                    End::Unknown
                });
            }
        }
    }
    (position < inflated.len()).then_some(End::Block { whole })
}

/// Whether a feature is of this field, in it, or around it. Features of elements of arrays and maps
/// do not count: of those the plan may read less than the reference.
fn is_read(features: &Features, field: &str) -> bool {
    let is_inside = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut ways = features.iter().map(|feature| feature.expression());
    ways.any(|way| !way.contains(['[', ':']) && (is_inside(field, way) || is_inside(way, field)))
}

impl Expected {
    /// The tensors that some of the records make.
    pub(super) fn tensors(&self, records: Range<usize>) -> Result<ReferenceTensors, RecordError> {
        reference::tensors(
            &self.schema,
            &self.records[records],
            &self.features,
            &self.options,
        )
    }
}
