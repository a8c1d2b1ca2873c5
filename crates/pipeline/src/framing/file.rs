//! A file that is framed: the bytes that the framing asks for become blocks.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use atds_format::{BlockDesc, Blocks, Decoder, FileInfo, Location, Next};
use bytes::Bytes;

use super::Framing;
use super::ranges::Ranges;
use crate::Error;
use crate::ahead::Ahead;
use crate::block::{BlockPayload, FileContext, SharedPayload};
use crate::error::Stop;
use crate::fetch::{Fetched, Fetcher, ReadPool};
use crate::memory::Lease;
use crate::tuning::KEPT_SHARE;
use crate::watch::What;

/// A file that is being framed.
pub(super) struct File {
    pub(super) location: Location,
    pub(super) fetcher: Fetcher,
    pub(super) blocks: Box<dyn Blocks>,
    context: Option<Arc<FileContext>>,
    /// The addresses of the bytes that were pushed last, if they count by their buffer.
    pushed: Range<usize>,
    /// Number of bytes that were pushed since the last block.
    unframed: u64,
    /// A lease for a large block, whose bytes are copied from several reads.
    pub(super) copied: Lease,
    /// The byte offset at which the last framed block ends, and the number of the next.
    framed_to: u64,
    next_block: u64,
    /// The end of the file, once it was pushed.
    end: Option<u64>,
    /// Payloads that are read by their ranges.
    pub(super) ranges: Ranges,
}

/// A block that was framed, with the decoder that was the file's by then.
#[derive(Clone)]
pub(super) struct Framed {
    pub(super) desc: BlockDesc,
    pub(super) context: Arc<FileContext>,
}

impl Framing {
    /// Opens a file. `payloads` says whether all its payloads are read, in file order.
    pub(super) fn open(&self, file: usize, payloads: bool) -> Result<File, Stop> {
        let location = self.files.location(file);
        let _opening = self.flow.watch.begin(What::open(&location));
        let source = self.files.source(file);
        let source = source.map_err(|error| Error::io(error, &location))?;
        let mapped = self.files.mapped_bytes();
        self.flow.counters.note(|noted| {
            noted.stats.mapped_peak = noted.stats.mapped_peak.max(mapped);
        });
        let fetcher = Fetcher::new(source, self.read_size, self.pool.clone(), self.flow.clone())?;
        let info = FileInfo {
            location: &location,
            size: fetcher.size,
            payloads: payloads || fetcher.size.is_none(),
        };
        let blocks = self.files.format(file).open(&info);
        let blocks = blocks.map_err(|error| Error::of_format(error, &location))?;
        Ok(File {
            location,
            fetcher,
            blocks,
            context: None,
            pushed: 0..0,
            unframed: 0,
            copied: Lease::none(&self.flow.memory),
            framed_to: 0,
            next_block: 0,
            end: None,
            ranges: Ranges::default(),
        })
    }

