//! The figures of a run, for people and for programs.

use std::io::{self, Write};

use atds::Stats;
use serde_json::{Value, json};

use crate::units::{bytes, count, counted, per};

/// The figures as the JSON object that `--json` prints.
pub(crate) fn to_json(stats: &Stats) -> Value {
    let seconds = stats.elapsed.as_secs_f64();
    json!({
        "records": stats.records,
        "steps": stats.steps,
        "seconds": seconds,
        "records_per_s": per(stats.records as f64, seconds),
        "raw_bytes": stats.raw_bytes,
        "inflated_bytes": stats.inflated_bytes,
        "ms_per_step": per(seconds * 1e3, stats.steps as f64),
        "threads": stats.threads,
        "read_wait_s": stats.read_wait.as_secs_f64(),
        "inflate_s": stats.inflate.as_secs_f64(),
        "decode_s": stats.decode.as_secs_f64(),
        "consumer_wait_s": stats.consumer_wait.as_secs_f64(),
        "trailing_block_bytes": stats.tolerated.trailing_block_bytes,
        "trailing_file_bytes": stats.tolerated.trailing_file_bytes,
        "bad_checksums": stats.tolerated.bad_checksums,
        "replaced_texts": stats.tolerated.replaced_texts,
    })
}

/// The figures as a table.
pub(crate) fn print(stats: &Stats, out: &mut dyn Write) -> io::Result<()> {
    let seconds = stats.elapsed.as_secs_f64();
    let mut line = |name: &str, text: String| writeln!(out, "{name:<20}{text}");
    let steps = counted(stats.steps, "step");
    line("records", format!("{} in {steps}", count(stats.records)))?;
    line("seconds", format!("{seconds:.3}"))?;
    line(
        "records/s",
        count(per(stats.records as f64, seconds) as u64),
    )?;
    for (name, n) in [("raw", stats.raw_bytes), ("inflated", stats.inflated_bytes)] {
        let rate = per(n as f64 / 1e6, seconds);
        line(name, format!("{}, {rate:.1} MB/s", bytes(n)))?;
    }
    line(
        "step",
        format!("{:.3} ms", per(seconds * 1e3, stats.steps as f64)),
    )?;
    let (peak, limit) = (bytes(stats.memory_peak), bytes(stats.memory_limit));
    line("memory", format!("{peak} at most, limit {limit}"))?;
    line("threads", stats.threads.to_string())?;
    if let Some(schedule) = &stats.schedule {
        line("last schedule", schedule.to_string())?;
    }
    print_times(stats, out)
}

/// Where the time went: each with its part of the time there was.
fn print_times(stats: &Stats, out: &mut dyn Write) -> io::Result<()> {
    let seconds = stats.elapsed.as_secs_f64();
    let all_threads = seconds * stats.threads as f64;
    for (name, time, of, whose) in [
        ("waiting for bytes", stats.read_wait, seconds, ""),
        ("inflating", stats.inflate, all_threads, " of all threads"),
        ("decoding", stats.decode, all_threads, " of all threads"),
        ("waiting for caller", stats.consumer_wait, seconds, ""),
    ] {
        let time = time.as_secs_f64();
        let part = 100.0 * per(time, of);
        writeln!(out, "{name:<20}{time:.3} s{whose}, {part:.0} %")?;
    }
    Ok(())
}

/// Says on standard error what was left out of the batches, if anything was.
pub(crate) fn report_dropped(stats: &Stats) {
    let dropped = [
        (
            stats.dropped_records,
            "records at the end of an epoch, too few for a batch",
        ),
        (
            stats.dropped_entries,
            "sparse entries with an index outside their dimension",
        ),
    ];
    for (n, what) in dropped.into_iter().filter(|(n, _)| *n > 0) {
        eprintln!("atds: dropped {} {what}", count(n));
    }
}
