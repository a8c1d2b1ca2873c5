//! The schemas of a data set's files.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::files::Files;

/// The schemas in the headers of files, each distinct one once.
#[pyclass(frozen, module = "atds._native")]
pub(crate) struct FileSchemas {
    pub(crate) schemas: atds::avro::schema::FileSchemas,
}

#[pymethods]
impl FileSchemas {
    /// Reads the headers of `files`, or of the first file only.
    #[staticmethod]
    fn read(py: Python<'_>, files: PyRef<'_, Files>, all: bool) -> PyResult<Self> {
        let stop = StopOnDrop::default();
        let stopped = stop.0.clone();
        let shared = files.get(py)?.clone();
        let read = move || {
            if all {
                atds::avro::schema::FileSchemas::read(&shared, |_, _| {
                    if stopped.load(Relaxed) {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                })
            } else {
                atds::avro::schema::FileSchemas::read_first(&shared)
            }
        };
        let schemas = files.wait(py, read)?.or_raise(py)?;
        Ok(FileSchemas { schemas })
    }

    /// The schemas of a data set that was built before.
    #[staticmethod]
    fn of(schemas: Vec<(usize, String)>) -> Self {
        let schemas = schemas.into_iter();
        let schemas = schemas.map(|(file, text)| (file, text.into()));
        FileSchemas {
            schemas: schemas.collect(),
        }
    }
}

/// Stops the reading threads when the waiting caller is gone.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}
