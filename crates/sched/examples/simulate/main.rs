//! How far runs on many threads are from their ideal: the schedules of the real
//! scheduler, on simulated threads.
//!
//! ```sh
//! cargo run --release -p atds-sched --example simulate -- [INFLATE_NS DECODE_NS] [--write] [--date DATE]
//! ```
//!
//! The two numbers are what a record costs, as `atds bench` prints them. With
//! `--write` the tables go to `benches/record/DATE-simulation.md`, of today if
//! no date is given.

mod cases;

use std::error::Error;
use std::fmt::Write;
use std::process::Command;

use atds_sched::Machine;
use cases::{BATCHES, NO_SURPRISE, Outcome, SHAPES, Surprise, THREADS, outcome};

/// What a record of the preset `ads` cost in one run of `atds bench` with one
/// thread, on the 2-core virtual machine of the records.
const MEASURED: [u64; 2] = [3_250, 560];

/// The same machine: calling a thread, waking it, one more chunk.
const WAKING: Machine = machine(2_000, 10_000, 1_700);

const NOTHING: Machine = machine(0, 0, 0);

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::of(std::env::args().skip(1))?;
    let text = report(&options)?;
    print!("{text}");
    if options.write {
        let date = &options.date;
        let path = format!("{RECORDS}/{date}-simulation.md");
        std::fs::write(&path, format!("# Simulated schedules, {date}\n\n{text}"))?;
        eprintln!("written to {path}");
    }
    Ok(())
}

const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/record");

struct Options {
    costs: Option<[u64; 2]>,
    write: bool,
    date: String,
}

impl Options {
    fn of(mut args: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let (mut costs, mut write, mut date) = (Vec::new(), false, None);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--write" => write = true,
                "--date" => date = Some(args.next().ok_or("--date needs a date")?),
                number => costs.push(
                    number
                        .parse()
                        .map_err(|error| format!("{number}: {error}"))?,
                ),
            }
        }
        let costs = match costs[..] {
            [] => None,
            [inflate_ns, decode_ns] => Some([inflate_ns, decode_ns]),
            _ => return Err("INFLATE_NS and DECODE_NS, or neither".into()),
        };
        let date = date.map_or_else(today, Ok)?;
        Ok(Options { costs, write, date })
    }
}

/// The date of today, in UTC.
fn today() -> Result<String, Box<dyn Error>> {
    let done = Command::new("date").args(["-u", "+%F"]).output()?;
    Ok(String::from_utf8(done.stdout)?.trim().to_owned())
}

fn report(options: &Options) -> Result<String, std::fmt::Error> {
    let [inflate_ns, decode_ns] = options.costs.unwrap_or(MEASURED);
    let source = match options.costs {
        Some(_) => "as given",
        None => "measured with `atds bench --threads 1` on the preset `ads`",
    };
    let deflate_ns = inflate_ns + decode_ns;
    let mut text = format!(
        "- a record: inflating {inflate_ns} ns, decoding {decode_ns} ns, {source}; a block of \
         16,000 bytes has {} records\n\
         - the scheduler and its policy of stealing are the real ones; the threads are simulated\n\
         - batches of 1,024, 8,192 and 65,536 records on 4, 16, 64 and 128 threads\n\n\
         Each cell is the makespan over the ideal, an equal part for each thread or the dearest \
         block where that is more, and in brackets over that of the same whole blocks begun one by \
         one, the dearest first, each by the thread that would be done with it first, at no cost \
         but the work. No schedule can be below 1 of the first; where the second is 1, the first \
         is what whole blocks allow.\n",
        cases::BLOCK,
    );
    let balance = |text: &mut String, name: &str, record_ns, machine, surprise| {
        table(
            text,
            name,
            |outcome, _| {
                let makespan = outcome.makespan as f64;
                let over = makespan / outcome.ideal;
                format!("{over:.3} ({:.3})", makespan / outcome.dearest_first as f64)
            },
            record_ns,
            machine,
            surprise,
        )
    };
    let noise = Surprise {
        noise: 0.2,
        ..NO_SURPRISE
    };
    let slow = Surprise {
        slow: true,
        ..NO_SURPRISE
    };
    balance(
        &mut text,
        "Deflate, nothing costs but the work",
        deflate_ns,
        NOTHING,
        NO_SURPRISE,
    )?;
    balance(
        &mut text,
        "The same, each block costing up to 20 % more or less than estimated",
        deflate_ns,
        NOTHING,
        noise,
    )?;
    balance(
        &mut text,
        "The same, the last thread half as fast as the others",
        deflate_ns,
        NOTHING,
        slow,
    )?;
    balance(
        &mut text,
        "Null, nothing costs but the work",
        decode_ns,
        NOTHING,
        NO_SURPRISE,
    )?;
    let Machine {
        call_ns,
        start_ns,
        task_ns,
        ..
    } = WAKING;
    let costs = format!(
        "{call_ns} ns to call a thread, {start_ns} ns until it starts, {task_ns} ns a chunk"
    );
    balance(
        &mut text,
        &format!("Deflate, {costs}"),
        deflate_ns,
        WAKING,
        NO_SURPRISE,
    )?;
    balance(
        &mut text,
        &format!("Null, {costs}"),
        decode_ns,
        WAKING,
        NO_SURPRISE,
    )?;
    let chunks =
        |outcome: &Outcome, threads| format!("{:.1}", outcome.chunks as f64 / threads as f64);
    table(
        &mut text,
        "Chunks a thread, deflate",
        chunks,
        deflate_ns,
        NOTHING,
        NO_SURPRISE,
    )?;
    table(
        &mut text,
        "Chunks a thread, null",
        chunks,
        decode_ns,
        NOTHING,
        NO_SURPRISE,
    )?;
    Ok(text)
}

/// A table with one figure of every batch on every number of threads.
fn table(
    text: &mut String,
    name: &str,
    figure: impl Fn(&Outcome, usize) -> String,
    record_ns: u64,
    machine: Machine,
    surprise: Surprise,
) -> std::fmt::Result {
    writeln!(text, "\n{name}:\n")?;
    writeln!(
        text,
        "| blocks | batch | 4 | 16 | 64 | 128 |\n|---|---:|---:|---:|---:|---:|"
    )?;
    for shape in SHAPES {
        for batch in BATCHES {
            let blocks = (shape.blocks)(batch);
            let figures = THREADS.map(|threads| {
                let outcome = outcome(&blocks, record_ns, threads, machine, surprise);
                figure(&outcome, threads)
            });
            writeln!(
                text,
                "| {} | {batch} | {} |",
                shape.name,
                figures.join(" | ")
            )?;
        }
    }
    Ok(())
}

const fn machine(call_ns: u64, start_ns: u64, task_ns: u64) -> Machine {
    Machine {
        call_ns,
        start_ns,
        task_ns,
        slow: None,
    }
}
