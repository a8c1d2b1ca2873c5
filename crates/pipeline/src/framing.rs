//! The planning thread: frames the blocks of files, in the order of an epoch, and plans batches.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use atds_format::{
    BlockDesc, Blocks, Decoder, FileInfo, Location, Next, Payload, PrepareJob, Prepared, Scratch,
    Tally,
};
use atds_shuffle::{block_order, file_order};
use bytes::Bytes;

use crate::block::{Block, BlockPayload, FileContext, SharedPayload};
use crate::error::Stop;
use crate::fetch::{Fetched, Fetcher, ReadPool};
use crate::files::Files;
use crate::flow::Flow;
use crate::memory::{Lease, Memory};
use crate::planner::Planner;
use crate::prepare::block_error;
use crate::sequence::Sequence;
use crate::slice::{FilePart, overlaps};
use crate::tuning::{COUNTED_BYTES, DOUBTFUL_BATCH_BYTES, KEPT_SHARE};
use crate::watch::What;
use crate::{Error, ErrorKind, Options};

/// The planning thread's state.
pub(crate) struct Framing {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) options: Options,
    pub(crate) flow: Arc<Flow>,
    pub(crate) pool: Arc<ReadPool>,
    pub(crate) planner: Planner,
    pub(crate) sequence: Sequence,
    /// Bytes of a row in columns of fixed size.
    pub(crate) fixed_row_bytes: u64,
    /// Bytes of a read.
    pub(crate) read_size: usize,
}

/// A file that is being framed.
struct File {
    location: Location,
    fetcher: Fetcher,
    blocks: Box<dyn Blocks>,
    context: Option<Arc<FileContext>>,
    /// Payloads that several blocks share, by key.
    shared: HashMap<u64, Weak<SharedPayload>>,
    /// The last block, if its payload is shared: mostly, the next block has it, too.
    held: Option<Arc<Block>>,
    /// The addresses of the bytes that were pushed last, if they count by their buffer.
    pushed: Range<usize>,
    /// Number of bytes that were pushed since the last block.
    unframed: u64,
    /// A lease for a large block, whose bytes are copied from several reads.
    joined: Option<Lease>,
    /// The keys that several blocks have; `None` if the blocks are not listed before they are read.
    shared_keys: Option<HashSet<u64>>,
    /// The byte offset at which the last framed block ends.
    framed_to: u64,
    /// The end of the file, once it was pushed.
    end: Option<u64>,
    /// Blocks whose payloads are being read, in order.
    list: VecDeque<Listed>,
}

impl Framing {
    /// Frames and plans all epochs.
    pub(crate) fn run(mut self, epochs: Range<u64>) {
        let flow = self.flow.clone();
        let _running = flow.watch.planner();
        let error = match self.epochs(epochs) {
            Err(Stop::Cancelled) => return,
            Err(Stop::Failed(error)) => Some(error),
            Ok(()) => None,
        };
        match self.sequence.flush() {
            Ok(()) => self.flow.end(error),
            Err(Stop::Cancelled) => {}
            Err(Stop::Failed(error)) => self.flow.end(Some(error)),
        }
    }

    fn epochs(&mut self, epochs: Range<u64>) -> Result<(), Stop> {
        for epoch in epochs.clone() {
            self.planner.begin_epoch(epoch);
            let framed = self.epoch(epoch);
            match &framed {
                Err(Stop::Cancelled) => return framed,
                // Drawn from less than a window, rows would have another order than they have.
                Err(Stop::Failed(error)) if matches!(error.kind, ErrorKind::MemoryLimit { .. }) => {
                    return framed;
                }
                _ => {}
            }
            while self.planner.has_batch() {
                let plan = self.planner.draw();
                self.sequence.push(plan)?;
            }
            let left = self.planner.remainder();
            self.flow.counters.add_dropped_records(left);
            framed?;
            if self.planner.drawn() == 0 {
                // Nor will the epochs that follow have a batch.
                let following = epochs.end - epoch - 1;
                self.flow
                    .counters
                    .add_dropped_records(left.saturating_mul(following));
                return Ok(());
            }
        }
        Ok(())
    }

