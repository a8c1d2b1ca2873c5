//! The `atds` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    atds_cli::StderrLogger::install();
    atds_cli::main_with(std::env::args_os()).into()
}
