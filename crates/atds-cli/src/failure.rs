//! Why a command ended early, how that is told, and the exit code it gives.
//!
//! Every message begins `atds: error: `. One about the command line itself ends with the usage,
//! whether clap found the fault or a subcommand did.

use std::error::Error;
use std::io;

use atds::ErrorKind;
use atds::generate::GenerateError;
use atds::interface::{Interface, printable};
use clap::CommandFactory;
use clap::error::ErrorKind as ClapKind;

use crate::Cli;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A file is at fault, or the system that keeps it.
    Data(Box<dyn Error>),
    /// What was asked for is.
    Usage(Box<dyn Error>),
    /// The command line is, in a way that clap does not see.
    CommandLine(String),
    /// Whoever read standard output has stopped to, as `head` does: no fault.
    ClosedPipe,
    /// A signal of this number came, and what was being written is removed.
    Signal(u8),
}

impl Failure {
    /// A command line in which arguments do not go together.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Failure::CommandLine(message.into())
    }

    /// Says on standard error what went wrong in a run of `subcommand`.
    pub(crate) fn report(&self, subcommand: &str) {
        if let Failure::CommandLine(message) = self {
            print_of_clap(&of_command_line(message, subcommand));
            return;
        }
        let (Failure::Data(error) | Failure::Usage(error)) = self else {
            return;
        };
        let mut said = Interface::Command.message(error);
        let hint = flags_of_others(&said, subcommand);
        eprintln!("atds: error: {said}{hint}");
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = Interface::Command.message(error);
            // Most errors say their cause themselves.
            if !said.contains(&text) {
                eprintln!("  caused by: {text}");
                said = text;
            }
            cause = error.source();
        }
    }

    /// What ended a run early.
    pub(crate) fn reason(&self) -> String {
        match self {
            Failure::Signal(number) => format!("signal {number}"),
            Failure::ClosedPipe => "closed standard output".to_owned(),
            Failure::Data(error) | Failure::Usage(error) => Interface::Command.message(error),
            Failure::CommandLine(message) => message.clone(),
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Data(_) => 1,
            Failure::Usage(_) | Failure::CommandLine(_) => 2,
            Failure::ClosedPipe => 0,
            // As shells have it.
            Failure::Signal(number) => 128 + number,
        }
    }
}

/// An error as clap makes them, with the usage of `subcommand`.
fn of_command_line(message: &str, subcommand: &str) -> clap::Error {
    let mut command = Cli::command();
    command.build();
    match command.find_subcommand_mut(subcommand) {
        Some(subcommand) => subcommand.error(ClapKind::ArgumentConflict, message),
        None => command.error(ClapKind::ArgumentConflict, message),
    }
}

/// Prints what clap has to say: help and the version, which it has as errors too, or an error.
pub(crate) fn print_of_clap(error: &clap::Error) {
    if !error.use_stderr() || error.kind() == ClapKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Where it cannot be printed, nobody is there to be told.
        let _ = error.print();
        return;
    }
    let text = error.render().to_string();
    // It quotes the command line.
    let lines: Vec<_> = text.lines().map(printable).collect();
    eprintln!("atds: {}", lines.join("\n"));
}

/// Says of flags in a message that the subcommand does not have which one has them.
fn flags_of_others(message: &str, subcommand: &str) -> String {
    let mut hint = String::new();
    let commands = Cli::command();
    let has = |name: &str, flag: &str| {
        let command = commands.find_subcommand(name);
        let mut arguments = command.into_iter().flat_map(clap::Command::get_arguments);
        arguments.any(|argument| argument.get_long() == Some(flag))
    };
    for word in message.split_whitespace() {
        let flag = word.trim_end_matches([',', ';', ':', '.', ')']);
        let flag = flag.trim_start_matches('(').strip_prefix("--");
        if let Some(flag) = flag
            && !has(subcommand, flag)
            && has("bench", flag)
        {
            hint += &format!(" (--{flag} is an option of atds bench)");
        }
    }
    hint
}

impl From<atds::Error> for Failure {
    fn from(error: atds::Error) -> Self {
        match error.kind {
            ErrorKind::Option { .. }
            | ErrorKind::Pattern(_)
            | ErrorKind::Scheme(_)
            | ErrorKind::Host { .. }
            | ErrorKind::ReadOnce { .. }
            | ErrorKind::Packed { .. }
            | ErrorKind::Feature(_)
            | ErrorKind::Features(_)
            | ErrorKind::MemoryLimit { .. } => Failure::Usage(error.into()),
            _ => Failure::Data(error.into()),
        }
    }
}

impl From<GenerateError> for Failure {
    fn from(error: GenerateError) -> Self {
        match error {
            GenerateError::FileCount { .. } => Failure::Usage(error.into()),
            _ => Failure::Data(error.into()),
        }
    }
}

/// Only writes to standard output give a plain [`io::Error`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::ClosedPipe
        } else {
            Failure::Data(format!("standard output: {error}").into())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn rust_files(folder: PathBuf) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let mut files = Vec::new();
        for path in entries.map(|entry| entry.path()) {
            if path.is_dir() {
                files.extend(rust_files(path));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
        files
    }

    /// What stands in backticks in texts of the libraries, comments aside.
    fn named_in_texts() -> Vec<(PathBuf, String)> {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let libraries = ["atds", "avro-block", "avro-decode", "tensor-batch"];
        let files = libraries.map(|name| rust_files(crates.join(name).join("src")));
        let mut named = Vec::new();
        for path in files.into_iter().flatten() {
            if path.ends_with("interface.rs") || path.iter().any(|part| part == "tests") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for line in text.lines() {
                let code = line.split_once("//").map_or(line, |(code, _)| code);
                let options = code.split('`').skip(1).step_by(2);
                // Of a type, and of a name that is filled in, no more is known.
                let options =
                    options.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()));
                named.extend(options.map(|name| (path.clone(), name.to_owned())));
            }
        }
        named
    }

    #[test]
    fn every_option_that_messages_name_is_one_of_the_command() {
        let commands = Cli::command();
        let is_flag = |flag: &str| {
            let all = commands.get_subcommands();
            all.flat_map(clap::Command::get_arguments)
                .any(|argument| argument.get_long() == Some(flag))
        };
        let named = named_in_texts();
        assert!(named.iter().any(|(_, name)| name == "shuffle_buffer_size"));
        for (path, name) in named {
            let shown = Interface::Command.message(format!("`{name}`"));
            let is_known = shown.starts_with('"')
                || shown
                    .strip_prefix("--")
                    .is_some_and(|flag| is_flag(flag.split(' ').next().unwrap_or(flag)));
            assert!(is_known, "{}: `{name}` would be {shown}", path.display());
        }
    }

    #[test]
    fn a_flag_of_another_command_is_said_to_be_one() {
        let hint = |message| flags_of_others(message, "inspect");
        assert_eq!(hint("raise --memory-limit, or -- --no-such-flag"), "");
        assert_eq!(
            hint("give a --reader-schema: it helps"),
            " (--reader-schema is an option of atds bench)"
        );
    }
}