    fn epoch(&mut self, epoch: u64) -> Result<(), Stop> {
        let count = self.files.len();
        let order = match self.options.shuffle_files {
            true => file_order(self.options.seed, epoch, count),
            false => (0..count).collect(),
        };
        let parts: Vec<_> = match &self.options.slice {
            Some(slice) => {
                let parts = slice.files(&order).into_iter();
                parts.map(|(file, part)| (file, Some(part))).collect()
            }
            None => order.into_iter().map(|file| (file, None)).collect(),
        };
        for (file, part) in parts {
            let is_whole = part.as_ref().is_none_or(FilePart::is_whole);
            let listed = self.options.shuffle_blocks || !is_whole;
            let opened = self.open(file, !listed)?;
            let mut opened = opened;
            // An input without a size cannot be listed.
            let framed = if listed && opened.fetcher.size().is_some() {
                self.listed_file(file, &mut opened, part.as_ref(), epoch)
            } else {
                self.whole_file(file, &mut opened, part.as_ref())
            };
            self.let_go(&mut opened);
            framed?;
        }
        Ok(())
    }

    fn open(&self, file: usize, payloads: bool) -> Result<File, Stop> {
        let location = self.files.location(file);
        let _opening = self.flow.watch.begin(What::Open(location.clone()));
        let source = self
            .files
            .source(file)
            .map_err(|error| Error::new(ErrorKind::Io(Arc::new(error))).in_file(&location))?;
        let fetcher = Fetcher::new(source, self.read_size, self.pool.clone(), self.flow.clone())?;
        let info = FileInfo {
            location: &location,
            size: fetcher.size(),
            payloads: payloads || fetcher.size().is_none(),
        };
        let blocks = self.files.format(file).open(&info);
        let blocks = blocks.map_err(|error| Error::of_format(error, &location))?;
        Ok(File {
            location,
            fetcher,
            blocks,
            context: None,
            shared: HashMap::new(),
            held: None,
            pushed: 0..0,
            unframed: 0,
            joined: None,
            shared_keys: None,
            framed_to: 0,
            end: None,
            list: VecDeque::new(),
        })
    }

    /// Reads a file from its start to its end, or the part of it that a slice has.
    fn whole_file(
        &mut self,
        file: usize,
        opened: &mut File,
        part: Option<&FilePart>,
    ) -> Result<(), Stop> {
        let mut found = 0u64;
        // The end of the file is read, too, if the part goes so far.
        let is_last = |part: &&FilePart| part.records.end < part.counted;
        let end = part.filter(is_last).map(|part| part.records.end);
        while end.is_none_or(|end| found < end)
            && let Some(framed) = self.next_block(opened)?
        {
            let first = found;
            let records = framed.desc.records;
            found = found.saturating_add(records);
            let wanted = match part {
                Some(part) => {
                    let Range { start, end } = part.records;
                    start.clamp(first, found) - first..end.clamp(first, found) - first
                }
                None => 0..records,
            };
            if wanted.is_empty() && records > 0 {
                opened.joined = None;
                continue;
            }
            self.add(opened, framed, wanted)?;
        }
        self.finish_list(opened)?;
        if end.is_some_and(|end| found >= end) {
            return Ok(());
        }
        self.files.framed(file, opened.blocks.trailing_bytes());
        check_records(&opened.location, part, found)
    }

