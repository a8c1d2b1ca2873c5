//! The `atds` command: makes, describes and reads Avro files through the facade `atds`.
//!
//! A library, so that the command can be part of another program; the binary is
//! [`main_with`], with a [`StderrLogger`] for warnings.

#![forbid(unsafe_code)]

mod bench;
mod demo;
mod example;
mod failure;
mod figures;
mod generate;
mod head;
mod inputs;
mod inspect;
mod json_text;
mod lenience;
mod logging;
mod options;
mod progress;
mod signals;
mod units;

use std::ffi::OsString;
use std::io::{BufWriter, Write, stdout};

use clap::{Parser, Subcommand};

use failure::Failure;

pub use logging::StderrLogger;

/// Avro files to shuffled batches of tensors, in one fused pass.
///
/// Exit codes: 0 if all went well, 1 if a file is at fault, 2 if the command line or the features
/// file is, 128 and the signal's number where generate or demo was stopped by one.
#[derive(Debug, Parser)]
#[command(name = "atds", version, max_term_width = 100)]
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
    Bench(bench::Args),
}

/// Runs the command line `args`, the first of which is the program's name, and
/// gives its exit code.
pub fn main_with(args: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and the version are errors to clap, with the exit code 0. Where they cannot be
            // printed, nobody is there to be told.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(1);
        }
    };
    let mut out = BufWriter::new(stdout().lock());
    let result = run(&cli.command, &mut out);
    // What was printed before an error stands before it.
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
        }
    }
}

fn run(command: &Command, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        Command::Demo(args) => demo::run(args, out),
        Command::Generate(args) => generate::run(args, out),
        Command::Inspect(args) => inspect::run(args, out),
        Command::Head(args) => head::run(args, out),
        Command::Bench(args) => bench::run(args, out),
    }
}
