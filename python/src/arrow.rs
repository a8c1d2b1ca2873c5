//! Arrow's C data interface: exports columns without copying their memory.
//!
//! Python describes a column as a tree of tuples (`atds/_arrow.py`). This module makes a checked
//! Arrow array and a capsule from it.
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

/// The capsule of a stream of batches. `batches` yields them as struct nodes; `empty` is a batch
/// without rows, which gives the schema.
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

/// A stream of batches from Python, which any thread may read.
struct Stream {
    schema: SchemaRef,
    /// The Python iterator of batches.
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
            // An empty batch may differ from the schema in the types of its columns.
            batch.with_schema(self.schema.clone())
        }))
    }
}

/// A Python object that consumers of Arrow data drop on any thread, with or without the
/// interpreter's lock.
struct Held(Option<Py<PyAny>>);

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: this function may be called at any time.
        let is_pythons = !unsafe { ffi::PyGILState_GetThisThreadState() }.is_null();
        if is_pythons {
            // Drop now: the iteration must end at once, not when a thread next takes the lock.
            attached(|_| drop(self.0.take()));
            // At the end of the program the object is leaked.
            mem::forget(self.0.take());
        }
        // A thread that is not Python's must not wait for the lock, so PyO3 defers the drop.
    }
}

/// Calls `work` with the interpreter's lock; `None` if the interpreter is gone.
///
/// `Python::attach` does not suffice: it assumes that a thread in a call of this library has the
/// lock. But the garbage collector may run a destructor in such a call that has released the lock,
/// as the destructor of pyarrow's readers does.
fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    // SAFETY: this function may be called at any time.
    if unsafe { ffi::Py_IsInitialized() } == 0 {
        return None;
    }
    // SAFETY: there is an interpreter.
    let _lock = Lock(unsafe { ffi::PyGILState_Ensure() });
    Python::try_attach(work)
}

/// The interpreter's lock, held until this is dropped.
struct Lock(ffi::PyGILState_STATE);

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: this thread took the lock, and has released all later locks.
        unsafe { ffi::PyGILState_Release(self.0) }
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// The Arrow array of a node:
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
            let data_type = if node.get_item(2)?.extract()? {
                DataType::LargeBinary
            } else {
                DataType::LargeUtf8
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

/// The built array, validated: offsets ascend and strings are UTF-8.
fn checked(built: ArrayDataBuilder) -> PyResult<ArrayData> {
    built.align_buffers(true).build().map_err(refused)
}

#[cold]
fn refused(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The memory of item `i` of a node, an array of bytes. The buffer keeps the array alive.
fn bytes(node: &Bound<'_, PyTuple>, i: usize) -> PyResult<Buffer> {
    let item = node.get_item(i)?;
    let bytes = item.cast::<PyArray1<u8>>()?;
    let len = bytes.len();
    let Some(data) = NonNull::new(bytes.data()).filter(|_| bytes.is_c_contiguous()) else {
        return Err(PyValueError::new_err("an array that is not contiguous"));
    };
    // The owner is only ever dropped.
    let owner = AssertUnwindSafe(Held(Some(bytes.clone().into_any().unbind())));
    // SAFETY: the array has `len` contiguous bytes, and the buffer owns the array. As with every shared NumPy array, its holder must not write to it meanwhile.
    Ok(unsafe { Buffer::from_custom_allocation(data, len, Arc::new(owner)) })
}
