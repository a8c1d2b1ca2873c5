//! Batches of messages.

use std::fmt;
use std::sync::Arc;

use atds_features::Feature;
use avro_decode::{ExecutedEach, Plan, Schema};
use tensor_batch::{Batch, BatchBuilder, BatchSpec, GatherTask, RowSlots};

use super::MessageDecoderBuilder;
use super::writers::Writers;
use crate::error::Place;
use crate::stats::Tolerated;
use crate::{Error, ErrorKind};

/// Decodes records without a container, such as the messages of a queue, into batches. Each message
/// becomes a row, in order.
///
/// Later batches reuse the memory of dropped batches. Decoding runs on the caller's thread. For
/// another thread, clone the decoder: the clone shares the compiled plan and has its own memory.
///
/// ```
/// use atds::avro::messages::MessageDecoder;
/// use atds::avro::Schema;
/// use atds::{ColumnSpec, DType};
///
/// let schema = Schema::parse(
///     r#"{"type": "record", "name": "Click", "fields": [
///         {"name": "label", "type": "int"},
///         {"name": "page", "type": "string"}
///     ]}"#,
/// )?;
/// let features = [ColumnSpec::dense("label", &[], DType::Int32)];
/// let mut decoder = MessageDecoder::builder(schema, features).build()?;
///
/// // Two messages: (1, "a") and (-1, "").
/// let batch = decoder.decode(&[vec![2, 2, b'a'], vec![1, 0]])?;
/// assert_eq!(batch.dense::<i32>("label")?, [1, -1]);
///
/// let error = decoder.decode(&[[2, 0], [2, 4]]).unwrap_err();
/// assert_eq!(error.place.record, Some(1));
/// assert_eq!(
///     error.to_string(),
///     "message 1 at byte 1: field 'page': a length of 2 bytes where 0 are left"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MessageDecoder {
    plans: Arc<Writers<Plan>>,
    builder: BatchBuilder,
    /// Bytes of a row in the columns of fixed size.
    row_bytes: u64,
    memory_limit: u64,
    dropped_entries: u64,
    truncated_lists: u64,
    tolerated: Tolerated,
}

impl fmt::Debug for MessageDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageDecoder")
            .field("columns", self.spec())
            .field("memory_limit", &self.memory_limit)
            .finish_non_exhaustive()
    }
}

impl MessageDecoder {
    /// A decoder of messages that were written with the schema `writer`, to
    /// batches of `features`.
    pub fn builder<F: Into<Feature>>(
        writer: impl Into<Arc<Schema>>,
        features: impl IntoIterator<Item = F>,
    ) -> MessageDecoderBuilder {
        let features = features.into_iter().map(Into::into).collect();
        MessageDecoderBuilder::new(writer.into(), features)
    }

    pub(super) fn new(plans: Arc<Writers<Plan>>, spec: BatchSpec, memory_limit: u64) -> Self {
        MessageDecoder {
            plans,
            row_bytes: spec.fixed_row_bytes(),
            builder: BatchBuilder::new(spec),
            memory_limit,
            dropped_entries: 0,
            truncated_lists: 0,
            tolerated: Tolerated::default(),
        }
    }

    /// The columns of a batch, sorted by name.
    pub fn spec(&self) -> &BatchSpec {
        self.builder.spec()
    }

    /// Number of sparse entries so far that were [dropped](MessageDecoderBuilder::out_of_bounds)
    /// for an index outside their dimension.
    pub fn dropped_entries(&self) -> u64 {
        self.dropped_entries
    }

    /// Lists of [truncated](crate::Feature::with_truncate) features in the batches so
    /// far that were longer than their dimension, and were truncated.
    pub fn truncated_lists(&self) -> u64 {
        self.truncated_lists
    }

    /// Counters of the [tolerated](MessageDecoderBuilder::tolerate) faults in the batches so far.
    pub fn tolerated(&self) -> Tolerated {
        self.tolerated
    }

    /// Decodes messages into a batch, with one row for each.
    ///
    /// # Errors
    /// A message is not a record of its schema, does not fit the features, or has bytes after the
    /// record. The error's [place](crate::error::Place) has the index of the first such message as
    /// `record`, and the offset in it. No batch is made; the messages before it can be decoded
    /// again. A batch above the memory limit is an error too.
    pub fn decode(&mut self, messages: &[impl AsRef<[u8]>]) -> Result<Batch, Error> {
        let known = (messages.len() as u64).saturating_mul(self.row_bytes);
        check_limit(self.memory_limit, known)?;
        let mut written = 0;
        let (mut dropped, mut truncated, mut tolerated) = (0, 0, Tolerated::default());
        for mut slots in self.builder.slots(&[messages.len()]) {
            while slots.remaining() > 0 {
                let done = decode_some(&self.plans, messages, &mut slots)?;
                dropped += done.dropped;
                truncated += done.truncated;
                tolerated.replaced_texts += done.replaced;
                tolerated.trailing_block_bytes += done.trailing_bytes;
                written = slots.segment_bytes() as u64;
                check_limit(self.memory_limit, known + written)?;
            }
        }
        if let Some(found) = self.builder.disagreement() {
            let (message, mut first) = (found.row, Place::default());
            first.record = found.first.as_ref().map(|(row, _)| *row as u64);
            let error = atds_pipeline::Error::shapes_differ(self.builder.spec(), found, first);
            return Err(Error::from(error).in_message(message));
        }
        // The size of padded lists is known only now, and has no other limit.
        let padded = self.builder.padded_bytes();
        check_limit(self.memory_limit, (known + written).saturating_add(padded))?;
        self.builder.gather().into_iter().for_each(GatherTask::run);
        self.dropped_entries += dropped;
        self.truncated_lists += truncated;
        self.tolerated.add(&tolerated);
        Ok(self.builder.finish())
    }
}

impl Clone for MessageDecoder {
    fn clone(&self) -> Self {
        let spec = self.builder.spec().clone();
        MessageDecoder::new(self.plans.clone(), spec, self.memory_limit)
    }
}

/// Bytes of messages that are decoded before they are counted for the memory limit.
const COUNTED_TOGETHER: usize = 256 << 10;

/// Decodes the next messages of one schema into `slots`, up to [`COUNTED_TOGETHER`] bytes. Returns
/// the results of decoding.
fn decode_some(
    plans: &Writers<Plan>,
    messages: &[impl AsRef<[u8]>],
    slots: &mut RowSlots<'_>,
) -> Result<ExecutedEach, Error> {
    let first = slots.row();
    let message = plans
        .of(messages[first].as_ref())
        .map_err(|error| error.in_message(first))?;
    let mut bytes = 0;
    // A faulty message ends this run and is the first of the next run.
    let records = messages[first..].iter().map_while(|next| {
        let next = plans.of(next.as_ref()).ok()?;
        if next.fingerprint != message.fingerprint || bytes >= COUNTED_TOGETHER {
            return None;
        }
        // Records without bytes take memory too.
        bytes += next.record.len() + size_of::<&[u8]>();
        Some(next.record)
    });
    message
        .reader
        .execute_each(records, slots)
        .map_err(|error| {
            let number = first + error.record.unwrap_or(0) as usize;
            Error::decode_message(error, message.start())
                .in_message(number)
                .of_schema(message.fingerprint)
        })
}

fn check_limit(limit: u64, needed: u64) -> Result<(), Error> {
    if needed > limit {
        return Err(batch_too_large(limit, needed));
    }
    Ok(())
}

#[cold]
fn batch_too_large(limit: u64, needed: u64) -> Error {
    Error::new(ErrorKind::BatchTooLarge { limit, needed })
}
