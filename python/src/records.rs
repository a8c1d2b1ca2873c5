//! A file's records as bytes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use atds::avro::records::{EncodedRecords, RecordOptions};

use atds::Error;
use atds::avro::Schema;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::errors::{OrRaise, schema_error};
use crate::fork::InProcess;
use crate::options::tolerated;
use crate::waiting::interruptible;

const WHAT: &str = "this reader of records";

/// Maximum number of records in a list, and the number of bytes at which a list ends.
const RECORDS: usize = 1024;
const BYTES: usize = 1 << 20;

/// Reads the records of a file in lists.
#[pyclass(frozen, module = "atds._native")]
pub(crate) struct RecordReader {
    /// A forked child shares the file position with its parent, so it must not read.
    state: InProcess<Arc<Mutex<State>>>,
}

struct State {
    records: EncodedRecords,
    /// The error after the records returned so far.
    error: Option<Error>,
}

/// Records end to end, and their ends.
#[derive(Default)]
struct Several {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

#[pymethods]
impl RecordReader {
    /// `reader_schema` is a text; `None` keeps the file's own schema.
    #[new]
    #[pyo3(signature = (
        file, buffer_size, reader_schema = None, tolerate = Vec::new(), max_block_bytes = None, max_depth = None,
    ))]
    fn new(
        py: Python<'_>,
        file: PathBuf,
        buffer_size: usize,
        reader_schema: Option<&str>,
        tolerate: Vec<String>,
        max_block_bytes: Option<usize>,
        max_depth: Option<usize>,
    ) -> PyResult<Self> {
        let schema = reader_schema.map(Schema::parse).transpose();
        let schema = schema.map_err(|error| schema_error(py, "reader_schema", &error))?;
        let schema = schema.map(Arc::new);
        let mut options = RecordOptions::default();
        options.buffer_size = buffer_size;
        options.tolerate = tolerated(py, &tolerate)?;
        options.max_block_bytes = max_block_bytes.unwrap_or(options.max_block_bytes);
        options.max_depth = max_depth.unwrap_or(options.max_depth);
        let open = move || EncodedRecords::open_with(file, schema, &options);
        let records = interruptible(py, open)?.or_raise(py)?;
        let error = None;
        Ok(RecordReader {
            state: InProcess::new(Arc::new(Mutex::new(State { records, error }))),
        })
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        // Reading a pipe may block for long.
        let state = self.state.get(py, WHAT)?.clone();
        let next = interruptible(py, move || {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.next()
        })?;
        let Some(records) = next.or_raise(py)? else {
            return Ok(None);
        };
        let mut start = 0;
        let records = records.ends.iter().map(|&end| {
            let record = PyBytes::new(py, &records.bytes[start..end]);
            start = end;
            record
        });
        PyList::new(py, records.collect::<Vec<_>>()).map(Some)
    }
}

impl State {
    /// The next records, then the error, if there is one; `None` at the end.
    fn next(&mut self) -> Result<Option<Several>, Error> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut several = Several::default();
        while several.ends.len() < RECORDS && several.bytes.len() < BYTES {
            match self.records.next_into(&mut several.bytes) {
                Ok(true) => several.ends.push(several.bytes.len()),
                Ok(false) => break,
                Err(error) if several.ends.is_empty() => return Err(error),
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
        }
        Ok((!several.ends.is_empty()).then_some(several))
    }
}
