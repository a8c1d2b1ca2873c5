//! Reads ranges of a file: several under way at once where the source answers later.

use std::io;
use std::mem;
use std::ops::Range;
use std::slice;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use atds_format::{Access, Arena, Completion, Layout, ReadBuffer};
use bytes::{Bytes, BytesMut};

use super::PlanningThread;
use super::blocks::File;
use super::heads::Heads;
use crate::Error;
use crate::decode::grown;
use crate::delays;
use crate::error::Stop;
use crate::flow::Denied;
use crate::memory::Lease;
use crate::need::exceeded;
use crate::ops::FileRead;
use crate::tuning::{FEW_BYTES, KEPT_SHARE, READS_UNDER_WAY};
use crate::watch::FOR_BYTES;

/// A read that was asked for.
pub(super) struct Asked {
    range: Range<u64>,
    /// Where its buffer lies.
    buffer: Range<usize>,
    answer: Receiver<io::Result<Bytes>>,
}

/// Bytes that were read.
#[derive(Default)]
pub(super) struct Fetched {
    pub(super) bytes: Bytes,
    /// Whether they lie in a buffer of the pool, which counts them for the memory limit.
    pub(super) is_counted: bool,
}

/// The ends of a file's blocks, one after another.
#[derive(Debug)]
pub(super) struct BlockEnds {
    layout: Layout,
    next: usize,
    /// The end of the block before the next one.
    end: u64,
}

impl BlockEnds {
    pub(super) fn new(layout: Layout) -> Self {
        BlockEnds {
            end: layout.start(),
            next: 0,
            layout,
        }
    }

    /// The last end of a block after `start` and no later than `most`, if there is one. Each call is for a later start.
    fn last_in(&mut self, start: u64, most: u64) -> Option<u64> {
        self.pass(most);
        (start < self.end && self.end <= most).then_some(self.end)
    }

    /// The end of the block that begins at `start`, if one does. Each call is for a later start.
    fn of_block(&mut self, start: u64) -> Option<u64> {
        self.pass(start);
        let size = self.layout.sizes().get(self.next)?;
        (self.end == start).then(|| start + size)
    }

    /// Passes the blocks that end at `most` or before.
    fn pass(&mut self, most: u64) {
        while let Some(size) = self.layout.sizes().get(self.next)
            && self.end + size <= most
        {
            self.end += size;
            self.next += 1;
        }
    }
}

/// Where the memory for a read comes from, and where its answer stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Waits for memory. The answer comes before those of all reads under way.
    Now,
    /// Only if there is memory that the next batch may not need. The answer comes last.
    Ahead,
}

/// Which thread reads a range of a source that answers before it returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    PlanningThread,
    Worker,
}

impl Asked {
    /// The byte offset after those that were asked for.
    pub(super) fn end(&self) -> u64 {
        self.range.end
    }

    pub(super) fn len(&self) -> u64 {
        self.range.end - self.range.start
    }
}

impl PlanningThread {
    /// Some bytes from the start of `range` on: empty at the end of the file. If the bytes after
    /// the range are needed next, they are read, too.
    pub(super) fn read_next(
        &mut self,
        file: &mut File,
        Range { start, end }: Range<u64>,
        sequential: bool,
    ) -> Result<Fetched, Stop> {
        if file.size.is_some_and(|size| start >= size) {
            return Ok(Fetched::default());
        }
        if file
            .reads
            .front()
            .is_none_or(|read| read.range.start != start)
        {
            // What is read next is elsewhere.
            file.reads.clear();
            if !sequential
                && end - start <= FEW_BYTES as u64
                && let Some(few) = Self::read_few(file, start..end)?
            {
                return Ok(few);
            }
            let read = self.read_end(file, start);
            let read = read.min(file.ahead_to.max(end));
            let end = match file.access {
                Access::Immediate => file.size.unwrap_or(u64::MAX).min(file.ahead_to).max(end),
                // What is needed may be what a damaged header says.
                _ if sequential => read,
                _ => end.min(read),
            };
            let reader = self.framing_reader(file);
            self.ask_for(file, slice::from_ref(&(start..end)), Turn::Now, reader)?;
        }
        if sequential && file.heads != Heads::Perhaps {
            self.read_ahead(file)?;
        }
        let (read, mut fetched) = self.first_answer(file)?;
        let len = fetched.bytes.len() as u64;
        let rest = start + len..read.end;
        if len == 0 || rest.is_empty() {
            return Ok(fetched);
        }
        if fetched.is_counted
            && let Some(lease) = Lease::try_new(&self.flow.memory, len)
        {
            // A slice would keep a buffer for the rest, too.
            fetched.bytes = self.pool.copy(&fetched.bytes, lease);
        }
        if !file.reads.is_empty() {
            let reader = self.framing_reader(file);
            self.ask_for(file, slice::from_ref(&rest), Turn::Now, reader)?;
        }
        Ok(fetched)
    }

