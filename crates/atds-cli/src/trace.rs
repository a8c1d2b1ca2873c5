//! The option `--trace`.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use atds::DatasetBuilder;
use atds::stats::Trace;

use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct TraceArgs {
    /// Write what each thread did when to this file, as a trace for https://ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

/// The trace of a command, if it writes one.
pub(crate) struct CommandTrace<'a>(Option<(&'a Path, Trace)>);

impl TraceArgs {
    /// Creates the file.
    pub(crate) fn open(&self) -> Result<CommandTrace<'_>, Failure> {
        let Some(path) = self.trace.as_deref() else {
            return Ok(CommandTrace(None));
        };
        if path == Path::new("-") {
            let message = "--trace needs a file: the figures are in standard output";
            return Err(Failure::conflict(message));
        }
        check_replaceable(path)?;
        let file = File::create(path).map_err(|error| fault(path, &error))?;
        Ok(CommandTrace(Some((path, Trace::new(file)))))
    }
}

impl CommandTrace<'_> {
    pub(crate) fn apply(&self, builder: DatasetBuilder) -> DatasetBuilder {
        match &self.0 {
            Some((_, trace)) => builder.trace(trace.clone()),
            None => builder,
        }
    }

    /// Writes the end of the trace. A failure if a part of it could not be written.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self.0 {
            Some((path, trace)) => trace.finish().map_err(|error| fault(path, &error)),
            None => Ok(()),
        }
    }
}

/// A failure if the file is something else than a trace, such as one of the data files.
fn check_replaceable(path: &Path) -> Result<(), Failure> {
    let mut first = [b'['];
    if path.is_file() {
        let opened = File::open(path).and_then(|mut file| file.read(&mut first));
        opened.map_err(|error| fault(path, &error))?;
    }
    match first {
        [b'['] => Ok(()),
        _ => Err(Failure::conflict(format!(
            "--trace does not replace {}, which is no trace",
            path.display()
        ))),
    }
}

fn fault(path: &Path, error: &io::Error) -> Failure {
    Failure::Data(format!("trace {}: {error}", path.display()).into())
}
