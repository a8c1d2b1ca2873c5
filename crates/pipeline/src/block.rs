//! A block on its way through the pipeline: its payload, and the positions of records in it.

use std::ops::{Deref, Range};
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use std::sync::{self, Arc, PoisonError};

use atds_format::{BlockDesc, Decoder, Location, Payloads, Place, Pos, Prepared};
use bytes::Bytes;
use smallvec::{SmallVec, smallvec};

use crate::delays;
use crate::memory::Lease;
use crate::read_pool::FileReads;
use crate::split::Members;
use crate::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, OnceLock};
use crate::tuning::{MAX_HINTS, MAX_SPACED_HINTS};
use crate::{Error, ErrorKind};

/// Bytes that a block counts for in addition to its payload.
const BLOCK_BYTES: u64 = 512;

/// What the blocks of one file and schema have in common. It does not share a cache line with the counts
/// of its `Arc`, which change with each block.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct FileContext {
    /// The number of the file.
    pub(crate) number: usize,
    pub(crate) location: Location,
    pub(crate) decoder: Arc<dyn Decoder>,
    /// Finds payloads that are read by their ranges.
    pub(crate) payloads: Arc<dyn Payloads>,
    /// For payloads that workers read.
    pub(crate) reads: Option<FileReads>,
}

/// A block. Workers share it; what changes in it are hints and whether it is prepared. The window, plans
/// and early prepares own it: with the last of them its memory goes.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) file: Arc<FileContext>,
    hints: Hints,
    pub(crate) payload: BlockPayload,
    pub(crate) records: u64,
    /// Those of its records that are in the split. Reads count these alone.
    pub(crate) members: Members,
    _members_lease: Option<Lease>,
    /// The number of the first record in the file.
    pub(crate) first_record: u64,
    start: Pos,
    pub(crate) index: u64,
    offset: u64,
    pub(crate) file_bytes: u64,
    payload_offset: Option<u64>,
    /// The most bytes of the prepared payload, if the framing says so.
    pub(crate) max_prepared: Option<u64>,
    /// Positions at regular intervals, if the op that prepared the block has found them; or those of the runs of its
    /// members, if these alone were copied.
    spaced_hints: OnceLock<Vec<Pos>>,
    /// Where the runs of members that were copied are in the block's payload; empty if all of it is here.
    copied_from: Vec<u64>,
}

/// The payload of a block.
#[derive(Debug)]
pub(crate) enum BlockPayload {
    Own(Payload),
    Shared(Arc<Payload>),
}

impl Deref for BlockPayload {
    type Target = Payload;

    fn deref(&self) -> &Payload {
        match self {
            BlockPayload::Own(payload) => payload,
            BlockPayload::Shared(payload) => payload,
        }
    }
}

/// The bytes of a payload as they were read: mostly one part.
pub(crate) type Parts = SmallVec<[Bytes; 1]>;

/// A payload, which several blocks may share.
#[derive(Debug)]
pub(crate) struct Payload {
    prepared: OnceLock<Result<(Prepared, Option<Lease>), Error>>,
    is_claimed: AtomicBool,
    /// Whether several blocks may have it.
    pub(crate) is_shared: bool,
    pub(crate) bytes: u64,
    /// Whether each op that needs the payload reads it, if no other op has prepared it: it was planned without its bytes.
    pub(crate) is_unread: bool,
    /// Whether it has memory of its own, which is leased.
    is_copied: bool,
    /// Bytes beside the payload that its only block takes, for its members.
    beside: u64,
    /// The bytes as they were read; none once they are prepared for all ops to something else. Those of a payload that one
    /// op prepares for itself are there as long as the block.
    parts: Mutex<(Parts, Option<Lease>)>,
    /// Empty for formats that prepare nothing.
    size: sync::OnceLock<Arc<PreparedSize>>,
    /// The planner's: the number of blocks in the window, and whether a batch has read one.
    in_window: AtomicU64,
    is_begun: AtomicBool,
}

