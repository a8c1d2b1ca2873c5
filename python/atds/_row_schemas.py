"""Schemas of rows and batches that come without one."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from atds import _rows
from atds._batch_rows import Masks, without_nulls
from atds.bfloat16 import BFloat16Array
from atds.errors import SchemaError
from atds.ragged import RaggedSparseTensor, RaggedTensor
from atds.sparse import SparseTensor
from atds.strings import StringArray

_NAME = "Row"
_GIVE = "give a schema"


def of_row(row: Any) -> dict[str, Any]:
    """The Avro schema of a row.

    Raises:
        SchemaError: A value has no type or could be of several.
    """
    if not isinstance(row, Mapping):
        raise SchemaError(f"a row is a dict, not {row!r}: {_GIVE} for other values")
    return _record(_NAME, row)


def _record(name: str, row: Mapping[Any, Any]) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [
            {"name": key, "type": _of_value(f"{name}_{key}", key, value)}
            for key, value in row.items()
        ],
    }


def _of_value(name: str, field: str, value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
        return _arrays(_of_dtype(field, value.dtype), value.ndim)
    value = _rows.plain(value)
    for kind, type_ in _TYPES:
        if isinstance(value, kind):
            return type_
    if isinstance(value, datetime.datetime):
        local = "local-" if value.tzinfo is None else ""
        return {"type": "long", "logicalType": f"{local}timestamp-micros"}
    if isinstance(value, datetime.date):
        return {"type": "int", "logicalType": "date"}
    if isinstance(value, dict):
        return _record(name, value)
    if isinstance(value, (list, tuple)):
        return _arrays(_of_items(name, field, value), 1)
    said = "None" if value is None else f"{value!r} ({type(value).__name__})"
    raise SchemaError(f"field '{field}': {said} does not tell a type: {_GIVE}", field=field)


_TYPES: tuple[tuple[type, Any], ...] = (
    (bool, "boolean"),
    (int, "long"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (uuid.UUID, {"type": "string", "logicalType": "uuid"}),
    (datetime.time, {"type": "long", "logicalType": "time-micros"}),
)


def _of_items(name: str, field: str, items: Any) -> Any:
    """The one type of the items of a list, of which some may be None."""
    types: list[Any] = []
    for item in items:
        if item is not None:
            type_ = _of_value(name, field, item)
            if type_ not in types:
                types.append(type_)
    if sorted(map(str, types)) == ["double", "long"]:
        types = ["double"]
    if len(types) != 1:
        said = "has no items that tell" if not types else "has items of several types, not"
        raise SchemaError(f"field '{field}': the list {said} a type: {_GIVE}", field=field)
    return ["null", types[0]] if any(item is None for item in items) else types[0]


def of_batch(
    batch: Mapping[str, Any], masks: Masks, lists: Collection[str] | None
) -> dict[str, Any]:
    """The Avro schema of the rows of a batch. ``lists`` are the sparse columns that are lists, if that is
    known.

    Raises:
        SchemaError: A column could be of several types.
    """
    masks = masks.of(batch)
    null_items = set(masks.entries.values())
    null_rows: set[str] = set()
    for mask, name in masks.rows.items():
        of_items = batch[mask].ndim > 1
        (null_items if of_items else null_rows).add(name)
    fields = []
    for name, column in batch.items():
        if name not in masks.entries and name not in masks.rows:
            type_ = _of_column(name, column, lists, name in null_items)
            if name in null_rows and not isinstance(type_, list):
                type_ = ["null", type_]
            fields.append({"name": name, "type": type_})
    return {"type": "record", "name": _NAME, "fields": fields}


def _of_column(name: str, column: Any, lists: Collection[str] | None, null_items: bool) -> Any:
    def elements(values: Any) -> Any:
        type_ = _of_elements(name, values)
        return ["null", type_] if null_items else type_

    if isinstance(column, RaggedTensor):
        return _arrays(elements(column.values), len(column.row_splits))
    if isinstance(column, SparseTensor):
        if lists is None:
            raise SchemaError(
                f"column '{name}' is a SparseTensor, which may have been lists or sparse records: "
                f"{_GIVE}, or the data set itself in place of its batches, or ask for "
                "layout='ragged'",
                field=name,
            )
        if name in lists:
            return _arrays(elements(column.values), column.indices.shape[1] - 1)
        return _sparse(name, elements(column.values), column.indices.shape[1] - 1)
    if isinstance(column, RaggedSparseTensor):
        return _sparse(name, elements(column.values), column.indices.shape[1])
    if not isinstance(column, (np.ndarray, StringArray, BFloat16Array)):
        if not hasattr(column, "__array__"):
            raise SchemaError(f"column '{name}' is a {type(column).__name__}: {_GIVE}", field=name)
        column, there = without_nulls(column)
        column = np.asarray(column)
        # Text, and values that NumPy has no dtype for.
        of_objects = column.dtype.kind in "OU" and column.ndim == 1
        type_ = _of_items(f"{_NAME}_{name}", name, column.tolist()) if of_objects else None
        if type_ is None:
            type_ = _arrays(elements(column), column.ndim - 1)
        return type_ if there is None or isinstance(type_, list) else ["null", type_]
    return _arrays(elements(column), column.ndim - 1)


def _sparse(name: str, element: Any, rank: int) -> dict[str, Any]:
    """The record that ATDS has for sparse tensors."""
    longs, values = _arrays("long", 1), _arrays(element, 1)
    return {
        "type": "record",
        "name": f"{_NAME}_{name}",
        "fields": [
            *({"name": f"indices{axis}", "type": longs} for axis in range(rank)),
            {"name": "values", "type": values},
        ],
    }


def _of_elements(name: str, values: Any) -> Any:
    if isinstance(values, StringArray):
        return values.dtype
    if isinstance(values, BFloat16Array):
        return "float"
    return _of_dtype(name, values.dtype)


def _of_dtype(name: str, dtype: np.dtype[Any]) -> str:
    if dtype.kind == "b":
        return "boolean"
    if dtype.kind == "f" and dtype.itemsize <= 8:
        return "double" if dtype.itemsize == 8 else "float"
    if dtype.kind in "iu" and np.can_cast(dtype, np.int64):
        return "int" if np.can_cast(dtype, np.int32) else "long"
    raise SchemaError(
        f"'{name}' is of the dtype {dtype}, which no Avro type has: {_GIVE}", field=name
    )


def _arrays(items: Any, levels: int) -> Any:
    for _ in range(levels):
        items = {"type": "array", "items": items}
    return items
