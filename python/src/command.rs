//! The `atds` command inside the package.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::logging;

/// Runs the command line `argv`, the first of which is the program's name, and
/// gives its exit code.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, argv: Vec<OsString>) -> u8 {
    // Its warnings stand on standard error, beside its errors.
    let _to_stderr = logging::ToStderr::begin();
    py.detach(|| atds_cli::main_with(argv))
}
