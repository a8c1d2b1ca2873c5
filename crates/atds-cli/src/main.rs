//! The `atds` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: atds_cli::Allocator = atds_cli::Allocator;

fn main() -> ExitCode {
    atds_cli::StderrLogger::install();
    atds_cli::main_with(std::env::args_os()).into()
}
