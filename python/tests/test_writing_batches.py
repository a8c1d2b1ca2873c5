"""Writing the batches of data sets, and columns of one's own, to Avro files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from test_writing import by_fastavro, record

import atds


@pytest.mark.parametrize("sample", ["clicks", "strings", "varlen"])
def test_batches_of_sample_files_come_back(samples: Path, tmp_path: Path, sample: str) -> None:
    path = tmp_path / "a.avro"
    features = atds.Dataset(samples / sample, 64).features
    for name, feature in features.items():
        # By coordinates, empty lists in lists are not told.
        if isinstance(feature, atds.VarlenFeature) and len(feature.shape or [0]) > 1:
            features[name] = dataclasses.replace(feature, layout="ragged")
    dataset = atds.Dataset(samples / sample, 64, features)
    rows = atds.write(path, dataset, codec="zstandard")
    assert rows == dataset.num_records
    again = atds.Dataset(path, 64, dataset.features)
    for ours, theirs in zip(again, dataset, strict=True):
        assert ours.keys() == theirs.keys()
        for name, column in ours.items():
            assert _listed(column) == _listed(theirs[name]), name


def _listed(column: Any) -> Any:
    if isinstance(column, tuple):
        shape = list(getattr(column, "dense_shape", ()))
        return [_listed(part) for part in column] + shape
    return column.tolist() if hasattr(column, "tolist") else column


def test_sparse_and_ragged_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    schema = record(
        words={"type": "array", "items": "string"},
        deep={"type": "array", "items": {"type": "array", "items": "int"}},
        clicks={
            "type": "record",
            "name": "S",
            "fields": [
                {"name": "indices0", "type": {"type": "array", "items": "long"}},
                {"name": "values", "type": {"type": "array", "items": "float"}},
            ],
        },
    )
    rows = [
        {
            "words": ["a", "b"],
            "deep": [[1], [], [2, 3]],
            "clicks": {"indices0": [7, 2], "values": [0.5, 1]},
        },
        {"words": [], "deep": [], "clicks": {"indices0": [], "values": []}},
        {"words": ["c"], "deep": [[]], "clicks": {"indices0": [0], "values": [2]}},
    ]
    atds.write(path, rows, schema)
    ragged = {
        "words": atds.VarlenFeature([-1], "string", layout="ragged"),
        "deep": atds.VarlenFeature([-1, -1], "int32", layout="ragged"),
        "clicks": atds.SparseFeature([10], "float32", layout="ragged"),
    }
    coo = {
        "words": atds.VarlenFeature([-1], "string"),
        "clicks": atds.SparseFeature([10], "float32"),
    }
    for features, given in ((ragged, None), (coo, schema), (coo, None)):
        for rows_of in (lambda data: data, list):
            data, copy = atds.Dataset(path, 2, features), tmp_path / "b.avro"
            if features is coo and given is None and rows_of is list:
                with pytest.raises(atds.SchemaError, match="'clicks' is a SparseTensor"):
                    atds.write(copy, rows_of(data))
                continue
            wanted = given and record(
                **{
                    field["name"]: field["type"]
                    for field in given["fields"]
                    if field["name"] in features
                }
            )
            assert atds.write(copy, rows_of(data), wanted) == 3
            kept = [{name: row[name] for name in sorted(features)} for row in rows]
            assert by_fastavro(copy) == kept
    holes = atds.Batch({"x": atds.SparseTensor(np.array([[0, 1]]), np.array([5]), (1, 3))})
    with pytest.raises(atds.DataError, match="index 1 is no item of a list"):
        atds.write(copy, [holes], record(x={"type": "array", "items": "long"}))


def test_masks_become_nulls(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.avro", tmp_path / "b.avro"
    schema = record(
        age=["null", "int"], list=["null", {"type": "array", "items": ["null", "long"]}]
    )
    rows = [{"age": 5, "list": [1, None]}, {"age": None, "list": None}, {"age": 0, "list": []}]
    atds.write(path, rows, schema)
    features = {
        "age": atds.DenseFeature([], "int32", default=-1, mask="has_age"),
        "list": atds.VarlenFeature(
            [-1], "int64", default=0, mask="has", row_mask="is", layout="ragged"
        ),
    }
    dataset = atds.Dataset(path, 3, features)
    atds.write(copy, dataset)
    assert by_fastavro(copy) == rows
    (batch,) = dataset
    atds.write(copy, [batch], masks={"has_age": "age", "is": "list"})
    assert by_fastavro(copy) == rows
    own = atds.Batch({"x": np.array([1, 2]), "y": np.array([[0.5], [1.5]], np.float32)})
    atds.write(copy, own)
    assert by_fastavro(copy) == [{"x": 1, "y": [0.5]}, {"x": 2, "y": [1.5]}]
    with pytest.raises(atds.DataError, match="column 'y' has 1 rows, but column 'x' has 2"):
        atds.write(copy, atds.Batch({"x": np.zeros(2), "y": np.zeros(1)}))


#: Ints beyond 2**53 have no float64.
_LARGE = 2**60 + 1

_COLUMNS = {
    "i": ([3, None, _LARGE], "Int64", "int64"),
    "b": ([True, None, False], "boolean", "int64"),
    "s": (["a", None, "größe"], "string", "string"),
    "t": (["a", None, ""], "str", "string"),
    "f": ([1.5, None, -2.0], "Float32", "float32"),
    "c": (["x", None, "x"], "category", "string"),
}


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_nulls_of_frames(tmp_path: Path, kind: str) -> None:
    if kind == "pandas":
        given = {n: pd.array(values, dtype=dtype) for n, (values, dtype, _) in _COLUMNS.items()}
        frame: Any = pd.DataFrame(given)
    elif kind == "polars":
        frame = {name: pl.Series(values) for name, (values, *_) in _COLUMNS.items()}
    else:
        pa = pytest.importorskip("pyarrow")
        frame = {name: pa.array(values) for name, (values, *_) in _COLUMNS.items()}
    avro, example = tmp_path / "a.avro", tmp_path / "a.tfrecord"
    rows = [{name: values[n] for name, (values, *_) in _COLUMNS.items()} for n in range(3)]
    assert atds.write(avro, atds.Batch(frame)) == 3
    read = by_fastavro(avro)
    assert read == rows
    assert [type(value) for value in read[0].values()] == [type(v) for v in rows[0].values()]

    # A missing feature, which is what a null is there.
    assert atds.write(example, atds.Batch(frame)) == 3
    features = {
        name: atds.VarlenFeature([-1], dtype, layout="ragged")
        for name, (*_, dtype) in _COLUMNS.items()
    }
    (batch,) = atds.Dataset(example, 3, features)
    for name, (values, *_) in _COLUMNS.items():
        assert batch[name].row_splits[0].tolist() == [0, 1, 1, 2]
        assert batch[name].values.tolist() == [value for value in values if value is not None]


def test_frames_without_nulls_have_the_types_of_their_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    frame = pd.DataFrame(
        {name: pd.array(values[:1], dtype=dtype) for name, (values, dtype, _) in _COLUMNS.items()}
    ).assign(nan=[float("nan")])
    atds.write(path, atds.Batch(frame))
    fields = atds.inspect(path).schema["fields"]
    types = {field["name"]: field["type"] for field in fields}
    assert types == {
        "i": "long",
        "b": "boolean",
        "s": "string",
        "t": "string",
        "f": "float",
        "c": "string",
        # NaN of NumPy is a number.
        "nan": "double",
    }
    later = atds.Batch(frame.assign(i=pd.array([None], dtype="Int64")))
    with pytest.raises(atds.DataError, match="row 1, field i: None .* does not fit long"):
        atds.write(path, [atds.Batch(frame), later])
    empty = atds.Batch(pd.DataFrame({"i": pd.array([None], dtype="Int64")}))
    atds.write(path, empty)
    assert by_fastavro(path) == [{"i": None}]


def test_a_frame_is_no_iterable_of_rows(tmp_path: Path) -> None:
    with pytest.raises(atds.DataError, match=r"a DataFrame: give .* atds.Batch\(columns\)"):
        atds.write(tmp_path / "a.tfrecord", pd.DataFrame({"i": [1]}))
