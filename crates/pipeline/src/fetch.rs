//! Reads ranges of a file: several under way at once where the source answers later.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use atds_format::{Access, BufferPool, ByteSource, Completion, ReadBuffer};
use bytes::{Bytes, BytesMut};

use crate::error::Stop;
use crate::flow::Flow;
use crate::memory::Memory;
use crate::stats::Counters;
use crate::tuning::READS_UNDER_WAY;
use crate::{Error, ErrorKind};

/// Reads of one file.
pub(crate) struct Fetcher {
    source: Arc<dyn ByteSource>,
    access: Access,
    size: Option<u64>,
    read_size: u64,
    pool: Arc<ReadPool>,
    flow: Arc<Flow>,
    counters: Arc<Counters>,
    /// Reads under way and answers that were not taken, in the order in which they were asked for.
    reads: VecDeque<Read>,
    /// The number of the next read.
    next_number: u64,
    answers: Receiver<(u64, io::Result<Bytes>)>,
    sender: Sender<(u64, io::Result<Bytes>)>,
}

struct Read {
    number: u64,
    range: Range<u64>,
    answer: Option<io::Result<Bytes>>,
}

impl Fetcher {
    pub(crate) fn new(
        source: Arc<dyn ByteSource>,
        read_size: usize,
        pool: Arc<ReadPool>,
        flow: Arc<Flow>,
        counters: Arc<Counters>,
    ) -> Result<Self, Error> {
        let io = |error: io::Error| {
            Error::new(ErrorKind::Io(Arc::new(error))).in_file(source.location())
        };
        let size = source.size().map_err(io)?;
        let (sender, answers) = channel();
        Ok(Fetcher {
            access: source.access(),
            size,
            source,
            read_size: read_size as u64,
            pool,
            flow,
            counters,
            reads: VecDeque::new(),
            next_number: 0,
            answers,
            sender,
        })
    }