/// Bytes of a prepared payload, once it is prepared.
#[derive(Debug, Default)]
pub(crate) struct PreparedSize {
    pub(crate) bytes: AtomicU64,
    /// Bytes that count as made early, until the turn of a batch that reads the payload has come.
    pub(crate) early: AtomicU64,
    /// Bytes that preparing it took in addition.
    pub(crate) working: AtomicU64,
}

/// A run of members of a block.
pub(crate) struct MemberRun {
    /// The first of them.
    record: u64,
    /// Where they are in the payload.
    pub(crate) bytes: Range<usize>,
}

/// The place of a record.
#[derive(Clone, Debug)]
pub(crate) struct RecordPlace {
    file: Arc<FileContext>,
    block: u64,
    offset: u64,
    record: u64,
}

impl RecordPlace {
    #[cold]
    pub(crate) fn place(&self) -> Place {
        let mut place = Place::default();
        place.location = Some(self.file.location.clone());
        place.block = Some(self.block);
        place.offset = Some(self.offset);
        place.record = Some(self.record);
        place
    }
}

/// Positions of a block that workers have found.
#[derive(Debug, Default)]
struct Hints {
    /// That of the last record of all: mostly, the next read begins there. A record in the upper half, and
    /// where it is; 0 for none.
    farthest: AtomicU64,
    /// The others, in the order of their records; mostly none with one worker, which needs none.
    others: Mutex<Vec<Pos>>,
}

impl Hints {
    /// The last position at or before `record`.
    fn last_before(&self, record: u64) -> Option<Pos> {
        let farthest = unpack(self.farthest.load(Relaxed));
        match farthest.filter(|farthest| farthest.record <= record) {
            Some(farthest) if farthest.record == record => Some(farthest),
            farthest => {
                let other = last_before(&lock(&self.others), record);
                farthest
                    .into_iter()
                    .chain(other)
                    .max_by_key(|pos| pos.record)
            }
        }
    }

    fn publish(&self, pos: Pos, has_others: bool) {
        let other = match pack(pos) {
            Some(hint) => unpack(self.farthest.fetch_max(hint, Relaxed).min(hint)),
            None => Some(pos),
        };
        let (Some(pos), true) = (other, has_others || other == Some(pos)) else {
            return;
        };
        let mut others = lock(&self.others);
        let found = others.binary_search_by_key(&pos.record, |other| other.record);
        let Err(mut after) = found else {
            return;
        };
        if others.len() == MAX_HINTS {
            // Reads follow one another: the first position is behind them all. This one is wanted at
            // once, if its worker goes on with the next batch.
            others.remove(0);
            after = after.saturating_sub(1);
        }
        others.insert(after, pos);
    }
}

/// A position in one number; `None` for the rare one that does not fit.
fn pack(pos: Pos) -> Option<u64> {
    let at = u32::try_from(pos.at).ok()?;
    let record = u32::try_from(pos.record).ok()?;
    Some(u64::from(record) << 32 | u64::from(at))
}

fn unpack(hint: u64) -> Option<Pos> {
    (hint > 0).then_some(Pos {
        record: hint >> 32,
        at: hint & u64::from(u32::MAX),
    })
}

impl Block {
    /// A block whose first record is `first_record` in the file, with the lease of what its `members` take.
    pub(crate) fn new(
        desc: &BlockDesc,
        file: Arc<FileContext>,
        first_record: u64,
        (members, lease): (Members, Option<Lease>),
        payload: BlockPayload,
    ) -> Self {
        Block {
            file,
            first_record,
            index: desc.index,
            offset: desc.offset,
            file_bytes: desc.file_bytes,
            payload_offset: desc.payload_offset,
            records: desc.records,
            members,
            _members_lease: lease,
            max_prepared: desc.max_prepared,
            start: Pos {
                record: 0,
                at: desc.start,
            },
            payload,
            hints: Hints::default(),
            spaced_hints: OnceLock::new(),
            copied_from: Vec::new(),
        }
    }

