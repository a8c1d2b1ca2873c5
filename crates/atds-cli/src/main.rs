//! The `atds` command: makes, describes and reads Avro files through the facade `atds`.

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
mod options;
mod progress;
mod units;

use std::io::{BufWriter, Write, stdout};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Failure;

/// Avro files to shuffled batches of tensors, in one fused pass.
///
/// Exit codes: 0 if all went well, 1 if a file is at fault, 2 if the command line or the features
/// file is.
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

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = BufWriter::new(stdout().lock());
    let result = run(&cli.command, &mut out);
    // What was printed before an error stands before it.
    let flushed = out.flush().map_err(Failure::from);
    match result.and(flushed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report();
            failure.exit_code()
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
