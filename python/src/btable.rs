//! BTable files: their rows as NumPy arrays over the memory that was read, and arrays to files.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atds_btable::{Compression, Csr, Error, FileWriter, Index, RowReader, open};
use numpy::{
    Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PySlice;

use crate::errors::table_error;
use crate::fork::InProcess;
use crate::waiting::{check_signals, interruptible};

const READER: &str = "this reader of a table";
const WRITER: &str = "this writer of a table";

/// Reads a table, in parts of some rows.
#[pyclass(frozen, module = "atds._native")]
pub(crate) struct TableReader {
    path: PathBuf,
    /// A forked child shares the file position with its parent, so it must not read.
    table: InProcess<Arc<Table>>,
    #[pyo3(get)]
    labels: Vec<String>,
}

#[pymethods]
impl TableReader {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let from = path.clone();
        let table = interruptible(py, move || open(from))?;
        let table = table.map_err(|error| table_error(py, &path, &error))?;
        Ok(TableReader {
            path,
            labels: table.labels().to_vec(),
            table: InProcess::new(Arc::new(Mutex::new(table))),
        })
    }

    /// The next rows, all if `rows` is `None`: their data, indices and ends. Indices and ends are int32
    /// unless there are too many cells, as scipy has them.
    #[pyo3(signature = (rows = None))]
    fn read<'py>(&self, py: Python<'py>, rows: Option<u64>) -> PyResult<Arrays<'py>> {
        let table = self.table.get(py, READER)?.clone();
        if rows.is_none() {
            let most = lock(&table).most_cells();
            if let Some(most) = most.filter(|&most| i32::try_from(most).is_ok()) {
                return self.fill(py, &table, most);
            }
        }
        let csr = interruptible(py, move || {
            let mut csr = Csr::default();
            let read = lock(&table).read_csr_rows(&mut csr, rows.unwrap_or(u64::MAX));
            read.map(|_| csr)
        })?;
        let csr = csr.map_err(|error| table_error(py, &self.path, &error))?;
        let data = PyArray1::from_vec(py, csr.data).into_any();
        Ok(if i32::try_from(csr.indices.len()).is_ok() {
            let ends = csr.indptr.iter().map(|&end| end as i32).collect();
            let (indices, ends) = (csr.indices, PyArray1::from_vec(py, ends));
            (
                data,
                PyArray1::from_vec(py, indices).into_any(),
                ends.into_any(),
            )
        } else {
            let indices = csr.indices.iter().map(|&column| column.into()).collect();
            let indices = PyArray1::<i64>::from_vec(py, indices);
            let ends = PyArray1::from_vec(py, csr.indptr);
            (data, indices.into_any(), ends.into_any())
        })
    }
}

type Table = Mutex<RowReader<Box<dyn Read + Send>>>;

/// Cells that are read before signals are handled.
const PART: usize = 4 << 20;

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TableReader {
    /// Reads the rest of a file that has at most `most` cells into memory of NumPy, which uses large pages and
    /// keeps them.
    fn fill<'py>(&self, py: Python<'py>, table: &Table, most: usize) -> PyResult<Arrays<'py>> {
        let empty = py.import("numpy")?.getattr("empty")?;
        let data = empty.call1((most, "f8"))?.cast_into::<PyArray1<f64>>()?;
        let indices = empty.call1((most, "i4"))?.cast_into::<PyArray1<i32>>()?;
        let (mut values, mut columns) = (data.readwrite(), indices.readwrite());
        let (values, columns) = (values.as_slice_mut()?, columns.as_slice_mut()?);
        let (mut ends, mut cells) = (vec![0], 0);
        loop {
            let part = cells..most.min(cells + PART);
            let (values, columns) = (&mut values[part.clone()], &mut columns[part]);
            let filled =
                py.detach(|| lock(table).fill_csr(cells as i64, &mut ends, columns, values));
            let filled = filled.map_err(|error| table_error(py, &self.path, &error))?;
            cells += filled.cells;
            if filled.is_end {
                break;
            }
            if filled.cells == 0 {
                let error = io::Error::other("the file has become longer while it was read");
                return Err(table_error(py, &self.path, &Error::new(error, 0, None)));
            }
            check_signals(py)?;
        }
        let ends = ends.into_iter().map(|end| end as i32).collect();
        // A view, unless it would keep much memory that is not used.
        let taken = |array: &Bound<'py, PyAny>| {
            let taken = array.get_item(PySlice::new(py, 0, cells as isize, 1))?;
            match most - cells > cells / 8 {
                true => taken.call_method0("copy"),
                false => Ok(taken),
            }
        };
        Ok((
            taken(data.as_any())?,
            taken(indices.as_any())?,
            PyArray1::<i32>::from_vec(py, ends).into_any(),
        ))
    }
}

