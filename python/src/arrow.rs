//! Arrow's C data interface: columns over the memory of their arrays, without
//! copying it.
//!
//! Python says how a column is built, as a tree of tuples (`atds/_arrow.py`);
//! here that becomes an array of Arrow's, checked as one, and a capsule.
#![allow(unsafe_code)]

use std::mem;
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader, StructArray};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyIterator, PyTuple};

type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

/// The capsules of the schema and the array of a column.
#[pyfunction]
pub(crate) fn export_array<'py>(node: &Bound<'py, PyTuple>) -> PyResult<Capsules<'py>> {
    let py = node.py();
    let data = array(node)?;
    let schema = FFI_ArrowSchema::try_from(data.data_type()).map_err(refused)?;
    Ok((
        PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
        PyCapsule::new_with_value(py, FFI_ArrowArray::new(&data), c"arrow_array")?,
    ))
}

/// The capsule of a stream of batches, which `batches` gives as records; `empty`
/// is one without rows, whose schema is that of all.
#[pyfunction]
pub(crate) fn export_stream<'py>(
    empty: &Bound<'py, PyTuple>,
    batches: Bound<'py, PyIterator>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let DataType::Struct(fields) = array(empty)?.data_type().clone() else {
        return Err(PyValueError::new_err("a batch is a record of its columns"));
    };
    let stream = Stream {
        schema: Arc::new(Schema::new(fields)),
        batches: Held(Some(batches.into_any().unbind())),
    };
    let capsule = FFI_ArrowArrayStream::new(Box::new(stream));
    PyCapsule::new_with_value(empty.py(), capsule, c"arrow_array_stream")
}

/// Batches as Python gives them, asked for from any thread.
struct Stream {
    schema: SchemaRef,
    /// An iterator.
    batches: Held,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = attached(|py| {
            let batches = self.batches.0.as_ref()?;
            let node = match batches.bind(py).try_iter() {
                Ok(mut batches) => batches.next()?,
                Err(error) => Err(error),
            };
            let batch = node.and_then(|node| array(node.cast::<PyTuple>()?));
            Some(batch.map_err(|error| ArrowError::ExternalError(error.into())))
        })??;
        Some(next.and_then(|batch| {
            let batch = RecordBatch::from(StructArray::from(batch));
            // Without a row, a column of any kind is like every other.
            batch.with_schema(self.schema.clone())
        }))
    }
}

/// An object that consumers of Arrow's data drop, on any thread, with the
/// interpreter's lock or without.
struct Held(Option<Py<PyAny>>);

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: it may be called at any time.
        let is_pythons = !unsafe { ffi::PyGILState_GetThisThreadState() }.is_null();
        if is_pythons {
            // At once: the iteration of a stream is to end now, and not when some
            // thread takes the lock the next time.
            attached(|_| drop(self.0.take()));
            // At the end of the program it is left alone.
            mem::forget(self.0.take());
        }
        // On another thread, which nobody may wait for, PyO3 puts the drop off.
    }
}

/// Calls `work` with the interpreter's lock; `None` where there is no interpreter
/// any more.
///
/// `Python::attach` would not do. It takes every thread in a call of this library
/// for one that has the lock, but a destructor that the garbage collector runs
/// within such a call may have let go of it, as that of pyarrow's readers does.
fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    // SAFETY: it may be called at any time.
    if unsafe { ffi::Py_IsInitialized() } == 0 {
        return None;
    }
    // SAFETY: there is an interpreter.
    let _lock = Lock(unsafe { ffi::PyGILState_Ensure() });
    Python::try_attach(work)
}

