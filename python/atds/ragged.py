"""Ragged tensors: values and row splits."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from atds._convert import jax_arrays, jax_indices, tf_values, torch_tensor
from atds._packages import need
from atds.sparse import MAX_DENSE_BYTES, SparseTensor, _only_numbers

if TYPE_CHECKING:
    from typing_extensions import Self


class RaggedTensor(tuple[Any, ...]):
    """Lists of varying length, of a varlen feature with the layout ``ragged``.

    The tuple of the values and the row splits, the outermost first. List ``i`` of a level has the
    items from ``row_splits[i]`` to ``row_splits[i + 1]`` of the next level, or of the values.

    >>> words = atds.VarlenFeature([-1], "string", layout="ragged")
    >>> dataset = atds.Dataset("strings/*.avro", 64, {"v_words": words})
    >>> values, row_splits = next(iter(dataset))["v_words"]
    >>> row_splits.dtype, row_splits.shape, row_splits[-1] == len(values)
    (dtype('int64'), (65,), np.True_)
    """

    __slots__ = ()

    def __new__(cls, values: Any, *row_splits: Any) -> Self:
        return super().__new__(cls, (values, *row_splits))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    @property
    def values(self) -> Any:
        """The innermost values end to end: an array of numbers, or a :class:`StringArray` or
        :class:`BFloat16Array`."""
        return self[0]

    @property
    def row_splits(self) -> tuple[Any, ...]:
        """The row splits, each int64 ``[lists + 1]`` and starting with 0; the outermost first."""
        return tuple(self[1:])

    def tolist(self) -> list[Any]:
        """The lists of each record as nested lists.

        >>> words = atds.VarlenFeature([-1], "string", layout="ragged")
        >>> dataset = atds.Dataset("strings/*.avro", 64, {"v_words": words})
        >>> ragged = next(iter(dataset))["v_words"]
        >>> [len(words) for words in ragged.tolist()] == np.diff(ragged.row_splits[0]).tolist()
        True
        """
        items: list[Any] = self.values.tolist()
        for splits in reversed(self.row_splits):
            items = [items[start:end] for start, end in itertools.pairwise(splits.tolist())]
        return items

    def to_scipy(self) -> Any:
        """A ``scipy.sparse.csr_array`` with a row for each list; item ``j`` of a list is in column
        ``j``.

        Raises:
            MissingPackageError: SciPy is not installed.
            TypeError: More than one level of lists, or values that SciPy does not have.
        """
        sparse = need("scipy.sparse", "to_scipy")
        _only_numbers(self.values, "SciPy")
        splits = self._one_level("SciPy")
        lengths = np.diff(splits)
        columns = np.arange(len(self.values)) - np.repeat(splits[:-1], lengths)
        shape = (len(lengths), int(lengths.max(initial=0)))
        return sparse.csr_array((self.values, columns, splits), shape=shape)

    def to_torch(self) -> Any:
        """A ``torch.nested`` tensor of the jagged layout over the same memory.

        Raises:
            MissingPackageError: PyTorch is not installed.
            TypeError: More than one level of lists, or strings.
        """
        torch = need("torch", "to_torch")
        splits = torch_tensor(torch, self._one_level("PyTorch"))
        return torch.nested.nested_tensor_from_jagged(torch_tensor(torch, self.values), splits)

    def to_tf(self) -> Any:
        """A ``tf.RaggedTensor``.

        Raises:
            MissingPackageError: TensorFlow is not installed.
        """
        tf = need("tensorflow", "to_tf")
        return tf.RaggedTensor.from_nested_row_splits(
            tf_values(tf, self.values), self.row_splits, validate=False
        )

    def to_jax(self) -> tuple[Any, ...]:
        """The values and the row splits as arrays of JAX; the splits are int32 unless 64 bits are
        enabled in JAX.

        Raises:
            MissingPackageError: JAX is not installed.
            OptionError: The values have 64 bits, which are not enabled in JAX.
            TypeError: The values are strings, which JAX does not have.
        """
        splits = (jax_indices(splits, (int(splits[-1]),)) for splits in self.row_splits)
        return (jax_arrays(self.values), *splits)

    def _one_level(self, framework: str) -> Any:
        if len(self.row_splits) != 1:
            raise TypeError(
                f"{framework} has one level of lists, but this has {len(self.row_splits)}"
            )
        return self.row_splits[0]

    def __repr__(self) -> str:
        return f"RaggedTensor(values={self.values!r}, row_splits={self.row_splits!r})"


class RaggedSparseTensor(tuple[Any, Any, Any]):
    """The entries of sparse rows end to end, of a sparse feature with the layout ``ragged``.

    The tuple of indices, values and row splits, with the attribute ``dense_shape``:

    >>> clicks = atds.SparseFeature([50_001], "float32", layout="ragged")
    >>> dataset = atds.Dataset("clicks/*.avro", 64, {"sp0": clicks})
    >>> sp0 = next(iter(dataset))["sp0"]
    >>> indices, values, row_splits = sp0
    >>> indices.shape[1], row_splits.shape, sp0.dense_shape
    (1, (65,), (64, 50001))
    """

    #: The number of rows in the batch, then the dimensions of the feature.
    dense_shape: tuple[int, ...]

    def __new__(
        cls, indices: Any, values: Any, row_splits: Any, dense_shape: tuple[int, ...]
    ) -> Self:
        tensor = super().__new__(cls, (indices, values, row_splits))
        tensor.dense_shape = dense_shape
        return tensor

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self.dense_shape)

    @property
    def indices(self) -> Any:
        """int64 ``[nnz, rank]``, without the row."""
        return self[0]

    @property
    def values(self) -> Any:
        """``[nnz]``: an array of numbers, or a :class:`StringArray` or :class:`BFloat16Array`."""
        return self[1]

    @property
    def row_splits(self) -> Any:
        """int64 ``[rows + 1]``: the entries of row ``i`` are from ``row_splits[i]`` to
        ``row_splits[i + 1]``."""
        return self[2]

    @property
    def shape(self) -> tuple[int, ...]:
        """The same as ``dense_shape``, under the name that arrays use."""
        return self.dense_shape

    def toarray(self, *, max_bytes: int = MAX_DENSE_BYTES) -> np.ndarray[Any, np.dtype[Any]]:
        """The dense array; see :meth:`SparseTensor.toarray`."""
        return self.to_coo().toarray(max_bytes=max_bytes)

    def to_dense(self, *, max_bytes: int = MAX_DENSE_BYTES) -> np.ndarray[Any, np.dtype[Any]]:
        """The dense array; see :meth:`SparseTensor.toarray`."""
        return self.toarray(max_bytes=max_bytes)

    def to_coo(self) -> SparseTensor:
        """The same tensor by coordinates; the indices are copied."""
        rows = np.repeat(np.arange(len(self.row_splits) - 1), np.diff(self.row_splits))
        indices = np.concatenate([rows[:, np.newaxis], self.indices], axis=1)
        return SparseTensor(indices, self.values, self.dense_shape)

    def to_scipy(self) -> Any:
        """A ``scipy.sparse.csr_array`` over the same values; a ``coo_array`` if the rank is above
        1.

        Raises:
            MissingPackageError: SciPy is not installed.
            TypeError: The values are strings, float16 or bfloat16, which SciPy does not have.
        """
        sparse = need("scipy.sparse", "to_scipy")
        _only_numbers(self.values, "SciPy")
        if len(self.dense_shape) != 2:
            return self.to_coo().to_scipy()
        parts = (self.values, self.indices[:, 0], self.row_splits)
        return sparse.csr_array(parts, shape=self.dense_shape)

    def to_torch(self) -> Any:
        """A ``torch.sparse_coo_tensor``; see :meth:`SparseTensor.to_torch`."""
        return self.to_coo().to_torch()

    def to_tf(self) -> Any:
        """A ``tf.sparse.SparseTensor``; see :meth:`SparseTensor.to_tf`."""
        return self.to_coo().to_tf()

    def to_jax(self) -> Any:
        """A ``jax.experimental.sparse.BCOO``; see :meth:`SparseTensor.to_jax`."""
        return self.to_coo().to_jax()

    def __repr__(self) -> str:
        return (
            f"RaggedSparseTensor(indices={self.indices!r}, values={self.values!r}, "
            f"row_splits={self.row_splits!r}, dense_shape={self.dense_shape!r})"
        )
