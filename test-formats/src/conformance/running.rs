//! Running: cancelling at any time, and a consumer that is slow.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use atds_format::{Access, ByteSource, Completion, Location, ReadBuffer};
use atds_pipeline::Options;

use super::fault::Running;
use super::sources;
use super::suite::{PATIENCE, Suite, data, ensure};
use crate::{InMemory, LateOptions};

/// The time in which an iteration must end, also on a machine with other work.
const PROMPTLY: Duration = Duration::from_secs(10);

/// A memory limit in bytes that suffices for a batch, but not for many of them.
const LITTLE_MEMORY: u64 = 64 << 10;

/// Dropping an iteration after any batch ends its threads.
pub(super) fn cancel(suite: &Suite<'_>) -> Result<(), String> {
    ended(suite, |_| Ok(()))
}

/// Stopping an iteration after any batch ends its threads, and there are no more batches.
pub(super) fn stop(suite: &Suite<'_>) -> Result<(), String> {
    ended(suite, |running| {
        ensure!(
            running.stop_within(PROMPTLY),
            "not stopped within {PROMPTLY:?}"
        );
        ensure!(
            running.next()?.is_none(),
            "a batch after the iteration was stopped"
        );
        Ok(())
    })
}

/// What an iteration does when it is ended.
#[derive(Clone, Copy, Debug)]
enum Doing {
    /// It reads files.
    Reading,
    /// It waits for bytes that come late.
    WaitingForBytes,
    /// It reads inputs of unknown size.
    ReadingStreams,
    /// It waits for memory.
    WaitingForMemory,
    /// It waits for the consumer, since enough batches are ready.
    WaitingForConsumer,
    /// It has an error that the consumer has not come to.
    Failing,
}