    /// Lists the blocks of a file, and reads those that the epoch has, in its order.
    fn listed_file(
        &mut self,
        file: usize,
        opened: &mut File,
        part: Option<&FilePart>,
        epoch: u64,
    ) -> Result<(), Stop> {
        let (mut all, mut damage) = (Vec::new(), None);
        loop {
            match self.next_block(opened) {
                Ok(Some(framed)) => all.push(framed),
                Ok(None) => break,
                Err(Stop::Cancelled) => return Err(Stop::Cancelled),
                // The blocks before the damage are read.
                Err(Stop::Failed(error)) => {
                    damage = Some(error);
                    break;
                }
            }
        }
        self.files.framed(file, opened.blocks.trailing_bytes());
        let counts = all.iter().map(|framed| framed.desc.records);
        let found = counts.fold(0, u64::saturating_add);
        if damage.is_none() {
            check_records(&opened.location, part, found)?;
        }
        opened.shared_keys = Some(shared_keys(&all));
        let order = match self.options.shuffle_blocks {
            true => block_order(self.options.seed, epoch, file as u64, all.len()),
            false => (0..all.len()).collect(),
        };
        let counts = order.iter().map(|&block| all[block].desc.records);
        let chosen: Vec<_> = match part {
            Some(part) => overlaps(counts, &part.records).collect(),
            None => counts
                .enumerate()
                .map(|(at, records)| (at, records, 0..records))
                .collect(),
        };
        for (at, _, records) in chosen {
            self.add(opened, all[order[at]].clone(), records)?;
        }
        self.finish_list(opened)?;
        damage.map_or(Ok(()), |error| Err(Stop::Failed(error)))
    }

    /// The next block of a file, in file order; fetches the bytes that the framing needs.
    fn next_block(&mut self, file: &mut File) -> Result<Option<Framed>, Stop> {
        loop {
            file.fetcher.check(file.framed_to)?;
            let next = file.blocks.next();
            match next.map_err(|error| Error::of_format(error, &file.location))? {
                Next::Block(desc) => {
                    let Some(context) = file.context.clone() else {
                        return Err(Stop::Failed(no_decoder(&file.location)));
                    };
                    file.framed_to = desc.offset.saturating_add(desc.file_bytes);
                    file.unframed = 0;
                    return Ok(Some(Framed { desc, context }));
                }
                Next::End => return Ok(None),
                Next::Decoder(decoder) => file.context = Some(self.context(file, decoder)),
                Next::Need { range, sequential } => {
                    if file.end.is_some_and(|end| range.start >= end) {
                        // Records would be lost silently if it was taken as the end.
                        let error = io::Error::from(io::ErrorKind::UnexpectedEof);
                        let error = Error::new(ErrorKind::Io(Arc::new(error)));
                        return Err(Stop::Failed(error.in_file(&file.location)));
                    }
                    // The reads of payloads are under way in their order.
                    self.finish_list(file)?;
                    if file.fetcher.size().is_none() {
                        // Another program may take its time.
                        self.sequence.flush()?;
                    }
                    self.sequence.flush_if_starved()?;
                    self.lease_joined(file, &range)?;
                    self.before_read(file, file.fetcher.read_size())?;
                    let fetched = file.fetcher.next(range.clone(), sequential);
                    let Fetched { bytes, is_counted } =
                        fetched.map_err(|stop| self.in_file(stop, &file.location))?;
                    if bytes.is_empty() {
                        file.end = Some(range.start);
                    }
                    file.unframed += bytes.len() as u64;
                    file.pushed = match is_counted {
                        true => addresses(&bytes),
                        false => 0..0,
                    };
                    file.blocks.push(range.start, bytes);
                }
            }
            if self.flow.is_stopped() {
                return Err(Stop::Cancelled);
            }
        }
    }

    /// Before `bytes` bytes are read: what waits here may be what holds the memory for it.
    fn before_read(&mut self, file: &mut File, bytes: u64) -> Result<(), Stop> {
        file.fetcher.total = self.planner.total() + file.unframed;
        if !file.fetcher.has_memory(bytes) {
            self.sequence.flush()?;
        }
        Ok(())
    }

    /// A lease for what is joined from several reads, if `range` is so large.
    fn lease_joined(&mut self, file: &mut File, range: &Range<u64>) -> Result<(), Stop> {
        let end = file
            .fetcher
            .size()
            .map_or(range.end, |size| range.end.min(size));
        let bytes = end.saturating_sub(range.start);
        let is_large = !file.fetcher.is_immediate() && bytes > file.fetcher.read_size();
        if is_large && file.joined.is_none() {
            let bytes = file.unframed.saturating_add(bytes);
            self.before_read(file, bytes)?;
            let lease = self.flow.lease_ahead(file.fetcher.total, bytes);
            file.joined = Some(lease.map_err(|stop| self.in_file(stop, &file.location))?);
        }
        Ok(())
    }

