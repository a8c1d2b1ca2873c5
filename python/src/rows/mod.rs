//! Rows that Python writes to files of Avro and TFRecord.

mod avro;
mod example;
mod misfit;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use atds::write::{AvroFile, AvroOptions, Compression, TfRecordFile};
use atds::{Codec, Error, FileFormat};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{OrRaise, row_error};
use crate::fork::InProcess;
use crate::waiting::check_signals;
use avro::AvroRows;
use example::ExampleRows;
use misfit::Fault;

const WHAT: &str = "this writer of rows";

/// Rows are written when they have so many bytes or are so many, and signals are then handled.
const PART_BYTES: usize = 1 << 18;
const PART_ROWS: usize = 4096;

/// Writes rows to a new file, which gets its name by `finish`.
#[pyclass(frozen, module = "atds._native")]
pub(crate) struct RowWriter {
    path: PathBuf,
    /// `None` after `finish` and `abort`. A forked child must not remove the file of its parent.
    writing: InProcess<Mutex<Option<Writing>>>,
}

/// A file and what encodes its rows.
enum Writing {
    Avro(Box<AvroFile>, AvroRows),
    TfRecord(Box<TfRecordFile>, ExampleRows),
}

#[pymethods]
impl RowWriter {
    /// A writer of Avro. `codec` is the name of one.
    #[staticmethod]
    fn avro(
        py: Python<'_>,
        path: PathBuf,
        schema: &str,
        codec: &str,
        level: Option<i32>,
        block_bytes: usize,
        metadata: Vec<(String, Vec<u8>)>,
    ) -> PyResult<Self> {
        let mut options = AvroOptions::default();
        options.codec = Codec::from_name(codec).ok_or_else(|| PyValueError::new_err("codec"))?;
        options.level = level;
        options.block_bytes = block_bytes;
        options.metadata = metadata;
        let file = py.detach(|| AvroFile::create(&path, schema, &options));
        let file = file.or_raise(py)?;
        let rows = AvroRows::new(py, file.schema())?;
        Ok(Self::new(path, Writing::Avro(Box::new(file), rows)))
    }

    /// A writer of TFRecord. `kinds` has the names of the kinds of keys, `kinds_of_lists` those of feature
    /// lists; if it is `None`, the first row that has a key gives its kind.
    #[staticmethod]
    fn tfrecord(
        py: Python<'_>,
        path: PathBuf,
        kinds: Option<Vec<(String, String)>>,
        kinds_of_lists: Option<Vec<(String, String)>>,
        compression: &str,
        level: u32,
    ) -> PyResult<Self> {
        let rows = ExampleRows::new(py, kinds, kinds_of_lists)?;
        let compression = match compression {
            "none" => Compression::None,
            "gzip" => Compression::Gzip,
            "zlib" => Compression::Zlib,
            other => return Err(PyValueError::new_err(other.to_owned())),
        };
        let file = py.detach(|| TfRecordFile::create_compressed(&path, compression, level));
        let file = Box::new(file.or_raise(py)?);
        Ok(Self::new(path, Writing::TfRecord(file, rows)))
    }

    /// Writes the rows of an iterable.
    fn write(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        // No lock is held while Python code runs.
        let mut writing = self.take(py)?.ok_or_else(closed)?;
        let written = self.write_rows(py, &mut writing, rows);
        *lock(self.writing.get(py, WHAT)?) = Some(writing);
        written
    }

    /// Completes the file, and returns the number of rows.
    fn finish(&self, py: Python<'_>) -> PyResult<u64> {
        let writing = self.take(py)?.ok_or_else(closed)?;
        let finished = py.detach(move || match writing {
            Writing::Avro(file, _) => file.finish(),
            Writing::TfRecord(file, _) => file.finish(),
        });
        finished.or_raise(py)
    }

    /// Removes what was written; does nothing after `finish`.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.take(py).map(drop)
    }
}

impl RowWriter {
    fn new(path: PathBuf, writing: Writing) -> Self {
        RowWriter {
            path,
            writing: InProcess::new(Mutex::new(Some(writing))),
        }
    }

    fn take(&self, py: Python<'_>) -> PyResult<Option<Writing>> {
        Ok(lock(self.writing.get(py, WHAT)?).take())
    }

    fn write_rows(
        &self,
        py: Python<'_>,
        writing: &mut Writing,
        rows: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let mut part = Part::default();
        for row in rows.try_iter()? {
            let row = row?;
            if let Err(fault) = writing.encode(&row, &mut part.bytes) {
                let number = writing.records() + part.ends.len() as u64;
                return Err(self.raise(py, number, fault));
            }
            part.ends.push(part.bytes.len());
            if part.bytes.len() >= PART_BYTES || part.ends.len() >= PART_ROWS {
                py.detach(|| writing.append(&mut part)).or_raise(py)?;
                check_signals(py)?;
            }
        }
        py.detach(|| writing.append(&mut part)).or_raise(py)
    }

    #[cold]
    fn raise(&self, py: Python<'_>, row: u64, fault: Fault) -> PyErr {
        match fault {
            Fault::Raised(error) => error,
            Fault::Misfit(misfit) => row_error(
                py,
                &self.path,
                row,
                misfit.field.as_deref(),
                &misfit.message,
            ),
        }
    }
}

/// Encoded rows end to end, and their ends.
#[derive(Default)]
struct Part {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Writing {
    fn encode(&mut self, row: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> Result<(), Fault> {
        match self {
            Writing::Avro(file, rows) => rows.encode(file.schema(), row, out),
            Writing::TfRecord(_, rows) => rows.encode(row, out),
        }
    }

    fn append(&mut self, part: &mut Part) -> Result<(), Error> {
        let mut start = 0;
        for &end in &part.ends {
            let row = &part.bytes[start..end];
            match self {
                Writing::Avro(file, _) => file.append(row),
                Writing::TfRecord(file, _) => file.write(row),
            }?;
            start = end;
        }
        part.bytes.clear();
        part.ends.clear();
        Ok(())
    }

    fn records(&self) -> u64 {
        match self {
            Writing::Avro(file, _) => file.records(),
            Writing::TfRecord(file, _) => file.records(),
        }
    }
}

/// The format that the name of a file tells, if it tells one.
#[pyfunction]
pub(crate) fn format_of_name(path: PathBuf) -> Option<&'static str> {
    FileFormat::of_name(Path::new(&path)).map(FileFormat::name)
}

/// The levels of an Avro codec, if it has some.
///
/// # Errors
/// There is no codec of this name, or none is compiled in; the message says which there are.
#[pyfunction]
pub(crate) fn codec_levels(name: &str) -> PyResult<Option<(i32, i32)>> {
    match Codec::from_name(name).filter(|codec| codec.is_enabled()) {
        Some(codec) => Ok(codec
            .levels()
            .map(|levels| (*levels.start(), *levels.end()))),
        None => {
            let meant = Codec::suggest(name)
                .map_or(String::new(), |codec| format!(" (did you mean '{codec}'?)"));
            let names = Codec::enabled_names();
            Err(PyValueError::new_err(format!("one of {names}{meant}")))
        }
    }
}

/// The keys and values of a dict, from a list of their own: Python code that runs meanwhile may change
/// the dict.
fn items_of_dict<'py>(
    dict: &Bound<'py, PyDict>,
) -> impl Iterator<Item = PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> + use<'py> {
    dict.items().into_iter().map(|item| item.extract())
}

fn lock<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cold]
fn closed() -> PyErr {
    PyValueError::new_err("the file is complete")
}