    /// Where the block is in the file.
    pub(crate) fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.file_bytes
    }

    /// With what workers read the payload, if it is unread.
    pub(crate) fn unread(&self) -> Option<&FileReads> {
        self.file.reads.as_ref().filter(|_| self.payload.is_unread)
    }

    /// The nearest known position at or before `record`. If none is near, the caller skips more records: a
    /// position saves time, and nobody waits for one.
    pub(crate) fn nearest(&self, record: u64) -> Pos {
        if record == 0 {
            return self.start;
        }
        let found = self.hints.last_before(record).unwrap_or(self.start);
        if found.record == record {
            return found;
        }
        let spaced = self.spaced_hints.get();
        let spaced = spaced.and_then(|hints| last_before(hints, record));
        spaced.map_or(found, |spaced| {
            if spaced.record > found.record {
                spaced
            } else {
                found
            }
        })
    }

    /// The position of record `record`, from an earlier one or a nearer one that is known. Bytes of other splits
    /// may be gone, so that who comes from one member to another asks here.
    ///
    /// # Errors
    /// Those of [`Decoder::seek`].
    pub(crate) fn seek(
        &self,
        prepared: &Prepared,
        mut pos: Pos,
        record: u64,
    ) -> Result<Pos, atds_format::Error> {
        if pos.record >= record {
            return Ok(pos);
        }
        let known = self.nearest(record);
        if known.record > pos.record {
            pos = known;
        }
        self.file.decoder.seek(prepared, pos, record)
    }

    /// Number of the records that the payload has.
    pub(crate) fn payload_records(&self) -> u64 {
        match self.copied_from.is_empty() {
            true => self.records,
            false => self.members.count(),
        }
    }

    /// Finds the positions of every `interval`-th record, so that reads of few records skip few.
    pub(crate) fn find_spaced_hints(&self, prepared: &Prepared, interval: u64) {
        if self.spaced_hints.get().is_some() {
            return;
        }
        let interval = interval.max(self.records / MAX_SPACED_HINTS).max(1);
        let (mut hints, mut pos) = (Vec::new(), self.start);
        while pos.record + interval < self.records {
            let next = self.file.decoder.seek(prepared, pos, pos.record + interval);
            // The read that comes to a bad record reports it.
            let Ok(next) = next else {
                break;
            };
            pos = next;
            hints.push(pos);
        }
        delays::hand_over();
        // Called by the one worker that has prepared the block.
        let _ = self.spaced_hints.set(hints);
    }

    /// The payload, and the runs of its members. `None` if a record is bad, which the read that comes to it reports; or
    /// if the payload is not the block's own.
    pub(crate) fn member_runs(&self) -> Option<(Bytes, Vec<MemberRun>)> {
        let BlockPayload::Own(payload) = &self.payload else {
            return None;
        };
        let bytes = lock(&payload.parts).0.first()?.clone();
        let (prepared, decoder) = (Prepared::of_bytes(bytes.clone()), &self.file.decoder);
        let (mut pos, mut found) = (self.start, Vec::new());
        for run in self.members.runs(0, self.members.count()) {
            let start = decoder.seek(&prepared, pos, run.start).ok()?;
            pos = decoder.seek(&prepared, start, run.end).ok()?;
            let end = match run.end == self.records {
                // With what should not be there: the check of the end finds it.
                true => bytes.len(),
                false => pos.at as usize,
            };
            let run = MemberRun {
                record: run.start,
                bytes: start.at as usize..end,
            };
            bytes.get(run.bytes.clone())?;
            found.push(run);
        }
        Some((bytes, found))
    }

    /// Replaces the payload by `copied`, which has the bytes of `runs` one after another.
    pub(crate) fn replace_payload(&mut self, runs: &[MemberRun], copied: Bytes, lease: Lease) {
        let BlockPayload::Own(payload) = &mut self.payload else {
            return;
        };
        (payload.bytes, payload.is_copied) = (copied.len() as u64, true);
        *lock(&payload.parts) = (smallvec![copied], Some(lease));
        let mut at = 0;
        let positions = runs.iter().map(|run| {
            let record = run.record;
            let pos = Pos { record, at };
            at += run.bytes.len() as u64;
            pos
        });
        // The block is new: no other thread sets them.
        let _ = self.spaced_hints.set(positions.collect());
        self.copied_from = runs.iter().map(|run| run.bytes.start as u64).collect();
    }

    /// Where byte `at` of the payload is in that of the block in the file.
    fn offset_in_payload(&self, at: u64) -> u64 {
        let hints = self.spaced_hints.get().map_or(&[][..], |hints| hints);
        let mut runs = hints.iter().zip(&self.copied_from);
        let run = runs.rfind(|(pos, _)| pos.at <= at);
        run.map_or(at, |(pos, from)| from + (at - pos.at))
    }

    /// Publishes a position, for later reads of the block, also those of other workers if there are any.
    pub(crate) fn publish(&self, pos: Pos, has_others: bool) {
        delays::hand_over();
        self.hints.publish(pos, has_others);
    }

    /// An error if the block claims more records than its payload can have.
    pub(crate) fn check_count(&self) -> Result<(), Error> {
        let (records, bytes) = (self.records, self.payload.bytes);
        if records > self.file.decoder.most_records(bytes) {
            let error = Error::new(ErrorKind::TooManyRecords { records, bytes });
            return Err(self.locate(error));
        }
        Ok(())
    }

    /// The place of the record that is number `member` of those in the split.
    pub(crate) fn place(&self, member: u64) -> RecordPlace {
        RecordPlace {
            file: self.file.clone(),
            block: self.index,
            offset: self.offset,
            record: self.members.record(member),
        }
    }

    /// Adds the block to an error in it.
    #[cold]
    pub(crate) fn locate(&self, mut error: Error) -> Error {
        let place = &mut *error.place;
        place.location = Some(self.file.location.clone());
        place.block = Some(self.index);
        place.offset.get_or_insert(self.offset);
        if let Some(payload) = self.payload_offset
            && let Some(offset) = place.decompressed_offset.take()
        {
            // The block lies in the file as it is decoded.
            place.offset = Some(payload + self.offset_in_payload(offset));
        }
        error
    }

    /// The error of a format in the block.
    #[cold]
    pub(crate) fn error(&self, error: atds_format::Error) -> Error {
        self.locate(Error::of_format(error, &self.file.location))
    }
}

