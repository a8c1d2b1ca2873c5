"""Specs of a batch's columns: their kinds, shapes and dtypes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from atds.dtypes import DType


@dataclass(frozen=True)
class ArraySpec:
    """The spec of an array of numbers, a :class:`StringArray` or a :class:`BFloat16Array`.

    Attributes:
        shape: The dimensions, the batch first; None where they vary.
        dtype: The name of the dtype.
    """

    shape: tuple[int | None, ...]
    dtype: DType


@dataclass(frozen=True)
class SparseTensorSpec:
    """The spec of a :class:`SparseTensor`.

    Attributes:
        shape: The dense shape, the batch first; None where it varies.
        dtype: The name of the dtype.
    """

    shape: tuple[int | None, ...]
    dtype: DType


@dataclass(frozen=True)
class RaggedTensorSpec:
    """The spec of a :class:`RaggedTensor`, with row splits for each dimension but the batch.

    Attributes:
        shape: The dimensions, the batch first; None where they vary.
        dtype: The name of the dtype.
    """

    shape: tuple[int | None, ...]
    dtype: DType

    @property
    def ragged_rank(self) -> int:
        """The number of row splits."""
        return len(self.shape) - 1


@dataclass(frozen=True)
class RaggedSparseTensorSpec:
    """The spec of a :class:`RaggedSparseTensor`.

    Attributes:
        shape: The dense shape, the batch first; None where it varies.
        dtype: The name of the dtype.
    """

    shape: tuple[int | None, ...]
    dtype: DType


#: The spec of a column of any kind.
TensorSpec: TypeAlias = ArraySpec | SparseTensorSpec | RaggedTensorSpec | RaggedSparseTensorSpec


def element_spec(
    columns: Iterable[tuple[str, str, str, list[int], bool]],
    binary: set[str],
    batch_size: int | None,
) -> dict[str, TensorSpec]:
    """The specs of native columns. ``batch_size`` is None if it varies."""
    return {column[0]: _spec(column, binary, batch_size) for column in columns}


def _spec(
    column: tuple[str, str, str, list[int], bool], binary: set[str], batch_size: int | None
) -> TensorSpec:
    name, dtype, kind, dims, ragged = column
    column_dtype: DType = "bytes" if name in binary else dtype  # type: ignore[assignment]
    if kind == "flat":
        # A flat column has one value for each entry of another column.
        return ArraySpec((None,), column_dtype)
    shape = (batch_size, *(None if dim < 0 else dim for dim in dims))
    if kind == "dense":
        return ArraySpec(shape, column_dtype)
    if not ragged:
        return SparseTensorSpec(shape, column_dtype)
    return (
        RaggedTensorSpec(shape, column_dtype)
        if kind == "varlen"
        else RaggedSparseTensorSpec(shape, column_dtype)
    )