/// The interpreter's lock, had until it is dropped.
struct Lock(ffi::PyGILState_STATE);

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: taken by this thread, and everything taken since is released.
        unsafe { ffi::PyGILState_Release(self.0) }
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// The array that a node stands for:
///
/// | node | array |
/// |---|---|
/// | `("numbers", length, dtype, bytes)` | numbers; bools, a byte each, are copied to bits |
/// | `("strings", length, binary, offsets, data)` | large strings, or large binaries |
/// | `("fixed", length, size, items)` | lists of one size |
/// | `("lists", length, offsets, items)` | large lists |
/// | `("records", length, [(name, values), ..])` | structs |
fn array(node: &Bound<'_, PyTuple>) -> PyResult<ArrayData> {
    let kind: String = node.get_item(0)?.extract()?;
    let length: usize = node.get_item(1)?.extract()?;
    let child = |i| array(node.get_item(i)?.cast::<PyTuple>()?);
    let built = match kind.as_str() {
        "numbers" => {
            let dtype: String = node.get_item(2)?.extract()?;
            return numbers(&dtype, length, bytes(node, 3)?);
        }
        "strings" => {
            let data_type = match node.get_item(2)?.extract()? {
                true => DataType::LargeBinary,
                false => DataType::LargeUtf8,
            };
            ArrayDataBuilder::new(data_type)
                .add_buffer(bytes(node, 3)?)
                .add_buffer(bytes(node, 4)?)
        }
        "fixed" => {
            let items = child(3)?;
            let item = Arc::new(Field::new_list_field(items.data_type().clone(), true));
            let size = node.get_item(2)?.extract()?;
            ArrayDataBuilder::new(DataType::FixedSizeList(item, size)).add_child_data(items)
        }
        "lists" => {
            let items = child(3)?;
            let item = Arc::new(Field::new_list_field(items.data_type().clone(), true));
            ArrayDataBuilder::new(DataType::LargeList(item))
                .add_buffer(bytes(node, 2)?)
                .add_child_data(items)
        }
        "records" => {
            let (mut fields, mut columns) = (Vec::new(), Vec::new());
            for field in node.get_item(2)?.try_iter()? {
                let (name, values): (String, Bound<'_, PyTuple>) = field?.extract()?;
                let values = array(&values)?;
                fields.push(Field::new(name, values.data_type().clone(), true));
                columns.push(values);
            }
            ArrayDataBuilder::new(DataType::Struct(fields.into())).child_data(columns)
        }
        other => return Err(PyValueError::new_err(format!("no node is {other}"))),
    };
    checked(built.len(length))
}

fn numbers(dtype: &str, length: usize, bytes: Buffer) -> PyResult<ArrayData> {
    let data_type = match dtype {
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "int64" => DataType::Int64,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "float16" => DataType::Float16,
        "float32" => DataType::Float32,
        "float64" => DataType::Float64,
        "bool" => {
            let bits = BooleanBuffer::collect_bool(length, |i| bytes.get(i) == Some(&1));
            let built = ArrayDataBuilder::new(DataType::Boolean);
            return checked(built.len(length).add_buffer(bits.into_inner()));
        }
        other => return Err(PyValueError::new_err(format!("Arrow has no {other}"))),
    };
    let built = ArrayDataBuilder::new(data_type);
    checked(built.len(length).add_buffer(bytes))
}

/// What was built, if it is an array: offsets that ascend, strings that are UTF-8.
fn checked(built: ArrayDataBuilder) -> PyResult<ArrayData> {
    built.align_buffers(true).build().map_err(refused)
}

#[cold]
fn refused(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The memory of item `i` of a node, an array of bytes that is kept alive.
fn bytes(node: &Bound<'_, PyTuple>, i: usize) -> PyResult<Buffer> {
    let item = node.get_item(i)?;
    let bytes = item.cast::<PyArray1<u8>>()?;
    let len = bytes.len();
    let Some(data) = NonNull::new(bytes.data()).filter(|_| bytes.is_c_contiguous()) else {
        return Err(PyValueError::new_err("an array that is not contiguous"));
    };
    // Nothing looks at it but to drop it.
    let owner = AssertUnwindSafe(Held(Some(bytes.clone().into_any().unbind())));
    // SAFETY: the array has as many bytes in one piece, and is owned by the
    // buffer. That nobody writes to them meanwhile is, as for every array that
    // NumPy shares, up to who holds it.
    Ok(unsafe { Buffer::from_custom_allocation(data, len, Arc::new(owner)) })
}
