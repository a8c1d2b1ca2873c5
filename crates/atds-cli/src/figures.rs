//! The figures of a run, for people and for programs.

use std::io::{self, Write};
use std::time::Duration;

use atds::stats::Stats;
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
        "decompressed_bytes": stats.decompressed_bytes,
        "ms_per_step": per(seconds * 1e3, stats.steps as f64),
        "threads": stats.threads,
        "thread_records": stats.thread_records,
        "read_wait_s": stats.read_wait.as_secs_f64(),
        "decompress_s": stats.decompress.as_secs_f64(),
        "decode_s": stats.decode.as_secs_f64(),
        "consumer_wait_s": stats.consumer_wait.as_secs_f64(),
        "trailing_block_bytes": stats.tolerated.trailing_block_bytes,
        "trailing_file_bytes": stats.tolerated.trailing_file_bytes,
        "bad_checksums": stats.tolerated.bad_checksums,
        "replaced_texts": stats.tolerated.replaced_texts,
        "raw_bytes_per_s": per(stats.raw_bytes as f64, seconds),
        "decompressed_bytes_per_s": per(stats.decompressed_bytes as f64, seconds),
        "memory_peak": stats.memory_peak,
        "memory_limit": stats.memory_limit,
        "last_schedule": stats.schedule.as_ref().map(ToString::to_string),
        "dropped_records": stats.dropped_records,
        "dropped_entries": stats.dropped_entries,
        "truncated_lists": stats.truncated_lists,
        "skipped_records": stats.skipped_records,
        "skipped_bytes": stats.skipped_bytes,
        "thread_time": thread_time_to_json(&thread_time(stats)),
    })
}

fn thread_time_to_json(parts: &[ThreadTime]) -> Value {
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
    for (name, n) in [
        ("raw", stats.raw_bytes),
        ("decompressed", stats.decompressed_bytes),
    ] {
        let rate = per(n as f64 / 1e6, seconds);
        line(name, format!("{}, {rate:.1} MB/s", bytes(n)))?;
    }
    line(
        "step",
        format!("{:.3} ms", per(seconds * 1e3, stats.steps as f64)),
    )?;
    let (peak, limit) = (bytes(stats.memory_peak), limit(stats.memory_limit));
    line("memory", format!("{peak} at most, limit {limit}"))?;
    if stats.skipped_records > 0 || stats.skipped_bytes > 0 {
        let (records, unknown) = (count(stats.skipped_records), bytes(stats.skipped_bytes));
        line(
            "left out",
            format!("{records} records, and {unknown} of unknown ones"),
        )?;
    }
    line("threads", stats.threads.to_string())?;
    if let Some(schedule) = &stats.schedule {
        line("last schedule", schedule.to_string())?;
    }
    print_thread_time(&thread_time(stats), out)
}

/// A part of the time of all threads.
struct ThreadTime {
    key: &'static str,
    name: &'static str,
    seconds: f64,
    percent: u32,
}

/// The parts of the threads' time. They add up to all of it.
fn thread_time(stats: &Stats) -> [ThreadTime; 5] {
    let threads = stats.threads.max(1) as f64;
    // While the pipeline waits, all of its threads wait.
    let waits = |time: Duration| time.as_secs_f64() * threads;
    let measured = [
        ("read_wait", "waiting for bytes", waits(stats.read_wait)),
        (
            "decompress",
            "decompressing",
            stats.decompress.as_secs_f64(),
        ),
        ("decode", "decoding", stats.decode.as_secs_f64()),
        (
            "consumer_wait",
            "waiting for caller",
            waits(stats.consumer_wait),
        ),
    ];
    let whole = stats.elapsed.as_secs_f64() * threads;
    let known: f64 = measured.iter().map(|(_, _, seconds)| seconds).sum();
    // A wait may overlap the end of other work; the difference is then negative.
    let other = ("other", "other", (whole - known).max(0.0));
    let [a, b, c, d] = measured;
    let parts = [a, b, c, d, other];
    let percent = percentages(parts.map(|(_, _, seconds)| seconds));
    std::array::from_fn(|i| {
        let (key, name, seconds) = parts[i];
        ThreadTime {
            key,
            name,
            seconds,
            percent: percent[i],
        }
    })
}

fn print_thread_time(parts: &[ThreadTime], out: &mut dyn Write) -> io::Result<()> {
    let seconds: f64 = parts.iter().map(|part| part.seconds).sum();
    writeln!(out, "{:<20}{seconds:.3} s", "time of threads")?;
    for part in parts {
        let ThreadTime {
            name,
            seconds,
            percent,
            ..
        } = part;
        writeln!(out, "  {name:<18}{percent:>3} %  {seconds:.3} s")?;
    }
    Ok(())
}