    fn context(&self, file: &File, decoder: Arc<dyn Decoder>) -> Arc<FileContext> {
        Arc::new(FileContext {
            location: file.location.clone(),
            decoder,
            max_block_bytes: self.options.max_block_bytes,
            has_workers: self.options.threads > 1,
        })
    }

    /// Adds a block of which `records` are read, once its payload is here.
    fn add(&mut self, file: &mut File, framed: Framed, records: Range<u64>) -> Result<(), Stop> {
        let desc = &framed.desc;
        let Payload::Ranges { ranges, .. } = &desc.payload else {
            return self.push_here(file, &framed, records);
        };
        let bytes = desc.payload.bytes();
        file.fetcher.total = self.planner.total();
        let most = file.fetcher.most_under_way();
        while file.list.len() >= most || !file.list.is_empty() && !file.fetcher.has_memory(bytes) {
            self.take_first(file)?;
            file.fetcher.total = self.planner.total();
        }
        if file.list.is_empty() {
            // What the framing has left under way is not of a payload.
            file.fetcher.forget_reads();
        }
        let is_known = file.is_under_way(&desc.payload) || file.payload(desc).is_some();
        if !is_known {
            self.before_read(file, bytes)?;
            for range in ranges.iter() {
                let asked = file.fetcher.ask_for(range.clone());
                asked.map_err(|stop| self.in_file(stop, &file.location))?;
            }
        }
        file.list.push_back(Listed {
            framed,
            records,
            is_asked: !is_known,
        });
        Ok(())
    }

    fn finish_list(&mut self, file: &mut File) -> Result<(), Stop> {
        while !file.list.is_empty() {
            self.take_first(file)?;
        }
        Ok(())
    }

    /// Adds the first of the blocks whose payloads are under way.
    fn take_first(&mut self, file: &mut File) -> Result<(), Stop> {
        let Some(listed) = file.list.pop_front() else {
            return Ok(());
        };
        let Listed {
            framed,
            records,
            is_asked,
        } = listed;
        let desc = &framed.desc;
        let Payload::Ranges { key, ranges } = &desc.payload else {
            return self.push_here(file, &framed, records);
        };
        let known = file.payload(desc);
        let payload = match known {
            Some(payload) if !is_asked => BlockPayload::Shared(payload),
            _ => {
                // What is held for the block before must not be what the memory is missing for.
                self.let_go(file);
                if !is_asked {
                    // Every block that shared the payload has been read to its end.
                    self.before_read(file, desc.payload.bytes())?;
                    let asked = file.fetcher.ask_first(ranges);
                    asked.map_err(|stop| self.in_file(stop, &file.location))?;
                }
                self.sequence.flush_if_starved()?;
                self.before_read(file, 0)?;
                let parts = ranges.iter().map(|_| file.fetcher.take());
                let parts = parts.collect::<Result<Vec<_>, Stop>>()?;
                let uncounted = parts.iter().filter(|part| !part.is_counted);
                let uncounted = uncounted.map(|part| part.bytes.len() as u64).sum();
                let parts = parts.into_iter().map(|part| part.bytes).collect();
                let parts = file.blocks.payload(desc, parts);
                let parts = parts.map_err(|error| Error::of_format(error, &file.location))?;
                let is_shared = file.is_shared(*key);
                let lease = self.payload_lease(file, uncounted)?;
                let payload = SharedPayload::new(parts, is_shared, Some(lease));
                if is_shared {
                    let payload = Arc::new(payload);
                    file.shared.insert(*key, Arc::downgrade(&payload));
                    BlockPayload::Shared(payload)
                } else {
                    BlockPayload::Own(payload)
                }
            }
        };
        self.push(Some(file), &framed, payload, records)
    }