/// Ends iterations after each number of batches; checks that no thread holds anything any more.
fn ended(
    suite: &Suite<'_>,
    stop: impl Fn(&mut Running<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let written = data(2, 8, 10);
    let late = LateOptions {
        delay: Duration::from_millis(3),
        ..LateOptions::default()
    };
    let bytes = || written.iter().map(|file| suite.format.write(file));
    for (threads, doing) in [
        (1, Doing::Reading),
        (4, Doing::Reading),
        (4, Doing::WaitingForBytes),
        (3, Doing::ReadingStreams),
        (1, Doing::WaitingForMemory),
        (3, Doing::WaitingForMemory),
        (2, Doing::WaitingForConsumer),
        (3, Doing::Failing),
    ] {
        let mut options = Options::new(16);
        (options.threads, options.read_size) = (threads, 512);
        options.shuffle_buffer_size = 30;
        let (mut epochs, mut most_taken) = (0..1_000_000, 10);
        let files = || match doing {
            Doing::WaitingForBytes => sources::files(suite, &written, &late),
            Doing::ReadingStreams if !suite.format.needs_size() => suite.streams_of(bytes()),
            Doing::Failing => {
                let damaged = suite.format.write_damaged(&written[1], 7, 5);
                suite.files_of([suite.format.write(&written[0]), damaged])
            }
            _ => suite.files(&written),
        };
        match doing {
            Doing::WaitingForMemory => {
                (options.prefetch, options.memory_limit) = (10_000, LITTLE_MEMORY);
            }
            // The error is after nine whole batches.
            Doing::Failing => {
                (epochs, most_taken) = (0..1, 9);
                options.shuffle_buffer_size = 0;
            }
            _ => {}
        }
        for taken in 0..=most_taken {
            let of = || format!("after {taken} batches of {threads} threads, {doing:?}");
            let mut running = suite.start(&files(), &options, epochs.clone());
            for _ in 0..taken {
                let item = running
                    .next()?
                    .ok_or_else(|| format!("it ended {}", of()))?;
                item.map_err(|error| format!("{error}, {}", of()))?;
            }
            if matches!(doing, Doing::WaitingForConsumer | Doing::WaitingForMemory) {
                settled(&running.decoded);
            }
            let start = Instant::now();
            stop(&mut running)?;
            let held = running.end();
            let took = start.elapsed();
            ensure!(took < PROMPTLY, "it took {took:?} {}", of());
            ensure!(held == 0, "a thread runs on {}", of());
        }
    }
    Ok(())
}

/// Stopping does not wait for bytes that never come.
pub(super) fn stop_reading(suite: &Suite<'_>) -> Result<(), String> {
    let written = data(1, 40, 10);
    let patience = if suite.has_fault() {
        Duration::from_millis(300)
    } else {
        PROMPTLY
    };
    for access in [Access::Blocking, Access::Deferred] {
        for (threads, answered) in [(1, 0), (1, 1), (3, 2), (3, 3)] {
            let asked = Arc::new(Unanswered::default());
            let bytes = written.iter().map(|file| suite.format.write(file));
            let files = suite.opened_by(bytes, |name, bytes| {
                Endless::new(name, bytes, access, answered, &asked).into()
            });
            let mut options = Options::new(16);
            (options.threads, options.read_size) = (threads, 64);
            options.prefetch = 1000;
            let mut running = suite.start(&files, &options, 0..1);
            let start = Instant::now();
            while !asked.is_asked.load(Relaxed) {
                ensure!(
                    start.elapsed() < PATIENCE,
                    "read {answered} is not asked for"
                );
                thread::sleep(Duration::from_millis(1));
            }
            let is_stopped = running.stop_within(patience);
            asked.gives_up.store(true, Relaxed);
            ensure!(
                is_stopped,
                "not stopped within {patience:?}, {threads} threads, {answered} reads answered"
            );
            ensure!(running.next()?.is_none(), "a batch after it was stopped");
            ensure!(running.end() == 0, "a thread of {threads} runs on");
        }
    }
    Ok(())
}

/// A file that answers some reads, and no more.
#[derive(Debug)]
struct Endless {
    inner: InMemory,
    access: Access,
    answers_left: AtomicU64,
    unanswered: Arc<Unanswered>,
}

#[derive(Debug, Default)]
struct Unanswered {
    /// Whether a read was not answered.
    is_asked: AtomicBool,
    /// Whether to answer with an error.
    gives_up: AtomicBool,
    reads: Mutex<Vec<Completion>>,
}

impl Endless {
    fn new(
        name: &str,
        bytes: Vec<u8>,
        access: Access,
        answers: u64,
        unanswered: &Arc<Unanswered>,
    ) -> Self {
        Endless {
            inner: InMemory::new(name, bytes),
            access,
            answers_left: answers.into(),
            unanswered: unanswered.clone(),
        }
    }
}

impl ByteSource for Endless {
    fn location(&self) -> &Location {
        self.inner.location()
    }

    fn size(&self) -> io::Result<Option<u64>> {
        self.inner.size()
    }

    fn access(&self) -> Access {
        self.access
    }

    fn read(&self, range: Range<u64>, buffer: ReadBuffer, done: Completion) {
        let answer = |left: u64| left.checked_sub(1);
        if self
            .answers_left
            .fetch_update(Relaxed, Relaxed, answer)
            .is_ok()
        {
            return self.inner.read(range, buffer, done);
        }
        let unanswered = &self.unanswered;
        unanswered.is_asked.store(true, Relaxed);
        if self.access == Access::Deferred {
            let mut reads = unanswered.reads.lock().expect("no holder panics");
            return reads.push(done);
        }
        // As a source does that waits for another program.
        while !done.cancelled().load(Relaxed) && !unanswered.gives_up.load(Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        done.complete(Err(io::Error::other("reading was cancelled")));
    }
}

/// While the consumer takes no batch, workers stop when enough batches are ready.
pub(super) fn slow_consumer(suite: &Suite<'_>) -> Result<(), String> {
    const BATCH: u64 = 1000;
    // An op has as many small batches as take some time: so many rows at most.
    const OP_ROWS: u64 = 4096;
    let files = suite.files(&data(4, 25, 1000));
    for (threads, prefetch) in [(1, 1), (1, 5), (3, 2)] {
        let mut options = Options::new(BATCH as usize);
        (options.threads, options.prefetch) = (threads, prefetch);
        let mut running = suite.start(&files, &options, 0..1);
        for taken in 0..5 {
            let decoded = settled(&running.decoded);
            let most = (taken + prefetch as u64) * BATCH + 2 * threads as u64 * OP_ROWS;
            ensure!(
                decoded <= most,
                "{decoded} rows are decoded after {taken} batches, prefetch {prefetch}"
            );
            let item = running.next()?.ok_or("the iteration ended")?;
            item.map_err(|error| error.to_string())?;
        }
        let mut found = 5;
        while let Some(item) = running.next()? {
            item.map_err(|error| error.to_string())?;
            found += 1;
            thread::sleep(Duration::from_micros(100));
        }
        ensure!(found == 100, "{found} batches for a slow consumer");
    }
    Ok(())
}

/// However many batches may be ready, they take no more memory than the limit, and not much less while
/// the consumer is slow.
pub(super) fn slow_memory(suite: &Suite<'_>) -> Result<(), String> {
    // Enough for some batches, but not for all of them.
    let limit = (192 << 10) * suite.format.memory_factor();
    let files = suite.files(&data(4, 50, 100));
    for (threads, buffer) in [(1, 0), (3, 0), (3, 300)] {
        let mut options = Options::new(100);
        (options.threads, options.shuffle_buffer_size) = (threads, buffer);
        (options.prefetch, options.read_size) = (10_000, 4096);
        options.memory_limit = limit;
        let of = format!("{threads} threads, a buffer of {buffer}");
        let mut running = suite.start(&files, &options, 0..1);
        let mut found = 0;
        while let Some(item) = running.next()? {
            found += item.map_err(|error| format!("{error}, {of}"))?.len();
            if found <= 500 {
                settled(&running.decoded);
            }
        }
        ensure!(found == 20_000, "{found} rows, {of}");
        let peak = running.stats().memory_peak;
        ensure!(
            (limit / 2..=limit).contains(&peak),
            "{peak} bytes were held of {limit}, {of}"
        );
    }
    Ok(())
}

/// The number, once it changes no more.
fn settled(rows: &AtomicU64) -> u64 {
    let (mut last, mut same) = (rows.load(Relaxed), 0);
    while same < 15 {
        thread::sleep(Duration::from_millis(2));
        let now = rows.load(Relaxed);
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
}