/// Prints the numbers of dropped records, entries and list items to standard error.
pub(crate) fn report_dropped(stats: &Stats) {
    for (n, one, many) in [
        (
            stats.dropped_records,
            "dropped 1 record at the end of an epoch, too few for a batch",
            "dropped {} records at the end of an epoch, too few for a batch",
        ),
        (
            stats.dropped_entries,
            "dropped 1 sparse entry with an index outside its dimension",
            "dropped {} sparse entries with an index outside their dimension",
        ),
        (
            stats.truncated_lists,
            "truncated 1 list that was longer than its dimension",
            "truncated {} lists that were longer than their dimension",
        ),
    ] {
        match n {
            0 => {}
            1 => eprintln!("atds: note: {one}"),
            n => eprintln!("atds: note: {}", many.replace("{}", &count(n))),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn stats() -> Stats {
        let mut stats = Stats::default();
        stats.records = 2_500;
        stats.steps = 3;
        stats.raw_bytes = 1_234_567;
        stats.decompressed_bytes = 7_654_321;
        stats.read_wait = Duration::from_millis(111);
        stats.decompress = Duration::from_millis(1_222);
        stats.decode = Duration::from_millis(333);
        stats.consumer_wait = Duration::from_millis(44);
        stats.elapsed = Duration::from_millis(1_555);
        stats.threads = 2;
        stats.memory_peak = 66_666_666;
        stats.memory_limit = 4 << 30;
        stats
    }

    #[test]
    fn json_has_all_that_the_table_has() {
        let stats = stats();
        let json = to_json(&stats);
        let mut table = Vec::new();
        print(&stats, &mut table).unwrap();
        let table = String::from_utf8(table).unwrap();
        let number = |key: &str| json[key].as_f64().unwrap();
        let rate = |key: &str| number(key) / 1e6;
        let time = &json["thread_time"];
        let part = |key: &str| {
            let (percent, seconds) = (time[key]["percent"].to_string(), &time[key]["seconds"]);
            format!("{percent:>3} %  {:.3} s", seconds.as_f64().unwrap())
        };
        let seconds = time.as_object().unwrap().values();
        let seconds: f64 = seconds.map(|part| part["seconds"].as_f64().unwrap()).sum();
        let size = |key: &str| json[key].as_u64().unwrap();
        let lines = [
            (
                "records",
                format!("{} in {} steps", count(size("records")), size("steps")),
            ),
            ("seconds", format!("{:.3}", number("seconds"))),
            ("records/s", count(number("records_per_s") as u64)),
            (
                "raw",
                format!(
                    "{}, {:.1} MB/s",
                    bytes(size("raw_bytes")),
                    rate("raw_bytes_per_s")
                ),
            ),
            (
                "decompressed",
                format!(
                    "{}, {:.1} MB/s",
                    bytes(size("decompressed_bytes")),
                    rate("decompressed_bytes_per_s")
                ),
            ),
            ("step", format!("{:.3} ms", number("ms_per_step"))),
            (
                "memory",
                format!(
                    "{} at most, limit {}",
                    bytes(size("memory_peak")),
                    limit(size("memory_limit"))
                ),
            ),
            ("threads", json["threads"].to_string()),
            ("time of threads", format!("{seconds:.3} s")),
            ("  waiting for bytes", part("read_wait")),
            ("  decompressing", part("decompress")),
            ("  decoding", part("decode")),
            ("  waiting for caller", part("consumer_wait")),
            ("  other", part("other")),
        ];
        let lines = lines.map(|(name, text)| format!("{name:<20}{text}"));
        assert_eq!(table.lines().collect::<Vec<_>>(), lines);
        // The table shows the schedule as the JSON object has it.
        assert_eq!(json["last_schedule"], Value::Null);
    }

    #[test]
    fn the_time_of_threads_adds_up() {
        let sum = |stats: &Stats| {
            let parts = thread_time(stats);
            let seconds: f64 = parts.iter().map(|part| part.seconds).sum();
            let percent: u32 = parts.iter().map(|part| part.percent).sum();
            (seconds, percent)
        };
        let mut stats = stats();
        let (seconds, percent) = sum(&stats);
        assert!((seconds - 2.0 * 1.555).abs() < 1e-9, "{seconds}");
        assert_eq!(percent, 100);
        // Batches before the last one may have had more threads.
        stats.threads = 1;
        let (seconds, percent) = sum(&stats);
        assert!(seconds > 1.555 && percent == 100, "{seconds} {percent}");
        assert_eq!(sum(&Stats::default()), (0.0, 0));
    }
}
