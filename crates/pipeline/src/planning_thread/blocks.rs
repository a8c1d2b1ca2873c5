//! A file that is framed: the bytes that the framing asks for become blocks.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Weak};

use atds_format::{Access, Arena, BlockDesc, Blocks, ByteSource, FileInfo, Layout, Location, Next};
use bytes::Bytes;
use smallvec::smallvec;

use super::PlanningThread;
use super::heads::Heads;
use super::known::{BlockCache, FoundBlocks};
use super::payloads::Awaited;
use super::reads::{Asked, BlockEnds, Fetched, addresses};
use crate::block::{Block, BlockPayload, FileContext, Payload};
use crate::damage::Skipped;
use crate::error::Stop;
use crate::files::BlockCounts;
use crate::measure::share;
use crate::memory::Lease;
use crate::need::exceeded;
use crate::read_pool::FileReads;
use crate::replay::Wanted;
use crate::split::{Members, Split};
use crate::tuning::{FEW_BYTES, KEPT_SHARE};
use crate::watch::OPEN;
use crate::{Error, ErrorKind};

/// A file that is being framed.
pub(super) struct File {
    pub(super) number: usize,
    pub(super) location: Location,
    pub(super) source: Arc<dyn ByteSource>,
    pub(super) access: Access,
    pub(super) size: Option<u64>,
    pub(super) blocks: Box<dyn Blocks>,
    /// Whether the framing reads payloads, too.
    pub(super) has_payloads: bool,
    /// Whether the framing reads the heads of blocks alone, while workers read all payloads.
    pub(super) heads: Heads,
    /// What workers read payloads of listed blocks with, if they do.
    worker_reads: Option<FileReads>,
    pub(super) context: Option<Arc<FileContext>>,
    /// Reads under way and answers that were not taken, in the order in which they are needed.
    pub(super) reads: VecDeque<Asked>,
    /// Where reads end best, if that is known.
    pub(super) ends: Option<BlockEnds>,
    /// The byte offset at which reading ahead ends, at most.
    pub(super) ahead_to: u64,
    /// The addresses of the bytes that were pushed last, if they count by their buffer.
    pushed: Range<usize>,
    /// Number of bytes that were pushed since the last block.
    pub(super) unframed: u64,
    /// A lease for a large block, whose bytes are copied from several reads.
    pub(super) copied: Lease,
    /// The byte offset at which the last framed block ends, and the number of the next.
    pub(super) framed_to: u64,
    pub(super) next_block: u64,
    /// Number of records of the blocks that were framed, of those in the split, and of their bytes.
    pub(super) records: u64,
    pub(super) members: u64,
    block_bytes: u64,
    /// The numbers of records of the blocks that were framed; `None` where the framing began at a later block.
    counts: Option<BlockCounts>,
    /// Where they are, if that is to be remembered.
    found: Option<FoundBlocks>,
    /// The end of the file, once it was pushed.
    end: Option<u64>,
    /// Damage after which the framing goes on, and the bytes that were left out before it.
    damage: Option<(Error, u64)>,
    /// That the file has become shorter, and by how many bytes.
    cut: Option<(Error, u64)>,
    /// What framing has left out, and was not noted.
    pub(super) skipped: Vec<Skipped>,
    /// Blocks whose payloads are being read, in order.
    pub(super) awaited: VecDeque<Awaited>,
    /// Payloads that several blocks share, by key.
    pub(super) shared: HashMap<u64, Weak<Payload>>,
    /// Whether [`next_block`](PlanningThread::next_block) returns once there is a decoder.
    pub(super) stops_at_decoder: bool,
    /// The last block, if its payload is shared: mostly, the next block has it, too.
    pub(super) last_shared: Option<Arc<Block>>,
}

/// A block that was framed, with the decoder that was the file's by then.
#[derive(Clone)]
pub(super) struct Framed {
    pub(super) desc: BlockDesc,
    /// The number of the first record in the file.
    pub(super) first_record: u64,
    /// Those of its records that are in the split.
    pub(super) members: Members,
    pub(super) context: Arc<FileContext>,
}

impl Framed {
    /// Bytes of the places of its members, if these are so few that their bytes alone are copied.
    pub(super) fn run_bytes(&self) -> Option<u64> {
        match self.context.decoder.seeks_by_lengths() {
            true => self.members.run_bytes(),
            false => None,
        }
    }