    /// The bytes of a range of at most [`FEW_BYTES`], or `None` if the source does not read them at once. The
    /// framing needs such ranges between payloads that it does not read.
    fn read_few(file: &File, range: Range<u64>) -> Result<Option<Fetched>, Stop> {
        let mut bytes = [0; FEW_BYTES];
        let bytes = &mut bytes[..(range.end - range.start) as usize];
        let read = match file.source.read_few(range.start, bytes) {
            Some(read) => read.map_err(|error| at_offset(error, file, range.start))?,
            None => return Ok(None),
        };
        Ok(Some(Fetched {
            bytes: Bytes::copy_from_slice(&bytes[..read]),
            is_counted: false,
        }))
    }

    /// The bytes of the first range that was asked for and not taken; fewer at the end of the file. If
    /// they do not count by their buffer, with a lease for them.
    pub(super) fn take_range(&mut self, file: &mut File) -> Result<(Bytes, Lease), Stop> {
        // A source that answers later may answer a part, and all parts are laid together beside the last of
        // them. Memory for it must be there in any case, so that chance does not decide whether it is.
        let len = file.reads.front().map_or(0, Asked::len);
        let beside = match file.access {
            Access::Deferred => {
                self.check_copied(file, len)?;
                Some(self.lease(file, len)?)
            }
            _ => None,
        };
        let (range, first) = self.first_answer(file)?;
        if first.bytes.len() as u64 >= len {
            drop(beside);
            let lease = match first.is_counted {
                true => Lease::none(&self.flow.memory),
                false => self.payload_lease(file, len)?,
            };
            return Ok((first.bytes, lease));
        }
        let lease = beside.map_or_else(|| self.lease(file, len), Ok)?;
        let mut answer = first;
        let mut all = Vec::with_capacity(len as usize);
        loop {
            all.extend_from_slice(&answer.bytes);
            let at = range.start + all.len() as u64;
            let is_end = answer.bytes.is_empty() || file.size.is_some_and(|size| at >= size);
            // Its memory is used for the rest.
            drop(answer);
            if is_end || at >= range.end {
                break;
            }
            let reader = self.payload_reader(file);
            self.ask_for(file, slice::from_ref(&(at..range.end)), Turn::Now, reader)?;
            answer = self.first_answer(file)?.1;
        }
        Ok((all.into(), lease))
    }

    /// Asks for all of `ranges`, if there is memory. Whether there was.
    pub(super) fn ask_for(
        &mut self,
        file: &mut File,
        ranges: &[Range<u64>],
        turn: Turn,
        reader: Reader,
    ) -> Result<bool, Stop> {
        let end = file.size.unwrap_or(u64::MAX);
        let ranges = ranges
            .iter()
            .map(|range| range.start.min(end)..range.end.min(end));
        let (access, has_ends) = (file.access, file.ends.is_some());
        let buffer = |range: &Range<u64>| match (access, range.end - range.start) {
            (Access::Immediate, _) => 0,
            // Reads that end with a block are not all of one length, and are to fit the same buffers.
            (_, len) if has_ends => Arena::rounded(len as usize) as u64,
            (_, len) => len,
        };
        let bytes = ranges.clone().map(|range| buffer(&range)).sum();
        let mut lease = match turn {
            Turn::Now => self.lease(file, bytes)?,
            Turn::Ahead => match self.try_lease(file, bytes) {
                Some(lease) => lease,
                None => return Ok(false),
            },
        };
        let before = file.reads.len();
        for range in ranges {
            let lease = lease.split(buffer(&range));
            self.request(file, range, lease, reader);
        }
        if turn == Turn::Now {
            file.reads.rotate_left(before);
        }
        Ok(true)
    }

