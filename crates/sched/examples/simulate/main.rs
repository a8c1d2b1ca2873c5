//! How far runs on many threads are from their ideal: the schedules of the real
//! scheduler, on simulated threads.
//!
//! ```sh
//! cargo run --release -p atds-sched --example simulate -- [DECOMPRESS_NS DECODE_NS] [--write] [--date DATE]
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
        let name = format!("{date}-simulation.md");
        let text = format!("# Simulated schedules, {date}\n\n{text}");
        std::fs::write(format!("{RECORDS}/{name}"), text)?;
        eprintln!("written to benches/record/{name}");
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
                ns => costs.push(ns.parse().map_err(|error| format!("{ns}: {error}"))?),
            }
        }
        let costs = match costs[..] {
            [] => None,
            [decompress_ns, decode_ns] => Some([decompress_ns, decode_ns]),
            _ => return Err("DECOMPRESS_NS and DECODE_NS, or neither".into()),
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
    let [decompress_ns, decode_ns] = options.costs.unwrap_or(MEASURED);
    let source = match options.costs {
        Some(_) => "as given",
        None => "measured with `atds bench --threads 1` on the preset `ads`",
    };
    let block = cases::BLOCK;
    let Machine {
        call_ns,
        start_ns,
        task_ns,
        ..
    } = WAKING;
    let mut text = format!(
        "- a record: decompressing {decompress_ns} ns, decoding {decode_ns} ns, {source}; a block has \
         {block} records where nothing else is said\n\
         - planned by the real scheduler, done and stolen by the pool's rules on simulated threads\n\
         - batches of 1,024, 8,192 and 65,536 records on 4, 16, 64 and 128 threads\n\n\
         Each cell is the makespan over the ideal: an equal part for each thread, or the dearest \
         block where that is more. In brackets it is over what the same whole blocks take if each \
         begins by itself, the dearest first, on the thread that is done with it first, at no cost \
         but the work. The first is never below 1; where the second is 1, the first is what whole \
         blocks allow.\n",
    );
    let deflate = Scene {
        record_ns: decompress_ns + decode_ns,
        machine: NOTHING,
        surprise: NO_SURPRISE,
    };
    let null = Scene {
        record_ns: decode_ns,
        ..deflate
    };
    let noise = Surprise {
        noise: 0.2,
        ..NO_SURPRISE
    };
    let slow = Surprise {
        slow: true,
        ..NO_SURPRISE
    };
    let price = format!(
        "{call_ns} ns to call a thread, {start_ns} ns until it starts, {task_ns} ns for a chunk"
    );
    let free = "nothing costs but the work";
    for (name, scene) in [
        (format!("Deflate, {free}"), deflate),
        (format!("Null, {free}"), null),
        (
            "Deflate, each block costs up to 20 % more or less than estimated".into(),
            deflate.but(noise),
        ),
        (
            "Deflate, the last thread is half as fast as the others".into(),
            deflate.but(slow),
        ),
        (format!("Deflate, {price}"), deflate.on(WAKING)),
        (format!("Null, {price}"), null.on(WAKING)),
    ] {
        scene.table(&mut text, &name, |outcome, _| {
            let makespan = outcome.makespan as f64;
            let over = [outcome.ideal, outcome.dearest_first as f64].map(|ns| makespan / ns);
            format!("{:.3} ({:.3})", over[0], over[1])
        })?;
    }
    for (name, scene) in [("deflate", deflate), ("null", null)] {
        let name = format!("Chunks a thread, {name}");
        scene.table(&mut text, &name, |outcome, threads| {
            format!("{:.1}", outcome.chunks as f64 / threads as f64)
        })?;
    }
    Ok(text)
}

/// What all batches of a table have in common.
#[derive(Clone, Copy)]
struct Scene {
    record_ns: u64,
    machine: Machine,
    surprise: Surprise,
}

impl Scene {
    fn but(self, surprise: Surprise) -> Self {
        Scene { surprise, ..self }
    }

    fn on(self, machine: Machine) -> Self {
        Scene { machine, ..self }
    }

    /// Adds a table with one figure of every batch on every number of threads.
    fn table(
        &self,
        text: &mut String,
        name: &str,
        figure: impl Fn(&Outcome, usize) -> String,
    ) -> std::fmt::Result {
        writeln!(text, "\n{name}:\n")?;
        let columns = THREADS.map(|threads| threads.to_string()).join(" | ");
        writeln!(text, "| blocks | batch | {columns} |")?;
        writeln!(text, "|---|---:|{}", "---:|".repeat(THREADS.len()))?;
        for shape in SHAPES {
            for batch in BATCHES {
                let blocks = (shape.blocks)(batch);
                let figures = THREADS.map(|threads| {
                    let (record_ns, machine) = (self.record_ns, self.machine);
                    let outcome = outcome(&blocks, record_ns, threads, machine, self.surprise);
                    figure(&outcome, threads)
                });
                let figures = figures.join(" | ");
                writeln!(text, "| {} | {batch} | {figures} |", shape.name)?;
            }
        }
        Ok(())
    }
}

const fn machine(call_ns: u64, start_ns: u64, task_ns: u64) -> Machine {
    Machine {
        call_ns,
        start_ns,
        task_ns,
        slow: None,
    }
}
