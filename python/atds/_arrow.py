"""Columns as Arrow arrays over the same memory.

| column | Arrow |
|---|---|
| dense ``[B]`` | the values |
| dense ``[B, d..]`` | fixed-size lists; large lists where a dimension varies |
| ragged | large lists |
| sparse, by coordinates or ragged | large lists of structs of ``indices`` and ``values`` |
| a mask of the entries of another column | lists as that column has |

Row splits are the offsets of lists. Three things are copied: bools, which are bits in Arrow;
bfloat16, which becomes float32; and the indices and row splits of coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from atds import _native
from atds.batch import Batch
from atds.bfloat16 import BFloat16Array
from atds.ragged import RaggedSparseTensor, RaggedTensor
from atds.sparse import SparseTensor
from atds.specs import (
    ArraySpec,
    RaggedSparseTensorSpec,
    RaggedTensorSpec,
    SparseTensorSpec,
    TensorSpec,
)
from atds.strings import StringArray

#: A tree that describes an Arrow array; see `python/src/arrow.rs`.
Node: TypeAlias = tuple[Any, ...]

#: Puts the entries of a column into the lists of its rows.
Nest: TypeAlias = Callable[[Node], Node]


def string_node(strings: StringArray) -> Node:
    """The node of an array of strings, in fixed-size lists for its other dimensions."""
    return _dense(strings, ArraySpec(strings.shape, strings.dtype))


def batch_node(batch: Batch, specs: Mapping[str, TensorSpec] | None = None) -> Node:
    """The node of a batch: a struct of its columns. Without specs, a dimension has the length that
    it has in this batch."""
    columns = []
    for name, column in batch.items():
        owner = batch.masks.get(name)
        if owner is not None:
            node = _nest(batch[owner])(_flat(column))
        else:
            node = _column(name, column, None if specs is None else specs.get(name))
        if node[1] != batch.num_records:
            raise ValueError(
                f"column {name!r} has {node[1]} rows, but the batch {batch.num_records}"
            )
        columns.append((name, node))
    return ("records", batch.num_records, columns)


def batches_stream(
    batches: Iterator[Batch], specs: Mapping[str, TensorSpec], masks: Mapping[str, str]
) -> Any:
    """The capsule of a stream of batches of these specs."""
    none = Batch({name: _none(spec) for name, spec in specs.items()})
    none.num_records, none.masks = 0, masks
    nodes = (batch_node(batch, specs) for batch in batches)
    return _native.export_stream(batch_node(none, specs), nodes)


def _column(name: str, column: Any, spec: TensorSpec | None) -> Node:
    if isinstance(column, (SparseTensor, RaggedTensor, RaggedSparseTensor)):
        entries = _flat(column.values)
        indices = _indices(column)
        if indices is not None:
            fields = [("indices", indices), ("values", entries)]
            entries = ("records", len(column.values), fields)
        return _nest(column)(entries)
    if isinstance(column, (np.ndarray, StringArray, BFloat16Array)):
        return _dense(column, spec)
    raise TypeError(
        f"column {name!r} is a {type(column).__name__}, which cannot be a column of a batch"
    )


def _dense(column: Any, spec: TensorSpec | None) -> Node:
    """Values in lists for every dimension but the first."""
    node, shape = _flat(column), column.shape
    for axis in range(len(shape) - 1, 0, -1):
        lists = int(np.prod(shape[:axis]))
        # Polars has no lists of the fixed size 0.
        if shape[axis] and (spec is None or spec.shape[axis] is not None):
            node = ("fixed", lists, shape[axis], node)
        else:
            node = ("lists", lists, _bytes(np.arange(lists + 1) * shape[axis]), node)
    return node


def _flat(values: Any) -> Node:
    """Values end to end."""
    if isinstance(values, StringArray):
        binary = values.dtype == "bytes"
        return ("strings", values.size, binary, _bytes(values.offsets), _bytes(values.data))
    if isinstance(values, BFloat16Array):
        values = values.to_float32()
    return ("numbers", values.size, values.dtype.name, _bytes(values))


def _nest(column: Any) -> Nest:
    """Lists of the entries of a sparse, varlen or ragged column."""
    if isinstance(column, SparseTensor):
        rows = np.arange(column.dense_shape[0] + 1)
        splits: tuple[Any, ...] = (np.searchsorted(column.indices[:, 0], rows).astype(np.int64),)
    elif isinstance(column, RaggedTensor):
        splits = column.row_splits
    else:
        splits = (column.row_splits,)

    def nest(entries: Node) -> Node:
        for offsets in reversed(splits):
            entries = ("lists", len(offsets) - 1, _bytes(offsets), entries)
        return entries

    return nest


def _indices(column: Any) -> Node | None:
    """The indices of entries without the row, if they have any."""
    if isinstance(column, RaggedTensor):
        return None
    if isinstance(column, SparseTensor):
        indices = column.indices[:, 1:]
    else:
        indices = column.indices
    width = indices.shape[1]
    node = _flat(np.ascontiguousarray(indices))
    return (None, node)[width] if width < 2 else ("fixed", len(indices), width, node)


def _bytes(array: Any) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _none(spec: TensorSpec) -> Any:
    """A column of `spec` without rows."""
    rest = tuple(dim or 0 for dim in spec.shape[1:])
    if isinstance(spec, ArraySpec):
        return _no_values(spec.dtype, (0, *rest))
    values = _no_values(spec.dtype, (0,))
    splits = np.zeros(1, dtype=np.int64)
    match spec:
        case SparseTensorSpec():
            indices = np.empty((0, len(spec.shape)), dtype=np.int64)
            return SparseTensor(indices, values, (0, *rest))
        case RaggedTensorSpec():
            return RaggedTensor(values, *[splits] * spec.ragged_rank)
        case RaggedSparseTensorSpec():
            indices = np.empty((0, len(rest)), dtype=np.int64)
            return RaggedSparseTensor(indices, values, splits, (0, *rest))


def _no_values(dtype: str, shape: tuple[int, ...]) -> Any:
    if dtype in ("string", "bytes"):
        offsets, data = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint8)
        return StringArray(offsets, data, shape, dtype == "bytes")
    if dtype == "bfloat16":
        return BFloat16Array(np.empty(shape, dtype=np.uint16))
    return np.empty(shape, dtype=dtype)
