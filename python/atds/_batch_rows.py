"""The rows of batches, for the writers."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from atds.bfloat16 import BFloat16Array
from atds.errors import DataError
from atds.ragged import RaggedSparseTensor, RaggedTensor
from atds.sparse import SparseTensor
from atds.strings import StringArray


class Masks(NamedTuple):
    """The columns of a batch that are masks, and the columns that they are for."""

    #: Of entries: a flag for each value of a ragged or sparse column.
    entries: Mapping[str, str]
    #: Of rows, or of the elements of a dense column.
    rows: Mapping[str, str]

    def of(self, batch: Mapping[str, Any]) -> Masks:
        """Those that a batch has, with their columns."""
        return Masks(
            *(
                {mask: name for mask, name in part.items() if mask in batch and name in batch}
                for part in self
            )
        )


def num_rows(batch: Mapping[str, Any]) -> int:
    """The number of rows of a batch, which all of its columns have.

    Raises:
        DataError: The columns differ, or there are none.
    """
    known: tuple[str, int] | None = None
    for name, column in batch.items():
        rows = _num_rows(column)
        if known is not None and known[1] != rows:
            raise DataError(
                f"column '{name}' has {rows} rows, but column '{known[0]}' has {known[1]}",
                field=name,
            )
        known = name, rows
    if known is None:
        raise DataError("a batch has no columns")
    return known[1]


def _num_rows(column: Any) -> int:
    if isinstance(column, (SparseTensor, RaggedSparseTensor)):
        return int(column.dense_shape[0])
    if isinstance(column, RaggedTensor):
        return len(column.row_splits[0]) - 1
    shape = getattr(column, "shape", None)
    try:
        return int(shape[0]) if shape is not None else len(column)
    except (IndexError, TypeError):
        raise DataError(f"a column is an array of rows, not {column!r}") from None


def rows(
    batch: Mapping[str, Any], masks: Masks, lists: Collection[str], *, arrays: bool
) -> Iterator[dict[str, Any]]:
    """The rows of a batch as dicts.

    Args:
        batch: The columns.
        masks: The columns that are masks. A value that is not there is None.
        lists: The sparse columns that are lists.
        arrays: Whether numbers of several dimensions stay arrays.
    """
    masks = masks.of(batch)
    known = {name: column for name, column in batch.items() if name not in masks.entries}
    count = num_rows(known)
    entries = {name: batch[mask] for mask, name in masks.entries.items()}
    columns = {}
    for name, column in known.items():
        if name not in masks.rows:
            keep = arrays and name not in masks.rows.values()
            columns[name] = cells(name, column, entries.get(name), name in lists, arrays=keep)
    for mask, name in masks.rows.items():
        there = _plain(batch[mask])
        columns[name] = [_where(*pair) for pair in zip(columns[name], there, strict=True)]
    if not columns:
        return iter([{}] * count)
    parts = zip(*columns.values(), strict=True)
    return (dict(zip(columns, row, strict=True)) for row in parts)


def _where(cell: Any, there: Any) -> Any:
    """The value, with None for what is not there."""
    if isinstance(there, list):
        return [_where(part, flag) for part, flag in zip(cell, there, strict=True)]
    return cell if there else None


def cells(name: str, column: Any, mask: Any, is_list: bool, *, arrays: bool) -> list[Any]:
    """The value of each row. ``mask`` has a flag for each value of a ragged or sparse column, or is
    None."""
    if isinstance(column, (SparseTensor, RaggedSparseTensor, RaggedTensor)):
        values = _plain(column.values)
        if mask is not None:
            values = _where(values, _plain(mask))
    if isinstance(column, SparseTensor):
        _check_sorted(name, column)
        starts = np.searchsorted(column.indices[:, 0], np.arange(column.dense_shape[0] + 1))
        return _entries(name, column.indices[:, 1:], values, starts, is_list)
    if isinstance(column, RaggedSparseTensor):
        return _entries(name, column.indices, values, column.row_splits, is_list=False)
    if isinstance(column, RaggedTensor):
        for splits in reversed(column.row_splits):
            values = [values[start:end] for start, end in itertools.pairwise(splits.tolist())]
        return values
    if arrays and isinstance(column, np.ndarray) and column.ndim > 1:
        return list(column)
    return _plain(column)


def _check_sorted(name: str, column: SparseTensor) -> None:
    """Checks that the entries of a tensor, which may be the caller's own, are those of its rows, in their
    order: others would be lost."""
    rows = np.asarray(column.indices)[:, 0]
    if len(rows) != len(column.values):
        raise DataError(
            f"column '{name}' has {len(rows)} indices, but {len(column.values)} values: give each value "
            "its index",
            field=name,
        )
    if (np.diff(rows) < 0).any():
        raise DataError(
            f"column '{name}' is a SparseTensor whose indices are not sorted by rows: sort indices and "
            "values, by np.argsort(indices[:, 0], kind='stable')",
            field=name,
        )
    count = int(column.dense_shape[0])
    if len(rows) and not 0 <= rows[0] <= rows[-1] < count:
        wrong = int(rows[0] if rows[0] < 0 else rows[-1])
        raise DataError(
            f"column '{name}' has an entry of row {wrong}, but {count} rows by its dense_shape: rows are "
            "numbered from 0",
            field=name,
        )


def _plain(column: Any) -> list[Any]:
    if isinstance(column, BFloat16Array):
        column = column.to_float32()
    if isinstance(column, (np.ndarray, StringArray)):
        is_time = isinstance(column, np.ndarray) and column.dtype.kind in "mM"
        return list(column) if is_time else column.tolist()
    if hasattr(column, "__array__"):
        column, there = without_nulls(column)
        values = _plain(np.asarray(column))
        if there is None:
            return values
        present = iter(values)
        return [next(present) if flag else None for flag in there]
    return list(column)


def without_nulls(column: Any) -> tuple[Any, list[bool] | None]:
    """The values that are not null of a column of pandas, polars or pyarrow, and for each row whether
    its value is there; None if all are. In arrays of NumPy, ints beside nulls become floats."""
    for is_null, drop in (("isna", "dropna"), ("is_null", "drop_nulls"), ("is_null", "drop_null")):
        # A column of pandas that has a dtype of NumPy has no nulls: NaN is a value there.
        is_numpy = isinstance(getattr(column, "dtype", None), np.dtype)
        if not is_numpy and hasattr(column, is_null) and hasattr(column, drop):
            there = ~np.asarray(getattr(column, is_null)(), bool)
            if not there.all():
                return getattr(column, drop)(), there.tolist()
    return column, None


def _entries(name: str, indices: Any, cells: list[Any], starts: Any, is_list: bool) -> list[Any]:
    """For each row the list of its values, or the record of their indices and them."""
    splits = list(itertools.pairwise(starts.tolist()))
    if not is_list:
        columns = [indices[:, axis].tolist() for axis in range(indices.shape[1])]
        return [
            {f"indices{axis}": column[start:end] for axis, column in enumerate(columns)}
            | {"values": cells[start:end]}
            for start, end in splits
        ]
    if indices.shape[1] != 1:
        raise DataError(
            f"column '{name}' is sparse and of {indices.shape[1]} levels of lists, of which empty ones "
            "are not told: ask for layout='ragged'",
            field=name,
        )
    expected = np.arange(len(indices)) - np.repeat(starts[:-1], np.diff(starts))
    wrong = np.flatnonzero(indices[:, 0] != expected)
    if wrong.size:
        row = int(np.searchsorted(starts, wrong[0], "right")) - 1
        raise DataError(
            f"column '{name}', row {row} of a batch: the value at index {int(indices[wrong[0], 0])} is no "
            "item of a list, whose indices begin at 0 and have no gaps: write it as a sparse record",
            field=name,
        )
    return [cells[start:end] for start, end in splits]
