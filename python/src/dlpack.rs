//! DLPack for bfloat16, which NumPy's DLPack lacks.
//!
//! The structs are those of DLPack 0 (`dlpack.h`), which every consumer accepts.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use numpy::ndarray::IxDyn;
use numpy::{PyArray, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::fault;

/// The name of a capsule until a consumer takes its tensor and renames it.
const NAME: &CStr = c"dltensor";

/// `kDLBfloat` of `DLDataTypeCode`.
const BFLOAT: u8 = 4;

/// `kDLCPU` of `DLDeviceType`.
const CPU: i32 = 1;

/// A capsule with a tensor of bfloat16 over the memory of `bits`.
#[pyfunction]
pub(crate) fn bfloat16_dlpack<'py>(
    py: Python<'py>,
    bits: &Bound<'py, PyArray<u16, IxDyn>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let shape: Vec<i64> = bits.shape().iter().map(|&dim| dim as i64).collect();
    // NumPy's strides are in bytes.
    let strides = bits.strides().iter().map(|&stride| stride as i64 / 2);
    let mut managed = Box::new(Managed {
        strides: strides.collect(),
        shape,
        _array: bits.clone().unbind(),
        tensor: None,
    });
    let tensor = DlTensor {
        data: bits.data().cast(),
        device: DlDevice {
            device_type: CPU,
            device_id: 0,
        },
        ndim: managed.shape.len() as i32,
        dtype: DlDataType {
            code: BFLOAT,
            bits: 16,
            lanes: 1,
        },
        shape: managed.shape.as_mut_ptr(),
        strides: managed.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let context = Box::into_raw(managed);
    // SAFETY: the box was made above and nothing else has the pointer yet. The box owns the shape
    // and the strides, and keeps the array alive that owns the data.
    let tensor = unsafe {
        (*context).tensor.insert(DlManagedTensor {
            tensor,
            context: context.cast(),
            deleter: Some(delete),
        })
    };
    let tensor = NonNull::from(tensor).cast();
    // SAFETY: the tensor lives until its deleter runs. Either the consumer or the destructor calls
    // the deleter.
    unsafe { PyCapsule::new_with_pointer_and_destructor(py, tensor, NAME, Some(destroy)) }
        .map_err(|_| fault("a DLPack capsule could not be made"))
}

/// The owner of the memory that an exported tensor points to.
struct Managed {
    shape: Vec<i64>,
    strides: Vec<i64>,
    _array: Py<PyArray<u16, IxDyn>>,
    tensor: Option<DlManagedTensor>,
}

/// Frees a tensor. Any thread may call this, with or without the interpreter's lock.
unsafe extern "C" fn delete(tensor: *mut DlManagedTensor) {
    // SAFETY: the consumer calls this once with its tensor, whose context is the box that holds the
    // tensor.
    drop(unsafe { Box::from_raw((*tensor).context.cast::<Managed>()) });
}

/// Frees the tensor of a capsule that no consumer took.
unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this when it frees the capsule. A consumer that takes the
    // tensor renames the capsule, so with the old name the tensor is still ours.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        }
    }
}

#[repr(C)]
struct DlManagedTensor {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DlManagedTensor)>,
}

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: DlDevice,
    ndim: i32,
    dtype: DlDataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct DlDevice {
    device_type: i32,
    device_id: i32,
}

#[repr(C)]
struct DlDataType {
    code: u8,
    bits: u8,
    lanes: u16,
}
