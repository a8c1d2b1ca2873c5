//! A format and a source around those under test: they count what is decoded, and make faults.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use atds_format::{
    Access, BlockDesc, Blocks, ByteSource, Completion, Decoded, Decoder, Error, FileInfo, Format,
    Location, Match, Next, Payloads, Pos, PrepareJob, Prepared, ReadBuffer, Scratch, Tally,
    Upcoming,
};
use bytes::Bytes;
use tensor_batch::RowSlots;

use super::fault::Fault;

/// What the wrappers of one iteration share.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) fault: Option<Fault>,
    pub(super) decoded: Arc<AtomicU64>,
}

impl Probe {
    pub(super) fn new(fault: Option<Fault>) -> Self {
        Probe {
            fault,
            decoded: Arc::default(),
        }
    }
}

#[derive(Debug)]
pub(super) struct ProbeFormat {
    pub(super) inner: Arc<dyn Format>,
    pub(super) probe: Arc<Probe>,
}

impl Format for ProbeFormat {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn sniff(&self, name: &str, head: &[u8]) -> Match {
        self.inner.sniff(name, head)
    }

    fn open(&self, file: &FileInfo<'_>) -> Result<Box<dyn Blocks>, Error> {
        Ok(Box::new(ProbeBlocks {
            inner: self.inner.open(file)?,
            probe: self.probe.clone(),
            again: None,
            is_ended: false,
        }))
    }

    fn frames_by_layout(&self) -> bool {
        self.inner.frames_by_layout()
    }
}

#[derive(Debug)]
struct ProbeBlocks {
    inner: Box<dyn Blocks>,
    probe: Arc<Probe>,
    /// A block that comes twice.
    again: Option<BlockDesc>,
    is_ended: bool,
}

impl Blocks for ProbeBlocks {
    fn next(&mut self) -> Result<Next, Error> {
        if self.is_ended {
            return Ok(Next::End);
        }
        if let Some(block) = self.again.take() {
            return Ok(Next::Block(block));
        }
        let next = self.inner.next();
        match (self.probe.fault, next) {
            (Some(Fault::DamageIsEnd), Err(_)) => Ok(Next::End),
            (Some(Fault::StopAtEmptyBlock), Ok(Next::Block(block))) if block.records == 0 => {
                self.is_ended = true;
                Ok(Next::End)
            }
            (Some(Fault::RepeatBlock), Ok(Next::Block(block))) => {
                self.again = Some(block.clone());
                Ok(Next::Block(block))
            }
            (_, Ok(Next::Decoder(inner))) => {
                let probe = self.probe.clone();
                Ok(Next::Decoder(Arc::new(ProbeDecoder { inner, probe })))
            }
            (_, next) => next,
        }
    }

    fn push(&mut self, at: u64, bytes: Bytes) {
        if self.probe.fault == Some(Fault::SmallPieceIsEnd) && bytes.len() < 3 {
            return self.inner.push(at, Bytes::new());
        }
        self.inner.push(at, bytes);
    }

    fn header_bytes(&self) -> u64 {
        self.inner.header_bytes()
    }

    fn resync(&mut self) -> bool {
        self.probe.fault != Some(Fault::NeverResync) && self.inner.resync()
    }

    fn heads_at(&self, index: u64, offset: u64, size: u64) -> Option<Box<dyn Blocks>> {
        Some(Box::new(ProbeBlocks {
            inner: self.inner.heads_at(index, offset, size)?,
            probe: self.probe.clone(),
            again: None,
            is_ended: false,
        }))
    }

    fn at_block(&self, index: u64, offset: u64) -> Option<Box<dyn Blocks>> {
        Some(Box::new(ProbeBlocks {
            inner: self.inner.at_block(index, offset)?,
            probe: self.probe.clone(),
            again: None,
            is_ended: false,
        }))
    }

    fn payloads(&self) -> Arc<dyn Payloads> {
        self.inner.payloads()
    }

    fn has_layout(&self) -> bool {
        self.inner.has_layout()
    }

    fn trailing_bytes(&self) -> u64 {
        self.inner.trailing_bytes()
    }
}

#[derive(Debug)]
struct ProbeDecoder {
    inner: Arc<dyn Decoder>,
    probe: Arc<Probe>,
}

