//! NumPy arrays over the memory of a column.
//!
//! The one `unsafe` part of batches: an array points into the memory of a column. The array's base
//! object owns the column and keeps the memory in place.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use atds::tensors::{Buffer, ColumnMut, OwnedColumn, ValuesMut};

use atds::{DType, fixed_width_dtypes};
use numpy::npyffi::flags::{NPY_ARRAY_CARRAY, NPY_ARRAY_CARRAY_RO};
use numpy::npyffi::{NpyTypes, PY_ARRAY_API, get_type_object, npy_intp};
use numpy::{PyArrayDescr, PyArrayDescrMethods, dtype};
use pyo3::prelude::*;

use crate::errors::fault;
use crate::fork::InProcess;

/// A column as NumPy arrays, which share its ownership.
pub(crate) enum Arrays<'py> {
    /// `shape` is the shape of the values.
    Dense {
        shape: Dims,
        values: ValueArrays<'py>,
    },
    /// Indices `[nnz, rank + 1]`.
    Sparse {
        indices: Bound<'py, PyAny>,
        values: ValueArrays<'py>,
        dense_shape: Dims,
    },
    /// Row splits, the outermost first.
    Ragged {
        values: ValueArrays<'py>,
        row_splits: Vec<Bound<'py, PyAny>>,
    },
    /// Indices `[nnz, rank]`.
    RaggedSparse {
        indices: Bound<'py, PyAny>,
        values: ValueArrays<'py>,
        row_splits: Bound<'py, PyAny>,
        dense_shape: Dims,
    },
}

/// The values of a column as arrays.
pub(crate) enum ValueArrays<'py> {
    /// One array.
    Numbers(Bound<'py, PyAny>),
    /// One array of uint16, the bits of the values.
    BFloat16(Bound<'py, PyAny>),
    /// Read-only arrays of offsets and data.
    Strings {
        offsets: Bound<'py, PyAny>,
        data: Bound<'py, PyAny>,
    },
}

/// The base object of a column's arrays. It is dropped with the last array, and its memory is then
/// reused for another batch.
#[pyclass(frozen, module = "atds._native")]
struct ColumnMemory {
    /// Never accessed again: the arrays have pointers into its memory.
    _column: InProcess<OwnedColumn>,
}

/// Makes NumPy arrays of a column, without a copy.
pub(crate) fn arrays(py: Python<'_>, mut column: OwnedColumn) -> PyResult<Arrays<'_>> {
    let raw = Raw::of(column.view_mut())?;
    let base = ColumnMemory {
        _column: InProcess::new(column),
    };
    // The column's buffers are on the heap and do not move with the column. Only the arrays access
    // them until the base object drops the column.
    let base = Bound::new(py, base)?.into_any();
    raw.arrays(&base)
}

/// Pointers to the buffers of a column, without its lifetime.
enum Raw {
    Dense(Dims, RawValues),
    Sparse(Memory, RawValues, Dims),
    Ragged(RawValues, Vec<Memory>),
    RaggedSparse(Memory, RawValues, Memory, Dims),
}

enum RawValues {
    Numbers(Memory),
    BFloat16(Memory),
    Strings(Memory, Memory),
}

impl Raw {
    fn of(column: ColumnMut<'_>) -> PyResult<Self> {
        Ok(match column {
            ColumnMut::Dense { shape, values } => {
                Raw::Dense(Dims::new(shape)?, RawValues::of(values)?)
            }
            ColumnMut::Sparse {
                indices,
                values,
                dense_shape,
            } => Raw::Sparse(
                Memory::integers(indices),
                RawValues::of(values)?,
                Dims::new(dense_shape)?,
            ),
            ColumnMut::Ragged { values, row_splits } => {
                let splits = row_splits.iter_mut().map(Buffer::as_mut_slice);
                Raw::Ragged(
                    RawValues::of(values)?,
                    splits.map(Memory::integers).collect(),
                )
            }
            ColumnMut::RaggedSparse {
                indices,
                values,
                row_splits,
                dense_shape,
            } => Raw::RaggedSparse(
                Memory::integers(indices),
                RawValues::of(values)?,
                Memory::integers(row_splits),
                Dims::new(dense_shape)?,
            ),
            _ => return Err(fault("a column of a form that is not known here")),
        })
    }

    fn arrays<'py>(self, base: &Bound<'py, PyAny>) -> PyResult<Arrays<'py>> {
        Ok(match self {
            Raw::Dense(shape, values) => Arrays::Dense {
                values: values.arrays(base, Some(&shape))?,
                shape,
            },
            Raw::Sparse(indices, values, dense_shape) => Arrays::Sparse {
                indices: indices.rows(base, dense_shape.len())?,
                values: values.arrays(base, None)?,
                dense_shape,
            },
            Raw::Ragged(values, splits) => Arrays::Ragged {
                values: values.arrays(base, None)?,
                row_splits: splits
                    .iter()
                    .map(|splits| splits.flat(base))
                    .collect::<PyResult<_>>()?,
            },
            Raw::RaggedSparse(indices, values, splits, dense_shape) => Arrays::RaggedSparse {
                indices: indices.rows(base, dense_shape.len() - 1)?,
                values: values.arrays(base, None)?,
                row_splits: splits.flat(base)?,
                dense_shape,
            },
        })
    }
}