    /// Bytes that it takes in a list, in an order and in what allocators add.
    pub(super) fn listed_bytes(&self) -> u64 {
        let ranges = match &self.desc.payload {
            atds_format::Payload::Ranges { ranges, .. } => size_of_val(&**ranges),
            _ => 0,
        };
        (2 * size_of::<Framed>() + ranges) as u64 + self.members.bytes()
    }
}

impl PlanningThread {
    /// Opens a file. `payloads` says whether all its payloads are read, in file order.
    ///
    /// A file that is shorter than when the iteration opened it first is damage: where it ends between two
    /// blocks, nothing else would tell.
    pub(super) fn open(&mut self, number: usize, payloads: bool) -> Result<File, Stop> {
        let location = self.files.location(number);
        let _opening = self.flow.watch.begin(OPEN.in_file(&location));
        let failed = |error| Error::io(error, &location);
        let format = self.files.format(number);
        let options = &self.flow.options;
        // All records of a block are decoded, which finds whether it is the one that is known.
        let reads_all = payloads && options.split.is_none();
        // Damage that is left out is found where blocks are looked for.
        let can_know = |by_workers| {
            let spares_work = format.frames_by_layout() || by_workers;
            !options.skip_damage && (!payloads || reads_all && spares_work)
        };
        let may_read = self.workers_may_read();
        // Before the file is opened: if it changes then, what is found is not remembered, nor used.
        let version = can_know(may_read).then(|| self.files.version(number));
        let version = version.flatten();
        let source = self.files.source(number).map_err(failed)?;
        let mapped = self.files.mapped_bytes();
        self.flow.counters.note(|stats| {
            stats.mapped_peak = stats.mapped_peak.max(mapped);
        });
        let size = source.size().map_err(failed)?;
        let reads = match may_read {
            true => self.worker_reads(&source, size, !(payloads && format.frames_by_layout())),
            false => None,
        };
        // Of the file that was opened, if it is still there.
        let known = || {
            let layout = self.known_blocks().layout(number, version?)?;
            (self.files.version(number) == version).then_some(layout)
        };
        let can_know = can_know(reads.is_some()) && size.is_some();
        let layout = match can_know {
            true => self.files.layout(number).or_else(known),
            false => None,
        };
        let has_small_blocks = |layout: &Layout| {
            let mut sizes = layout.sizes().iter();
            sizes.all(|&size| size <= self.read_size)
        };
        let is_listed = reads.is_some() && layout.as_ref().is_some_and(has_small_blocks);
        let heads = match reads.is_some() && payloads && layout.is_none() {
            true => Heads::Perhaps,
            false => Heads::Never,
        };
        let payloads = size.is_none() || payloads && !is_listed;
        let info = FileInfo {
            location: &location,
            size,
            payloads,
            layout: layout.as_ref(),
        };
        let blocks = format.open(&info);
        let blocks = blocks.map_err(|error| Error::of_format(error, &location))?;
        let now = size.unwrap_or(u64::MAX);
        let before = *self.sizes.entry(number).or_insert(now);
        let none = Lease::none(&self.flow.memory);
        let mut file = File::new((number, location), (source, size), blocks, none);
        file.has_payloads = payloads;
        file.worker_reads = reads.filter(|_| !payloads || heads == Heads::Perhaps);
        file.heads = heads;
        file.counts = Some(BlockCounts::default());
        if can_know && layout.is_none() {
            let most_bytes = self.flow.memory.limit() / KEPT_SHARE;
            file.found = version.map(|version| FoundBlocks::new(version, most_bytes));
        }
        if payloads {
            file.ends = layout.map(BlockEnds::new);
        }
        if now < before {
            let mut error = Error::new(ErrorKind::FileShrank { before, now });
            error.place.offset = Some(now);
            let error = error.in_file(&file.location);
            if !self.flow.options.skip_damage {
                return Err(error.into());
            }
            file.cut = Some((error, before - now));
        }
        Ok(file)
    }

