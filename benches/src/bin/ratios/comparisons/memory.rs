//! Peak memory, in a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use atds::{Codec, Threads};
use atds_benches::machine;
use atds_generate::Preset;
use serde_json::{Value, json};

use super::Comparison;
use crate::data::Files;
use crate::measure::median;
use crate::pipeline::pipeline;
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "memory",
    about: "anonymous memory with a shuffle buffer of 8,192 beside the window and three batches, two threads",
    measure,
};

const SHUFFLE_BUFFER_SIZE: usize = 8_192;

/// Number of epochs of a process, and number of first and of last epochs that are compared. All have the
/// same order, and so windows of the same size.
const EPOCHS: usize = 50;
const COMPARED: usize = 10;

/// Time for which the first batch of an epoch and every tenth after it are held. Then the queues of ready
/// batches and of read blocks are full, which would depend on chance otherwise.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_EVERY: usize = 10;

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for (codec, mapped) in [
        (Codec::Null, false),
        (Codec::Null, true),
        (Codec::Deflate, false),
        (Codec::Deflate, true),
    ] {
        let files = lab.data.of(Preset::Ads, codec)?;
        let found = in_process(&files, mapped)?;
        // A window of mapped, uncompressed blocks is file memory.
        let of_files = mapped && codec == Codec::Null;
        let window = if of_files { 0 } else { found.window };
        let bound = 3 * (window + 3 * found.batch) / 2 + SLACK;
        let what = format!("ads, {codec}, {}", if mapped { "mapped" } else { "read" });
        let (a, b) = (
            ("peak", found.peak),
            ("1.5 × (window + 3 batches) + 32 MB", bound),
        );
        rows.push(Row::memory(what.clone(), a, b).at_most(1.0));
        let (a, b) = (
            ("epochs 41 to 50", found.last),
            // The number of batches in progress depends on chance. The first epochs may have had one
            // batch less.
            ("epochs 1 to 10 + a batch", found.first + found.batch_held),
        );
        rows.push(Row::memory(what, a, b).at_most(1.0));
    }
    Ok(rows)
}

/// Allowance for threads, code and all else.
const SLACK: u64 = 32_000_000;

/// The measurements of a process, in bytes.
struct Found {
    /// Peak anonymous memory over all epochs.
    peak: u64,
    /// The median of the peaks of the first [`COMPARED`] epochs.
    first: u64,
    /// The median of the peaks of the last [`COMPARED`] epochs.
    last: u64,
    /// Peak of the window as the pipeline counts it: its blocks as they are held, compressed or
    /// decompressed.
    window: u64,
    /// The largest batch.
    batch: u64,
    /// The largest memory of a batch.
    batch_held: u64,
}

/// The first argument of a process that measures itself. The folder of the files follows, then whether
/// they are mapped.
pub(crate) const MEASURE_MEMORY: &str = "measure-memory";

fn in_process(files: &Files, mapped: bool) -> Result<Found> {
    let done = Command::new(std::env::current_exe()?)
        .arg(MEASURE_MEMORY)
        .arg(&files.folder)
        .arg(mapped.to_string())
        .output()?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into());
    }
    let found: Value = serde_json::from_slice(&done.stdout)?;
    let bytes = |name: &str| found[name].as_u64().ok_or("a process that found nothing");
    Ok(Found {
        peak: bytes("peak")?,
        first: bytes("first")?,
        last: bytes("last")?,
        window: bytes("window")?,
        batch: bytes("batch")?,
        batch_held: bytes("batch_held")?,
    })
}

/// The process that [`in_process`] starts: prints its measurements.
pub(crate) fn measure_own(folder: &Path, mapped: bool) -> Result<()> {
    let files = Files::list(PathBuf::from(folder))?;
    let dataset = pipeline(&files, Preset::Ads)
        .shuffle_buffer_size(SHUFFLE_BUFFER_SIZE)
        .threads(Threads::Fixed(2))
        .mmap(mapped)
        .build()?;
    let mut peaks = [0; EPOCHS];
    let (mut largest_batch, mut most_held, mut window) = (0, 0, 0);
    for peak in &mut peaks {
        let mut batches = dataset.iter();
        for (nth, batch) in batches.by_ref().enumerate() {
            let batch = batch?;
            if nth % PAUSE_EVERY == 0 {
                std::thread::sleep(PAUSE);
            }
            largest_batch = largest_batch.max(batch.used_bytes());
            most_held = most_held.max(batch.capacity_bytes());
            *peak = anonymous()?.max(*peak);
        }
        window = window.max(batches.stats().window_peak);
    }
    // The maximum of several epochs depends on chance. Growth shows in the median.
    let typical = |peaks: &[u64]| median(peaks.iter().map(|&peak| peak as f64)) as u64;
    let found = json!({
        "peak": peaks.iter().max(),
        "first": typical(&peaks[..COMPARED]),
        "last": typical(&peaks[EPOCHS - COMPARED..]),
        "window": window,
        "batch": largest_batch,
        "batch_held": most_held,
    });
    println!("{found}");
    Ok(())
}

/// Resident anonymous bytes of this process.
fn anonymous() -> Result<u64> {
    let kilobytes = machine::value("/proc/self/status", "RssAnon")?;
    Ok(kilobytes.trim_end_matches(" kB").parse::<u64>()? * 1024)
}
