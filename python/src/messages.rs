//! Records without a container.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use atds::avro::Schema;
use atds::avro::messages::{self, Framing};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::batch::Columns;
use crate::dataset::{SaidColumn, columns};
use crate::errors::{OrRaise, features_error, schema_error};
use crate::fork::InProcess;
use crate::options;

const DECODER: &str = "this decoder";

/// Decodes messages into batches.
#[pyclass(frozen, module = "atds._native")]
pub(crate) struct MessageDecoder {
    decoder: InProcess<Mutex<messages::MessageDecoder>>,
    columns: Columns,
}

#[pymethods]
impl MessageDecoder {
    /// Schemas are texts, and `schemas` has at least one. `features`, `binary` and `masks` are as
    /// for a data set.
    #[new]
    #[pyo3(signature = (
        schemas, features, binary, masks, *, reader_schema, single_objects, out_of_bounds,
        memory_limit, tolerate, max_depth,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn new(
        py: Python<'_>,
        schemas: Vec<String>,
        features: &str,
        binary: HashSet<String>,
        masks: Py<PyDict>,
        reader_schema: Option<&str>,
        single_objects: bool,
        out_of_bounds: &str,
        memory_limit: Option<u64>,
        tolerate: Vec<String>,
        max_depth: Option<usize>,
    ) -> PyResult<Self> {
        let features =
            atds::features::from_json(features).map_err(|error| features_error(py, &error))?;
        let mut schemas = parse_all(py, &schemas)?.into_iter();
        let first = schemas.next().ok_or_else(|| no_schema(py))?;
        let mut builder = messages::MessageDecoder::builder(first, features)
            .framing(framing(single_objects))
            .tolerate(options::tolerated(py, &tolerate)?)
            .out_of_bounds(options::out_of_bounds(out_of_bounds));
        for schema in schemas {
            builder = builder.writer_schema(schema);
        }
        if let Some(schema) = reader_schema {
            builder = builder.reader_schema(parse(py, "reader_schema", schema)?);
        }
        if let Some(depth) = max_depth {
            builder = builder.max_depth(depth);
        }
        if let Some(bytes) = memory_limit {
            builder = builder.memory_limit(bytes);
        }
        let decoder = py.detach(|| builder.build()).or_raise(py)?;
        Ok(MessageDecoder {
            columns: Columns::new(py, decoder.spec(), &binary, masks),
            decoder: InProcess::new(Mutex::new(decoder)),
        })
    }

    /// Whether this was made in this process and can be used.
    fn is_here(&self) -> bool {
        self.decoder.is_here()
    }

    /// A batch with a row for each message.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        messages: Vec<PyBackedBytes>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let decoder = self.decoder.get(py, DECODER)?;
        let batch = py.detach(|| lock(decoder).decode(&messages));
        self.columns.batch(py, batch.or_raise(py)?)
    }

    /// The columns of a batch.
    fn spec(&self, py: Python<'_>) -> PyResult<Vec<SaidColumn>> {
        columns(lock(self.decoder.get(py, DECODER)?).spec())
    }

    /// The numbers of bytes after records, and of replaced texts, in the batches so far.
    fn tolerated(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let tolerated = lock(self.decoder.get(py, DECODER)?).tolerated();
        Ok((tolerated.trailing_block_bytes, tolerated.replaced_texts))
    }

    /// Number of truncated lists.
    fn truncated_lists(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(lock(self.decoder.get(py, DECODER)?).truncated_lists())
    }

    /// Number of sparse entries that were dropped for an index outside their dimension.
    fn dropped_entries(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(lock(self.decoder.get(py, DECODER)?).dropped_entries())
    }
}

/// Re-encodes messages by another schema.
#[pyclass(frozen, module = "atds._native")]
pub(crate) struct Reencoder {
    reencoder: messages::Reencoder,
}

#[pymethods]
impl Reencoder {
    #[new]
    #[pyo3(signature = (schemas, reader_schema, *, single_objects, to_single_objects))]
    fn new(
        py: Python<'_>,
        schemas: Vec<String>,
        reader_schema: &str,
        single_objects: bool,
        to_single_objects: bool,
    ) -> PyResult<Self> {
        let mut schemas = parse_all(py, &schemas)?.into_iter();
        let first = schemas.next().ok_or_else(|| no_schema(py))?;
        let reader = parse(py, "reader_schema", reader_schema)?;
        let mut builder = messages::Reencoder::builder(first, reader)
            .input_framing(framing(single_objects))
            .output_framing(framing(to_single_objects));
        for schema in schemas {
            builder = builder.writer_schema(schema);
        }
        let reencoder = py.detach(|| builder.build()).or_raise(py)?;
        Ok(Reencoder { reencoder })
    }

    /// The messages, re-encoded by the reader's schema.
    fn reencode<'py>(
        &self,
        py: Python<'py>,
        messages: Vec<PyBackedBytes>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(messages.len()));
        let done = py.detach(|| {
            messages.iter().enumerate().try_for_each(|(i, message)| {
                let done = self.reencoder.reencode(message, &mut bytes);
                ends.push(bytes.len());
                done.map_err(|mut error| {
                    error.place.record = Some(i as u64);
                    error
                })
            })
        });
        done.or_raise(py)?;
        let mut start = 0;
        let messages = ends.into_iter().map(|end| {
            let message = PyBytes::new(py, &bytes[start..end]);
            start = end;
            message
        });
        Ok(messages.collect())
    }
}

fn framing(single_objects: bool) -> Framing {
    if single_objects {
        Framing::SingleObject
    } else {
        Framing::Raw
    }
}

fn parse_all(py: Python<'_>, schemas: &[String]) -> PyResult<Vec<Schema>> {
    schemas
        .iter()
        .map(|text| {
            // Other programs wrote the data, perhaps with invalid names.
            Schema::parse_lenient(text).map_err(|error| schema_error(py, "schema", &error))
        })
        .collect()
}

fn parse(py: Python<'_>, what: &str, text: &str) -> PyResult<Schema> {
    Schema::parse(text).map_err(|error| schema_error(py, what, &error))
}

#[cold]
fn no_schema(py: Python<'_>) -> PyErr {
    crate::errors::option_error(py, "schema must be at least one schema")
}

fn lock(decoder: &Mutex<messages::MessageDecoder>) -> MutexGuard<'_, messages::MessageDecoder> {
    // A decoder resets its state for each batch, also after a panic.
    decoder.lock().unwrap_or_else(PoisonError::into_inner)
}
