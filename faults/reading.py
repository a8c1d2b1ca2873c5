"""Reads rows with the Python package."""

import logging
import struct
from collections.abc import Iterable
from typing import Any

import atds

from .files import Row

FEATURES = {
    "id": atds.DenseFeature([], "int64"),
    "x": atds.DenseFeature([], "float64"),
    "s": atds.DenseFeature([], "string"),
    "l": atds.VarlenFeature([-1], "int32", layout="ragged"),
}
# What is left out is logged; the checks read the list of it.
logging.getLogger("atds").addHandler(logging.NullHandler())

# The errors that damage may raise. Others are failures, as is a panic.
ERRORS = (atds.Error,)


def dataset(files: Any, batch: int = 5, **options: Any) -> Any:
    """A data set of all columns, with few threads."""
    return atds.Dataset(files, batch, FEATURES, **{"num_parallel_calls": 1, **options})


def rows(batch: Any) -> list[Row]:
    """The rows of a batch."""
    lists = batch["l"]
    splits, values = lists.row_splits[0].tolist(), lists.values.tolist()
    columns = zip(batch["id"].tolist(), batch["x"].tolist(), batch["s"].tolist(), strict=True)
    return [
        (id_, struct.pack("<d", x), _text(s), tuple(values[splits[i] : splits[i + 1]]))
        for i, (id_, x, s) in enumerate(columns)
    ]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else value


def taken(batches: Iterable[Any]) -> tuple[list[Row], Exception | None]:
    """The rows of all batches, and the error that ended them."""
    found: list[Row] = []
    try:
        for batch in batches:
            found += rows(batch)
    except ERRORS as error:
        return found, error
    return found, None


def read(files: Any, **options: Any) -> tuple[list[Row], Exception | None, list[Any]]:
    """The rows of files, the error that ended them, and what was left out."""
    try:
        made = dataset(files, **options)
        batches = iter(made)
    except ERRORS as error:
        return [], error, []
    found, error = taken(batches)
    skipped = made.skipped()
    batches.close()
    return found, error, skipped