/// Data, indices and ends of rows.
type Arrays<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Writes a table to a new file, which gets its name by `finish`.
#[pyclass(frozen, module = "atds._native")]
pub(crate) struct TableWriter {
    path: PathBuf,
    /// `None` after `finish` and `abort`. A forked child must not remove the file of its parent.
    file: InProcess<Mutex<Option<FileWriter>>>,
}

#[pymethods]
impl TableWriter {
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        labels: Vec<String>,
        compression: Option<&str>,
    ) -> PyResult<Self> {
        let compression = match compression {
            None => Compression::of_path(&path),
            Some("none") => Compression::None,
            Some("gzip") => Compression::Gzip,
            Some("zstandard") => Compression::Zstandard,
            Some(other) => return Err(PyValueError::new_err(other.to_owned())),
        };
        let file = FileWriter::with_compression(&path, &labels, compression);
        let file = file.map_err(|error| table_error(py, &path, &error))?;
        Ok(TableWriter {
            path,
            file: InProcess::new(Mutex::new(Some(file))),
        })
    }

    /// Writes the rows of a CSR matrix, whose `indices` and `ends` are int32 or int64.
    fn write_csr(
        &self,
        py: Python<'_>,
        data: PyReadonlyArray1<'_, f64>,
        indices: &Bound<'_, PyAny>,
        ends: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let data = data.as_slice()?;
        match (ends.extract(), indices.extract()) {
            (Ok(ends), Ok(indices)) => self.write_of::<i32, i32>(py, data, &indices, &ends),
            (Ok(ends), _) => self.write_of::<i32, i64>(py, data, &indices.extract()?, &ends),
            (_, Ok(indices)) => self.write_of::<i64, i32>(py, data, &indices, &ends.extract()?),
            _ => self.write_of::<i64, i64>(py, data, &indices.extract()?, &ends.extract()?),
        }
    }

    /// Writes the rows of an array `[rows, columns]`.
    fn write_dense(&self, py: Python<'_>, rows: PyReadonlyArray2<'_, f64>) -> PyResult<()> {
        let &[count, columns] = rows.shape() else {
            return Err(PyValueError::new_err("not two-dimensional"));
        };
        let values = rows.as_slice()?;
        self.with(py, move |file| {
            for row in 0..count {
                let values = &values[row * columns..][..columns];
                file.writer().write_dense_row(values)?;
            }
            Ok(())
        })
    }

    /// Number of rows that were written.
    fn rows(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |file| Ok(file.writer().rows()))
    }

    /// Completes the file.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let file = self.take(py)?.ok_or_else(closed)?;
        py.detach(move || file.finish())
            .map_err(|error| table_error(py, &self.path, &error))
    }

    /// Removes what was written; does nothing after `finish`.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.take(py).map(drop)
    }
}

impl TableWriter {
    fn write_of<P: Index + Element + Sync, I: Index + Element + Sync>(
        &self,
        py: Python<'_>,
        data: &[f64],
        indices: &PyReadonlyArray1<'_, I>,
        ends: &PyReadonlyArray1<'_, P>,
    ) -> PyResult<()> {
        let (indices, ends) = (indices.as_slice()?, ends.as_slice()?);
        self.with(py, move |file| file.writer().write_csr(ends, indices, data))
    }

    /// Runs `work` with the file, without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut FileWriter) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let file = self.file.get(py, WRITER)?;
        let done = py.detach(move || lock(file).as_mut().map(work));
        done.ok_or_else(closed)?
            .map_err(|error| table_error(py, &self.path, &error))
    }

    fn take(&self, py: Python<'_>) -> PyResult<Option<FileWriter>> {
        let file = self.file.get(py, WRITER)?;
        Ok(py.detach(|| lock(file).take()))
    }
}

#[cold]
fn closed() -> PyErr {
    PyValueError::new_err("the table is complete")
}
