//! Checks whether the pipeline keeps its bounds, which are ratios to simpler programs, measured in turn
//! in one process. See `make ratios` and `--help`.

#![forbid(unsafe_code)]

mod comparisons;
mod data;
mod measure;
mod pipeline;
mod record;
mod row;
mod table;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use atds_benches::machine::Machine;
use clap::{ArgAction, Parser, Subcommand};

use comparisons::{COMPARISONS, memory};
use data::Data;
use measure::{Effort, Epoch, Times, in_turn};
use row::Row;

/// Any error; it ends the program.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Measure whether atds keeps its bounds, and print a table of ratios
///
/// The exit code is 1 if a bound does not hold.
#[derive(Debug, Parser)]
#[command(name = "ratios", after_help = after_help())]
struct Args {
    /// Only the comparison of this name; can be repeated [default: all]
    #[arg(long, value_name = "NAME", value_parser = comparisons::names())]
    only: Vec<String>,
    /// Minimum number of rounds, in each of which every side of a comparison runs one epoch
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    epochs: u16,
    /// Minimum seconds of rounds
    #[arg(long, value_name = "S", default_value_t = 15)]
    seconds: u16,
    /// Maximum number of extensions by the same time, while a ratio is within two standard errors
    /// of its bound
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    most_times: u32,
    /// Folder for the sample files, which are kept and reused [default: a temporary folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Write benches/record/DATE-NAME.md and .json
    #[arg(long)]
    write: bool,
    /// Name of the record, after its date
    #[arg(long, value_name = "NAME", default_value = "ratios")]
    name: String,
    #[command(subcommand)]
    own: Option<Own>,
}

/// The work of a process that this program starts.
#[derive(Debug, Subcommand)]
#[command(hide = true)]
enum Own {
    /// Measures the memory of this process.
    #[command(name = memory::MEASURE_MEMORY, hide = true)]
    MeasureMemory {
        folder: PathBuf,
        #[arg(action = ArgAction::Set)]
        mapped: bool,
    },
}

fn after_help() -> String {
    let lines = COMPARISONS
        .iter()
        .map(|comparison| format!("  {:<10} {}\n", comparison.name, comparison.about));
    format!("Comparisons:\n{}", lines.collect::<String>())
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ratios: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all bounds hold.
fn run(args: &Args) -> Result<bool> {
    if let Some(Own::MeasureMemory { folder, mapped }) = &args.own {
        memory::measure_own(folder, *mapped)?;
        return Ok(true);
    }
    let machine = Machine::describe()?;
    if machine.is_busy() {
        eprintln!("ratios: this machine is busy with other work; the figures are not reliable");
    }
    let lab = Lab {
        effort: Effort {
            rounds: args.epochs.into(),
            time: Duration::from_secs(args.seconds.into()),
            most_times: args.most_times,
        },
        data: Data::new(args.data.clone())?,
    };
    let mut rows: Vec<Row> = Vec::new();
    for comparison in &COMPARISONS {
        if args.only.is_empty() || args.only.iter().any(|name| name == comparison.name) {
            eprintln!("{}: {}", comparison.name, comparison.about);
            let new = (comparison.measure)(&lab)?;
            rows.extend(new.into_iter().map(|row| row.under(comparison.name)));
        }
    }
    print!("{}", table::markdown(&rows));
    if args.write {
        for path in record::write(&machine, lab.effort, &args.name, &rows)? {
            eprintln!("wrote {}", path.display());
        }
    }
    Ok(rows.iter().all(Row::holds))
}

/// The context of a comparison.
#[derive(Debug)]
struct Lab {
    effort: Effort,
    data: Data,
}

impl Lab {
    /// Measures `sides` in turn. Stops when all `rows` are clearly above or below their bounds, or
    /// when the time is over.
    fn rows<const N: usize>(
        &self,
        sides: [Epoch<'_>; N],
        rows: impl Fn(&[Times; N]) -> Vec<Row>,
    ) -> Result<Vec<Row>> {
        self.rows_of_all(sides.into(), |times| {
            rows(times.try_into().expect("times for each side"))
        })
    }

    /// As [`rows`](Self::rows), for any number of sides.
    fn rows_of_all(
        &self,
        sides: Vec<Epoch<'_>>,
        rows: impl Fn(&[Times]) -> Vec<Row>,
    ) -> Result<Vec<Row>> {
        let are_clear = |times: &[Times]| rows(times).iter().all(Row::is_clear);
        Ok(rows(&in_turn(self.effort, sides, are_clear)?))
    }
}
