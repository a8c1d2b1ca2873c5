//! Counts the instructions of small fixed workloads with valgrind's callgrind, and compares them with
//! the last record. Counts hardly differ from run to run. See `make instructions` and `--help`.

#![forbid(unsafe_code)]

mod callgrind;
mod record;
mod workloads;

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use record::Record;
use workloads::{RECORDS, WORKLOADS};

/// Any error; it ends the program.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Count the instructions of small fixed workloads, and print the change since the last record
#[derive(Debug, Parser)]
#[command(name = "instructions")]
struct Args {
    /// Write benches/record/instructions.json, for later comparisons
    #[arg(long)]
    write: bool,
    #[command(subcommand)]
    own: Option<Own>,
}

/// The work of a process that this program starts.
#[derive(Debug, Subcommand)]
#[command(hide = true)]
enum Own {
    /// Runs a workload, to be counted.
    Run { workload: String },
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<()> {
    if let Some(Own::Run { workload }) = args.own {
        return workloads::run(&workload);
    }
    let valgrind = callgrind::version()?;
    let last = Record::last()?;
    let mut counts = Vec::new();
    println!("Instructions per record, and the change since benches/record/instructions.json:");
    for workload in &WORKLOADS {
        let count = callgrind::count(workload.name)?;
        let per_record = count as f64 / RECORDS as f64;
        let change = last
            .as_ref()
            .and_then(|last| last.change(workload.name, count));
        let change = change.map_or("new".to_owned(), |change| format!("{change:+.2} %"));
        println!(
            "{:<10} {per_record:>9.1} {change:>9}  {}",
            workload.name, workload.about
        );
        counts.push((workload, count));
    }
    if args.write {
        let path = Record::new(&valgrind, &counts)?.write()?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}
