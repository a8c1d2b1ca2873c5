"""Batches."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from atds.bfloat16 import BFloat16Array
    from atds.ragged import RaggedSparseTensor, RaggedTensor
    from atds.sparse import SparseTensor
    from atds.strings import StringArray

    #: A column of a batch.
    Column: TypeAlias = (
        np.ndarray[Any, np.dtype[Any]]
        | BFloat16Array
        | StringArray
        | SparseTensor
        | RaggedTensor
        | RaggedSparseTensor
    )


class Batch(dict[str, Any]):
    """A batch: a dict of columns, sorted by name.

    Dense columns of numbers are :class:`numpy.ndarray` over the memory that the pipeline wrote,
    and can be written to; dense strings are :class:`StringArray`, sparse and varlen columns
    :class:`SparseTensor`, or with the layout ``ragged`` :class:`RaggedTensor` and
    :class:`RaggedSparseTensor`. Each column keeps its own memory alive and no other's; once it is
    gone, its memory is used for another batch.

    >>> batch = next(iter(atds.Dataset("clicks/*.avro", batch_size=64)))
    >>> batch.num_records
    64
    >>> batch["d0"].shape, batch["d0"].dtype
    ((64, 8), dtype('float32'))
    >>> batch["d00"]
    Traceback (most recent call last):
    KeyError: "the batch has no column 'd00' (did you mean 'd0'?)"

    Attributes:
        num_records: Records in the batch, which are its rows.
    """

    __slots__ = ("num_records",)

    num_records: int

    def __missing__(self, name: object) -> NoReturn:
        nearest = difflib.get_close_matches(str(name), self, n=1)
        meant = f"did you mean '{nearest[0]}'?" if nearest else f"it has {', '.join(self)}"
        raise KeyError(f"the batch has no column {name!r} ({meant})")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (dict(self), self.num_records)


def _restored(columns: dict[str, Any], num_records: int) -> Batch:
    batch = Batch(columns)
    batch.num_records = num_records
    return batch