    /// Lets the payload go that was held for the next block.
    fn let_go(&mut self, file: &mut File) {
        if let Some(block) = file.held.take() {
            self.planner.let_go(&block);
        }
    }

    fn push_here(
        &mut self,
        file: &mut File,
        framed: &Framed,
        records: Range<u64>,
    ) -> Result<(), Stop> {
        let Payload::Here(bytes) = &framed.desc.payload else {
            return Ok(());
        };
        let joined = file.joined.take();
        let at = addresses(bytes);
        let is_slice = file.pushed.contains(&at.start) && !bytes.is_empty();
        let read_size = file.fetcher.read_size();
        let is_small_file = match file.fetcher.size() {
            Some(size) => size <= read_size,
            None => (file.pushed.len() as u64) < read_size / 4,
        };
        let (bytes, lease) = if !is_slice {
            // Joined from several reads, or a slice of what was not read to our buffers.
            let len = bytes.len() as u64;
            let lease = match joined {
                Some(mut lease) if lease.bytes() >= len => {
                    lease.shrink(len);
                    lease
                }
                other => {
                    // Or the same bytes would count twice.
                    drop(other);
                    self.payload_lease(file, len)?
                }
            };
            (bytes.clone(), lease)
        } else if is_small_file || self.is_long_in_window() {
            // A slice would keep the whole buffer, for longer than most of its bytes are needed.
            let rounded = ReadPool::rounded(bytes.len()) as u64;
            let lease = self.payload_lease(file, rounded)?;
            let copy = self.pool.copy(bytes, lease);
            (copy, Lease::none(&self.flow.memory))
        } else {
            (bytes.clone(), Lease::none(&self.flow.memory))
        };
        let payload = SharedPayload::new(vec![bytes], false, Some(lease));
        self.push(None, framed, BlockPayload::Own(payload), records)
    }

    /// Whether payloads stay in the window for so long that it matters what they keep: only if the window
    /// takes much of the memory.
    fn is_long_in_window(&self) -> bool {
        let few = self.flow.memory.limit() / KEPT_SHARE;
        self.options.shuffle_buffer_size > 0 && self.planner.expected_bytes() > few
    }

    /// Adds the file to an error. If the window does not fit, the rest of it is taken to be like what
    /// is there.
    #[cold]
    fn in_file(&self, stop: Stop, location: &Location) -> Stop {
        let Stop::Failed(mut error) = stop else {
            return stop;
        };
        if let ErrorKind::MemoryLimit { needed, .. } = &mut error.kind {
            let window = Memory::limit_for(self.planner.expected_bytes());
            *needed = window.max(*needed);
        }
        Stop::Failed(error.in_file(location))
    }

    /// A lease for `bytes` bytes of a payload.
    fn payload_lease(&mut self, file: &File, bytes: u64) -> Result<Lease, Stop> {
        if bytes == 0 {
            return Ok(Lease::none(&self.flow.memory));
        }
        let total = self.planner.total() + file.fetcher.under_way();
        if !self.flow.has_ahead(total, bytes) {
            // What waits here may be what holds the memory.
            self.sequence.flush()?;
        }
        let lease = self.flow.lease_ahead(total, bytes);
        lease.map_err(|stop| self.in_file(stop, &file.location))
    }

    /// Adds a block with its payload to the window, and plans the batches that it fills.
    fn push(
        &mut self,
        file: Option<&mut File>,
        framed: &Framed,
        payload: BlockPayload,
        records: Range<u64>,
    ) -> Result<(), Stop> {
        let Framed { desc, context } = framed;
        self.flow
            .counters
            .file_bytes
            .fetch_add(desc.file_bytes, Relaxed);
        let block = Arc::new(Block::new(desc, context.clone(), payload));
        let rows = block.records.min(self.options.batch_size as u64);
        if rows.saturating_mul(self.fixed_row_bytes) > DOUBTFUL_BATCH_BYTES {
            block.check_count()?;
        }
        if desc.records == 0 {
            if !block.payload.is_shared {
                self.check_empty(&block)?;
            }
            return Ok(());
        }
        if !block.file.decoder.prepares() {
            block.payload.take_as_it_is();
            self.flow
                .counters
                .add_prepared(block.payload.bytes, block.records);
        }
        if let Some(file) = file
            && block.payload.is_shared
        {
            self.let_go(file);
            self.planner.keep(&block);
            file.held = Some(block.clone());
        }
        self.planner.push(block, records);
        while self.planner.is_full() {
            let plan = self.planner.draw();
            self.sequence.push(plan)?;
        }
        if self.flow.is_stopped() {
            return Err(Stop::Cancelled);
        }
        Ok(())
    }

