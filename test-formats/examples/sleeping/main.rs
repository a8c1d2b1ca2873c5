//! `make scaling PART=sleeping`: the pipeline with many threads, on any machine.
//!
//! The decoder of the format *toy* sleeps instead of computing. So 16 and 64 workers do not need 16
//! and 64 cores, and what is measured is the pipeline: whether workers find work in time. The figure
//! of a case is its throughput over `n` times that of a plain loop that makes the same sleeps.

#![forbid(unsafe_code)]

mod automatic;
mod case;
mod format;
mod measure;
mod report;
mod slow_consumer;

use std::process::ExitCode;

use clap::Parser;

use atds_sched::Threads;
use case::Case;

/// Measure how much of 16 and 64 sleeping workers the pipeline uses
#[derive(Debug, Parser)]
#[command(name = "sleeping")]
struct Args {
    /// Numbers of threads
    #[arg(long, value_delimiter = ',', default_value = "16,64")]
    threads: Vec<usize>,
    /// Only cases whose name contains this text
    #[arg(long, default_value = "")]
    only: String,
    /// Seconds that a case takes at least
    #[arg(long, default_value_t = 0.8)]
    seconds: f64,
    /// Measure a case that is below its bound again, at most this many times: other programs may have
    /// kept the machine busy
    #[arg(long, default_value_t = 0)]
    again: usize,
    /// Fail if a case in order is below 0.9, or a shuffled one below 0.8, by more than the noise of a
    /// machine with other work: 5 %
    #[arg(long)]
    check: bool,
    /// Compare the automatic number of threads with fixed ones instead. `--threads` are the numbers of
    /// cores that it sees
    #[arg(long)]
    automatic: bool,
    /// Measure instead how much one worker does for a consumer that takes a batch every 10 ms
    #[arg(long)]
    slow_consumer: bool,
    /// Write the figures to this file, as JSON
    #[arg(long)]
    json: Option<std::path::PathBuf>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("sleeping: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<bool, Box<dyn std::error::Error>> {
    if args.slow_consumer {
        return slow_consumer::compare(args);
    }
    let cases = args.threads.iter().flat_map(|&threads| Case::all(threads));
    let cases: Vec<Case> = cases
        .filter(|case| case.name().contains(&args.only))
        .collect();
    if args.automatic {
        return automatic::compare(args, &cases);
    }
    println!("{}", report::HEAD);
    let mut figures = Vec::new();
    for case in cases {
        let mut figure = measure::measure(&case, args.seconds, Threads::Fixed(case.threads))?;
        for _ in 0..args.again {
            if figure.worth >= case.bound() {
                break;
            }
            println!("{} once more", report::line(&case, &figure));
            let next = measure::measure(&case, args.seconds, Threads::Fixed(case.threads))?;
            if next.worth > figure.worth {
                figure = next;
            }
        }
        println!("{}", report::line(&case, &figure));
        figures.push((case, figure));
    }
    let below = |share: f64| {
        let below = figures
            .iter()
            .filter(|(case, figure)| figure.worth < share * case.bound());
        below.count()
    };
    println!(
        "{} of {} cases are below their bound, {} by more than 5 %.",
        below(1.0),
        figures.len(),
        below(0.95)
    );
    if let Some(path) = &args.json {
        std::fs::write(path, report::json(&figures)?)?;
    }
    Ok(!args.check || below(0.95) == 0)
}
