"""Features inferred from schemas, with files that fastavro writes."""

from __future__ import annotations

import decimal
import logging
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest

import atds

Write = Callable[[Any, list[Any]], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A function that writes values of any schema and returns the file's path."""

    def written(schema: Any, values: list[Any]) -> str:
        path = tmp_path / "0.avro"
        with path.open("wb") as file:
            fastavro.writer(file, fastavro.parse_schema(schema), values)
        return str(path)

    return written


def record(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    of = [{"name": field, "type": of} for field, of in fields]
    return {"type": "record", "name": name, "fields": of}


def read(path: str, features: Any = None) -> dict[str, Any]:
    (batch,) = atds.Dataset(path, 100, features)
    return {
        name: values.to_pylist() if hasattr(values, "to_pylist") else values.tolist()
        for name, values in batch.items()
    }


def test_a_record_or_null(write: Write) -> None:
    path = write(["null", record(("kind", "int"))], [{"kind": 3}, None])
    assert read(path) == {"kind": [3, 0], "kind.mask": [True, False]}
    assert read(path, {"kind": atds.DenseFeature([], "int32", default=-1)}) == {"kind": [3, -1]}


def test_one_of_several_records(write: Write) -> None:
    schema = [record(("x", "long"), name="Foo"), record(("y", "string"), name="Bar")]
    path = write(schema, [("Foo", {"x": 5}), ("Bar", {"y": "q"})])
    assert read(path) == {
        ":Bar.y": ["", "q"],
        ":Bar.y.mask": [False, True],
        ":Foo.x": [5, 0],
        ":Foo.x.mask": [True, False],
    }
    assert read(path, {"x": atds.DenseFeature([], "int64", default=-1)}) == {"x": [5, -1]}


def test_numbers_alone(write: Write) -> None:
    path = write("long", [1, 2, 3])
    assert read(path) == {"@": [1, 2, 3]}
    value = {"value": atds.DenseFeature([], "int64", expression="@")}
    assert read(path, value) == {"value": [1, 2, 3]}


def test_unions_of_numbers_and_text(write: Write) -> None:
    numbers = ["null", "int", "long", "float", "double"]
    path = write(
        record(("n", numbers), ("u", ["null", "string", "long"])),
        [
            {"n": None, "u": None},
            {"n": 2.5, "u": "u1"},
            {"n": 7, "u": 17},
        ],
    )
    assert read(path) == {
        "n": [0.0, 2.5, 7.0],
        "n.mask": [False, True, True],
        "u": ["", "u1", "17"],
        "u.mask": [False, True, True],
    }
    ids = {"u": atds.DenseFeature([], "int64", hash_buckets=100, default=-1)}
    assert read(path, ids)["u"][0] == -1


def test_decimals(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    def of(precision: int, scale: int) -> dict[str, Any]:
        return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}

    path = write(
        record(("id", of(19, 0)), ("price", of(9, 2))),
        [{"id": decimal.Decimal(9007199254740993), "price": decimal.Decimal("1.25")}],
    )
    with caplog.at_level(logging.WARNING, logger="atds"):
        assert read(path) == {"id": [9007199254740993], "price": [1.25]}
    (warning,) = [one.getMessage() for one in caplog.records]
    assert warning == (
        "'price' (bytes, decimal(9, 2)) is float64, the number nearest to each decimal: read it as "
        "int64 for the exact number without its point"
    )


def test_decimals_beyond_int64(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    for scale in 0, 2:
        schema = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": scale}
        path = write(record(("x", schema)), [{"x": decimal.Decimal(10**25)}])
        whole = 10 ** (25 + scale)
        with pytest.raises(atds.DataError, match="as float64, the number nearest to it, or as by"):
            read(path, {"x": atds.DenseFeature([], "int64")})
        assert read(path, {"x": atds.DenseFeature([], "float64")})["x"] == [1e25]
        (value,) = read(path, {"x": atds.DenseFeature([], "bytes")})["x"]
        assert int.from_bytes(value, "big", signed=True) == whole
    caplog.clear()
    assert read(path)["x"] == [1e25]
    (warning,) = [one.getMessage() for one in caplog.records]
    assert warning.endswith("without its point, or as bytes where that is beyond int64")


def test_maps_and_uuids(write: Write) -> None:
    fixed = {"type": "fixed", "name": "U", "size": 16}
    path = write(
        record(("m", {"type": "map", "values": "double"}), ("id", fixed), ("plain", "bytes")),
        [{"m": {"age": 30.0, "de": 1.0}, "id": uuid.UUID(int=5).bytes, "plain": b"\xff"}],
    )
    features = atds.infer_features(path)
    assert list(features) == ["m.keys()", "m[*]", "id", "plain"]
    assert features["m.keys()"] == atds.VarlenFeature([-1], "string")
    assert features["id"] == atds.DenseFeature([], "bytes")
    text = dict(fixed, logicalType="uuid")
    schema = record(("m", {"type": "map", "values": "double"}), ("id", text), ("plain", "bytes"))
    features = atds.infer_features(path, reader_schema=schema)
    assert features["id"] == atds.DenseFeature([], "string")
    (batch,) = atds.Dataset(path, 10, features, reader_schema=schema)
    assert batch["id"].to_pylist() == [str(uuid.UUID(int=5))]
    assert batch["m.keys()"].values.to_pylist() == ["age", "de"]


def test_what_is_left_out_is_said(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    path = write(
        record(("n", "null"), ("x", "int"), ("next", ["null", "R"])),
        [
            {"n": None, "x": 1, "next": {"n": None, "x": 2, "next": None}},
        ],
    )
    with caplog.at_level(logging.WARNING, logger="atds"):
        assert list(atds.Dataset(path, 10).features) == ["x"]
    assert [one.getMessage() for one in caplog.records] == [
        "left out 'n' (null): it holds no value",
        (
            "left out 'next' (record 'R'): the record holds itself; the expression 'next.x' reads a "
            "part of it"
        ),
    ]
    assert read(path, {"next.x": atds.DenseFeature([], "int32")}) == {"next.x": [2]}
    assert atds.inspect(path).left_out == {"n": "null", "next": "record 'R'"}


def test_logical_types_that_are_not_taken(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    day = {"type": "long", "logicalType": "date"}
    path = write(record(("x", {"type": "string", "logicalType": "timestamp-millis"})), [{"x": "1"}])
    with caplog.at_level(logging.WARNING, logger="atds"):
        assert read(path) == {"x": ["1"]}
    path = write(record(("days", {"type": "array", "items": day})), [])
    with caplog.at_level(logging.WARNING, logger="atds"):
        atds.Dataset(path, 10)
    assert [one.getMessage() for one in caplog.records] == [
        (
            "schema, at /fields/0/type: logicalType 'timestamp-millis' is ignored: it is of "
            "long and not of string"
        ),
        (
            "schema, at /fields/0/type/items: logicalType 'date' is ignored: it is of int and "
            "not of long"
        ),
    ]


def test_nothing_can_be_inferred(write: Write) -> None:
    path = write(record(("a", "null"), ("b", {"type": "array", "items": "null"})), [])
    for infer in (atds.infer_features, lambda path: atds.Dataset(path, 1)):
        with pytest.raises(atds.FeatureError) as raised:
            infer(path)
        assert str(raised.value).endswith(
            "nothing can be inferred: the schema is record 'R'; in it 'a' is null (it holds no "
            "value), 'b' is array of null (its items take no bytes)"
        )