    fn read_ahead(&mut self, file: &mut File) -> Result<(), Stop> {
        let reader = self.framing_reader(file);
        let most = match file.access {
            Access::Deferred => READS_UNDER_WAY,
            // More leave the cache before they are decoded.
            _ if reader == Reader::Worker => {
                (2 * self.flow.options.threads + 1).min(READS_UNDER_WAY)
            }
            _ => return Ok(()),
        };
        while let Some(last) = file.reads.back()
            && file.reads.len() < most
        {
            let start = last.range.end;
            if file
                .size
                .is_none_or(|size| start >= size.min(file.ahead_to))
            {
                return self.read_runs_ahead(file, most);
            }
            let next = start..self.read_end(file, start).min(file.ahead_to);
            if self.is_scarce(reader, file.reads.len())
                || !self.ask_for(file, slice::from_ref(&next), Turn::Ahead, reader)?
            {
                break;
            }
        }
        Ok(())
    }

    /// Where a read ends that begins at `start`: with a block, where it is known where blocks are. What of a block
    /// several reads have is copied to memory of its own, and so is a small part of a read that stays for long.
    fn read_end(&self, file: &mut File, start: u64) -> u64 {
        let end = start.saturating_add(self.read_size);
        let most = end.saturating_add(self.read_size / 8);
        // Of smaller blocks, reading each takes longer than to copy them.
        let least = start.saturating_add(self.read_size / 8);
        let Some(ends) = &mut file.ends else {
            return end;
        };
        // Where a read takes long, it is better of more bytes.
        let alone = match file.access == Access::Blocking && self.is_long_in_window() {
            true => ends
                .of_block(start)
                .filter(|end| (least..=most).contains(end)),
            false => None,
        };
        alone.or_else(|| ends.last_in(start, most)).unwrap_or(end)
    }

    /// Whether there is too little memory for a read beside `under_way` others. A file answers soon: what is
    /// read ahead of it is never the memory that a batch lacks.
    pub(super) fn is_scarce(&self, reader: Reader, under_way: usize) -> bool {
        let spared = KEPT_SHARE * self.read_size.saturating_mul(under_way as u64 + 1);
        reader == Reader::Worker && self.flow.memory.left() < spared
    }

    /// Begins a read, whose answer comes last.
    fn request(&self, file: &mut File, range: Range<u64>, lease: Lease, reader: Reader) {
        let buffer = match file.access {
            Access::Immediate => ReadBuffer::new(BytesMut::new(), None),
            _ => self.pool.take(lease.bytes() as usize, lease),
        };
        let (sender, answer) = sync_channel(1);
        let done = Completion::new(move |bytes| {
            delays::hand_over();
            // Without a receiver the file is not read any more.
            let _ = sender.send(bytes);
        });
        // The first bytes of a file are waited for, and a worker would not have them sooner.
        let is_first = file.context.is_none() && file.reads.is_empty();
        file.reads.push_back(Asked {
            range: range.clone(),
            buffer: addresses(buffer.as_ref()),
            answer,
        });
        let read = FileRead {
            source: file.source.clone(),
            range,
            buffer,
            // A source that waits for another program ends the wait once the iteration is stopped, and
            // answers with an error.
            done: done.cancelled_by(self.flow.cancel.clone()),
        };
        if is_first || reader == Reader::PlanningThread {
            // Of a source that answers later this returns at once; of bytes in memory nothing is copied.
            let _reading = self.flow.watch.begin(read.what());
            read.run();
        } else {
            self.flow.queue_read(read);
        }
    }

