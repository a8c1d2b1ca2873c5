//! Measures a case.

use std::error::Error;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use atds_format::{Access, ByteSource, Completion, Format, Location, ReadBuffer};
use atds_pipeline::{Files, Options, Pipeline};
use atds_sched::Threads;
use atds_test_formats::{InMemory, Row, TestFormat, ToyFiles};
use bytes::Bytes;

use crate::case::{Case, Kind};
use crate::format::{Sleeping, Sleeps};

/// What a case came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    /// Rows in the middle 80 % of the time.
    pub(crate) rows: u64,
    /// Throughput over that of `n` plain loops.
    pub(crate) worth: f64,
    pub(crate) took: Duration,
    /// How much longer the sleeps took than they were to take, as a share.
    pub(crate) lateness: f64,
}

/// Measures a case with its number of threads, or with another one.
pub(crate) fn measure(
    case: &Case,
    seconds: f64,
    workers: Threads,
) -> Result<Figure, Box<dyn Error>> {
    let toy = ToyFiles { is_packed: true };
    let sleeps = Sleeps::new(*case, case.record_ns());
    let records = case.records(seconds);
    let files = SleepingFiles {
        bytes: file_of(&toy, case.block, records).into(),
        is_late: case.kind == Kind::LateRanges,
        format: Arc::new(Sleeping {
            inner: toy.format(),
            sleeps: sleeps.clone(),
        }),
    };
    let mut options = Options::new(case.batch);
    options.threads = workers.number_on(case.threads);
    options.automatic = workers == Threads::Auto;
    options.shuffle_buffer_size = if case.is_shuffled { 8_192 } else { 0 };
    options.read_size = 64 << 10;
    let pipeline = Pipeline::new(toy.spec(), Arc::new(files), options);

    let start = Instant::now();
    let (mut rows, mut times) = (0, Vec::new());
    for batch in pipeline.iter(0..1) {
        rows += batch?.rows() as u64;
        times.push((start.elapsed(), rows));
    }
    let took = start.elapsed();
    let at = |share: f64| {
        let wanted = (rows as f64 * share) as u64;
        let found = times.iter().find(|(_, rows)| *rows >= wanted);
        found.copied().unwrap_or((took, rows))
    };
    let ((from, before), (to, after)) = (at(0.1), at(0.9));
    let rate = (after - before) as f64 / (to - from).as_secs_f64().max(1e-9);
    // A plain loop makes the same sleeps, which end as late.
    let loop_rate = rows as f64 / (sleeps.loop_ns() as f64 / 1e9);
    Ok(Figure {
        rows: after - before,
        worth: rate / (loop_rate * case.threads as f64),
        took,
        lateness: sleeps.lateness(),
    })
}

/// A file of `records` records of one digit, which the records of a block have in common.
pub(crate) fn file_of(toy: &ToyFiles, block: usize, records: usize) -> Vec<u8> {
    let row = |block: usize| Row {
        // Without a pattern of a few blocks, which workers might take in turn.
        label: (block.wrapping_mul(0x9E37_79B9) >> 16) as i64 % 10,
        numbers: Vec::new(),
    };
    let starts = (0..records).step_by(block).enumerate();
    let blocks = starts.map(|(at, start)| vec![row(at); block.min(records - start)]);
    toy.write(&blocks.collect::<Vec<_>>())
}

#[derive(Debug)]
pub(crate) struct SleepingFiles {
    pub(crate) bytes: Bytes,
    pub(crate) is_late: bool,
    pub(crate) format: Arc<dyn Format>,
}

impl Files for SleepingFiles {
    fn len(&self) -> usize {
        1
    }

    fn location(&self, _: usize) -> Location {
        Location::Path("sleeping".into())
    }

    fn source(&self, _: usize) -> io::Result<Arc<dyn ByteSource>> {
        let bytes = self.bytes.clone();
        if self.is_late {
            return Ok(Arc::new(After20Ms::new(bytes)));
        }
        Ok(Arc::new(InMemory::new("sleeping", bytes)))
    }

    fn format(&self, _: usize) -> Arc<dyn Format> {
        self.format.clone()
    }
}

/// A file whose ranges answer after 20 ms, many at once.
#[derive(Debug)]
struct After20Ms {
    inner: InMemory,
    answers: Sender<(Instant, Range<u64>, ReadBuffer, Completion)>,
}

impl After20Ms {
    fn new(bytes: Bytes) -> Self {
        let inner = InMemory::new("sleeping", bytes);
        let (answers, asked) = channel::<(Instant, Range<u64>, ReadBuffer, Completion)>();
        let source = inner.clone();
        thread::spawn(move || {
            for (at, range, buffer, done) in asked {
                let due = at + Duration::from_millis(20);
                thread::sleep(due.saturating_duration_since(Instant::now()));
                source.read(range, buffer, done);
            }
        });
        After20Ms { inner, answers }
    }
}

impl ByteSource for After20Ms {
    fn location(&self) -> &Location {
        self.inner.location()
    }

    fn size(&self) -> io::Result<Option<u64>> {
        self.inner.size()
    }

    fn access(&self) -> Access {
        Access::Deferred
    }

    fn read(&self, range: Range<u64>, buffer: ReadBuffer, done: Completion) {
        // The thread lives as long as the source.
        let _ = self.answers.send((Instant::now(), range, buffer, done));
    }
}