impl Payload {
    /// A payload of `bytes` bytes in `parts`, which count until they are prepared.
    pub(crate) fn new(parts: Parts, is_shared: bool, lease: Option<Lease>) -> Self {
        Payload {
            bytes: parts.iter().map(|part| part.len() as u64).sum(),
            is_shared,
            is_unread: false,
            is_copied: lease.as_ref().is_some_and(|lease| lease.bytes() > 0),
            beside: 0,
            parts: Mutex::new((parts, lease)),
            is_claimed: AtomicBool::new(false),
            prepared: OnceLock::new(),
            size: sync::OnceLock::new(),
            in_window: AtomicU64::new(0),
            is_begun: AtomicBool::new(false),
        }
    }

    /// A payload of `bytes` bytes that workers read.
    pub(crate) fn unread(bytes: u64) -> Self {
        Payload {
            bytes,
            is_unread: true,
            ..Payload::new(Parts::new(), false, None)
        }
    }

    // The planner.

    /// What is known of the prepared payload.
    pub(crate) fn size(&self) -> &Arc<PreparedSize> {
        self.size.get_or_init(Arc::default)
    }

    /// Has `bytes` bytes beside it count with the payload.
    pub(crate) fn count_beside(&mut self, bytes: u64) {
        self.beside = bytes;
    }