    /// The next block of a file, in file order; fetches the bytes that the framing needs.
    pub(super) fn next_block(&mut self, file: &mut File) -> Result<Option<Framed>, Stop> {
        file.copied.shrink(0);
        loop {
            let checked = file.source.check(file.framed_to);
            checked.map_err(|error| Error::io(error, &file.location))?;
            let next = match file.blocks.next() {
                Ok(next) => next,
                // The framing of payloads finds it, too, when that comes to it.
                Err(_) if file.frame_payloads() => continue,
                Err(error) => {
                    let error = Error::of_format(error, &file.location);
                    file.go_on_after(error, self.flow.options.skip_damage)?;
                    continue;
                }
            };
            match next {
                Next::Block(desc) => {
                    if !self.read_heads(file, &desc) && file.frame_payloads() {
                        continue;
                    }
                    file.end_damage();
                    let Some(context) = file.context.clone() else {
                        let text = "the format has a block before it has a decoder";
                        return Err(Error::io(io::Error::other(text), &file.location).into());
                    };
                    file.framed_to = desc.offset.saturating_add(desc.file_bytes);
                    file.next_block = desc.index + 1;
                    file.unframed = 0;
                    if let Some(counts) = &mut file.counts {
                        counts.add(desc.records);
                    }
                    file.found.take_if(|found| !found.add(&desc));
                    let framed = (file.members, file.block_bytes);
                    let (skips, splits) = (
                        self.flow.options.skip_damage,
                        self.flow.options.split.is_some(),
                    );
                    if (skips || splits)
                        && let Some(skipped) =
                            false_count(&desc, &context, self.flow.options.split.as_deref(), framed)
                    {
                        if !skips {
                            // Looking up its members would take as long as the count says.
                            return Err(skipped.error.into());
                        }
                        file.skipped.push(skipped);
                        continue;
                    }
                    return Ok(Some(self.framed(file, desc, context)?));
                }
                Next::End => {
                    file.end_damage();
                    file.end_cut();
                    if let Some(found) = file.counts.filter(|_| !self.flow.options.skip_damage) {
                        let checked = self.files.check_blocks(file.number, found);
                        checked.map_err(|error| Error::io(error, &file.location))?;
                    }
                    self.remember(file);
                    return Ok(None);
                }
                Next::Decoder(decoder) => {
                    // The header was copied from several reads, if it is large.
                    file.copied.shrink(0);
                    file.framed_to = file.framed_to.max(file.blocks.header_bytes());
                    file.context = Some(Arc::new(FileContext {
                        number: file.number,
                        location: file.location.clone(),
                        decoder,
                        payloads: file.blocks.payloads(),
                        reads: file.worker_reads.clone(),
                    }));
                    if mem::take(&mut file.stops_at_decoder) {
                        return Ok(None);
                    }
                }
                Next::Need { range, sequential } => {
                    let is_head = range.end - range.start <= FEW_BYTES as u64;
                    if !is_head && file.frame_payloads() {
                        continue;
                    }
                    let needed = self.push_needed(file, range, sequential);
                    if let Err(Stop::Failed(_)) = needed
                        && file.frame_payloads()
                    {
                        continue;
                    }
                    needed.map_err(|stop| match file.context {
                        Some(_) => stop.in_block(file.next_block, Some(file.framed_to)),
                        None => stop,
                    })?;
                }
            }
            if self.flow.is_stopped() {
                return Err(Stop::Cancelled);
            }
        }
    }

    /// What iterations have found of the blocks of files.
    pub(super) fn known_blocks(&self) -> Arc<BlockCache> {
        self.flow.options.blocks.clone().unwrap_or_default()
    }

    /// Remembers where the blocks of a file are, all of which were found.
    fn remember(&self, file: &mut File) {
        if let (Some(found), Some(size)) = (file.found.take(), file.size)
            && file.blocks.has_layout()
            && let Some(version) = self.files.version(file.number)
        {
            let known = self.known_blocks();
            known.add_layout(file.number, found, size, version);
        }
    }

    /// A block that was framed, with its members.
    fn framed(
        &self,
        file: &mut File,
        desc: BlockDesc,
        context: Arc<FileContext>,
    ) -> Result<Framed, Stop> {
        let first_record = file.records;
        let members = match &self.flow.options.split {
            None => Members::all(desc.records),
            Some(split) => {
                self.check_window(file, split.member_bytes(desc.records))
                    .map_err(|stop| stop.in_block(desc.index, Some(desc.offset)))?;
                let members = split.members(file.number, first_record, desc.records);
                members.map_err(|error| at_block(error, &desc, &context))?
            }
        };
        file.block_bytes = file.block_bytes.saturating_add(desc.file_bytes);
        file.records = first_record.saturating_add(desc.records);
        file.members = file.members.saturating_add(members.count());
        Ok(Framed {
            desc,
            first_record,
            members,
            context,
        })
    }