    /// The next block of a file, in file order; fetches the bytes that the framing needs.
    pub(super) fn next_block(&mut self, file: &mut File) -> Result<Option<Framed>, Stop> {
        loop {
            file.fetcher.check(file.framed_to)?;
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
                Next::Decoder(decoder) => file.context = Some(self.context(file, decoder)),
                Next::Need { range, sequential } => {
                    if file.end.is_some_and(|end| range.start >= end) {
                        // Records would be lost silently if it was taken as the end.
                        let error = io::Error::from(io::ErrorKind::UnexpectedEof);
                        return Err(Error::io(error, &file.location).into());
                    }
                    // The reads of payloads are under way in their order.
                    self.finish_list(file)?;
                    if file.fetcher.size.is_none() {
                        // Another program may take its time.
                        self.sequence.flush()?;
                    }
                    self.sequence.flush_if_starved()?;
                    self.lease_copied(file, &range)?;
                    let mut ahead = self.ahead(file, None);
                    let fetched = file.fetcher.next(range.clone(), sequential, &mut ahead);
                    let Fetched { bytes, is_counted } = fetched?;
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

    fn context(&self, file: &File, decoder: Arc<dyn Decoder>) -> Arc<FileContext> {
        Arc::new(FileContext {
            location: file.location.clone(),
            decoder,
            max_block_bytes: self.options.max_block_bytes,
            has_workers: self.options.threads > 1,
        })
    }

    /// What memory for the file is leased with, for `block` if it is known, else for the next one.
    pub(super) fn ahead(&mut self, file: &File, block: Option<&BlockDesc>) -> Ahead<'_> {
        let place = match block {
            Some(block) => Some((block.index, Some(block.offset))),
            // The first begins where the header ends.
            None => file.context.as_ref().map(|_| {
                let offset = Some(file.framed_to).filter(|_| file.next_block > 0);
                (file.next_block, offset)
            }),
        };
        Ahead {
            memory: &self.flow.memory,
            sequence: &mut self.sequence,
            planner: &self.planner,
            unframed: file.unframed,
            block: place,
        }
    }

    /// Has a lease for what is copied from several reads, if the block that needs `range` is so large.
    fn lease_copied(&mut self, file: &mut File, range: &Range<u64>) -> Result<(), Stop> {
        let end = file.fetcher.size.unwrap_or(u64::MAX).min(range.end);
        let bytes = file.unframed + end.saturating_sub(range.start);
        if !file.fetcher.is_immediate() && bytes > file.fetcher.read_size {
            self.grow_copied(file, None, bytes)?;
        }
        Ok(())
    }

    /// Grows the lease for what is copied to `bytes` bytes.
    fn grow_copied(
        &mut self,
        file: &mut File,
        block: Option<&BlockDesc>,
        bytes: u64,
    ) -> Result<(), Stop> {
        let mut ahead = self.ahead(file, block);
        // The bytes of a header are not of the window.
        if file.context.is_some() {
            ahead.check_window(bytes)?;
        }
        let more = bytes.saturating_sub(file.copied.bytes());
        let lease = ahead.lease(file.fetcher.under_way(), more)?;
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
        let desc = Some(&framed.desc);
        let is_slice = file.pushed.contains(&addresses(bytes).start) && !bytes.is_empty();
        let read_size = file.fetcher.read_size;
        let is_small_file = match file.fetcher.size {
            Some(size) => size <= read_size,
            None => (file.pushed.len() as u64) < read_size / 4,
        };
        let (bytes, lease) = if !is_slice {
            // Copied from several reads, or a slice of what was not read to our buffers.
            let len = bytes.len() as u64;
            file.copied.shrink(len);
            self.grow_copied(file, desc, len)?;
            (bytes.clone(), file.copied.split(len))
        } else if is_small_file || self.is_long_in_window() {
            // A slice would keep the whole buffer, for longer than most of its bytes are needed.
            let rounded = ReadPool::rounded(bytes.len()) as u64;
            let under_way = file.fetcher.under_way();
            let lease = self.ahead(file, desc).payload_lease(under_way, rounded)?;
            let copy = self.pool.copy(bytes, lease);
            (copy, Lease::none(&self.flow.memory))
        } else {
            (bytes.clone(), Lease::none(&self.flow.memory))
        };
        file.copied.shrink(0);
        let payload = SharedPayload::new(vec![bytes], false, Some(lease));
        self.push(file, framed, BlockPayload::Own(payload), records)
    }

    /// Whether payloads stay in the window for so long that it matters what they keep. With several
    /// workers, which would wait for the copies, only if the window takes much of the memory.
    fn is_long_in_window(&self) -> bool {
        let few = self.flow.memory.limit() / KEPT_SHARE;
        let is_large = || self.planner.expected_bytes() > few;
        self.options.shuffle_buffer_size > 0 && (self.flow.workers() == 1 || is_large())
    }
}

/// Where bytes lie.
fn addresses(bytes: &Bytes) -> Range<usize> {
    let range = bytes.as_ptr_range();
    range.start.addr()..range.end.addr()
}