    /// Bytes that the payload counts for in the window until a batch reads it.
    pub(crate) fn window_bytes(&self) -> u64 {
        self.bytes.saturating_add(BLOCK_BYTES + self.beside)
    }

    /// The same of a payload with memory of its own, and 0 of one that is a part of a read buffer.
    pub(crate) fn copied_bytes(&self) -> u64 {
        if self.is_copied {
            self.window_bytes()
        } else {
            0
        }
    }

    /// Whether no block of the window has the payload.
    pub(crate) fn enters_window(&self) -> bool {
        self.in_window.load(Relaxed) == 0
    }

    /// Adds a block of the window. Whether it is the only one.
    pub(crate) fn enter(&self) -> bool {
        self.in_window.fetch_add(1, Relaxed) == 0
    }

    /// Notes that a batch reads the payload. Whether it is the first.
    pub(crate) fn begin(&self) -> bool {
        !self.is_begun.swap(true, Relaxed)
    }

    /// Whether a batch of the plan has read the payload.
    pub(crate) fn is_begun(&self) -> bool {
        self.is_begun.load(Relaxed)
    }

    /// Removes a block of the window. Whether it was the last one.
    pub(crate) fn leave(&self) -> bool {
        let is_last = self.in_window.fetch_sub(1, Relaxed) == 1;
        if is_last {
            self.is_begun.store(false, Relaxed);
        }
        is_last
    }

    /// Has the payload be decoded as it is: the planning thread, for a format that prepares nothing. Such a
    /// payload has one part.
    pub(crate) fn take_as_it_is(&self) {
        if self.claim() {
            let bytes = lock(&self.parts).0.first().cloned();
            // The payload itself counts, and nothing more.
            let prepared = Prepared::of_bytes(bytes.unwrap_or_default());
            let _ = self.prepared.set(Ok((prepared, None)));
        }
    }

    // Workers.

    /// The prepared payload, if it is prepared.
    pub(crate) fn prepared(&self) -> Option<Result<&Prepared, &Error>> {
        let prepared = self.prepared.get()?;
        Some(prepared.as_ref().map(|(prepared, _)| prepared))
    }

    /// Whether the caller is the first, who prepares the payload.
    pub(crate) fn claim(&self) -> bool {
        delays::hand_over();
        let claimed = self
            .is_claimed
            .compare_exchange(false, true, AcqRel, Relaxed);
        claimed.is_ok()
    }

    /// Lets another worker prepare the payload.
    pub(crate) fn give_up(&self) {
        delays::hand_over();
        self.is_claimed.store(false, Release);
    }

    pub(crate) fn is_claimed(&self) -> bool {
        self.is_claimed.load(Relaxed)
    }

    /// The bytes of the payload; none if it was prepared for all to something else.
    pub(crate) fn parts(&self) -> Parts {
        lock(&self.parts).0.clone()
    }

    /// Sets the prepared payload, and lets the bytes it was prepared from go, unless they are what
    /// is decoded.
    pub(crate) fn set(&self, prepared: Result<(Prepared, Option<Lease>), Error>) {
        let is_new = prepared
            .as_ref()
            .is_ok_and(|(prepared, _)| prepared.as_bytes().is_none());
        if let Ok((prepared, _)) = &prepared {
            let bytes = match is_new {
                true => prepared.memory_bytes() as u64,
                false => self.bytes,
            };
            self.size().bytes.store(bytes, Relaxed);
        }
        delays::hand_over();
        // Claimed by one worker alone.
        let _ = self.prepared.set(prepared);
        delays::hand_over();
        if is_new {
            *lock(&self.parts) = (Parts::new(), None);
        }
    }
}

/// The last of `positions` at or before `record`.
fn last_before(positions: &[Pos], record: u64) -> Option<Pos> {
    let after = positions.partition_point(|pos| pos.record <= record);
    positions.get(after.checked_sub(1)?).copied()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