    /// Who reads payloads. The planning thread would wait for the disk and copy them; beside one worker it
    /// has time to. An input without a size may keep a worker waiting for another program.
    pub(super) fn payload_reader(&self, file: &File) -> Reader {
        let is_waited_for = file.access == Access::Blocking && file.size.is_some();
        if is_waited_for && self.flow.options.threads > 1 {
            Reader::Worker
        } else {
            Reader::PlanningThread
        }
    }

    /// Who reads what the framing needs. Without payloads the planning thread does: it reads the heads of blocks in
    /// less time than it takes to hand the reads to a worker.
    fn framing_reader(&self, file: &File) -> Reader {
        if file.has_payloads {
            self.payload_reader(file)
        } else {
            Reader::PlanningThread
        }
    }

    /// The range of the first read, and its bytes, waited for.
    fn first_answer(&self, file: &mut File) -> Result<(Range<u64>, Fetched), Stop> {
        let Some(Asked {
            range,
            buffer,
            answer,
        }) = file.reads.pop_front()
        else {
            return Err(Stop::Cancelled);
        };
        let answer = loop {
            if let Ok(answer) = answer.try_recv() {
                break answer;
            }
            // The workers are busy with ops, and may be about to run out of them.
            match self.flow.take_read() {
                Some(read) => read.run(),
                None => break self.wait(file, range.start, &answer)?,
            }
        };
        if self.flow.is_stopped() {
            return Err(Stop::Cancelled);
        }
        let bytes = answer.map_err(|error| at_offset(error, file, range.start))?;
        let is_counted = buffer.contains(&addresses(&bytes).start);
        Ok((range, Fetched { bytes, is_counted }))
    }

    /// Waits for the answer to the read at `offset`. The time counts as waiting for bytes where workers
    /// wait for it, too.
    fn wait<T>(
        &self,
        file: &File,
        offset: u64,
        answer: &Receiver<io::Result<T>>,
    ) -> Result<io::Result<T>, Stop> {
        let pause = Duration::from_millis(20);
        let started = Instant::now();
        let what = FOR_BYTES.with(&[("offset", offset)]);
        let _waits = self.flow.watch.begin(what.in_file(&file.location));
        let received = loop {
            match answer.recv_timeout(pause) {
                Ok(answer) => break Ok(answer),
                Err(RecvTimeoutError::Disconnected) => {
                    break Ok(Err(io::Error::other("the source has not answered")));
                }
                // A source that never answers must not keep a cancelled iteration.
                Err(_) if self.flow.is_stopped() => break Err(Stop::Cancelled),
                Err(_) => {}
            }
        };
        if self.flow.is_starved() {
            let waited = started.elapsed();
            let counters = &self.flow.counters;
            counters.note(|stats| stats.read_wait += waited);
        }
        received
    }
}

// Memory for reads and payloads, of which no batch is planned yet.
impl PlanningThread {
    /// A lease for a read of `bytes` bytes, waited for.
    pub(super) fn lease(&mut self, file: &File, bytes: u64) -> Result<Lease, Stop> {
        let total = self.total(file);
        if let Some(lease) = self.flow.try_lease_ahead(total, bytes) {
            return Ok(lease);
        }
        // What waits here may be what holds the memory.
        self.sequence.flush()?;
        loop {
            match self.flow.lease_ahead(self.total(file), bytes) {
                Ok(lease) => return Ok(lease),
                Err(Denied::Exceeded) if self.let_runs_go() => {}
                Err(Denied::Exceeded) => {
                    // Of a small limit, buffers of reads take much.
                    let held = self.flow.memory.held().saturating_add(bytes);
                    return Err(self.exceeded(file, self.flow.prepared_in_window(), bytes, held));
                }
                Err(_) => return Err(Stop::Cancelled),
            }
        }
    }

    /// Lets go what was read ahead of other runs: it is never the memory that is missing. Whether there was any.
    fn let_runs_go(&mut self) -> bool {
        let mut opened = mem::take(&mut self.ahead.opened);
        let has_reads = opened.iter().any(|file| !file.reads.is_empty());
        for file in &mut opened {
            // Until then the reader has the buffer. What fails now fails again when its turn comes.
            while !file.reads.is_empty() {
                let _ = self.first_answer(file);
            }
        }
        self.ahead.opened = opened;
        has_reads
    }

