//! The `atds` command: makes, describes, reads, verifies and converts row files, and repairs Avro
//! files, through the
//! facade `atds`.
//!
//! The command is a library, so that other programs can contain it. The binary calls [`main_with`]
//! with a [`StderrLogger`] for warnings.

#![deny(unsafe_code)]

#[cfg(target_os = "linux")]
mod allocator;
mod bench;
mod completions;
mod convert;
mod damage;
mod demo;
mod example;
mod failure;
mod figures;
mod generate;
mod head;
mod index;
mod inputs;
mod inspect;
mod json_text;
mod lenience;
mod logging;
mod man;
mod on_error;
mod options;
mod progress;
mod repair;
mod shuffle_report;
mod signals;
mod split;
mod totals;
mod trace;
mod units;
mod verify;
mod waits;

use std::ffi::OsString;
use std::io::{BufWriter, Write, stdout};

use clap::{Parser, Subcommand};

use failure::Failure;
use waits::Waits;

#[cfg(target_os = "linux")]
pub use allocator::Allocator;
pub use logging::StderrLogger;

/// Read Avro, TFRecord and BTable files to shuffled batches of tensors, in one fused pass.
///
/// A file argument of `-` is standard input. Sizes are bytes, plain or in kB, MB, GB (of 1,000) or
/// KiB, MiB, GiB (of 1,024). Errors, warnings and the progress bar go to standard error. On SIGUSR1
/// it prints to standard error what each thread does or waits for, and goes on.
#[derive(Debug, Parser)]
#[command(name = "atds", version, max_term_width = 100, after_long_help = exit_codes())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Generate(generate::Args),
    Inspect(inspect::Args),
    Head(head::Args),
    Bench(Box<bench::Args>),
    Verify(verify::Args),
    Repair(repair::Args),
    Convert(convert::Args),
    Index(index::Args),
    ShuffleReport(shuffle_report::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Exit codes of the command, and their meanings.
const EXIT_CODES: [(&str, &str); 4] = [
    (
        "0",
        "all went well, or the reader of standard output closed it",
    ),
    ("1", "a data file is damaged or cannot be read"),
    (
        "2",
        "the command line, the features file or the reader schema is invalid",
    ),
    (
        "128 + N",
        "signal N stopped it: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP",
    ),
];

/// The exit codes as a part of the help.
fn exit_codes() -> String {
    let mut text = "Exit codes:".to_owned();
    for (codes, meaning) in EXIT_CODES {
        text += &format!("\n  {codes:<7}  {meaning}");
    }
    text
}

/// Runs the command line `args` and returns its exit code. The first argument is the name of the
/// program.
pub fn main_with(args: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            failure::print_of_clap(&error);
            return u8::try_from(error.exit_code()).unwrap_or(1);
        }
    };
    let mut out = BufWriter::new(stdout().lock());
    let result = run(&cli.command, &mut out);
    // The output before an error is printed before the error.
    let flushed = out.flush().map_err(Failure::from);
    match result.and(flushed) {
        Ok(()) => 0,
        Err(failure) => {
            failure.report(cli.command.name());
            failure.exit_code()
        }
    }
}

impl Command {
    /// The subcommand's name.
    fn name(&self) -> &'static str {
        match self {
            Command::Demo(_) => "demo",
            Command::Generate(_) => "generate",
            Command::Inspect(_) => "inspect",
            Command::Head(_) => "head",
            Command::Bench(_) => "bench",
            Command::Verify(_) => "verify",
            Command::Repair(_) => "repair",
            Command::Convert(_) => "convert",
            Command::Index(_) => "index",
            Command::ShuffleReport(_) => "shuffle-report",
            Command::Completions(_) => "completions",
            Command::Man(_) => "man",
        }
    }
}

fn run(command: &Command, out: &mut dyn Write) -> Result<(), Failure> {
    let waits = Waits::on_signal()?;
    match command {
        Command::Demo(args) => demo::run(args, &waits, out),
        Command::Generate(args) => generate::run(args, out),
        Command::Inspect(args) => inspect::run(args, out),
        Command::Head(args) => head::run(args, &waits, out),
        Command::Bench(args) => bench::run(args, &waits, out),
        Command::Verify(args) => verify::run(args, out),
        Command::Repair(args) => repair::run(args, out),
        Command::Convert(args) => convert::run(args, out),
        Command::Index(args) => index::run(args, out),
        Command::ShuffleReport(args) => shuffle_report::run(args, &waits, out),
        Command::Completions(args) => completions::run(args, out),
        Command::Man(args) => man::run(args, out),
    }
}
