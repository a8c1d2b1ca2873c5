//! Reads ranges of a file: several under way at once where the source answers later.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use atds_format::{Access, BufferPool, ByteSource, Completion, ReadBuffer};
use bytes::Bytes;

use crate::Error;
use crate::ahead::Ahead;
use crate::delays;
use crate::error::Stop;
use crate::flow::Flow;
use crate::memory::{Cache, Lease, Memory};
use crate::ops::FileRead;
use crate::tuning::{KEPT_SHARE, READS_UNDER_WAY};
use crate::watch::What;

/// Reads of one file.
pub(crate) struct Fetcher {
    source: Arc<dyn ByteSource>,
    access: Access,
    pub(crate) size: Option<u64>,
    /// The most bytes of one read for the framing.
    pub(crate) read_size: u64,
    pool: Arc<ReadPool>,
    flow: Arc<Flow>,
    /// Reads under way and answers that were not taken, in the order in which they were asked for.
    reads: VecDeque<Asked>,
    /// Whether anything was asked for.
    has_begun: bool,
}

/// A read that was asked for.
struct Asked {
    range: Range<u64>,
    answer: Receiver<Answer>,
}

type Answer = io::Result<Fetched>;

/// Bytes that were read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fetched {
    pub(crate) bytes: Bytes,
    /// Whether they lie in a buffer of the pool, which counts them for the memory limit.
    pub(crate) is_counted: bool,
}

impl Fetcher {
    pub(crate) fn new(
        source: Arc<dyn ByteSource>,
        read_size: usize,
        pool: Arc<ReadPool>,
        flow: Arc<Flow>,
    ) -> Result<Self, Error> {
        let size = source.size();
        let size = size.map_err(|error| Error::io(error, source.location()))?;
        Ok(Fetcher {
            access: source.access(),
            size,
            source,
            read_size: read_size as u64,
            pool,
            flow,
            reads: VecDeque::new(),
            has_begun: false,
        })
    }

    /// Has the source check that bytes from `offset` on can be used.
    pub(crate) fn check(&self, offset: u64) -> Result<(), Stop> {
        match self.access {
            Access::Immediate => self
                .source
                .check(offset)
                .map_err(|error| self.failed(error, None)),
            _ => Ok(()),
        }
    }

    /// Number of reads that are best under way at once.
    pub(crate) fn most_under_way(&self) -> usize {
        match self.access {
            Access::Deferred => READS_UNDER_WAY,
            _ => 1,
        }
    }

    /// Whether ranges are answered at once, and take no memory.
    pub(crate) fn is_immediate(&self) -> bool {
        self.access == Access::Immediate
    }

    /// Some bytes from the start of `range` on: empty at the end of the file. If the bytes after
    /// the range are needed next, they are read, too.
    pub(crate) fn next(
        &mut self,
        range: Range<u64>,
        sequential: bool,
        ahead: &mut Ahead<'_>,
    ) -> Result<Fetched, Stop> {
        let at = range.start;
        if self.size.is_some_and(|size| at >= size) {
            return Ok(Fetched::default());
        }
        if self.reads.front().is_none_or(|read| read.range.start != at) {
            self.forget_reads();
            let range = self.first_range(range, sequential);
            self.ask_for(range, ahead, false)?;
        }
        if sequential && (self.access == Access::Deferred || self.is_read_by_workers()) {
            self.read_ahead(ahead);
        }
        let (read, answer) = self.first_answer()?;
        let rest = at + answer.bytes.len() as u64..read.end;
        if !answer.bytes.is_empty() && !rest.is_empty() && !self.reads.is_empty() {
            // The rest comes before the ranges that are under way.
            self.ask_for(rest, ahead, true)?;
        }
        Ok(answer)
    }

    /// Bytes of the reads that were not taken.
    pub(crate) fn under_way(&self) -> u64 {
        let lens = self
            .reads
            .iter()
            .map(|read| read.range.end - read.range.start);
        lens.fold(0, u64::saturating_add)
    }

    /// Asks for all of `range`, before or after what was asked for and not taken.
    fn ask_for(
        &mut self,
        range: Range<u64>,
        ahead: &mut Ahead<'_>,
        is_first: bool,
    ) -> Result<(), Stop> {
        let range = self.within(range);
        let lease = ahead.lease(self.under_way(), self.memory_for(&range))?;
        self.request(range, lease, is_first);
        Ok(())
    }

    /// Asks for all of `ranges`, for [`take`](Self::take), before what was asked for and not taken.
    pub(crate) fn ask_for_all(
        &mut self,
        ranges: &[Range<u64>],
        ahead: &mut Ahead<'_>,
    ) -> Result<(), Stop> {
        for range in ranges.iter().rev() {
            self.ask_for(range.clone(), ahead, true)?;
        }
        Ok(())
    }

