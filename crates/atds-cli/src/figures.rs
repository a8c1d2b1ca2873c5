//! The figures of a run, for people and for programs.

use std::io::{self, Write};

use atds::Stats;
use serde_json::{Value, json};

use crate::units::{bytes, count, per};

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
    })
}

/// The figures as a table.
pub(crate) fn print(stats: &Stats, out: &mut dyn Write) -> io::Result<()> {
    let seconds = stats.elapsed.as_secs_f64();
    let rate = |n: u64| per(n as f64 / 1e6, seconds);
    let mut line = |name: &str, text: String| writeln!(out, "{name:<18}{text}");
    line(
        "records",
        format!("{} in {} steps", count(stats.records), count(stats.steps)),
    )?;
    line("seconds", format!("{seconds:.3}"))?;
    line(
        "records/s",
        count(per(stats.records as f64, seconds) as u64),
    )?;
    for (name, n) in [("raw", stats.raw_bytes), ("inflated", stats.inflated_bytes)] {
        line(name, format!("{}, {:.1} MB/s", bytes(n), rate(n)))?;
    }
    line(
        "step",
        format!("{:.3} ms", per(seconds * 1e3, stats.steps as f64)),
    )?;
    line("threads", stats.threads.to_string())?;
    let memory = format!(
        "{} of {}",
        bytes(stats.memory_peak),
        bytes(stats.memory_limit)
    );
    line("memory, most", memory)?;
    if let Some(schedule) = &stats.schedule {
        line("last schedule", schedule.to_string())?;
    }
    for (name, time) in [
        ("waiting for bytes", stats.read_wait),
        ("inflating", stats.inflate),
        ("decoding", stats.decode),
        ("waiting for caller", stats.consumer_wait),
    ] {
        let time = time.as_secs_f64();
        let part = 100.0 * per(time, seconds);
        line(name, format!("{time:.3} s, {part:.0} % of the time"))?;
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
