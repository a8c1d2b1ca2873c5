//! The `atds` command inside the package.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::logging;

/// Runs the command line `argv` and returns its exit code. The first argument is the name of the
/// program.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, argv: Vec<OsString>) -> u8 {
    // Warnings go to standard error, as errors do.
    let _to_stderr = logging::ToStderr::begin();
    py.detach(|| atds_cli::main_with(argv))
}
