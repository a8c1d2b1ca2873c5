"""Sparse tensors by coordinates."""

from __future__ import annotations

from typing import Any, NamedTuple

from atds._convert import jax_arrays, jax_indices, tf_values, torch_tensor
from atds._packages import need
from atds.strings import StringArray


class SparseTensor(NamedTuple):
    """A sparse tensor by coordinates (COO), of a sparse or varlen feature.

    Entries are in the order of the records, and within one in that of the document. The tuple of
    its parts, in the order in which frameworks take them:

    >>> batch = next(iter(atds.Dataset("clicks/*.avro", batch_size=64)))
    >>> indices, values, dense_shape = batch["sp0"]
    >>> indices.dtype, indices.shape[1], values.dtype, dense_shape[0]
    (dtype('int64'), 2, dtype('float32'), 64)

    Attributes:
        indices: int64 ``[nnz, rank + 1]``; the first of each is the row.
        values: ``[nnz]``: an array of numbers, or a :class:`StringArray` or
            :class:`BFloat16Array`.
        dense_shape: rank + 1 dimensions; the first is the rows of the batch.
    """

    indices: Any
    values: Any
    dense_shape: tuple[int, ...]

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
        """A ``jax.experimental.sparse.BCOO``; its indices are int32 unless JAX has 64 bits.

        Raises:
            MissingPackageError: JAX is not installed.
            OptionError: Values or dimensions of 64 bits, where JAX has 32.
            TypeError: The values are strings, which JAX does not have.
        """
        sparse = need("jax.experimental.sparse", "to_jax")
        values = jax_arrays(self.values)
        indices = jax_indices(self.indices, self.dense_shape)
        return sparse.BCOO((values, indices), shape=self.dense_shape)


def _only_numbers(values: Any, framework: str) -> None:
    if isinstance(values, StringArray):
        raise TypeError(
            f"{framework} has no strings: ask for ids with hash_buckets= or vocabulary="
        )
    if values.dtype in ("bfloat16", "float16"):
        raise TypeError(f"{framework} has no {values.dtype}: ask for dtype='float32'")