    /// Has `lease` be of `bytes` bytes of a list of blocks, and some more. They count for the window.
    pub(super) fn lease_list(
        &mut self,
        file: &File,
        lease: &mut Lease,
        bytes: u64,
    ) -> Result<(), Stop> {
        let more = bytes + bytes / 4 - lease.bytes();
        let window = self.planner.window_bytes().saturating_add(more);
        let memory = &self.flow.memory;
        if window > memory.window_limit() {
            // As if the blocks to come were as large.
            let size = file.size.unwrap_or(0).max(file.framed_to);
            let listed = share(2 * bytes, size, file.framed_to);
            return Err(exceeded(memory, window.saturating_add(listed), None).into());
        }
        lease.merge(self.lease(file, more)?);
        self.planner.reserve(more);
        Ok(())
    }

    /// Pushes bytes that the framing needs.
    fn push_needed(
        &mut self,
        file: &mut File,
        range: Range<u64>,
        sequential: bool,
    ) -> Result<(), Stop> {
        if file.end.is_some_and(|end| range.start >= end) {
            // Records would be lost silently if it was taken as the end.
            let error = io::Error::from(io::ErrorKind::UnexpectedEof);
            return Err(Error::io(error, &file.location).into());
        }
        // The reads of payloads are under way in their order.
        self.finish_awaited(file)?;
        if file.size.is_none() {
            // Another program may take its time.
            self.sequence.flush()?;
        }
        self.sequence.flush_if_starved()?;
        let end = file.size.unwrap_or(u64::MAX).min(range.end);
        let at = range.start;
        // From the end of the block before on: how much of it is here already is up to the source. Bytes that are
        // searched after damage are dropped.
        let from = file.damage.as_ref().map_or(file.framed_to, |_| at);
        let block_bytes = end.saturating_sub(from);
        let is_head = matches!(file.heads, Heads::Read { .. });
        if block_bytes > self.read_size && file.access != Access::Immediate && !is_head {
            // The headers of shuffled runs are read ahead, so that the window at the time follows from chance.
            let is_planned = file.context.is_some() || self.runs.is_none();
            if is_planned && file.damage.is_none() {
                self.check_copied(file, block_bytes)?;
            }
            self.lease_copied(file, block_bytes)?;
        }
        let Fetched { bytes, is_counted } = self.read_next(file, range, sequential)?;
        if bytes.is_empty() {
            file.end = Some(at);
        }
        file.unframed += bytes.len() as u64;
        file.pushed = match is_counted {
            true => addresses(&bytes),
            false => 0..0,
        };
        file.blocks.push(at, bytes);
        Ok(())
    }

    /// An error if a block of `bytes` bytes, of which several reads have a part each, makes the window too large.
    pub(super) fn check_copied(&self, file: &File, bytes: u64) -> Result<(), Stop> {
        let is_read = file.access != Access::Immediate && bytes > self.read_size;
        // It is there twice while it is copied: there is always memory for that, too.
        let window = self
            .planner
            .window_bytes()
            .saturating_add(bytes.saturating_mul(2));
        if is_read && window > self.flow.memory.copy_limit() {
            return Err(self.exceeded(file, 0, bytes, 0));
        }
        self.check_window(file, bytes)
    }

    /// Has a lease of `bytes` bytes for what is copied from several reads.
    fn lease_copied(&mut self, file: &mut File, bytes: u64) -> Result<(), Stop> {
        let lease = self.lease(file, bytes.saturating_sub(file.copied.bytes()))?;
        file.copied.merge(lease);
        Ok(())
    }

    /// Adds a block whose payload is among the bytes that were pushed.
    pub(super) fn push_here(
        &mut self,
        file: &mut File,
        framed: &Framed,
        bytes: &Bytes,
        wanted: Wanted,
    ) -> Result<(), Stop> {
        let is_slice = file.pushed.contains(&addresses(bytes).start) && !bytes.is_empty();
        // A slice of all that was read keeps no more than a copy would.
        let is_all = bytes.len() == file.pushed.len();
        let is_small_file = match file.size {
            Some(size) => size <= self.read_size,
            None => (file.pushed.len() as u64) < self.read_size / 4,
        };
        self.check_copied(file, framed.desc.file_bytes)?;
        let (bytes, lease) = if !is_slice {
            // Copied from several reads, or a slice of what was not read to our buffers.
            let len = bytes.len() as u64;
            file.copied.shrink(len);
            self.lease_copied(file, len)?;
            (bytes.clone(), file.copied.split(len))
        } else if !is_all
            && framed.run_bytes().is_none()
            && (is_small_file || self.is_long_in_window())
        {
            // A slice would keep the whole buffer, for longer than most of its bytes are needed.
            let rounded = Arena::rounded(bytes.len()) as u64;
            let lease = self.payload_lease(file, rounded)?;
            (self.pool.copy(bytes, lease), Lease::none(&self.flow.memory))
        } else {
            (bytes.clone(), Lease::none(&self.flow.memory))
        };
        file.copied.shrink(0);
        // Its turns are like blocks that share it.
        let is_shared = self.are_in_turns();
        let payload = Payload::new(smallvec![bytes], is_shared, Some(lease));
        self.push(file, framed, BlockPayload::Own(payload), wanted)
    }

