"""Writing TFRecord files, read by the data set; TensorFlow reads them in tf/test_tf_writing.py."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atds

RAGGED = {
    "n": atds.VarLenFeature("int64", layout="ragged"),
    "x": atds.VarLenFeature("float32", layout="ragged"),
    "s": atds.VarLenFeature("bytes", layout="ragged"),
}


def rows_of(path: Any, features: Any) -> list[dict[str, Any]]:
    """The rows of a file, each a dict of lists."""
    found = []
    for batch in atds.Dataset(path, 3, features):
        columns = {name: column.tolist() for name, column in batch.items()}
        for i in range(batch.num_records):
            found.append({name: column[i] for name, column in columns.items()})
    return found


def test_values_of_every_class(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    rows: list[dict[str, Any]] = [
        {"n": 1, "x": 0.5, "s": "ä"},
        {"n": [1, -(2**63), 2**63 - 1], "x": [0.1, 2], "s": [b"\xff", "b", ""]},
        {"n": True, "x": np.float64(0.25), "s": np.str_("u")},
        {"n": np.array([[1, 2], [3, 4]], np.int8), "x": np.arange(3.0), "s": np.array(["p", "q"])},
        {"n": (np.int32(7), 8), "x": [[1.0, 2.0], [3.0, 4.0]], "s": bytearray(b"z")},
        {"n": [], "x": np.zeros(0), "s": None},
        {},
    ]
    assert atds.write(path, iter(rows)) == 7
    assert rows_of(path, RAGGED) == [
        {"n": [1], "x": [0.5], "s": ["ä".encode()]},
        {"n": [1, -(2**63), 2**63 - 1], "x": [np.float32(0.1), 2], "s": [b"\xff", b"b", b""]},
        {"n": [1], "x": [0.25], "s": [b"u"]},
        {"n": [1, 2, 3, 4], "x": [0, 1, 2], "s": [b"p", b"q"]},
        {"n": [7, 8], "x": [1, 2, 3, 4], "s": [b"z"]},
        {"n": [], "x": [], "s": []},
        {"n": [], "x": [], "s": []},
    ]


def test_records_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecords"
    assert atds.write(path, [b"one", b"", b"\x00" * 1000]) == 3
    record = {"raw": atds.DenseFeature([], "bytes", expression="@")}
    assert [row["raw"] for row in rows_of(path, record)] == [b"one", b"", b"\x00" * 1000]


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("a.tfrecord", None),
        ("a.tfrecord.gz", None),
        ("a.tfrecord.gz-00000-of-00002", None),
        ("a.tfrecords.zlib", None),
        ("a.tfrecord", "gzip"),
        ("a.tfrecord.gz", "none"),
        ("any", "zlib"),
    ],
)
def test_compression(tmp_path: Path, name: str, codec: Any) -> None:
    path = tmp_path / name
    atds.write(path, [{"n": n} for n in range(100)], codec=codec, format="tfrecord", level=9)
    data = path.read_bytes()
    if codec == "gzip" or (codec is None and ".gz" in name):
        data = gzip.decompress(data)
    elif codec == "zlib" or name.endswith(".zlib"):
        data = zlib.decompress(data)
    # The length of the first record.
    assert data[:8] == (14).to_bytes(8, "little") and len(data) == 100 * (12 + 14 + 4)
    read = rows_of(path, {"n": atds.FixedLenFeature([], "int64")})
    assert [row["n"] for row in read] == list(range(100))


def test_batches_of_another_file(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    rows = [
        {
            "id": n,
            "emb": [n / 2] * 4,
            "tags": ["t"] * ((n + 1) % 3),
            "name": f"n{n}",
            "ok": n % 2 == 0,
            "sp": {"indices0": [n, 2], "values": [0.5, 1.5]},
        }
        for n in range(50)
    ]
    atds.write(path, rows)
    dataset = atds.Dataset(
        path,
        16,
        {
            "id": atds.DenseFeature([], "int64"),
            "emb": atds.DenseFeature([4], "float64"),
            "tags": atds.VarlenFeature([-1], "string"),
            "name": atds.DenseFeature([], "string"),
            "ok": atds.DenseFeature([], "bool"),
            "sp": atds.SparseFeature([100], "float64"),
        },
    )
    copy = tmp_path / "b.tfrecord"
    assert atds.write(copy, dataset) == 50
    features = {
        "id": atds.FixedLenFeature([], "int64"),
        "emb": atds.FixedLenFeature([4], "float32"),
        "tags": atds.VarLenFeature("string", layout="ragged"),
        "name": atds.FixedLenFeature([], "string"),
        "ok": atds.FixedLenFeature([], "int64"),
        "i": atds.VarLenFeature("int64", layout="ragged", expression="'sp.indices0'"),
        "v": atds.VarLenFeature("float32", layout="ragged", expression="'sp.values'"),
    }
    expected = [
        {**{k: v for k, v in row.items() if k != "sp"}, "i": [n, 2], "v": [0.5, 1.5]}
        for n, row in enumerate(rows)
    ]
    assert rows_of(copy, features) == expected
    with pytest.raises(atds.SchemaError, match="column 'sp' is a SparseTensor"):
        atds.write(copy, [batch for batch in dataset if batch.pop("tags")])
    deep = atds.RaggedTensor(np.zeros(2), np.array([0, 2]), np.array([0, 1]))
    with pytest.raises(atds.SchemaError, match="column 'x' has lists in lists"):
        atds.write(copy, [atds.Batch({"x": deep})])


def test_the_kind_of_a_key_is_that_of_its_first_row(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    atds.write(path, [{"x": 0.5}, {"x": 3}, {"x": []}, {"x": [1, 2]}])
    assert [row["x"] for row in rows_of(path, {"x": RAGGED["x"]})] == [[0.5], [3], [], [1, 2]]
    atds.write(path, [{"x": 3}, {"x": 1.5}], {"x": "float32"})
    assert [row["x"] for row in rows_of(path, {"x": RAGGED["x"]})] == [[3], [1.5]]


@pytest.mark.parametrize(
    ("rows", "schema", "said"),
    [
        (
            [{"x": 3}, {"x": 1.5}],
            None,
            "row 1, field x: float32 values, but earlier values of the key are int64",
        ),
        ([{"x": "a"}, {"x": 1}], None, "int64 values, but earlier values of the key are bytes"),
        ([{"x": "a"}], {"x": "int64"}, "bytes values, but the schema has int64"),
        ([{"y": 1}], {"x": "int64"}, "field y: the schema does not have the key"),
        ([{"x": 2**63}], None, "beyond int64"),
        ([{"x": np.array([2**63], np.uint64)}], None, "beyond int64"),
        ([{"x": 1e39}], None, "beyond float32"),
        ([{"x": np.array([1e39])}], None, "beyond float32"),
        ([{"x": 0.5}, {"x": 2**24 + 1}], None, "no float32 is equal to 16777217"),
        ([{"x": [[1], [2, 3]]}], None, "differ in length"),
        ([{"x": [1, None]}], None, "ints, floats, bytes or text"),
        ([{"x": [1, "a"]}], None, "ints, floats, bytes or text"),
        ([{"x": object()}], None, "ints, floats, bytes or text"),
        ([{"x": "\ud800"}], None, "surrogates"),
        ([{5: 1}], None, r"a key is text, not 5 \(int\)"),
        ([5], None, "row 0: a row is a dict of keys and values, or bytes"),
        ([{"context": {"x": 1}, "y": 1}], None, "field y: a SequenceExample has nothing but"),
        ([{"context": {}, "feature_lists": [1]}], None, "field feature_lists: a part of a Seq"),
        ([{"feature_lists": {"x": 5}}], None, "field feature_lists.x: a feature list is a list"),
        ([{"feature_lists": {"x": "ab"}}], None, "a feature list is a list of steps"),
        ([{"feature_lists": {"x": [[1], ["a"]]}}], None, r"feature_lists.x\[1\]: bytes values"),
        ([{"feature_lists": {"x": [1, None]}}], None, r"x\[1\]: a key has ints, floats, bytes"),
        ([{"feature_lists": {"x": [[], []]}}], None, "no step has values, so that none tells"),
        (
            [{"feature_lists": {"x": np.ma.array([1, 2], mask=[0, 1])}}],
            None,
            "field feature_lists.x: an Example has no masked items",
        ),
        ([{"feature_lists": {"x": [1]}}], {"x": "int64"}, "lists.x: the schema does not have"),
        (
            [{"context": {"x": 1}}],
            {"feature_lists": {"x": "int64"}},
            "field context.x: the schema does not have the key",
        ),
    ],
)
def test_what_does_not_fit(tmp_path: Path, rows: Any, schema: Any, said: str) -> None:
    with pytest.raises(atds.DataError, match=said):
        atds.write(tmp_path / "a.tfrecord", rows, schema)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"codec": "zstandard"}, atds.OptionError, "codec of a TFRecord file"),
        ({"level": 10}, atds.OptionError, "level must be"),
        ({"metadata": {}}, atds.OptionError, "metadata is no option of tfrecord"),
        ({"schema": {"x": "double"}}, atds.SchemaError, "the kind of the key 'x'"),
        ({"schema": ["x"]}, atds.SchemaError, "a dict of the kind of each key"),
        ({"schema": {"x": {}}}, atds.SchemaError, "the kind of the key 'x'"),
        (
            {"schema": {"context": {}, "x": "int64"}},
            atds.SchemaError,
            "in 'context' and in 'feature_lists', each a dict, not 'x': 'int64'",
        ),
    ],
)
def test_options(tmp_path: Path, given: dict[str, Any], error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        atds.write(tmp_path / "a.tfrecord", [{"x": 1}], **given)
