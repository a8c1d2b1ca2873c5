//! Log records on standard error.

use atds::interface::Interface;
use log::{Level, LevelFilter, Log, Metadata, Record};

/// A logger that prints each warning and error as a line to standard error: `atds: warning: ...`.
/// Control characters are escaped, since a message can quote data.
#[derive(Clone, Copy, Debug, Default)]
pub struct StderrLogger;

impl StderrLogger {
    /// Makes this the logger of the process, unless another logger is installed.
    pub fn install() {
        if log::set_logger(&StderrLogger).is_ok() {
            log::set_max_level(LevelFilter::Warn);
        }
    }
}

impl Log for StderrLogger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Warn
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            eprintln!("{}", line(record));
        }
    }

    fn flush(&self) {}
}

fn line(record: &Record<'_>) -> String {
    let level = match record.level() {
        Level::Error => "error",
        _ => "warning",
    };
    let message = Interface::Command.message(record.args());
    format!("atds: {level}: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_without_control_characters() {
        let of = |level, text: &str| {
            line(
                &Record::builder()
                    .level(level)
                    .args(format_args!("{text}"))
                    .build(),
            )
        };
        assert_eq!(
            of(Level::Warn, "skipped 'größe\n\u{1b}[31m'"),
            r"atds: warning: skipped 'größe\n\u{1b}[31m'"
        );
        assert_eq!(
            of(Level::Error, "give a `reader_schema`"),
            "atds: error: give a --reader-schema"
        );
    }
}