    /// Asks for all of `ranges`, if there is memory for what the next batch may not need. Whether there
    /// was.
    pub(crate) fn try_ask_for(&mut self, ranges: &[Range<u64>], ahead: &Ahead<'_>) -> bool {
        let ranges: Vec<_> = ranges
            .iter()
            .map(|range| self.within(range.clone()))
            .collect();
        let bytes = ranges.iter().map(|range| self.memory_for(range)).sum();
        let Some(mut lease) = ahead.try_lease(self.under_way(), bytes) else {
            return false;
        };
        for range in ranges {
            let lease = lease.split(range.end - range.start);
            self.request(range, lease, false);
        }
        true
    }

    /// The bytes of the first range that was asked for and not taken; fewer at the end of the file. If
    /// they are copied from several answers, a lease for them.
    pub(crate) fn take(&mut self, ahead: &mut Ahead<'_>) -> Result<(Fetched, Lease), Stop> {
        let (range, mut answer) = self.first_answer()?;
        let len = range.end - range.start;
        if answer.bytes.len() as u64 >= len {
            return Ok((answer, ahead.no_lease()));
        }
        let lease = ahead.lease(self.under_way(), len)?;
        let mut all = Vec::with_capacity(len as usize);
        loop {
            all.extend_from_slice(&answer.bytes);
            let at = range.start + all.len() as u64;
            let is_end = answer.bytes.is_empty() || self.size.is_some_and(|size| at >= size);
            // Its memory is used for the rest.
            drop(answer);
            if is_end || at >= range.end {
                break;
            }
            self.ask_for(at..range.end, ahead, true)?;
            answer = self.first_answer()?.1;
        }
        let bytes = all.into();
        let is_counted = true;
        Ok((Fetched { bytes, is_counted }, lease))
    }

    /// What is read if the framing needs `range`.
    fn first_range(&self, range: Range<u64>, sequential: bool) -> Range<u64> {
        let Range { start, end } = range;
        let read = start.saturating_add(self.read_size);
        match self.access {
            Access::Immediate => start..self.size.unwrap_or(u64::MAX).max(end),
            // What is needed may be what a damaged header says.
            _ if sequential => start..read,
            _ => start..end.min(read),
        }
    }

    /// Bytes of memory that a read of `range` takes.
    fn memory_for(&self, range: &Range<u64>) -> u64 {
        match self.access {
            Access::Immediate => 0,
            _ => range.end - range.start,
        }
    }

    /// The part of `range` that is in the file.
    fn within(&self, range: Range<u64>) -> Range<u64> {
        let end = self.size.unwrap_or(u64::MAX);
        range.start.min(end)..range.end.min(end)
    }

    fn read_ahead(&mut self, ahead: &Ahead<'_>) {
        let most = match self.access {
            Access::Deferred => READS_UNDER_WAY,
            // More leave the cache before they are decoded.
            _ => (2 * self.flow.workers() + 1).min(READS_UNDER_WAY),
        };
        while self.reads.len() < most {
            let Some(last) = self.reads.back() else {
                return;
            };
            let start = last.range.end;
            let is_beyond = self.size.is_none_or(|size| start >= size);
            // A file answers soon: what is read ahead of it is never the memory that a batch lacks.
            let spared = KEPT_SHARE * self.read_size.saturating_mul(self.reads.len() as u64 + 1);
            let is_scarce = self.is_read_by_workers() && self.flow.memory.left() < spared;
            let next = start..start.saturating_add(self.read_size);
            if is_beyond || is_scarce || !self.try_ask_for(&[next], ahead) {
                return;
            }
        }
    }

    /// Begins a read, whose answer comes first or last.
    fn request(&mut self, range: Range<u64>, lease: Lease, is_first: bool) {
        let buffer = match self.access {
            Access::Immediate => ReadBuffer::new(Vec::new(), None),
            _ => self.pool.take((range.end - range.start) as usize, lease),
        };
        let (sender, answer) = sync_channel(1);
        let asked = Asked {
            range: range.clone(),
            answer,
        };
        match is_first {
            true => self.reads.push_front(asked),
            false => self.reads.push_back(asked),
        }
        let memory = buffer.as_ref().as_ptr_range();
        let memory = memory.start.addr()..memory.end.addr();
        let done = Completion::new(move |bytes| {
            let answer = bytes.map(|bytes| Fetched {
                is_counted: memory.contains(&bytes.as_ptr().addr()),
                bytes,
            });
            delays::hand_over();
            // Without a receiver the file is not read any more.
            let _ = sender.send(answer);
        });
        let done = done.cancelled_by(self.flow.cancel.clone());
        let read = FileRead {
            source: self.source.clone(),
            range,
            buffer,
            done,
        };
        // The first bytes of a file are waited for, and a worker would not have them sooner.
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        if !has_begun || !self.is_read_by_workers() {
            let _reading = self.flow.watch.begin(read.what());
            read.run();
        } else {
            self.flow.read(read);
        }
    }

