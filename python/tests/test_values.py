"""Columns read from files of independent writers have the values that were written."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atds
from conftest import TESTDATA

FILES = sorted(TESTDATA.glob("*.expected.json"))


def feature(kind: dict[str, Any], layout: Any) -> atds.Feature:
    # Strings are compared as bytes, which need not be UTF-8.
    dtype = "bytes" if kind["dtype"] == "string" else kind["dtype"]
    match kind["kind"]:
        case "dense":
            return atds.DenseFeature(kind["shape"], dtype)
        case "sparse":
            return atds.SparseFeature(kind["shape"], dtype, layout)
        case _:
            return atds.VarlenFeature(kind["shape"], dtype, layout)


def encoded(values: Any, dtype: str) -> list[Any]:
    """Values in the form of the expected file."""
    if isinstance(values, atds.StringArray):
        return [string.hex() for string in values.reshape(-1).to_pylist()]
    assert values.dtype == np.dtype(dtype)
    return [encode(value, dtype) for value in values.reshape(-1).tolist()]


def encode(value: Any, dtype: str) -> Any:
    if dtype == "float32":
        return "nan" if math.isnan(value) else struct.pack(">f", value).hex()
    if dtype == "float64":
        return "nan" if math.isnan(value) else struct.pack(">d", value).hex()
    return value


def expected_values(column: dict[str, Any], dtype: str) -> list[Any]:
    if dtype not in ("float32", "float64"):
        return list(column["values"])
    form, width = (">f", 8) if dtype == "float32" else (">d", 16)
    bits = (value.removeprefix("0x").rjust(width, "0") for value in column["values"])
    numbers = [struct.unpack(form, bytes.fromhex(digits))[0] for digits in bits]
    return [encode(number, dtype) for number in numbers]


@pytest.mark.parametrize("layout", ["coo", "ragged"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".expected.json"))
def test_columns_are_as_written(path: Path, layout: str) -> None:
    expected = json.loads(path.read_text())
    kinds = expected["features"]
    if not kinds:
        return
    features = {name: feature(kind, layout) for name, kind in kinds.items()}
    dataset = atds.Dataset(path.with_name(expected["file"]), 1 << 20, features)
    assert dataset.num_records == expected["records"]
    batches = list(dataset)
    if not expected["records"]:
        assert batches == []
        return
    (batch,) = batches
    assert batch.num_records == expected["records"]
    assert list(batch) == sorted(kinds)
    for name, kind in kinds.items():
        column, want = batch[name], expected["columns"][name]
        values = expected_values(want, kind["dtype"])
        if kind["kind"] == "dense":
            assert list(column.shape) == want["shape"]
            assert encoded(column, kind["dtype"]) == values
            continue
        assert encoded(column.values, kind["dtype"]) == values
        if layout == "coo":
            assert column.indices.tolist() == want["indices"]
            assert list(column.dense_shape) == want["dense_shape"]
        elif kind["kind"] == "varlen":
            assert [splits.tolist() for splits in column.row_splits] == want["row_splits"]
        else:
            assert column.row_splits.tolist() == want["row_splits"][0]
            assert column.indices.tolist() == [index[1:] for index in want["indices"]]
            assert list(column.dense_shape) == want["dense_shape"]
            assert column.to_coo().indices.tolist() == want["indices"]


def test_there_are_files_to_compare() -> None:
    assert len(FILES) > 40


def test_half_precision_and_bfloat16(write: Any) -> None:
    records = [{"x": 1.5}, {"x": -0.1}, {"x": 1e30}]
    file = write([{"name": "x", "type": "float"}], records)
    half = atds.DenseFeature([], "float16", cast=True)
    (batch,) = atds.Dataset(file, 8, {"x": half})
    with np.errstate(over="ignore"):
        assert (
            batch["x"].tolist()
            == np.array([1.5, -0.1, 1e30], dtype=np.float32).astype("float16").tolist()
        )
    brain = atds.DenseFeature([], "bfloat16", cast=True)
    (batch,) = atds.Dataset(file, 8, {"x": brain})
    column = batch["x"]
    assert isinstance(column, atds.BFloat16Array)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    want = np.array([1.5, -0.1, 1e30], dtype=np.float32).astype(ml_dtypes.bfloat16)
    assert column.to_numpy().tolist() == want.tolist()
    assert column.to_float32().tolist() == want.astype("float32").tolist()
    assert (column.shape, column.ndim, column.size, column.nbytes) == ((3,), 1, 3, 6)
    assert np.asarray(column).dtype == ml_dtypes.bfloat16
    assert repr(column[:1]) == "BFloat16Array([1.5])"
