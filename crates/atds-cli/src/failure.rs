//! Why a command ended early, and the exit code it gives.

use std::error::Error;
use std::io;

use atds::ErrorKind;
use atds::generate::GenerateError;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A file is at fault, or the system that keeps it.
    Data(Box<dyn Error>),
    /// What was asked for is.
    Usage(Box<dyn Error>),
    /// Whoever read standard output has stopped to, as `head` does: no fault.
    ClosedPipe,
}

impl Failure {
    /// Says on standard error what went wrong.
    pub(crate) fn report(&self) {
        let (Failure::Data(error) | Failure::Usage(error)) = self else {
            return;
        };
        eprintln!("atds: error: {error}");
        let mut cause = error.source();
        while let Some(error) = cause {
            eprintln!("  caused by: {error}");
            cause = error.source();
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Data(_) => 1,
            Failure::Usage(_) => 2,
            Failure::ClosedPipe => 0,
        }
    }
}

impl From<atds::Error> for Failure {
    fn from(error: atds::Error) -> Self {
        match error.kind {
            ErrorKind::Option { .. }
            | ErrorKind::Pattern(_)
            | ErrorKind::Scheme(_)
            | ErrorKind::Host(_)
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