impl RawValues {
    fn of(values: ValuesMut<'_>) -> PyResult<Self> {
        Ok(match values {
            ValuesMut::Fixed { dtype, len, bytes } => {
                let memory = Memory {
                    data: NonNull::from(bytes).cast(),
                    len,
                    descr: descr(dtype)?,
                    flags: NPY_ARRAY_CARRAY,
                };
                match dtype {
                    DType::BFloat16 => RawValues::BFloat16(memory),
                    _ => RawValues::Numbers(memory),
                }
            }
            ValuesMut::Strings(strings) => RawValues::Strings(
                Memory::read_only(strings.offsets(), dtype::<i64>),
                Memory::read_only(strings.data(), dtype::<u8>),
            ),
            _ => return Err(fault("values of a form that is not known here")),
        })
    }

    /// The arrays; `shape` is `None` for vectors.
    fn arrays<'py>(
        self,
        base: &Bound<'py, PyAny>,
        shape: Option<&Dims>,
    ) -> PyResult<ValueArrays<'py>> {
        let array = |memory: &Memory| match shape {
            Some(shape) => memory.array(base, shape),
            None => memory.flat(base),
        };
        Ok(match &self {
            RawValues::Numbers(memory) => ValueArrays::Numbers(array(memory)?),
            RawValues::BFloat16(memory) => ValueArrays::BFloat16(array(memory)?),
            RawValues::Strings(offsets, data) => ValueArrays::Strings {
                offsets: offsets.flat(base)?,
                data: data.flat(base)?,
            },
        })
    }
}

/// The dimensions of an array.
#[derive(Clone, Copy)]
pub(crate) struct Dims {
    /// NumPy before version 2 has at most 32 dimensions.
    dims: [npy_intp; 32],
    len: usize,
}

impl Dims {
    fn new(shape: &[i64]) -> PyResult<Self> {
        let mut dims = [0; 32];
        let too_many = || fault("a tensor of more than 32 dimensions");
        let to = dims.get_mut(..shape.len()).ok_or_else(too_many)?;
        for (to, &dim) in to.iter_mut().zip(shape) {
            *to = npy_intp::try_from(dim)?;
        }
        let len = shape.len();
        Ok(Dims { dims, len })
    }

    pub(crate) fn as_slice(&self) -> &[npy_intp] {
        &self.dims[..self.len]
    }

    fn len(&self) -> usize {
        self.len
    }

    /// Number of elements; `None` if they cannot be addressed.
    fn elements(&self) -> Option<usize> {
        let mut dims = self.as_slice().iter();
        dims.try_fold(1usize, |all, &dim| {
            all.checked_mul(usize::try_from(dim).ok()?)
        })
    }
}

/// Elements of one type, on the heap.
struct Memory {
    data: NonNull<c_void>,
    len: usize,
    descr: Descr,
    flags: c_int,
}

/// A function that returns NumPy's descriptor of a type.
type Descr = for<'py> fn(Python<'py>) -> Bound<'py, PyArrayDescr>;

impl Memory {
    fn integers(slice: &mut [i64]) -> Self {
        Memory {
            len: slice.len(),
            data: NonNull::from(slice).cast(),
            descr: dtype::<i64>,
            flags: NPY_ARRAY_CARRAY,
        }
    }

    fn read_only<T>(slice: &[T], descr: Descr) -> Self {
        Memory {
            len: slice.len(),
            data: NonNull::from(slice).cast(),
            descr,
            flags: NPY_ARRAY_CARRAY_RO,
        }
    }

    fn flat<'py>(&self, base: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let len = i64::try_from(self.len)?;
        self.array(base, &Dims::new(&[len])?)
    }

    /// An array of shape `[.., width]`.
    fn rows<'py>(&self, base: &Bound<'py, PyAny>, width: usize) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.len / width.max(1);
        let shape = [i64::try_from(rows)?, i64::try_from(width)?];
        self.array(base, &Dims::new(&shape)?)
    }

    /// An array of this memory, which `base` owns.
    fn array<'py>(&self, base: &Bound<'py, PyAny>, shape: &Dims) -> PyResult<Bound<'py, PyAny>> {
        if shape.elements() != Some(self.len) {
            return Err(fault("a tensor of another size than its shape"));
        }
        let py = base.py();
        let mut dims = *shape;
        let descr = (self.descr)(py);
        // SAFETY: called with the interpreter's lock. NumPy takes over
        // the references to the descriptor and to the base object, and copies the
        // dimensions. The data holds the number of elements that the shape has, aligned to a cache
        // line. The base object owns the data, so it lives as long as the array.
        unsafe {
            let array = PY_ARRAY_API.PyArray_NewFromDescr(
                py,
                get_type_object(py, NpyTypes::PyArray_Type),
                descr.into_dtype_ptr(),
                dims.len as c_int,
                dims.dims.as_mut_ptr(),
                std::ptr::null_mut(),
                self.data.as_ptr(),
                self.flags,
                std::ptr::null_mut(),
            );
            let array = Bound::from_owned_ptr_or_err(py, array)?;
            let set = PY_ARRAY_API.PyArray_SetBaseObject(
                py,
                array.as_ptr().cast(),
                base.clone().into_ptr(),
            );
            match set {
                0 => Ok(array),
                _ => Err(PyErr::fetch(py)),
            }
        }
    }
}

/// NumPy's type for the elements of a dtype; uint16 for bfloat16.
fn descr(of: DType) -> PyResult<Descr> {
    macro_rules! descr {
        ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
            match of {
                $(DType::$variant => dtype::<$element>,)*
                _ => return Err(fault("a dtype that is not known here")),
            }
        };
    }
    if of == DType::BFloat16 {
        return Ok(dtype::<u16>);
    }
    Ok(fixed_width_dtypes!(descr))
}
