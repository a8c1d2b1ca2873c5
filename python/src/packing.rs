//! Copies of arrays into one allocation, without the interpreter's lock.

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Copies each of `sources` to its offset in `target`. All are contiguous.
#[pyfunction]
pub(crate) fn copy_into(
    py: Python<'_>,
    mut target: PyReadwriteArray1<'_, u8>,
    sources: Vec<(usize, PyReadonlyArray1<'_, u8>)>,
) -> PyResult<()> {
    let target = target.as_slice_mut()?;
    let slices = sources
        .iter()
        .map(|(offset, source)| Ok((*offset, source.as_slice()?)));
    let slices: Vec<(usize, &[u8])> = slices.collect::<PyResult<_>>()?;
    py.detach(|| {
        for (offset, source) in slices {
            let target_bytes = offset
                .checked_add(source.len())
                .and_then(|end| target.get_mut(offset..end));
            target_bytes?.copy_from_slice(source);
        }
        Some(())
    })
    .ok_or_else(|| PyValueError::new_err("an array goes beyond the end of its target"))
}
