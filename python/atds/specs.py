"""What the columns of a batch are, before there is one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from atds.dtypes import DType


@dataclass(frozen=True)
class ArraySpec:
    """An array: of numbers, or a :class:`StringArray` or :class:`BFloat16Array`.

    Attributes:
        shape: The dimensions, the batch first; None where they vary.
        dtype: The name of the dtype.
    """

    shape: tuple[int | None, ...]
    dtype: DType


@dataclass(frozen=True)
class SparseTensorSpec:
    """A :class:`SparseTensor`.

    Attributes:
        shape: The dense shape, the batch first; None where it varies.
        dtype: The name of the dtype.
    """

    shape: tuple[int | None, ...]
    dtype: DType


@dataclass(frozen=True)
class RaggedTensorSpec:
    """A :class:`RaggedTensor`, with row splits for each dimension but the batch.

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
    """A :class:`RaggedSparseTensor`.

    Attributes:
        shape: The dense shape, the batch first; None where it varies.
        dtype: The name of the dtype.
    """

    shape: tuple[int | None, ...]
    dtype: DType


#: What a column of any kind is.
TensorSpec: TypeAlias = ArraySpec | SparseTensorSpec | RaggedTensorSpec | RaggedSparseTensorSpec


def element_spec(
    columns: Iterable[tuple[str, str, str, list[int], bool]],
    binary: set[str],
    batch_size: int | None,
) -> dict[str, TensorSpec]:
    """The specs of native columns, in batches of a size that is always the same, or None."""
    return {column[0]: _spec(column, binary, batch_size) for column in columns}


def _spec(
    column: tuple[str, str, str, list[int], bool], binary: set[str], batch_size: int | None
) -> TensorSpec:
    name, dtype, kind, dims, ragged = column
    said: DType = "bytes" if name in binary else dtype  # type: ignore[assignment]
    if kind == "flat":
        # As many as another column has entries.
        return ArraySpec((None,), said)
    shape = (batch_size, *(None if dim < 0 else dim for dim in dims))
    if kind == "dense":
        return ArraySpec(shape, said)
    if not ragged:
        return SparseTensorSpec(shape, said)
    return (
        RaggedTensorSpec(shape, said) if kind == "varlen" else RaggedSparseTensorSpec(shape, said)
    )
