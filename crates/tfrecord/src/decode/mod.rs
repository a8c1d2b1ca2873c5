//! Decodes records straight into the rows of a batch.

mod compile;
mod error;
mod find;
mod infer;
mod list;
mod output;
mod partition;
mod steps;
mod values;

use atds_features::feature::Features;
use tensor_batch::RowSlots;

pub use compile::{PlanError, PlanErrorKind, with_dimensions};
pub use error::{DecodeError, DecodeErrorKind};
pub use infer::{Inference, InferredFeatures};
pub use list::Kind;
pub use partition::PartitionFault;

pub(crate) use error::Fault;
pub(crate) use list::List;

use find::{Found, Keys};
use output::{Output, RowState};

use crate::framer::Checksums;
use crate::records::Records;

/// The message of protocol buffers that a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// `tf.train.Example`: features by key.
    Example,
    /// `tf.train.SequenceExample`: a context of features by key, and lists of features by key.
    SequenceExample,
}

impl Message {
    /// The name: `Example` or `SequenceExample`.
    pub fn name(self) -> &'static str {
        match self {
            Message::Example => "Example",
            Message::SequenceExample => "SequenceExample",
        }
    }

    fn other(self) -> Self {
        match self {
            Message::Example => Message::SequenceExample,
            Message::SequenceExample => Message::Example,
        }
    }
}

/// Options of a [`Plan`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanOptions {
    /// Whether the checksums of the data are verified.
    pub checksums: Checksums,
}

/// Reads features from records: compiled once, used for every block of a data set, by any number of
/// threads.
#[derive(Clone, Debug)]
pub struct Plan {
    message: Message,
    /// The keys of an `Example`, or of the context.
    keys: Keys,
    /// The keys of feature lists.
    lists: Keys,
    outputs: Vec<Output>,
    options: PlanOptions,
}

/// The memory of one thread, which is used again for each record.
#[derive(Debug, Default)]
pub struct Scratch {
    found: Found,
    state: RowState,
}

/// What was decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Done {
    /// Offset in the payload after the last record.
    pub position: usize,
    /// Number of sparse entries that were left out, since they are outside their dimensions.
    pub dropped: u64,
    /// Number of lists that were cut to their dimension.
    pub truncated: u64,
    /// Number of records whose data's checksum does not fit, by [`Checksums::Count`].
    pub bad_checksums: u64,
}

/// Size in bytes of a record from which on the room is updated after it.
const MAX_UNCHECKED_BYTES: usize = 64 << 10;

impl Plan {
    /// The message that records are expected to be.
    pub fn message(&self) -> Message {
        self.message
    }

    /// Decodes `records` records of a block's payload, from offset `at` on, where record `first` of
    /// the block begins. They become the next rows of `rows`.
    ///
    /// # Errors
    /// A record is damaged, or does not have what a feature asks for. The rows before it are written
    /// and counted in `rows`.
    ///
    /// # Panics
    /// If `rows` has other columns than the plan's features.
    pub fn execute(
        &self,
        scratch: &mut Scratch,
        payload: &[u8],
        (at, first): (usize, u64),
        records: usize,
        rows: &mut RowSlots<'_>,
    ) -> Result<Done, DecodeError> {
        let Scratch { found, state } = scratch;
        (state.dropped, state.truncated) = (0, 0);
        let mut source = Records::starting_at(payload, at, first);
        let mut bad_checksums = 0;
        for _ in 0..records {
            let place = (source.offset(), source.record());
            let fault = |fault: Fault, field: Option<&str>| fault.into_error(payload, place, field);
            let record = |kind| fault(DecodeErrorKind::Record(kind).into(), None);
            let taken = source.next_record().map_err(|error| record(error.kind))?;
            match self.options.checksums {
                Checksums::Verify => taken.verify().map_err(record)?,
                Checksums::Count => bad_checksums += u64::from(taken.verify().is_err()),
                Checksums::Ignore => {}
            }
            let data = taken.data;
            found.forget();
            let values = match self.message {
                // Only '@' is asked for: the record need not be a message.
                _ if self.keys.len() + self.lists.len() == 0 => Ok(found.nothing(data)),
                Message::Example => found.example(data, &self.keys),
                Message::SequenceExample => {
                    found.sequence_example(data, (&self.keys, &self.lists), rows.room())
                }
            };
            let values = values.map_err(|(key, why)| fault(why, self.key(key).as_deref()))?;
            for output in &self.outputs {
                let written = output.write(&values, rows, state);
                written.map_err(|why| fault(why, Some(&output.name)))?;
            }
            rows.advance();
            if data.len() > MAX_UNCHECKED_BYTES {
                rows.update_room(0);
            }
        }
        Ok(Done {
            position: source.offset(),
            dropped: state.dropped,
            truncated: state.truncated,
            bad_checksums,
        })
    }

    /// Skips `records` records of a payload from offset `at` on, where record `first` of the block
    /// begins, and returns the offset after them. They are not looked at.
    ///
    /// # Errors
    /// The payload ends before them.
    pub fn skip(
        &self,
        payload: &[u8],
        (at, first): (usize, u64),
        records: u64,
    ) -> Result<usize, DecodeError> {
        let mut source = Records::starting_at(payload, at, first);
        for _ in 0..records {
            let place = (source.offset(), source.record());
            source.next_record().map_err(|error| {
                let fault = Fault::from(DecodeErrorKind::Record(error.kind));
                fault.into_error(payload, place, None)
            })?;
        }
        Ok(source.offset())
    }

    /// The text of a key, for errors.
    #[cold]
    fn key(&self, number: Option<usize>) -> Option<String> {
        let number = number?;
        let key = match number.checked_sub(self.keys.len()) {
            None => self.keys.key(number),
            Some(number) => self.lists.key(number),
        };
        Some(String::from_utf8_lossy(key).into_owned())
    }
}

/// The columns of features, read by their own plan: for tests and small programs.
impl Plan {
    /// Compiles `features` with default options.
    ///
    /// # Errors
    /// Those of [`compile`](Self::compile).
    pub fn of(features: &Features) -> Result<Plan, PlanError> {
        Plan::compile(features, PlanOptions::default())
    }
}
