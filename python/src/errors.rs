//! The facade's errors as Python exceptions of `atds.errors`.

use std::fmt::Display;
use std::io;
use std::path::Path;

use atds::error::Location;
use atds::features::{FeatureError, FeaturesError};
use atds::interface::Interface;
use atds::{Error, ErrorKind, avro};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A result of the facade with a Python exception in place of its error.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, Error> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| to_python(py, &error).unwrap_or_else(|failed| failed))
    }
}

/// The exception of an object that another process made.
#[cold]
pub(crate) fn fork_error(py: Python<'_>, what: &str) -> PyErr {
    let message = format!(
        "{what} was made before a fork, in the parent process, whose threads are not in this one: \
         make it in this process (iterate over the dataset again), or start worker processes with \
         the 'spawn' or 'forkserver' method"
    );
    plain(py, "ForkError", &message)
}

/// The exception of a thread that the system could not start.
#[cold]
pub(crate) fn thread_error(py: Python<'_>, error: io::Error) -> PyErr {
    let kind = ErrorKind::Thread(error.into());
    plain(py, class(&kind), &kind)
}

/// The exception of an invalid schema.
#[cold]
pub(crate) fn schema_error(py: Python<'_>, what: &str, error: &avro::schema::SchemaError) -> PyErr {
    plain(py, "SchemaError", &format!("{what}: {error}"))
}

/// The exception of invalid features.
#[cold]
pub(crate) fn features_error(py: Python<'_>, error: &FeaturesError) -> PyErr {
    plain(py, "FeatureError", error)
}

/// The exception of a table that cannot be read or written.
#[cold]
pub(crate) fn table_error(py: Python<'_>, file: &Path, error: &atds_btable::Error) -> PyErr {
    let raised = || {
        let place = PyDict::new(py);
        place.set_item("file", file.as_os_str())?;
        let (class, message) = match &error.kind {
            atds_btable::ErrorKind::Io(io) => {
                place.set_item("errno", io.raw_os_error())?;
                (io_class(io), format!("{}: {io}", file.display()))
            }
            _ => {
                place.set_item("offset", error.offset)?;
                place.set_item("record", error.row)?;
                ("DataError", format!("{}: {error}", file.display()))
            }
        };
        raise(py, class, &message, Some(&place))
    };
    raised().unwrap_or_else(|failed| failed)
}

/// The exception of a row that cannot be written.
#[cold]
pub(crate) fn row_error(
    py: Python<'_>,
    file: &Path,
    row: u64,
    field: Option<&str>,
    message: &str,
) -> PyErr {
    let raised = || {
        let place = PyDict::new(py);
        place.set_item("file", file.as_os_str())?;
        place.set_item("record", row)?;
        place.set_item("field", field)?;
        let field = field.map_or(String::new(), |field| format!(", field {field}"));
        let message = format!("{}: row {row}{field}: {message}", file.display());
        raise(py, "DataError", &message, Some(&place))
    };
    raised().unwrap_or_else(|failed| failed)
}

/// The exception of a features file that cannot be read.
#[cold]
pub(crate) fn features_file_error(py: Python<'_>, file: &Path, error: &FeaturesError) -> PyErr {
    match error {
        FeaturesError::Io(io) => of_features_file(py, file, io_class(io), error, io.raw_os_error()),
        _ => of_features_file(py, file, "FeatureError", error, None),
    }
}

/// The exception of features in a file that contradict each other.
#[cold]
pub(crate) fn feature_of_file_error(py: Python<'_>, file: &Path, error: &FeatureError) -> PyErr {
    of_features_file(py, file, "FeatureError", error, None)
}

fn of_features_file(
    py: Python<'_>,
    file: &Path,
    class: &str,
    error: &dyn Display,
    errno: Option<i32>,
) -> PyErr {
    let raised = || {
        let location = PyDict::new(py);
        location.set_item("file", file.as_os_str())?;
        if errno.is_some() {
            location.set_item("errno", errno)?;
        }
        let message = format!("{}: {error}", file.display());
        raise(py, class, &message, Some(&location))
    };
    raised().unwrap_or_else(|failed| failed)
}