    pub(crate) fn size(&self) -> Option<u64> {
        self.size
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

    pub(crate) fn is_immediate(&self) -> bool {
        self.access == Access::Immediate
    }

    /// Some bytes from the start of `range` on: empty at the end of the file. If the bytes after
    /// the range are needed next, they are read, too.
    pub(crate) fn next(&mut self, range: Range<u64>, sequential: bool) -> Result<Bytes, Stop> {
        let at = range.start;
        if self.size.is_some_and(|size| at >= size) {
            return Ok(Bytes::new());
        }
        if self.reads.front().is_none_or(|read| read.range.start != at) {
            self.forget_reads();
            self.ask(range, sequential);
        }
        if sequential && self.access == Access::Deferred {
            self.read_ahead();
        }
        let (read, answer) = self.first_answer()?;
        let rest = at + answer.len() as u64..read.end;
        if !answer.is_empty() && !rest.is_empty() && !self.reads.is_empty() {
            // The rest comes before the ranges that are under way.
            self.request(rest, true);
        }
        Ok(answer)
    }

    /// Asks for all of `range`, for [`take`](Self::take).
    pub(crate) fn ask_for(&mut self, range: Range<u64>) {
        self.request(range, false);
    }

    /// Asks for `ranges`, before what was asked for and not taken.
    pub(crate) fn ask_first(&mut self, ranges: &[Range<u64>]) {
        for range in ranges.iter().rev() {
            self.request(range.clone(), true);
        }
    }

    /// The bytes of the first range that was asked for and not taken; fewer at the end of the file.
    pub(crate) fn take(&mut self) -> Result<Bytes, Stop> {
        let (range, mut bytes) = self.first_answer()?;
        let len = (range.end - range.start) as usize;
        if bytes.len() >= len {
            return Ok(bytes);
        }
        let mut all = BytesMut::new();
        while !bytes.is_empty() {
            all.extend_from_slice(&bytes);
            let at = range.start + all.len() as u64;
            if at >= range.end || self.size.is_some_and(|size| at >= size) {
                break;
            }
            self.request(at..range.end, true);
            bytes = self.first_answer()?.1;
        }
        Ok(all.freeze())
    }

    fn ask(&mut self, range: Range<u64>, sequential: bool) {
        let mut range = range;
        if sequential || self.access == Access::Immediate {
            let end = match self.access {
                Access::Immediate => self.size.unwrap_or(u64::MAX),
                _ => range.start.saturating_add(self.read_size),
            };
            range.end = range.end.max(end);
        }
        self.request(range, false);
    }

    fn read_ahead(&mut self) {
        while self.reads.len() < READS_UNDER_WAY {
            let Some(last) = self.reads.back() else {
                return;
            };
            let start = last.range.end;
            let is_beyond = self.size.is_none_or(|size| start >= size);
            if is_beyond || !self.flow.memory.fits(8 * self.read_size) {
                return;
            }
            self.request(start..start + self.read_size, false);
        }
    }

    /// Begins a read, whose answer comes first or last.
    fn request(&mut self, range: Range<u64>, is_first: bool) {
        let range = match self.size {
            Some(size) => range.start.min(size)..range.end.min(size),
            None => range,
        };
        let number = self.next_number;
        self.next_number += 1;
        let read = Read {
            number,
            range: range.clone(),
            answer: None,
        };
        match is_first {
            true => self.reads.push_front(read),
            false => self.reads.push_back(read),
        }
        let sender = self.sender.clone();
        let done = Completion::new(move |answer| {
            // Without a receiver the file is not read any more.
            let _ = sender.send((number, answer));
        });
        let done = done.cancelled_by(self.flow.cancel.clone());
        let buffer = match self.access {
            Access::Immediate => ReadBuffer::new(Vec::new(), None),
            _ => self.pool.take((range.end - range.start) as usize),
        };
        self.source.read(range, buffer, done);
    }

    /// Forgets the reads under way: what is read next is elsewhere.
    pub(crate) fn forget_reads(&mut self) {
        if !self.reads.is_empty() {
            self.reads.clear();
            (self.sender, self.answers) = channel();
        }
    }

    /// Waits for the first read.
    fn first_answer(&mut self) -> Result<(Range<u64>, Bytes), Stop> {
        while self.reads.front().is_some_and(|read| read.answer.is_none()) {
            self.receive()?;
        }
        let Some(Read {
            range,
            answer: Some(answer),
            ..
        }) = self.reads.pop_front()
        else {
            return Err(Stop::Cancelled);
        };
        let bytes = answer.map_err(|error| self.failed(error, Some(range.start)))?;
        Ok((range, bytes))
    }

    fn receive(&mut self) -> Result<(), Stop> {
        let received = match self.answers.try_recv() {
            Ok(received) => received,
            Err(_) => self.wait()?,
        };
        let (number, answer) = received;
        let mut reads = self.reads.iter_mut();
        if let Some(read) = reads.find(|read| read.number == number) {
            read.answer = Some(answer);
        }
        Ok(())
    }

    fn wait(&self) -> Result<(u64, io::Result<Bytes>), Stop> {
        let pause = std::time::Duration::from_millis(20);
        self.counters.read_wait.time(|| {
            loop {
                // A source that never answers must not keep a cancelled iteration.
                if let Ok(received) = self.answers.recv_timeout(pause) {
                    return Ok(received);
                }
                if self.flow.is_stopped() {
                    return Err(Stop::Cancelled);
                }
            }
        })
    }

    #[cold]
    fn failed(&self, error: io::Error, offset: Option<u64>) -> Stop {
        let error = Error::new(ErrorKind::Io(Arc::new(error)));
        let mut error = error.in_file(self.source.location());
        error.place.offset = offset;
        Stop::Failed(error)
    }
}

/// The buffers of reads, which count by their capacity as long as a slice of them is used.
#[derive(Debug)]
pub(crate) struct ReadPool {
    memory: Arc<Memory>,
    buffers: Mutex<Vec<Vec<u8>>>,
}

impl ReadPool {
    pub(crate) fn new(memory: Arc<Memory>) -> Arc<Self> {
        Arc::new(ReadPool {
            memory,
            buffers: Mutex::default(),
        })
    }

    /// A buffer of `len` bytes.
    fn take(self: &Arc<Self>, len: usize) -> ReadBuffer {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = buffers
            .iter()
            .position(|buffer| buffer.len() >= len && buffer.len() <= 2 * len);
        let memory = fits.map(|at| buffers.swap_remove(at));
        drop(buffers);
        let memory = memory.unwrap_or_else(|| vec![0; len]);
        self.memory.add(memory.capacity() as u64);
        ReadBuffer::new(memory, Some(self.clone()))
    }
}

impl BufferPool for ReadPool {
    fn give_back(&self, memory: Vec<u8>) {
        let bytes = memory.capacity() as u64;
        self.memory.remove(bytes);
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if buffers.len() < READS_UNDER_WAY {
            buffers.push(memory);
        }
    }
}
