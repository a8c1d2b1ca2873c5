//! Failures of a command: their messages and exit codes.
//!
//! Every message begins with `atds: error: `. A message about the command line ends with the usage,
//! for errors of clap and of subcommands alike.

use std::error::Error;
use std::io;

use atds::ErrorKind;
use atds::interface::{Interface, printable};
use atds_generate::{GenerateError, GenerateErrorKind};
use clap::CommandFactory;
use clap::error::ErrorKind as ClapKind;

use crate::Cli;

/// The reason why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A data file is faulty, or the system cannot read or write it.
    Data(Box<dyn Error>),
    /// An option, a features file or a reader schema is faulty.
    Usage(Box<dyn Error>),
    /// The command line is faulty, in a way that clap does not check.
    CommandLine(String),
    /// The reader of standard output closed it, as `head` does. This is no fault.
    ClosedPipe,
    /// A signal of this number came. Incomplete files are removed.
    Signal(u8),
}

impl Failure {
    /// A failure for arguments that conflict.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Failure::CommandLine(message.into())
    }

    /// Prints the failure of a run of `subcommand` to standard error.
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
            // Most messages already contain the cause.
            if !said.contains(&text) {
                eprintln!("  caused by: {text}");
                said = text;
            }
            cause = error.source();
        }
    }

    /// The reason why a run ended early, as text.
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
            // The convention of shells.
            Failure::Signal(number) => 128 + number,
        }
    }
}

/// An error in clap's form, with the usage of `subcommand`.
fn of_command_line(message: &str, subcommand: &str) -> clap::Error {
    let mut command = Cli::command();
    command.build();
    match command.find_subcommand_mut(subcommand) {
        Some(subcommand) => subcommand.error(ClapKind::ArgumentConflict, message),
        None => command.error(ClapKind::ArgumentConflict, message),
    }
}

/// Prints an error of clap. The help and the version are such errors too.
pub(crate) fn print_of_clap(error: &clap::Error) {
    if !error.use_stderr() || error.kind() == ClapKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // If standard error is closed, the message has no reader.
        let _ = error.print();
        return;
    }
    let text = error.render().to_string();
    // The message quotes the command line, so it is escaped.
    let lines: Vec<_> = text.lines().map(printable).collect();
    eprintln!("atds: {}", lines.join("\n"));
}

/// A hint for flags in a message that another subcommand has.
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
        match &error.kind {
            ErrorKind::Option { .. }
            | ErrorKind::Split(_)
            | ErrorKind::Pattern(_)
            | ErrorKind::Scheme(_)
            | ErrorKind::Host { .. }
            | ErrorKind::ReadOnce { .. }
            | ErrorKind::Packed { .. }
            | ErrorKind::Feature(_)
            | ErrorKind::Features(_)
            | ErrorKind::MemoryLimit { .. } => Failure::Usage(error.into()),
            ErrorKind::Convert(kind) if kind.is_of_options() => Failure::Usage(error.into()),
            _ => Failure::Data(error.into()),
        }
    }
}

impl From<GenerateError> for Failure {
    fn from(error: GenerateError) -> Self {
        match error.kind {
            GenerateErrorKind::FileCount { .. } => Failure::Usage(error.into()),
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

    /// The texts in backticks in the sources of the libraries, without comments.
    fn named_in_texts() -> Vec<(PathBuf, String)> {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let libraries = [
            "atds",
            "avro-block",
            "codec",
            "avro-decode",
            "generate",
            "tensor-batch",
        ];
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
        // The command has no ranks, which could be uneven or have files, and a command line is no option.
        let of_ranks = |name: &str| name == "uneven" || name.starts_with("shard_by");
        let is_option = |name: &str| !of_ranks(name) && !name.contains(' ');
        for (path, name) in named.into_iter().filter(|(_, name)| is_option(name)) {
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
