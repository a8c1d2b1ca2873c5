//! The options of a decoder of messages.

use std::fmt;
use std::sync::Arc;

use avro_decode::{Absent, Feature, Features, OutOfBounds, Plan, PlanOptions, Schema};

use super::writers::Writers;
use super::{Framing, MessageDecoder};
use crate::limits::DEFAULT_MEMORY_LIMIT;
use crate::plans::{may_be_covered, meanings_of_reader, missing_everywhere, options_for};
use crate::source::check_depth;
use crate::{Error, ErrorKind, Tolerate};

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
            memory_limit: DEFAULT_MEMORY_LIMIT,
        }
    }

    /// What messages are besides their records: nothing, by default.
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Another schema that messages may be of, where they are single objects and
    /// say theirs. Messages of different ones mix in a batch. Schemas of other
    /// programs, with whatever names, are parsed by [`Schema::parse_lenient`].
    pub fn writer_schema(mut self, schema: impl Into<Arc<Schema>>) -> Self {
        self.writers.push(schema.into());
        self
    }

    /// The schema that records are read as, by Avro's schema resolution: fields
    /// that a writer lacks have this schema's defaults, renamed fields are found
    /// by its aliases, numbers are promoted to its types. Without, features are
    /// found in each writer's own schema.
    pub fn reader_schema(mut self, schema: impl Into<Arc<Schema>>) -> Self {
        self.plan.reader_schema = Some(schema.into());
        self
    }

    /// What to do with sparse entries that have an index outside their
    /// dimension: an error by default.
    pub fn out_of_bounds(mut self, choice: OutOfBounds) -> Self {
        self.plan.out_of_bounds = choice;
        self
    }

    /// What is wrong with messages and read nevertheless (nothing by default): of it
    /// [`trailing_block_bytes`](Tolerate::trailing_block_bytes), bytes after a record, and
    /// [`utf8`](Tolerate::utf8) matter. It is counted in
    /// [`tolerated`](MessageDecoder::tolerated).
    pub fn tolerate(mut self, tolerate: Tolerate) -> Self {
        self.plan.decode.replace_invalid_utf8 = tolerate.utf8;
        self.plan.decode.leave_trailing_bytes = tolerate.trailing_block_bytes;
        self
    }

    /// Records, arrays, maps and unions that may be open at once in a value (100 by default, at most
    /// [`DEEPEST`](avro_decode::limits::DEEPEST)): only recursive types come near it.
    pub fn max_depth(mut self, depth: usize) -> Self {
        self.plan.decode.max_depth = depth;
        self
    }

    /// Bytes that a batch takes at most while it is made (4 GiB by default),
    /// counted before memory is asked for where that is known, else every few
    /// hundred kilobytes of messages. Not counted is memory kept to be used
    /// again.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Compiles the features against each writer's schema. A field that one of
    /// several writers lacks is missing in its messages, for which a feature needs
    /// a default or a mask.
    ///
    /// # Errors
    /// Features that cannot be, or none; a writer's schema that does not have
    /// them, a field that no writer's schema has, or one that cannot become the
    /// reader's; several writers' schemas where
    /// messages do not say theirs, or of one fingerprint and with different
    /// logical types; values that mean something else than what the reader's
    /// schema, or the first writer's that has them, says of their column.
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
                Error::new(match found {
                    true => ErrorKind::MissingField {
                        error,
                        found_in: Some("another writer's schema".to_owned()),
                    },
                    false => ErrorKind::Plan(error),
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

/// An error if an expression leads to nothing in the schema of any writer.
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
