//! A file that is framed: the bytes that the framing asks for become blocks.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Weak};

use atds_format::{Access, BlockDesc, Blocks, ByteSource, FileInfo, Location, Next};
use bytes::Bytes;

use super::PlanningThread;
use super::payloads::Listed;
use super::reads::{Asked, Fetched, addresses};
use crate::Error;
use crate::block::{Block, BlockPayload, FileContext, Payload};
use crate::error::Stop;
use crate::memory::Lease;
use crate::read_pool::ReadPool;
use crate::watch::OPEN;

/// A file that is being framed.
pub(super) struct File {
    pub(super) location: Location,
    pub(super) source: Arc<dyn ByteSource>,
    pub(super) access: Access,
    pub(super) size: Option<u64>,
    pub(super) blocks: Box<dyn Blocks>,
    pub(super) context: Option<Arc<FileContext>>,
    /// Reads under way and answers that were not taken, in the order in which they are needed.
    pub(super) reads: VecDeque<Asked>,
    /// The addresses of the bytes that were pushed last, if they count by their buffer.
    pushed: Range<usize>,
    /// Number of bytes that were pushed since the last block.
    pub(super) unframed: u64,
    /// A lease for a large block, whose bytes are copied from several reads.
    copied: Lease,
    /// The byte offset at which the last framed block ends, and the number of the next.
    framed_to: u64,
    next_block: u64,
    /// The end of the file, once it was pushed.
    end: Option<u64>,
    /// Blocks whose payloads are being read, in order.
    pub(super) list: VecDeque<Listed>,
    /// Payloads that several blocks share, by key.
    pub(super) shared: HashMap<u64, Weak<Payload>>,
    /// The last block, if its payload is shared: mostly, the next block has it, too.
    pub(super) held: Option<Arc<Block>>,
}

/// A block that was framed, with the decoder that was the file's by then.
#[derive(Clone)]
pub(super) struct Framed {
    pub(super) desc: BlockDesc,
    pub(super) context: Arc<FileContext>,
}

impl PlanningThread {
    /// Opens a file. `payloads` says whether all its payloads are read, in file order.
    pub(super) fn open(&self, file: usize, payloads: bool) -> Result<File, Stop> {
        let location = self.files.location(file);
        let _opening = self.flow.watch.begin(OPEN.in_file(&location));
        let failed = |error| Error::io(error, &location);
        let source = self.files.source(file).map_err(failed)?;
        let mapped = self.files.mapped_bytes();
        self.flow.counters.note(|stats| {
            stats.mapped_peak = stats.mapped_peak.max(mapped);
        });
        let size = source.size().map_err(failed)?;
        let info = FileInfo {
            location: &location,
            size,
            payloads: payloads || size.is_none(),
        };
        let blocks = self.files.format(file).open(&info);
        let blocks = blocks.map_err(|error| Error::of_format(error, &location))?;
        Ok(File {
            location,
            access: source.access(),
            source,
            size,
            blocks,
            context: None,
            reads: VecDeque::new(),
            pushed: 0..0,
            unframed: 0,
            copied: Lease::none(&self.flow.memory),
            framed_to: 0,
            next_block: 0,
            end: None,
            list: VecDeque::new(),
            shared: HashMap::new(),
            held: None,
        })
    }

    /// The next block of a file, in file order; fetches the bytes that the framing needs.
    pub(super) fn next_block(&mut self, file: &mut File) -> Result<Option<Framed>, Stop> {
        file.copied.shrink(0);
        loop {
            let checked = file.source.check(file.framed_to);
            checked.map_err(|error| Error::io(error, &file.location))?;
            let next = file.blocks.next();
            match next.map_err(|error| Error::of_format(error, &file.location))? {
                Next::Block(desc) => {
                    let Some(context) = file.context.clone() else {
                        let text = "the format has a block before it has a decoder";
                        return Err(Error::io(io::Error::other(text), &file.location).into());
                    };
                    file.framed_to = desc.offset.saturating_add(desc.file_bytes);
                    file.next_block = desc.index + 1;
                    file.unframed = 0;
                    return Ok(Some(Framed { desc, context }));
                }
                Next::End => return Ok(None),
                Next::Decoder(decoder) => {
                    let location = file.location.clone();
                    file.context = Some(Arc::new(FileContext { location, decoder }));
                }
                Next::Need { range, sequential } => {
                    let needed = self.push_needed(file, range, sequential);
                    needed.map_err(|stop| match file.context {
                        // The first block begins where the header ends.
                        Some(_) => stop.in_block(
                            file.next_block,
                            Some(file.framed_to).filter(|_| file.next_block > 0),
                        ),
                        None => stop,
                    })?;
                }
            }
            if self.flow.is_stopped() {
                return Err(Stop::Cancelled);
            }
        }
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
        self.finish_list(file)?;
        if file.size.is_none() {
            // Another program may take its time.
            self.sequence.flush()?;
        }
        self.sequence.flush_if_starved()?;
        let end = file.size.unwrap_or(u64::MAX).min(range.end);
        let block_bytes = file.unframed + end.saturating_sub(range.start);
        if block_bytes > self.read_size && file.access != Access::Immediate {
            self.lease_copied(file, block_bytes)?;
        }
        let at = range.start;
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

    /// Has a lease of `bytes` bytes for what is copied from several reads.
    fn lease_copied(&mut self, file: &mut File, bytes: u64) -> Result<(), Stop> {
        // The bytes of a header are not of the window.
        if file.context.is_some() {
            self.check_window(file, bytes)?;
        }
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
        records: Range<u64>,
    ) -> Result<(), Stop> {
        let is_slice = file.pushed.contains(&addresses(bytes).start) && !bytes.is_empty();
        let is_small_file = match file.size {
            Some(size) => size <= self.read_size,
            None => (file.pushed.len() as u64) < self.read_size / 4,
        };
        let (bytes, lease) = if !is_slice {
            // Copied from several reads, or a slice of what was not read to our buffers.
            let len = bytes.len() as u64;
            file.copied.shrink(len);
            self.lease_copied(file, len)?;
            (bytes.clone(), file.copied.split(len))
        } else if is_small_file || self.is_long_in_window() {
            // A slice would keep the whole buffer, for longer than most of its bytes are needed.
            let rounded = ReadPool::rounded(bytes.len()) as u64;
            let lease = self.payload_lease(file, rounded)?;
            (self.pool.copy(bytes, lease), Lease::none(&self.flow.memory))
        } else {
            (bytes.clone(), Lease::none(&self.flow.memory))
        };
        file.copied.shrink(0);
        let payload = Payload::new(vec![bytes], false, Some(lease));
        self.push(file, framed, BlockPayload::Own(payload), records)
    }

    /// Whether a payload would keep too much for as long as it stays in the window. With several workers,
    /// which would wait for the copies, only if buffers hold more, besides the window, than may be ahead.
    fn is_long_in_window(&self) -> bool {
        let window = self.planner.window_bytes();
        let is_much = || self.pool.used() > window + self.flow.memory.ahead_limit();
        self.flow.options.is_shuffled() && (self.flow.options.threads == 1 || is_much())
    }
}

impl File {
    /// Bytes of the reads that were not taken.
    pub(super) fn under_way(&self) -> u64 {
        let lens = self.reads.iter().map(Asked::len);
        lens.fold(0, u64::saturating_add)
    }
}
