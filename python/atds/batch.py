"""Batches."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from atds import _native
from atds._packages import need
from atds._reprs import counted, html, listed

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
    :class:`RaggedSparseTensor`. Each column keeps only its own memory alive. When the column is
    freed, another batch reuses its memory.

    >>> batch = next(iter(atds.Dataset("clicks/*.avro", batch_size=64)))
    >>> batch.num_records
    64
    >>> batch["s_weight"].shape, batch["s_weight"].dtype
    ((64,), dtype('float32'))
    >>> batch["weight"]
    Traceback (most recent call last):
    KeyError: "the batch has no column 'weight' (did you mean 's_weight'?)"

    Attributes:
        num_records: Number of records in the batch, which are its rows.
        masks: For each mask of entries, the name of the column with these entries.
    """

    __slots__ = ("masks", "num_records")

    num_records: int
    masks: Mapping[str, str]

    def to_arrow(self) -> Any:
        """A ``pyarrow.RecordBatch`` over the same memory where the layouts agree.

        Dense columns of several dimensions are fixed-size lists, ragged ones large lists, sparse
        ones large lists of structs of ``indices`` and ``values``. Bools and the indices of
        coordinates are copied, and bfloat16 becomes float32.

        Raises:
            MissingPackageError: pyarrow is not installed.
            ValueError: Strings that are not UTF-8; ask for ``dtype="bytes"``.
        """
        return need("pyarrow", "to_arrow").record_batch(_Exported(self))

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        """The batch as a struct of its columns, by Arrow's C data interface."""
        from atds import _arrow

        return _native.export_array(_arrow.batch_node(self))

    def __missing__(self, name: object) -> NoReturn:
        nearest = difflib.get_close_matches(str(name), self, n=1)
        meant = f"did you mean '{nearest[0]}'?" if nearest else f"it has {', '.join(self)}"
        raise KeyError(f"the batch has no column {name!r} ({meant})")

    def __repr__(self) -> str:
        columns = [(name, summary(column)) for name, column in self.items()]
        return listed(f"Batch of {counted(self.num_records, 'record')}", columns)

    def _repr_html_(self) -> str:
        columns = [(name, summary(column)) for name, column in self.items()]
        title = f"Batch of {counted(self.num_records, 'record')}"
        return html(title, [], (("column", "dtype and shape"), columns))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (dict(self), self.num_records, dict(self.masks))


class _Exported:
    """A batch that is no dict, for consumers that would treat a dict specially."""

    def __init__(self, batch: Batch) -> None:
        self.__arrow_c_array__ = batch.__arrow_c_array__


def summary(column: Any) -> str:
    """A short description of a column: its dtype and shape, for each part if it has several."""
    if isinstance(column, tuple):
        if hasattr(column, "dense_shape"):
            sparse: Any = column
            entries = counted(len(sparse.values), "entry", "entries")
            of = f"{sparse.values.dtype} {list(sparse.dense_shape)}"
            return f"{type(column).__name__}({of}, {entries})"
        parts = ", ".join(summary(part) for part in column if hasattr(part, "dtype"))
        return f"{type(column).__name__}({parts})"
    if hasattr(column, "dtype") and hasattr(column, "shape"):
        return f"{column.dtype} {list(column.shape)}"
    return repr(column)


def _restored(columns: dict[str, Any], num_records: int, masks: dict[str, str]) -> Batch:
    batch = Batch(columns)
    batch.num_records, batch.masks = num_records, masks
    return batch
