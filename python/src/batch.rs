//! Batches as dicts of arrays.

use std::collections::HashSet;

use atds::tensors::OwnedColumn;

use atds::{Batch, BatchSpec};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use crate::memory::{Arrays, Dims, ValueArrays, arrays};

/// The columns of a data set, with their classes and dtypes in Python.
pub(crate) struct Columns {
    /// The columns, in the order of the batch.
    columns: Vec<ColumnInfo>,
    /// For each mask of entries, the name of the column with these entries.
    masks: Py<PyDict>,
}

struct ColumnInfo {
    name: Py<PyString>,
    /// Whether strings are bytes, not text.
    binary: bool,
}

impl Columns {
    /// The columns of `spec`. Strings named in `binary` are bytes. `masks` maps each mask of
    /// entries to its column.
    pub(crate) fn new(
        py: Python<'_>,
        spec: &BatchSpec,
        binary: &HashSet<String>,
        masks: Py<PyDict>,
    ) -> Self {
        let columns = spec.columns().iter().map(|column| ColumnInfo {
            name: PyString::intern(py, &column.name).unbind(),
            binary: binary.contains(&column.name),
        });
        Columns {
            columns: columns.collect(),
            masks,
        }
    }

    /// A batch as `atds.Batch`, in which each column owns its memory.
    pub(crate) fn batch<'py>(&self, py: Python<'py>, batch: Batch) -> PyResult<Bound<'py, PyDict>> {
        let rows = batch.rows();
        let dict = class(py, &BATCH, "Batch")?.call0()?.cast_into::<PyDict>()?;
        dict.setattr(intern!(py, "num_records"), rows)?;
        dict.setattr(intern!(py, "masks"), &self.masks)?;
        for (column, info) in batch.into_columns().zip(&self.columns) {
            dict.set_item(info.name.bind(py), tensor(py, column, info.binary)?)?;
        }
        Ok(dict)
    }
}

static BATCH: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static SPARSE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static RAGGED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static RAGGED_SPARSE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static STRINGS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static BFLOAT16: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// A class of `atds.tensors`.
fn class<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyType>>,
    name: &str,
) -> PyResult<&'py Bound<'py, PyType>> {
    cell.import(py, "atds.tensors", name)
}

fn tensor(py: Python<'_>, column: OwnedColumn, binary: bool) -> PyResult<Bound<'_, PyAny>> {
    match arrays(py, column)? {
        Arrays::Dense { shape, values } => of_values(py, values, Some(&shape), binary),
        Arrays::Sparse {
            indices,
            values,
            dense_shape,
        } => {
            let values = of_values(py, values, None, binary)?;
            let dense_shape = tuple(py, &dense_shape)?;
            class(py, &SPARSE, "SparseTensor")?.call1((indices, values, dense_shape))
        }
        Arrays::Ragged { values, row_splits } => {
            let values = of_values(py, values, None, binary)?;
            let mut parts = Vec::with_capacity(1 + row_splits.len());
            parts.push(values);
            parts.extend(row_splits);
            class(py, &RAGGED, "RaggedTensor")?.call1(PyTuple::new(py, parts)?)
        }
        Arrays::RaggedSparse {
            indices,
            values,
            row_splits,
            dense_shape,
        } => {
            let values = of_values(py, values, None, binary)?;
            let dense_shape = tuple(py, &dense_shape)?;
            let parts = (indices, values, row_splits, dense_shape);
            class(py, &RAGGED_SPARSE, "RaggedSparseTensor")?.call1(parts)
        }
    }
}

/// Values as a NumPy array, `StringArray` or `BFloat16Array`; a vector if no shape is given.
fn of_values<'py>(
    py: Python<'py>,
    values: ValueArrays<'py>,
    shape: Option<&Dims>,
    binary: bool,
) -> PyResult<Bound<'py, PyAny>> {
    match values {
        ValueArrays::Numbers(array) => Ok(array),
        ValueArrays::BFloat16(bits) => class(py, &BFLOAT16, "BFloat16Array")?.call1((bits,)),
        ValueArrays::Strings { offsets, data } => {
            let shape = shape.map(|shape| tuple(py, shape)).transpose()?;
            class(py, &STRINGS, "StringArray")?.call1((offsets, data, shape, binary))
        }
    }
}

fn tuple<'py>(py: Python<'py>, dims: &Dims) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, dims.as_slice())
}
