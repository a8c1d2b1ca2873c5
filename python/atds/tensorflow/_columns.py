"""The columns of batches as tensors: as a flat list inside the graph, and as a dict for users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from atds import _native
from atds.batch import Batch
from atds.errors import DataError, FeatureError
from atds.feature_sets import to_json
from atds.features import Feature
from atds.strings import StringArray
from atds.tensorflow._framework import tf


def splits_dtypes(features: Mapping[str, Any]) -> dict[str, Any]:
    """The dtypes of the row splits of features that say one: those of ``tf.io.RaggedFeature``."""
    asked = {name: getattr(f, "row_splits_dtype", None) for name, f in features.items()}
    return {name: tf.as_dtype(dtype) for name, dtype in asked.items() if dtype is not None}


class Columns:
    """The columns that features become in TensorFlow. They do not depend on the schema.

    A dense column is one tensor. A column of coordinates is three: its indices, values and dense
    shape. A ragged column is its values and row splits.

    Args:
        features: The features.
        mask: The name of the column that says which rows damage has cost; None if there is none.
        format: The format of the files, on which the dimensions of features depend.
        splits_dtypes: The dtypes of the row splits of features; int64 for others.

    Raises:
        FeatureError: Features are invalid, or TensorFlow cannot represent a column.
    """

    def __init__(
        self,
        features: Mapping[str, Feature],
        mask: str | None = None,
        format: str = "avro",
        splits_dtypes: Mapping[str, Any] | None = None,
    ) -> None:
        dtypes = splits_dtypes or {}
        self._columns = [
            _Column.of(dtypes.get(column[0], tf.int64), *column)
            for column in _native.spec_of_features(to_json(features), format)
        ]
        if mask is not None:
            self._columns.append(_Column(mask, tf.bool, "dense", ()))
            self._columns.sort(key=lambda column: column.name)

    def flat(self, batch_size: int | None = None) -> list[Any]:
        """The ``tf.TensorSpec`` of each tensor of each column.

        Args:
            batch_size: The number of rows, if it is known.
        """
        return [spec for column in self._columns for spec in column.flat(batch_size)]

    def arrays(self, batch: Batch) -> list[np.ndarray[Any, Any]]:
        """The tensors of a batch as arrays over its memory; strings are objects."""
        return [part for column in self._columns for part in column.arrays(batch[column.name])]

    def tensors(self, flat: Sequence[Any], batch_size: int | None = None) -> dict[str, Any]:
        """The tensors by name, each a ``tf.Tensor``, ``tf.SparseTensor`` or ``tf.RaggedTensor``.

        Args:
            flat: The tensors of all columns.
            batch_size: The number of rows, if it is known.
        """
        parts = iter(flat)
        return {column.name: column.tensor(parts, batch_size) for column in self._columns}

    def element_spec(self, batch_size: int | None) -> dict[str, Any]:
        """The ``tf.TypeSpec`` of each column by name."""
        return {column.name: column.spec(batch_size) for column in self._columns}


@dataclass(frozen=True)
class _Column:
    """A column of a batch; its kind is ``dense``, ``flat``, ``coo`` or ``ragged``."""

    name: str
    dtype: Any
    kind: str
    # Without the batch dimension; None for dimensions that vary.
    dims: tuple[int | None, ...]
    splits_dtype: Any = tf.int64

    @classmethod
    def of(
        cls, splits_dtype: Any, name: str, dtype: str, kind: str, shape: list[int], ragged: bool
    ) -> _Column:
        if kind == "sparse" and ragged:
            raise FeatureError(
                f"feature '{name}': TensorFlow has no ragged form of a sparse feature: leave "
                "layout='ragged' out"
            )
        if kind in ("sparse", "varlen"):
            kind = "ragged" if ragged else "coo"
        dims = tuple(None if dim < 0 else dim for dim in shape)
        return cls(name, tf.as_dtype(dtype), kind, dims, splits_dtype)

    def flat(self, batch_size: int | None) -> list[Any]:
        rank = len(self.dims)
        if self.kind == "dense":
            return [tf.TensorSpec([batch_size, *self.dims], self.dtype)]
        values = tf.TensorSpec([None], self.dtype)
        if self.kind == "flat":
            return [values]
        if self.kind == "ragged":
            return [values, *[tf.TensorSpec([None], self.splits_dtype)] * rank]
        indices = tf.TensorSpec([None, rank + 1], tf.int64)
        return [indices, values, tf.TensorSpec([rank + 1], tf.int64)]

    def arrays(self, column: Any) -> Iterator[np.ndarray[Any, Any]]:
        if self.kind == "coo":
            yield column.indices
            yield _array(column.values)
            yield np.array(column.dense_shape, np.int64)
        elif self.kind == "ragged":
            yield _array(column.values)
            yield from map(self._splits, column.row_splits)
        else:
            yield _array(column)

    def _splits(self, splits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        dtype = self.splits_dtype.as_numpy_dtype
        if splits[-1] > np.iinfo(dtype).max:
            raise DataError(
                f"feature '{self.name}': a batch has {splits[-1]} values, more than row splits of "
                f"{self.splits_dtype.name} count: ask for row_splits_dtype=tf.int64, or for smaller batches"
            )
        return splits.astype(dtype, copy=False)

    def tensor(self, parts: Iterator[Any], batch_size: int | None) -> Any:
        first = next(parts)
        if self.kind == "coo":
            sparse = tf.SparseTensor(first, next(parts), next(parts))
            sparse.set_shape([batch_size, *self.dims])
            return sparse
        if self.kind == "ragged":
            splits = [next(parts) for _ in self.dims]
            return tf.RaggedTensor.from_nested_row_splits(first, splits, validate=False)
        if self.kind == "dense":
            first.set_shape([batch_size, *self.dims])
        return first

    def spec(self, batch_size: int | None) -> Any:
        shape = [batch_size, *self.dims]
        if self.kind == "dense":
            return tf.TensorSpec(shape, self.dtype)
        if self.kind == "flat":
            return tf.TensorSpec([None], self.dtype)
        if self.kind == "coo":
            return tf.SparseTensorSpec(shape, self.dtype)
        return tf.RaggedTensorSpec(shape, self.dtype, len(self.dims), self.splits_dtype)


def _array(values: Any) -> np.ndarray[Any, Any]:
    if isinstance(values, StringArray):
        # TensorFlow's strings are bytes.
        return StringArray(values.offsets, values.data, values.shape, binary=True).to_numpy()
    if isinstance(values, np.ndarray):
        return values
    array: np.ndarray[Any, Any] = values.to_numpy()
    return array
