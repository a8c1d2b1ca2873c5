//! The most memory taken, in a process that does nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use atds::generate::Preset;
use atds::{Codec, Threads};
use atds_benches::machine;
use serde_json::{Value, json};

use super::Comparison;
use crate::data::Files;
use crate::measure::median;
use crate::pipeline::pipeline;
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "memory",
    about: "anonymous memory with a shuffle buffer of 8,192 against the window and three batches, two threads",
    measure,
};

const SHUFFLE_BUFFER_SIZE: usize = 8_192;

/// Epochs of a process, and how many of the first and of the last are compared. All are in the same
/// order, so that all have windows of the same size.
const EPOCHS: usize = 50;
const COMPARED: usize = 10;

/// How long a batch is held, the first of an epoch and every tenth behind it: by then as many batches
/// wait, and as many blocks are read ahead, as may at all, which would be chance otherwise.
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
        // A window of mapped blocks that are not inflated is memory of files.
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
            // How many batches are on their way at a time is chance, and so is which worker
            // has how much of one: in the first epochs there may have been one less.
            ("epochs 1 to 10 + a batch", found.first + found.batch_held),
        );
        rows.push(Row::memory(what, a, b).at_most(1.0));
    }
    Ok(rows)
}

/// For all else, such as threads and code.
const SLACK: u64 = 32_000_000;

/// What a process found of itself, in bytes.
struct Found {
    /// The most anonymous memory, over all epochs.
    peak: u64,
    /// The median of the most in each of the first [`COMPARED`] epochs.
    first: u64,
    /// And of the last.
    last: u64,
    /// The most that the pipeline counted in its window: the blocks in it as they are held, some
    /// compressed, some inflated.
    window: u64,
    /// The largest batch.
    batch: u64,
    /// The most memory of a batch.
    batch_held: u64,
}

/// The first of a process's arguments that makes it measure itself; the folder of the files
/// follows, then whether they are mapped.
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

/// The other side of [`in_process`]: prints what it finds.
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
    // What the most of several epochs is, is chance; what grows does so in all of them.
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

/// Resident bytes of this process that are not of files.
fn anonymous() -> Result<u64> {
    let kilobytes = machine::value("/proc/self/status", "RssAnon")?;
    Ok(kilobytes.trim_end_matches(" kB").parse::<u64>()? * 1024)
}
