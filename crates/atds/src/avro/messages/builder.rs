//! The options of a decoder of messages.

use std::fmt;
use std::sync::Arc;

use atds_features::{Feature, Features};
use avro_decode::{Absent, OutOfBounds, Plan, PlanOptions, Schema};

use super::writers::Writers;
use super::{Framing, MessageDecoder};
use crate::avro::plans::{may_be_covered, meanings_of_reader, missing_everywhere, options_for};
use crate::avro::records::check_depth;
use crate::limits::default_memory_limit;
use crate::{Error, Tolerate, avro};

/// Builds a [`MessageDecoder`]; every option has a default.
#[derive(Clone)]
#[must_use]
pub struct MessageDecoderBuilder {
    writers: Vec<Arc<Schema>>,
    features: Vec<Feature>,
    framing: Framing,
    plan: PlanOptions,
    memory_limit: u64,
}

impl fmt::Debug for MessageDecoderBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageDecoderBuilder")
            .field("writers", &self.writers.len())
            .field("features", &self.features.len())
            .field("framing", &self.framing)
            .field("memory_limit", &self.memory_limit)
            .finish_non_exhaustive()
    }
}

impl MessageDecoderBuilder {
    pub(super) fn new(writer: Arc<Schema>, features: Vec<Feature>) -> Self {
        MessageDecoderBuilder {
            writers: vec![writer],
            features,
            framing: Framing::default(),
            plan: PlanOptions::default(),
            memory_limit: default_memory_limit(1),
        }
    }

    /// Sets the framing of messages; raw records by default.
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Adds another writer's schema. The messages must be single objects, which identify their
    /// schema. A batch may mix messages of several schemas. [`Schema::parse_lenient`] parses
    /// schemas of other programs with any names.
    pub fn writer_schema(mut self, schema: impl Into<Arc<Schema>>) -> Self {
        self.writers.push(schema.into());
        self
    }

    /// Sets the schema that records are read as, by Avro's schema resolution. Fields that a writer
    /// lacks have this schema's defaults. Renamed fields are found by its aliases. Numbers are
    /// promoted to its types. By default, features are found in each writer's own schema.
    pub fn reader_schema(mut self, schema: impl Into<Arc<Schema>>) -> Self {
        self.plan.reader_schema = Some(schema.into());
        self
    }

    /// Sets the treatment of sparse entries with an index outside their dimension: an error by
    /// default.
    pub fn out_of_bounds(mut self, choice: OutOfBounds) -> Self {
        self.plan.out_of_bounds = choice;
        self
    }

    /// Sets the faults of messages that are tolerated (none by default). Two apply:
    /// [`trailing_block_bytes`](Tolerate::trailing_block_bytes), bytes after a record, and
    /// [`utf8`](Tolerate::utf8). [`tolerated`](MessageDecoder::tolerated) counts them.
    pub fn tolerate(mut self, tolerate: Tolerate) -> Self {
        self.plan.decode.replace_invalid_utf8 = tolerate.utf8;
        self.plan.decode.leave_trailing_bytes = tolerate.trailing_block_bytes;
        self
    }

    /// Sets the maximum nesting of records, arrays, maps and unions in a value (100 by default, at
    /// most [`DEEPEST`](avro_decode::limits::DEEPEST)): only recursive types come near it.
    pub fn max_depth(mut self, depth: usize) -> Self {
        self.plan.decode.max_depth = depth;
        self
    }

    /// Sets the maximum memory of a batch in bytes ([`default_memory_limit`](crate::limits::default_memory_limit) by default). Known sizes are checked
    /// before memory is allocated, others after every few hundred kilobytes of messages. Memory
    /// kept for reuse is not counted.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Compiles the features against each writer's schema. A field that one of
    /// several writers lacks is missing in its messages, for which a feature needs
    /// a default or a mask.
    ///
    /// # Errors
    /// Invalid features, or no features; a writer's schema that they do not fit; a field that no
    /// writer's schema has; a writer's schema that cannot become the reader's; several writers'
    /// schemas for raw messages; two schemas of one fingerprint that differ in logical types;
    /// values with another meaning than in the reader's schema, or in the first writer's schema
    /// that has them.
    pub fn build(self) -> Result<MessageDecoder, Error> {
        if self.features.is_empty() {
            return Err(Error::option("features", "at least one"));
        }
        check_depth(self.plan.decode.max_depth)?;
        let features = Features::new(self.features)?;
        let mut meanings = meanings_of_reader(&features, &self.plan);
        let writers = Writers::new(self.framing, &self.writers, |schema| {
            let origin = format!("schema {:016x}", schema.fingerprint());
            let options = options_for(&self.plan, &meanings, origin);
            let plan = Plan::compile(schema, &features, &options).map_err(|error| {
                let mut others = self
                    .writers
                    .iter()
                    .filter(|other| !Arc::ptr_eq(other, schema));
                let has_it = |other| Plan::compile(other, &features, &self.plan).is_ok();
                let found = may_be_covered(&error, &features) && others.any(has_it);
                let error = Box::new(error);
                Error::new(if found {
                    avro::ErrorKind::MissingField {
                        error,
                        found_in: Some("another writer's schema".to_owned()),
                    }
                } else {
                    avro::ErrorKind::Plan(error)
                })
            })?;
            meanings = plan.meanings().clone();
            Ok(plan)
        })?;
        check_found(&writers)?;
        let spec = features.spec().clone();
        Ok(MessageDecoder::new(
            Arc::new(writers),
            spec,
            self.memory_limit,
        ))
    }
}

/// An error if no writer's schema has an expression's values.
fn check_found(writers: &Writers<Plan>) -> Result<(), Error> {
    let plans = || writers.readers();
    let Some(first) = plans().next() else {
        return Ok(());
    };
    let is_in = |absent: &Absent, plan: &Plan| plan.absent().iter().any(|one| one.is_same(absent));
    let mut absent = first.absent().iter();
    match absent.find(|absent| plans().all(|plan| is_in(absent, plan))) {
        Some(absent) => Err(missing_everywhere(absent)),
        None => Ok(()),
    }
}
