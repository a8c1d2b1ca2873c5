//! Records without a container: their batches, errors and re-encoding.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod batches;
mod errors;
mod meanings;
mod memory;
mod of_files;
mod reencoding;
mod single_objects;
mod truncated;

use atds::Batch;
use atds::avro::Schema;
use atds::avro::messages::{MessageDecoder, MessageDecoderBuilder};

use common::{Row, SCHEMA, features};

/// A decoder of [`Row`]s.
fn rows_decoder() -> MessageDecoderBuilder {
    MessageDecoder::builder(Schema::parse(SCHEMA).unwrap(), features())
}

/// The messages of [`Row`]s with these numbers.
fn messages(ids: impl IntoIterator<Item = i64>) -> Vec<Vec<u8>> {
    ids.into_iter().map(|id| Row::new(id).encode()).collect()
}

/// Every value and every shape of a batch, as text.
fn everything(batch: &Batch) -> String {
    format!("{:?}", batch.columns().collect::<Vec<_>>())
}
