//! The output and the exit codes of the command.

#![allow(clippy::unwrap_used)]

mod bench;
#[cfg(target_os = "linux")]
mod cgroup;
mod convert;
mod data;
mod demo;
mod escapes;
mod faults;
mod formats;
mod generate;
mod head;
mod help;
mod hostile;
mod index;
mod inspect;
mod lenience;
mod shell;
mod shuffle_report;
#[cfg(unix)]
mod signals;
mod trace;
mod verify;
#[cfg(target_os = "linux")]
mod waits;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The subcommands.
const COMMANDS: [&str; 12] = [
    "demo",
    "generate",
    "inspect",
    "head",
    "bench",
    "verify",
    "repair",
    "convert",
    "index",
    "shuffle-report",
    "completions",
    "man",
];

/// The result of a run of the command.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    fn new(output: Output) -> Self {
        Ran {
            code: output.status.code().expect("no signal ended it"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The standard output of a run that succeeded without messages.
    #[track_caller]
    fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""));
        self.out
    }

    #[track_caller]
    fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// The only line that a failed run printed to standard error.
    #[track_caller]
    fn fails_with(self, code: i32) -> String {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{}", self.err);
        let message = self.err.strip_prefix("atds: error: ").unwrap();
        let message = message.strip_suffix('\n').unwrap();
        assert!(!message.contains('\n'), "{message}");
        message.to_owned()
    }
}

/// The message of a usage error that a subcommand finds. It has the form of clap's own errors.
#[track_caller]
fn misused(args: &[&str]) -> String {
    let ran = atds(args);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    let message = ran.err.strip_prefix("atds: error: ").unwrap();
    let (message, usage) = message.split_once("\n\n").unwrap();
    assert!(
        usage.starts_with(&format!("Usage: atds {} ", args[0])),
        "{usage}"
    );
    assert!(
        usage.ends_with("\n\nFor more information, try '--help'.\n"),
        "{usage}"
    );
    message.to_owned()
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atds"));
    command.args(args).stdin(Stdio::null());
    command
}

fn atds(args: &[&str]) -> Ran {
    Ran::new(command(args).output().unwrap())
}

/// A folder of generated files, removed when dropped.
struct Generated {
    dir: TempDir,
}

impl Generated {
    fn new(args: &[&str]) -> Self {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("files");
        let all = [&["generate", path.to_str().unwrap()], args].concat();
        atds(&all).ok();
        Generated { dir }
    }

    /// The folder of the files.
    fn files(&self) -> String {
        text(&self.dir.path().join("files"))
    }

    fn file(&self, i: usize) -> String {
        text(&self.dir.path().join(format!("files/part-{i:05}.avro")))
    }

    /// Writes a file beside the folder and returns its path.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        write(self.dir.path(), name, content)
    }
}

fn write(dir: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = dir.join(name);
    std::fs::write(&path, content).unwrap();
    text(&path)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// A file that another library wrote.
fn testdata(name: &str) -> String {
    text(
        &PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../testdata")
            .join(name),
    )
}