    /// Whether a payload would keep too much for as long as it stays in the window. With several workers,
    /// which would wait for the copies, only if buffers hold more, besides the window, than may be ahead.
    pub(super) fn is_long_in_window(&self) -> bool {
        let window = self.planner.window_bytes();
        let held = || self.pool.used() + self.planner.copied_bytes();
        let is_much = || held() > window + self.flow.memory.ahead_limit();
        self.flow.options.is_shuffled() && (self.flow.options.threads == 1 || is_much())
    }
}

/// A block whose count cannot be true, however it is framed: nothing of it is planned.
fn false_count(
    desc: &BlockDesc,
    context: &FileContext,
    split: Option<&Split>,
    framed: (u64, u64),
) -> Option<Skipped> {
    let is_shared = matches!(
        desc.payload,
        atds_format::Payload::Ranges { key: Some(_), .. }
    );
    let (records, bytes) = (desc.records, desc.file_bytes);
    let error = if !is_shared && records > context.decoder.most_records(bytes) {
        Error::new(ErrorKind::TooManyRecords { records, bytes })
    } else {
        split?.check_records(records).err()?
    };
    let error = at_block(error, desc, context);
    Some(Skipped::of_framing(error, bytes, framed))
}

fn at_block(error: Error, desc: &BlockDesc, context: &FileContext) -> Error {
    let mut error = error.in_file(&context.location);
    (error.place.block, error.place.offset) = (Some(desc.index), Some(desc.offset));
    error
}

impl File {
    /// A file, the framing of which has not begun.
    pub(super) fn new(
        (number, location): (usize, Location),
        (source, size): (Arc<dyn ByteSource>, Option<u64>),
        blocks: Box<dyn Blocks>,
        copied: Lease,
    ) -> Self {
        File {
            number,
            location,
            access: source.access(),
            source,
            size,
            blocks,
            has_payloads: true,
            heads: Heads::Never,
            worker_reads: None,
            context: None,
            reads: VecDeque::new(),
            ends: None,
            ahead_to: u64::MAX,
            pushed: 0..0,
            unframed: 0,
            copied,
            framed_to: 0,
            next_block: 0,
            records: 0,
            members: 0,
            block_bytes: 0,
            counts: None,
            found: None,
            end: None,
            damage: None,
            cut: None,
            skipped: Vec::new(),
            awaited: VecDeque::new(),
            shared: HashMap::new(),
            stops_at_decoder: false,
            last_shared: None,
        }
    }

    /// Has the framing go on after damage, if that is left out and the format can.
    #[cold]
    fn go_on_after(&mut self, error: Error, skip_damage: bool) -> Result<(), Error> {
        if !skip_damage || !error.is_damage() || !self.blocks.resync() {
            return Err(error);
        }
        let skipped = self.blocks.skipped_bytes();
        self.damage.get_or_insert((error, skipped));
        Ok(())
    }

    /// The framing has found a block after damage, or the end.
    fn end_damage(&mut self) {
        if let Some((error, before)) = self.damage.take() {
            let bytes = self.blocks.skipped_bytes() - before;
            let skipped = Skipped::of_framing(error, bytes, (self.members, self.block_bytes));
            self.skipped.push(skipped);
        }
    }

    /// The framing is at the end of a file that has become shorter.
    fn end_cut(&mut self) {
        if let Some((error, bytes)) = self.cut.take() {
            let framed = (self.members, self.block_bytes);
            self.skipped.push(Skipped::of_framing(error, bytes, framed));
        }
    }

    /// Bytes of the reads that were not taken.
    pub(super) fn under_way(&self) -> u64 {
        let lens = self.reads.iter().map(Asked::len);
        lens.fold(0, u64::saturating_add)
    }
}
