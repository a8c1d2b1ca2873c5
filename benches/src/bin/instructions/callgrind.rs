//! Counts the instructions of a process.

use std::fs;
use std::io;
use std::process::{Command, Stdio};

use crate::Result;
use crate::workloads::COUNTED;

/// The version of valgrind.
pub(crate) fn version() -> Result<String> {
    let output = Command::new("valgrind").arg("--version").output();
    let output = output.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "valgrind is missing: install the package 'valgrind'".into(),
        _ => format!("valgrind: {error}"),
    })?;
    let version = String::from_utf8(output.stdout)?;
    Ok(version.trim().trim_start_matches("valgrind-").to_owned())
}

/// The number of instructions of a workload.
pub(crate) fn count(workload: &str) -> Result<u64> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("callgrind.out");
    let status = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--toggle-collect=*{COUNTED}*"))
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe()?)
        .args(["run", workload])
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("{workload}: {status}").into());
    }
    total(&fs::read_to_string(out)?).ok_or_else(|| format!("{workload}: no count").into())
}

/// The total in a file of callgrind.
fn total(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("totals:"))?;
    line.trim().parse().ok().filter(|count| *count > 0)
}