    /// A lease for a read of `bytes` bytes that the next batch may not need, if there is memory.
    pub(super) fn try_lease(&self, file: &File, bytes: u64) -> Option<Lease> {
        let under_way = file.under_way().saturating_add(self.ahead.under_way());
        let under_way = under_way.saturating_add(bytes);
        if bytes > 0 && under_way > self.flow.memory.read_ahead_limit() {
            return None;
        }
        self.flow.try_lease_ahead(self.total(file), bytes)
    }

    /// A lease for `bytes` bytes of a payload of the window, waited for.
    pub(super) fn payload_lease(&mut self, file: &File, bytes: u64) -> Result<Lease, Stop> {
        self.check_window(file, bytes)?;
        self.lease(file, bytes)
    }

    /// An error if a payload of `bytes` bytes makes the window too large.
    pub(super) fn check_window(&self, file: &File, bytes: u64) -> Result<(), Stop> {
        let window = self.planner.window_bytes().saturating_add(bytes);
        if window > self.flow.memory.window_limit() {
            return Err(self.exceeded(file, 0, bytes, 0));
        }
        Ok(())
    }

    /// Bytes of all payloads and reads.
    fn total(&self, file: &File) -> u64 {
        let copied = file.copied.bytes();
        self.planner.total() + copied + file.unframed + file.under_way() + self.ahead.under_way()
    }

    /// The error of a window that does not fit, and needs `least` bytes or more. The rest of it is taken
    /// to be like what is there, and columns to be as large as the payload, of which `bytes` are missing.
    #[cold]
    pub(super) fn exceeded(&self, file: &File, prepared: u64, bytes: u64, least: u64) -> Stop {
        let window = self.planner.window_bytes().saturating_add(bytes);
        let window = window.max(self.planner.expected_bytes());
        let needed = window.saturating_add(prepared).max(least);
        let payload = file.unframed.saturating_add(bytes);
        let payload = payload.max(least.saturating_sub(window));
        let needed = needed.saturating_add(grown(payload));
        Stop::Failed(exceeded(&self.flow.memory, needed, None))
    }
}

fn at_offset(error: io::Error, file: &File, offset: u64) -> Error {
    let mut error = Error::io(error, &file.location);
    error.place.offset = Some(offset);
    error
}

/// Where bytes lie.
pub(super) fn addresses(bytes: &[u8]) -> Range<usize> {
    let range = bytes.as_ptr_range();
    range.start.addr()..range.end.addr()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use super::*;

    #[test]
    fn reads_end_with_a_block_if_one_ends_there() {
        let layout = Layout::new(7, [1; 5].into(), [10, 10, 50, 10, 10].into()).unwrap();
        let mut ends = BlockEnds::new(layout);
        assert_eq!(ends.last_in(0, 30), Some(27));
        assert_eq!(
            ends.last_in(27, 60),
            None,
            "the block is larger than a read"
        );
        assert_eq!(ends.last_in(60, 90), Some(87));
        // Elsewhere, reads end anywhere until they come to where they were.
        assert_eq!(ends.last_in(10, 40), None);
        assert_eq!(ends.last_in(87, 200), Some(97));
        assert_eq!(ends.last_in(97, 200), None);
    }

    #[test]
    fn reads_have_a_block_if_one_begins_there() {
        let layout = Layout::new(7, [1; 4].into(), [10, 50, 10, 10].into()).unwrap();
        let mut ends = BlockEnds::new(layout);
        assert_eq!(ends.of_block(0), None);
        assert_eq!(ends.of_block(7), Some(17));
        assert_eq!(ends.of_block(17), Some(67));
        assert_eq!(ends.of_block(20), None);
        assert_eq!(ends.last_in(20, 80), Some(77));
        assert_eq!(ends.of_block(77), Some(87));
        assert_eq!(ends.of_block(87), None);
    }
}
