//! Running: cancelling at any time, and a consumer that is slow.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use atds_pipeline::Options;

use super::fault::Running;
use super::sources;
use super::suite::{Suite, data, ensure};
use crate::LateOptions;

/// The time in which an iteration must end, also on a machine with other work.
const PROMPTLY: Duration = Duration::from_secs(10);

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
    for (threads, is_late) in [(1, false), (4, false), (4, true)] {
        let mut options = Options::new(16);
        (
            options.threads,
            options.shuffle_buffer_size,
            options.read_size,
        ) = (threads, 30, 512);
        for taken in 0..=10 {
            let files = if is_late {
                sources::files(suite, &written, &late)
            } else {
                suite.files(&written)
            };
            let mut running = suite.start(&files, &options, 0..1_000_000);
            for _ in 0..taken {
                let item = running.next()?.ok_or("the iteration ended")?;
                item.map_err(|error| error.to_string())?;
            }
            let start = Instant::now();
            stop(&mut running)?;
            let held = running.end();
            let took = start.elapsed();
            ensure!(took < PROMPTLY, "ended after {took:?}, {threads} threads");
            ensure!(
                held == 0,
                "a thread of {threads} runs on after {taken} batches"
            );
        }
    }
    Ok(())
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
