//! Describes the conditions of a measurement: its date and versions.

use std::error::Error;
use std::process::Command;

/// Any error of this module.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The commit, with a mark if files differ from it, and the version of the compiler.
///
/// # Errors
///
/// If git or the compiler cannot be run.
pub fn commit_and_rustc() -> Result<(String, String)> {
    let mut commit = output("git", &["-C", REPOSITORY, "rev-parse", "--short", "HEAD"])?;
    let changed = [
        "-C",
        REPOSITORY,
        "status",
        "--porcelain",
        "--",
        "crates",
        "benches/src",
        "Cargo.toml",
        "Cargo.lock",
    ];
    if !output("git", &changed)?.is_empty() {
        commit.push_str(" with changes");
    }
    let rustc = output("rustc", &["--version"])?;
    let rustc = rustc.split_whitespace().nth(1).unwrap_or(&rustc).to_owned();
    Ok((commit, rustc))
}

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Today's date in UTC.
///
/// # Errors
///
/// If the date cannot be determined.
pub fn today() -> Result<String> {
    output("date", &["-u", "+%F"])
}

fn output(command: &str, args: &[&str]) -> Result<String> {
    let done = Command::new(command).args(args).output()?;
    if !done.status.success() {
        return Err(format!("{command}: {}", String::from_utf8_lossy(&done.stderr)).into());
    }
    Ok(String::from_utf8(done.stdout)?.trim().to_owned())
}