/// The exception of a feature that is invalid for any schema.
#[cold]
pub(crate) fn feature_error(py: Python<'_>, error: &FeatureError) -> PyErr {
    plain(py, "FeatureError", error)
}

/// The exception of an option out of its range.
#[cold]
pub(crate) fn option_error(py: Python<'_>, message: &str) -> PyErr {
    plain(py, "OptionError", &message)
}

fn plain(py: Python<'_>, class: &str, message: &dyn Display) -> PyErr {
    raise(py, class, message, None).unwrap_or_else(|failed| failed)
}

#[cold]
fn to_python(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let location = PyDict::new(py);
    let at = &error.place;
    location.set_item("file", at.location.as_ref().map(Location::as_os_str))?;
    location.set_item("offset", at.offset)?;
    location.set_item("decompressed_offset", at.decompressed_offset)?;
    location.set_item("block", at.block)?;
    location.set_item("record", at.record)?;
    location.set_item("field", at.field.as_deref())?;
    location.set_item("fingerprint", at.schema)?;
    if let ErrorKind::Io(error) = &error.kind {
        location.set_item("errno", error.raw_os_error())?;
    }
    let message: &dyn Display = match &error.kind {
        ErrorKind::State(mismatch) if mismatch.is_of_others() => {
            &format!("{error} (atds.merge_states)")
        }
        _ => error,
    };
    raise(py, class(&error.kind), message, Some(&location))
}

/// The class in `atds.errors` for a kind of error.
fn class(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Io(error) => io_class(error),
        ErrorKind::Thread(_) => "ThreadError",
        ErrorKind::NoFiles | ErrorKind::NothingFound(_) | ErrorKind::NotExpanded(_) => {
            "MissingFileError"
        }
        ErrorKind::Pattern(_)
        | ErrorKind::Scheme(_)
        | ErrorKind::Host { .. }
        | ErrorKind::Packed { .. }
        | ErrorKind::Option { .. }
        | ErrorKind::Split(_)
        | ErrorKind::BlockNotSplit { .. } => "OptionError",
        ErrorKind::ReadOnce { .. } => "ReadOnceError",
        ErrorKind::State(_) | ErrorKind::Merge(_) => "StateError",
        ErrorKind::MemoryLimit { .. }
        | ErrorKind::InspectMemory { .. }
        | ErrorKind::BatchTooLarge { .. } => "MemoryLimitError",
        ErrorKind::Feature(_) | ErrorKind::Features(_) => "FeatureError",
        kind if kind.is_of_features() => "FeatureError",
        ErrorKind::Avro(kind) => avro_class(kind),
        ErrorKind::BTable(kind) => match **kind {
            atds::btable::ErrorKind::Feature { .. } => "FeatureError",
            _ => "DataError",
        },
        _ => "DataError",
    }
}

/// The class for a kind of error that only Avro has.
fn avro_class(kind: &avro::ErrorKind) -> &'static str {
    match kind {
        avro::ErrorKind::Plan(_)
        | avro::ErrorKind::MissingField { .. }
        | avro::ErrorKind::NoFeatures { .. }
        | avro::ErrorKind::TooManyFields { .. } => "FeatureError",
        avro::ErrorKind::Schema(_)
        | avro::ErrorKind::Resolve(_)
        | avro::ErrorKind::UnknownSchema { .. }
        | avro::ErrorKind::SameFingerprint => "SchemaError",
        _ => "DataError",
    }
}

fn io_class(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "MissingFileError",
        _ => "FileError",
    }
}

/// An exception of a class in `atds.errors`. Its message has the Python names of options.
fn raise(
    py: Python<'_>,
    class: &str,
    message: &dyn Display,
    location: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyErr> {
    let class = py.import("atds.errors")?.getattr(class)?;
    let error = class.call((Interface::Python.message(message),), location)?;
    Ok(PyErr::from_value(error))
}

/// A text that is no state of an iteration.
#[cold]
pub(crate) fn state_error(py: Python<'_>, error: &dyn Display) -> PyErr {
    let message = format!("this is no state of an iteration: {error}");
    raise(py, "StateError", &message, None).unwrap_or_else(|error| error)
}

/// The exception of a bug in this library.
#[cold]
pub(crate) fn fault(message: &str) -> PyErr {
    PyRuntimeError::new_err(message.to_owned())
}
