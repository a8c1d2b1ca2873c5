use std::any::Any;
use std::fmt;

use bytes::Bytes;
use tensor_batch::RowSlots;

use crate::{Error, Scratch, Tally};

/// Turns payloads into rows. One value decodes all blocks of one schema.
///
/// # Contract
/// Workers call it, several at once. It must not block and must not wait for another call: what
/// takes time is computing. Payloads are bytes from outside: whatever they are, it returns an error
/// and neither panics nor allocates out of proportion. Prepared payloads never change.
pub trait Decoder: Send + Sync + fmt::Debug {
    /// Whether payloads are decompressed or parsed before records are decoded. If not,
    /// [`prepare`](Self::prepare) is cheap: it takes the payload as it is.
    fn prepares(&self) -> bool;

    /// Number of payloads that are best prepared together.
    fn group(&self) -> usize {
        1
    }

    /// The most records that a payload of `payload_bytes` can have. A larger record count is damage,
    /// which is found before memory is made for its rows.
    fn most_records(&self, payload_bytes: u64) -> u64;

    /// Memory in bytes that preparing a payload takes for itself, as far as `parts` say: a window, a
    /// dictionary. It is free again once the payload is prepared.
    fn working_bytes(&self, _parts: &[Bytes]) -> u64 {
        0
    }

    /// Prepares payloads: decompresses them, parses what decoding starts from. The result of each
    /// job is set. By default a payload of one part is decoded as it is.
    fn prepare(&self, jobs: &mut [PrepareJob<'_>], _scratch: &mut Scratch) {
        for job in jobs {
            let payload = job.parts.first().cloned().unwrap_or_default();
            job.result = Ok((Prepared::of_bytes(payload), Tally::default()));
        }
    }

    /// The position of record `record`, from the position of the same or an earlier record.
    ///
    /// # Errors
    /// A record between is damaged; the error's record counts in the block.
    fn seek(&self, block: &Prepared, from: Pos, record: u64) -> Result<Pos, Error>;

    /// Whether records say how long they are, so that [`seek`](Self::seek) takes a few cycles a record while the
    /// payload is in a cache. [`Pos::at`] is then an offset in the payload, and a record is decoded from its own bytes
    /// alone: where few records of a block are read, the pipeline keeps their bytes and lets the others go.
    fn seeks_by_lengths(&self) -> bool {
        false
    }

    /// Decodes `records` records from `at` on into the next rows of `rows`, and returns the position
    /// after them. `upcoming` is what the worker decodes next: the decoder may have the processor
    /// load it.
    ///
    /// A record with long lists must not take much more memory than [`RowSlots::room`] before it is
    /// noticed.
    ///
    /// # Errors
    /// A record is damaged or does not fit what is asked for. The rows before it are written and
    /// counted in `rows`; the error's record counts in the block. If there is no room, the error is
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit).
    fn decode(
        &self,
        block: &Prepared,
        at: Pos,
        records: u64,
        rows: &mut RowSlots<'_>,
        scratch: &mut Scratch,
        upcoming: Option<Upcoming<'_>>,
    ) -> Result<Decoded, Error>;

    /// Checks the end of a block whose records end at `at`.
    ///
    /// # Errors
    /// Bytes are left after the last record. The pipeline takes it as an error of the last record,
    /// which is then not given out.
    fn finish(&self, block: &Prepared, at: Pos) -> Result<Tally, Error>;
}

/// The position of a record in a prepared block. Positions are plain data, and stay valid as long as
/// the block does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pos {
    /// The number of the record in its block.
    pub record: u64,
    /// Where the record is; only the format knows its unit.
    pub at: u64,
}

/// What decoding returns.
#[derive(Clone, Copy, Debug)]
pub struct Decoded {
    /// The position after the last record.
    pub pos: Pos,
    /// What was passed over.
    pub tally: Tally,
}

/// What a worker decodes next.
#[derive(Clone, Copy, Debug)]
pub struct Upcoming<'a> {
    /// The block.
    pub block: &'a Prepared,
    /// The position of the first record.
    pub at: Pos,
    /// Number of records.
    pub records: u64,
}

/// A payload that is to be prepared.
#[derive(Debug)]
pub struct PrepareJob<'a> {
    /// The bytes of the payload, in one part or in the parts that the framing listed.
    pub parts: &'a [Bytes],
    /// The most bytes that the prepared payload may take. A payload that needs more is
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit).
    pub limit: usize,
    /// The prepared payload.
    pub result: Result<(Prepared, Tally), Error>,
}

impl<'a> PrepareJob<'a> {
    /// A job whose result is still an empty payload.
    pub fn new(parts: &'a [Bytes], limit: usize) -> Self {
        PrepareJob {
            parts,
            limit,
            result: Ok((Prepared::default(), Tally::default())),
        }
    }
}

/// A payload that records are decoded from.
#[derive(Default)]
pub struct Prepared {
    payload: Bytes,
    value: Option<Box<dyn Any + Send + Sync>>,
    bytes: usize,
    memory_bytes: usize,
}

impl Prepared {
    /// A payload that is decoded as it is.
    pub fn of_bytes(payload: Bytes) -> Self {
        Prepared {
            bytes: payload.len(),
            payload,
            ..Prepared::default()
        }
    }

    /// A value of the format's own, with `bytes` bytes of data, which takes `memory_bytes` of memory.
    pub fn of_value<T: Send + Sync + 'static>(value: T, bytes: usize, memory_bytes: usize) -> Self {
        Prepared {
            payload: Bytes::new(),
            value: Some(Box::new(value)),
            bytes,
            memory_bytes,
        }
    }

    /// The bytes of a payload that is decoded as it is.
    pub fn as_bytes(&self) -> Option<&Bytes> {
        self.value.is_none().then_some(&self.payload)
    }

    /// The format's value, if it is a `T`.
    pub fn value<T: 'static>(&self) -> Option<&T> {
        self.value.as_ref()?.downcast_ref()
    }

    /// Size of the data in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Memory in bytes that the preparation took, in addition to the payload.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prepared({} bytes)", self.bytes)
    }
}
