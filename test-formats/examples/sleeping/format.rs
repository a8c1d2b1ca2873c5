//! The format *toy*, whose decoder sleeps.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use atds_format::{
    Blocks, Decoded, Decoder, Error, FileInfo, Format, Match, Next, Payloads, Pos, PrepareJob,
    Prepared, Scratch, Tally, Upcoming,
};
use bytes::Bytes;
use tensor_batch::RowSlots;

use crate::case::{Case, Kind};

/// What the workers of an iteration sleep.
#[derive(Debug)]
pub(crate) struct Sleeps {
    case: Case,
    /// Time in ns that a record sleeps when it is decoded, and again when it is prepared.
    record_ns: u64,
    /// Time in ns that sleeps for preparing and decoding were to take, and that they took: the
    /// system wakes a thread late. Sleeps for skipping are in neither.
    planned: AtomicU64,
    slept: AtomicU64,
    /// Whether a worker has taken the part of the slow one.
    has_slow_one: AtomicBool,
}

/// Shorter sleeps are carried until they are as long.
const SHORTEST: u64 = 1_000_000;

thread_local! {
    /// Time in ns that the thread still has to sleep, for work and for skipping.
    static CARRIED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    /// Records that the slow worker has decoded since it slept longer.
    static SLOW: RefCell<Option<u64>> = const { RefCell::new(None) };
}

impl Sleeps {
    pub(crate) fn new(case: Case, record_ns: u64) -> Arc<Self> {
        Arc::new(Sleeps {
            case,
            record_ns,
            planned: AtomicU64::new(0),
            slept: AtomicU64::new(0),
            has_slow_one: AtomicBool::new(false),
        })
    }

    /// Time in ns that a plain loop takes for the sleeps of the work: as long as they took here.
    pub(crate) fn loop_ns(&self) -> u64 {
        self.slept.load(Relaxed)
    }

    /// How much longer sleeps took than they were to take, as a share.
    pub(crate) fn lateness(&self) -> f64 {
        self.slept.load(Relaxed) as f64 / self.planned.load(Relaxed).max(1) as f64 - 1.0
    }

    fn sleep(&self, work: u64, skip: u64) {
        CARRIED.with(|carried| {
            let (work, skip) = (carried.get().0 + work, carried.get().1 + skip);
            let all = work + skip;
            if all < SHORTEST {
                carried.set((work, skip));
                return;
            }
            carried.set((0, 0));
            let start = Instant::now();
            thread::sleep(Duration::from_nanos(all));
            let took = start.elapsed().as_nanos() as u64;
            self.planned.fetch_add(work, Relaxed);
            self.slept.fetch_add(
                (u128::from(took) * u128::from(work) / u128::from(all)) as u64,
                Relaxed,
            );
        });
    }

    /// The time in ns that a record of the block sleeps.
    fn record_ns(&self, block: &Prepared) -> u64 {
        let ns = self.record_ns;
        if self.case.kind != Kind::Uneven {
            return ns;
        }
        // By the digit of the block's records; the mean is 1.
        let digit = block.value::<Bytes>().and_then(|text| text.first());
        match digit.map_or(0, |digit| digit % 5) {
            0 => ns / 4,
            1 => ns / 2,
            2 => ns,
            3 => ns * 5 / 4,
            _ => ns * 2,
        }
    }

    /// Has one worker sleep longer in each hundredth op.
    fn slow_one(&self, records: u64) {
        if self.case.kind != Kind::OneSlow {
            return;
        }
        SLOW.with_borrow_mut(|decoded| {
            if decoded.is_none() && !self.has_slow_one.swap(true, Relaxed) {
                *decoded = Some(0);
            }
            let Some(decoded) = decoded else {
                return;
            };
            *decoded += records;
            if *decoded >= 100 * self.case.batch.max(64) as u64 {
                *decoded = 0;
                self.sleep(50_000_000, 0);
            }
        });
    }
}

/// A format whose decoder sleeps.
#[derive(Clone, Debug)]
pub(crate) struct Sleeping<T> {
    pub(crate) inner: T,
    pub(crate) sleeps: Arc<Sleeps>,
}

impl Format for Sleeping<Arc<dyn Format>> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn sniff(&self, name: &str, head: &[u8]) -> Match {
        self.inner.sniff(name, head)
    }

    fn open(&self, file: &FileInfo<'_>) -> Result<Box<dyn Blocks>, Error> {
        Ok(Box::new(Sleeping {
            inner: self.inner.open(file)?,
            sleeps: self.sleeps.clone(),
        }))
    }
}

impl Blocks for Sleeping<Box<dyn Blocks>> {
    fn next(&mut self) -> Result<Next, Error> {
        Ok(match self.inner.next()? {
            Next::Decoder(inner) => Next::Decoder(Arc::new(Sleeping {
                inner,
                sleeps: self.sleeps.clone(),
            })),
            next => next,
        })
    }

    fn push(&mut self, at: u64, bytes: Bytes) {
        self.inner.push(at, bytes);
    }

    fn header_bytes(&self) -> u64 {
        self.inner.header_bytes()
    }

    fn payloads(&self) -> Arc<dyn Payloads> {
        self.inner.payloads()
    }
}

/// What a prepared block needs: how many records it has, by its lines.
fn records_of(parts: &[Bytes]) -> u64 {
    // A record of these files is one digit and the end of its line: two runs, of two bytes each.
    parts.iter().map(|part| part.len() as u64 / 4).sum()
}

impl<T> Decoder for Sleeping<Arc<T>>
where
    T: Decoder + ?Sized,
    Self: fmt::Debug,
{
    fn prepares(&self) -> bool {
        self.inner.prepares()
    }

    fn group(&self) -> usize {
        self.inner.group()
    }

    fn most_records(&self, payload_bytes: u64) -> u64 {
        self.inner.most_records(payload_bytes)
    }

    fn prepare(&self, jobs: &mut [PrepareJob<'_>], scratch: &mut Scratch) {
        self.inner.prepare(jobs, scratch);
        for job in jobs.iter() {
            let records = records_of(job.parts);
            self.sleeps.sleep(records * self.sleeps.record_ns, 0);
        }
    }

    fn seek(&self, block: &Prepared, from: Pos, record: u64) -> Result<Pos, Error> {
        let ns = (record - from.record) * self.sleeps.record_ns(block) / 4;
        self.sleeps.sleep(0, ns);
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
        self.sleeps.sleep(records * self.sleeps.record_ns(block), 0);
        self.sleeps.slow_one(records);
        self.inner
            .decode(block, at, records, rows, scratch, upcoming)
    }

    fn finish(&self, block: &Prepared, at: Pos) -> Result<Tally, Error> {
        self.inner.finish(block, at)
    }
}
