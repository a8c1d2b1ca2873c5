//! The figures of a run, for people and for programs.

use std::io::{self, Write};
use std::time::Duration;

use atds::Stats;
use serde_json::{Value, json};

use crate::units::{bytes, count, counted, limit, per, percentages};

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
        "raw_bytes_per_s": per(stats.raw_bytes as f64, seconds),
        "inflated_bytes_per_s": per(stats.inflated_bytes as f64, seconds),
        "memory_peak": stats.memory_peak,
        "memory_limit": stats.memory_limit,
        "last_schedule": stats.schedule.as_ref().map(ToString::to_string),
        "dropped_records": stats.dropped_records,
        "dropped_entries": stats.dropped_entries,
        "thread_time": thread_time_to_json(&thread_time(stats)),
    })
}

fn thread_time_to_json(parts: &[Part]) -> Value {
    let parts = parts.iter().map(|part| {
        let figures = json!({"seconds": part.seconds, "percent": part.percent});
        (part.key.to_owned(), figures)
    });
    Value::Object(parts.collect())
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
    let (peak, limit) = (bytes(stats.memory_peak), limit(stats.memory_limit));
    line("memory", format!("{peak} at most, limit {limit}"))?;
    line("threads", stats.threads.to_string())?;
    if let Some(schedule) = &stats.schedule {
        line("last schedule", schedule.to_string())?;
    }
    print_thread_time(&thread_time(stats), out)
}

/// A part of the time of all threads.
struct Part {
    key: &'static str,
    name: &'static str,
    seconds: f64,
    percent: u32,
}

/// What the threads spent their time on: together all of it.
fn thread_time(stats: &Stats) -> [Part; 5] {
    let threads = stats.threads.max(1) as f64;
    // While the pipeline waits, all of its threads do.
    let waits = |time: Duration| time.as_secs_f64() * threads;
    let measured = [
        ("read_wait", "waiting for bytes", waits(stats.read_wait)),
        ("inflate", "inflating", stats.inflate.as_secs_f64()),
        ("decode", "decoding", stats.decode.as_secs_f64()),
        (
            "consumer_wait",
            "waiting for caller",
            waits(stats.consumer_wait),
        ),
    ];
    let whole = stats.elapsed.as_secs_f64() * threads;
    let known: f64 = measured.iter().map(|(_, _, seconds)| seconds).sum();
    // Nothing is left where batches before the last one had more threads.
    let other = ("other", "other", (whole - known).max(0.0));
    let [a, b, c, d] = measured;
    let parts = [a, b, c, d, other];
    let percent = percentages(parts.map(|(_, _, seconds)| seconds));
    std::array::from_fn(|i| {
        let (key, name, seconds) = parts[i];
        Part {
            key,
            name,
            seconds,
            percent: percent[i],
        }
    })
}

fn print_thread_time(parts: &[Part], out: &mut dyn Write) -> io::Result<()> {
    let seconds: f64 = parts.iter().map(|part| part.seconds).sum();
    writeln!(out, "{:<20}{seconds:.3} s", "time of threads")?;
    for part in parts {
        let Part {
            name,
            seconds,
            percent,
            ..
        } = part;
        writeln!(out, "  {name:<18}{percent:>3} %  {seconds:.3} s")?;
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
        eprintln!("atds: note: dropped {} {what}", count(n));
    }
    if stats.truncated_lists > 0 {
        let lists = count(stats.truncated_lists);
        eprintln!("atds: truncated {lists} lists that were longer than their dimension");
    }
}
