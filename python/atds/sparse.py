"""Sparse tensors by coordinates."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from atds._convert import jax_arrays, jax_indices, tf_values, torch_tensor
from atds._packages import need
from atds.bfloat16 import BFloat16Array
from atds.errors import MemoryLimitError
from atds.strings import StringArray

#: The default maximum size of a dense array in bytes, the same as that of ``memory_limit``.
MAX_DENSE_BYTES = 4 << 30


class SparseTensor(NamedTuple):
    """A sparse tensor by coordinates (COO), of a sparse or varlen feature.

    Entries are in the order of the records, and within a record in the order of the values. The
    tuple has the order in which frameworks take the parts:

    >>> batch = next(iter(atds.Dataset("clicks/*.avro", batch_size=64)))
    >>> indices, values, dense_shape = batch["sp0"]
    >>> indices.dtype, indices.shape[1], values.dtype, dense_shape[0]
    (dtype('int64'), 2, dtype('float32'), 64)

    Attributes:
        indices: int64 ``[nnz, rank + 1]``: for each entry the row, then its index.
        values: ``[nnz]``: an array of numbers, or a :class:`StringArray` or
            :class:`BFloat16Array`.
        dense_shape: rank + 1 dimensions; the first is the number of rows in the batch.
    """

    indices: Any
    values: Any
    dense_shape: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The same as ``dense_shape``, under the name that arrays use."""
        return self.dense_shape

    def toarray(self, *, max_bytes: int = MAX_DENSE_BYTES) -> np.ndarray[Any, np.dtype[Any]]:
        """The dense array, as SciPy makes it: a cell without entries is 0, and entries with the
        same indices are added.

        Cells of bools without entries are False, and entries with the same indices are combined by
        "or". bfloat16 becomes float32. Strings become objects; cells without entries are ``""`` (or
        ``b""``).

        >>> features = {"sp0": atds.SparseFeature([50_001], "float32")}
        >>> sp0 = next(iter(atds.Dataset("clicks/*.avro", 64, features)))["sp0"]
        >>> sp0.shape, sp0.toarray().shape, sp0.toarray().dtype
        ((64, 50001), (64, 50001), dtype('float32'))

        Args:
            max_bytes: Maximum number of bytes of the array, 4 GiB if not given.

        Raises:
            MemoryLimitError: The array has more bytes.
            ValueError: Several strings have the same indices.
        """
        return dense(self.indices, self.values, self.dense_shape, max_bytes)

    def to_dense(self, *, max_bytes: int = MAX_DENSE_BYTES) -> np.ndarray[Any, np.dtype[Any]]:
        """The dense array; the same as :meth:`toarray`."""
        return self.toarray(max_bytes=max_bytes)

    def to_scipy(self) -> Any:
        """A ``scipy.sparse.coo_array`` over the same values.

        Raises:
            MissingPackageError: SciPy is not installed.
            TypeError: The values are strings, float16 or bfloat16, which SciPy does not have.
        """
        sparse = need("scipy.sparse", "to_scipy")
        _only_numbers(self.values, "SciPy")
        coordinates = tuple(self.indices[:, axis] for axis in range(self.indices.shape[1]))
        return sparse.coo_array((self.values, coordinates), shape=self.dense_shape)

    def to_torch(self) -> Any:
        """A ``torch.sparse_coo_tensor`` over the same memory.

        Raises:
            MissingPackageError: PyTorch is not installed.
            TypeError: The values are strings, which PyTorch does not have.
        """
        torch = need("torch", "to_torch")
        return torch.sparse_coo_tensor(
            torch_tensor(torch, self.indices).t(),
            torch_tensor(torch, self.values),
            self.dense_shape,
            check_invariants=False,
        )

    def to_tf(self) -> Any:
        """A ``tf.sparse.SparseTensor``.

        Raises:
            MissingPackageError: TensorFlow is not installed.
        """
        tf = need("tensorflow", "to_tf")
        return tf.sparse.SparseTensor(
            tf.convert_to_tensor(self.indices), tf_values(tf, self.values), self.dense_shape
        )

    def to_jax(self) -> Any:
        """A ``jax.experimental.sparse.BCOO``; its indices are int32 unless 64 bits are enabled.

        Raises:
            MissingPackageError: JAX is not installed.
            OptionError: Values or dimensions need 64 bits, which are not enabled in JAX.
            TypeError: The values are strings, which JAX does not have.
        """
        sparse = need("jax.experimental.sparse", "to_jax")
        values = jax_arrays(self.values)
        indices = jax_indices(self.indices, self.dense_shape)
        return sparse.BCOO((values, indices), shape=self.dense_shape)


def dense(
    indices: Any, values: Any, shape: tuple[int, ...], max_bytes: int
) -> np.ndarray[Any, np.dtype[Any]]:
    """The dense array of entries by coordinates."""
    if isinstance(values, StringArray):
        dtype: np.dtype[Any] = np.dtype(object)
    elif isinstance(values, BFloat16Array):
        values = values.to_float32()
        dtype = values.dtype
    else:
        dtype = values.dtype
    size = math.prod(shape) * dtype.itemsize
    if size > max_bytes:
        raise MemoryLimitError(
            f"a dense array of the shape {list(shape)} has {size:,} bytes, and max_bytes is "
            f"{max_bytes:,}: keep it sparse, or set max_bytes"
        )
    coordinates = tuple(indices[:, axis] for axis in range(len(shape)))
    array = np.zeros(shape, dtype)
    if isinstance(values, StringArray):
        _check_distinct(coordinates, shape)
        array[...] = b"" if values.dtype == "bytes" else ""
        array[coordinates] = values.to_numpy()
    elif dtype == bool:
        np.logical_or.at(array, coordinates, values)
    else:
        np.add.at(array, coordinates, values)
    return array


def _check_distinct(coordinates: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    known, counts = np.unique(np.ravel_multi_index(coordinates, shape), return_counts=True)
    for several in known[counts > 1]:
        at = [int(index) for index in np.unravel_index(several, shape)]
        raise ValueError(f"several strings have the indices {at}, and cannot be summed")


def _only_numbers(values: Any, framework: str) -> None:
    if isinstance(values, StringArray):
        raise TypeError(
            f"{framework} has no strings: ask for ids with hash_buckets= or vocabulary="
        )
    if values.dtype in ("bfloat16", "float16"):
        raise TypeError(f"{framework} has no {values.dtype}: ask for dtype='float32'")