/// What a worker holds of an iteration as long as it runs.
#[derive(Default)]
struct Held(Option<Arc<AtomicU64>>);

impl Decoder for ProbeDecoder {
    fn prepares(&self) -> bool {
        self.inner.prepares()
    }

    fn group(&self) -> usize {
        self.inner.group()
    }

    fn most_records(&self, payload_bytes: u64) -> u64 {
        self.inner.most_records(payload_bytes)
    }

    fn working_bytes(&self, parts: &[Bytes]) -> u64 {
        self.inner.working_bytes(parts)
    }

    fn prepare(&self, jobs: &mut [PrepareJob<'_>], scratch: &mut Scratch) {
        if self.probe.fault != Some(Fault::SwapRanges) {
            return self.inner.prepare(jobs, scratch);
        }
        for job in jobs {
            let parts: Vec<Bytes> = job.parts.iter().rev().cloned().collect();
            let mut swapped = [PrepareJob::new(&parts, job.limit)];
            self.inner.prepare(&mut swapped, scratch);
            let [swapped] = swapped;
            job.result = swapped.result;
        }
    }

    fn seek(&self, block: &Prepared, from: Pos, record: u64) -> Result<Pos, Error> {
        if self.probe.fault == Some(Fault::SeekNowhere) {
            return Ok(Pos { record, ..from });
        }
        self.inner.seek(block, from, record)
    }

    fn decode(
        &self,
        block: &Prepared,
        at: Pos,
        records: u64,
        rows: &mut RowSlots<'_>,
        scratch: &mut Scratch,
        upcoming: Option<Upcoming<'_>>,
    ) -> Result<Decoded, Error> {
        self.probe.decoded.fetch_add(records, Relaxed);
        let Held(held) = scratch.get();
        held.get_or_insert_with(|| self.probe.decoded.clone());
        let decoder = &self.inner;
        let mut records = records;
        if self.probe.fault == Some(Fault::LoseLastRow) {
            records = records.max(1) - 1;
        }
        decoder.decode(block, at, records, rows, scratch, upcoming)
    }

    fn finish(&self, block: &Prepared, at: Pos) -> Result<Tally, Error> {
        self.inner.finish(block, at)
    }
}

/// A source that makes faults of answers.
#[derive(Debug)]
pub(super) struct ProbeSource {
    inner: Arc<dyn ByteSource>,
    fault: Option<Fault>,
    /// Where the file ends, by a fault.
    end: Arc<AtomicU64>,
}

impl ProbeSource {
    pub(super) fn new(inner: Arc<dyn ByteSource>, fault: Option<Fault>) -> Self {
        ProbeSource {
            inner,
            fault,
            end: Arc::new(AtomicU64::new(u64::MAX)),
        }
    }
}

impl ByteSource for ProbeSource {
    fn location(&self) -> &Location {
        self.inner.location()
    }

    fn size(&self) -> io::Result<Option<u64>> {
        self.inner.size()
    }

    fn access(&self) -> Access {
        self.inner.access()
    }

    fn read_few(&self, offset: u64, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        self.inner.read_few(offset, buffer)
    }

    fn will_need(&self, range: Range<u64>) -> bool {
        self.inner.will_need(range)
    }

    fn read(&self, range: Range<u64>, buffer: ReadBuffer, done: Completion) {
        let done = match self.fault {
            Some(Fault::ForgetCancel) => done.cancelled_by(Arc::default()),
            Some(Fault::LoseSourceError) => Completion::new(move |answer| {
                done.complete(Ok(answer.unwrap_or_default()));
            }),
            Some(Fault::ShortAnswerIsEnd) => {
                let (end, asked) = (self.end.clone(), range.clone());
                Completion::new(move |answer| {
                    if asked.start >= end.load(Relaxed) {
                        return done.complete(Ok(Bytes::new()));
                    }
                    if let Ok(bytes) = &answer
                        && asked.start + (bytes.len() as u64) < asked.end
                    {
                        end.store(asked.start + bytes.len() as u64, Relaxed);
                    }
                    done.complete(answer);
                })
            }
            _ => done,
        };
        self.inner.read(range, buffer, done);
    }
}