    /// Whether workers read: the planning thread would wait for the disk and copy payloads. Beside one
    /// worker it has time to. An input without a size may keep a worker waiting for another program.
    fn is_read_by_workers(&self) -> bool {
        self.access == Access::Blocking && self.size.is_some() && self.flow.workers() > 1
    }

    /// Forgets the reads under way: what is read next is elsewhere.
    pub(crate) fn forget_reads(&mut self) {
        self.reads.clear();
    }

    /// The bytes of the first read, waited for.
    fn first_answer(&mut self) -> Result<(Range<u64>, Fetched), Stop> {
        let Some(Asked { range, answer }) = self.reads.pop_front() else {
            return Err(Stop::Cancelled);
        };
        let answer = loop {
            if let Ok(answer) = answer.try_recv() {
                break answer;
            }
            // The workers are busy with ops, and may be about to run out of them.
            match self.flow.take_read() {
                Some(read) => read.run(),
                None => break self.wait(range.start, &answer)?,
            }
        };
        if self.flow.is_stopped() {
            return Err(Stop::Cancelled);
        }
        let answer = answer.map_err(|error| self.failed(error, Some(range.start)))?;
        Ok((range, answer))
    }

    /// Waits for the answer to the read at `offset`. The time counts as waiting for bytes where workers
    /// wait for it, too.
    fn wait(&self, offset: u64, answer: &Receiver<Answer>) -> Result<Answer, Stop> {
        let pause = Duration::from_millis(20);
        let started = Instant::now();
        let what = What::for_bytes(self.source.location(), offset);
        let _waits = self.flow.watch.begin(what);
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
            self.flow
                .counters
                .note(|noted| noted.stats.read_wait += waited);
        }
        received
    }

    #[cold]
    fn failed(&self, error: io::Error, offset: Option<u64>) -> Stop {
        let mut error = Error::io(error, self.source.location());
        error.place.offset = offset;
        Stop::Failed(error)
    }
}

/// The buffers of reads and of payloads that are copied out of them. They count by their capacity as
/// long as a slice of them is used, or they are kept for others.
#[derive(Debug)]
pub(crate) struct ReadPool {
    memory: Arc<Memory>,
    kept: Mutex<Buffers>,
}

#[derive(Debug, Default)]
struct Buffers {
    /// By their length, of which there are few. The last one may still be in a cache.
    by_len: BTreeMap<usize, Vec<Vec<u8>>>,
    bytes: u64,
}

impl ReadPool {
    pub(crate) fn new(memory: Arc<Memory>) -> Arc<Self> {
        Arc::new_cyclic(|pool: &Weak<ReadPool>| {
            memory.add_cache(pool.clone());
            let kept = Mutex::default();
            ReadPool { memory, kept }
        })
    }

    /// Bytes of a buffer for a copy of `len` bytes: rounded up by an eighth at most, so that it fits
    /// other payloads, too.
    pub(crate) fn rounded(len: usize) -> usize {
        len.next_multiple_of((len.next_power_of_two() / 16).max(64))
    }

    /// A copy of `bytes`; there is a lease for as many bytes as they are [`rounded`](Self::rounded) to.
    pub(crate) fn copy(self: &Arc<Self>, bytes: &[u8], lease: Lease) -> Bytes {
        let mut buffer = self.take(Self::rounded(bytes.len()), lease);
        buffer.space(bytes.len()).copy_from_slice(bytes);
        buffer.freeze(bytes.len())
    }

    /// A buffer of `len` bytes, for which there is a lease.
    fn take(self: &Arc<Self>, len: usize, lease: Lease) -> ReadBuffer {
        let mut kept = self.lock();
        let fitting = kept.by_len.range_mut(len..=2 * len);
        let buffer = fitting.map(|(_, alike)| alike).find_map(Vec::pop);
        kept.bytes -= buffer.as_ref().map_or(0, Vec::capacity) as u64;
        drop(kept);
        let buffer = buffer.unwrap_or_else(|| {
            lease.forget();
            vec![0; len]
        });
        ReadBuffer::new(buffer, Some(self.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, Buffers> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BufferPool for ReadPool {
    fn give_back(&self, buffer: Vec<u8>, capacity: usize) {
        let mut kept = self.lock();
        let bytes = kept.bytes + capacity as u64;
        // A source may have made it larger.
        let fits = bytes <= self.memory.limit() / KEPT_SHARE && !self.memory.is_scarce();
        if fits && buffer.capacity() == capacity {
            kept.bytes = bytes;
            kept.by_len.entry(buffer.len()).or_default().push(buffer);
        } else {
            drop(kept);
            self.memory.remove(capacity as u64);
        }
    }
}

impl Cache for ReadPool {
    fn clear(&self) {
        let kept = std::mem::take(&mut *self.lock());
        let bytes = kept.bytes;
        drop(kept);
        self.memory.remove(bytes);
    }
}

impl Drop for ReadPool {
    fn drop(&mut self) {
        self.clear();
    }
}