    /// An error if a block without records has bytes of records.
    fn check_empty(&mut self, block: &Block) -> Result<(), Stop> {
        let parts = block.payload.parts();
        let mut jobs = [PrepareJob::new(&parts, COUNTED_BYTES as usize)];
        let decoder = &block.file.decoder;
        decoder.prepare(&mut jobs, &mut Scratch::default());
        let [job] = jobs;
        let check = |(prepared, tally): (Prepared, Tally)| {
            let mut all = decoder.finish(&prepared, block.nearest(0))?;
            all.add(&tally);
            Ok(all)
        };
        let tally = job.result.and_then(check);
        let tally = tally.map_err(|error| block_error(block, error, COUNTED_BYTES as usize))?;
        self.flow.counters.add_tally(&tally);
        Ok(())
    }
}

/// A block that was framed, with the decoder that was the file's by then.
#[derive(Clone)]
struct Framed {
    desc: BlockDesc,
    context: Arc<FileContext>,
}

/// A block whose payload is being read.
struct Listed {
    framed: Framed,
    /// The records that are read of it.
    records: Range<u64>,
    /// Whether the payload was asked for with this block, and not with an earlier one.
    is_asked: bool,
}

/// The keys that several blocks have.
fn shared_keys(all: &[Framed]) -> HashSet<u64> {
    let mut keys = HashSet::new();
    let all = all.iter().filter_map(|framed| match framed.desc.payload {
        Payload::Ranges { key, .. } => Some(key),
        Payload::Here(_) => None,
    });
    all.filter(|key| !keys.insert(*key)).collect()
}

impl File {
    /// Whether a block in the list has asked for the payload.
    fn is_under_way(&self, payload: &Payload) -> bool {
        let Payload::Ranges { key, .. } = payload else {
            return false;
        };
        let mut asked = self.list.iter().filter(|listed| listed.is_asked);
        asked.any(|listed| {
            matches!(&listed.framed.desc.payload, Payload::Ranges { key: other, .. } if other == key)
        })
    }

    /// Whether several blocks may have the payload `key`.
    fn is_shared(&self, key: u64) -> bool {
        let keys = self.shared_keys.as_ref();
        keys.is_none_or(|keys| keys.contains(&key))
    }

    /// The payload that an earlier block has shared, if it is still held.
    fn payload(&self, desc: &BlockDesc) -> Option<Arc<SharedPayload>> {
        match &desc.payload {
            Payload::Here(_) => None,
            Payload::Ranges { key, .. } => self.shared.get(key)?.upgrade(),
        }
    }
}

/// Where bytes lie.
fn addresses(bytes: &Bytes) -> Range<usize> {
    let range = bytes.as_ptr_range();
    range.start.addr()..range.end.addr()
}

/// The error of a format that gives a block before its decoder.
#[cold]
fn no_decoder(location: &Location) -> Error {
    let error = io::Error::other("the format has a block before it has a decoder");
    Error::new(ErrorKind::Io(Arc::new(error))).in_file(location)
}

/// An error if a file of a slice has another number of records than it had when they were counted:
/// other slices of it would not fit.
fn check_records(location: &Location, part: Option<&FilePart>, found: u64) -> Result<(), Stop> {
    match part {
        Some(part) if part.counted != found => {
            let counted = part.counted;
            let error = Error::new(ErrorKind::RecordsChanged { counted, found });
            Err(Stop::Failed(error.in_file(location)))
        }
        _ => Ok(()),
    }
}
