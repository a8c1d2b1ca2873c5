"""Files whose schemas have names that Avro's specification forbids."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path
from typing import Any

import fastavro
import polars as pl
import pytest

import atds
from conftest import TESTDATA, avro_file


def record(*names: str, name: str = "R") -> dict[str, Any]:
    fields = [{"name": field, "type": "long"} for field in names]
    return {"type": "record", "name": name, "fields": fields}


def one_batch(*args: Any, **kwargs: Any) -> atds.Batch:
    (batch,) = atds.Dataset(*args, **kwargs)
    return batch


@pytest.mark.parametrize("compression", ["uncompressed", "snappy", "deflate"])
def test_what_polars_writes(tmp_path: Path, compression: Any) -> None:
    frame = pl.DataFrame(
        {
            "a": [1, -(2**40), None],
            "user-id": [1.5, None, -0.25],
            "größe": ["x", "", None],
            "flag": [True, False, None],
            "small": pl.Series([1, 2, None], dtype=pl.Int32),
            "f32": pl.Series([0.5, 2.0, None], dtype=pl.Float32),
            "raw": [b"\x00\xff", b"", None],
            "day": [datetime.date(2024, 2, 29), datetime.date(1969, 12, 31), None],
            "at": [datetime.datetime(2024, 1, 1, 12), datetime.datetime(1970, 1, 1), None],
            "list": [[1, 2], [], [3]],
        }
    )
    path = tmp_path / "polars.avro"
    frame.write_avro(path, compression=compression)
    batch = one_batch(str(path), 100)
    for name in ["a", "user-id", "flag", "small", "f32"]:
        expected = frame[name]
        assert batch[f"{name}.mask"].tolist() == expected.is_not_null().to_list()
        assert batch[name].tolist() == expected.fill_null(0).to_list()
    assert list(batch["größe"]) == ["x", "", ""]
    assert [
        bytes(value)
        for value in one_batch(
            str(path), 100, {"raw": atds.DenseFeature([], "bytes", default=b"")}
        )["raw"]
    ] == [b"\x00\xff", b"", b""]
    days = frame["day"].cast(pl.Int32).fill_null(0).to_list()
    assert batch["day"].tolist() == days
    micros = one_batch(
        str(path), 100, {"at": atds.DenseFeature([], "int64", default=0, unit="micros")}
    )
    assert micros["at"].tolist() == frame["at"].dt.epoch("us").fill_null(0).to_list()
    feature = atds.VarlenFeature([-1], "int64", layout="ragged")
    lists = one_batch(str(path), 100, {"list": feature})["list"]
    assert lists.values.tolist() == [1, 2, 3]
    assert [splits.tolist() for splits in lists.row_splits] == [[0, 2, 2, 3]]


def test_a_reader_schema_reads_what_polars_writes(tmp_path: Path) -> None:
    path = tmp_path / "polars.avro"
    pl.DataFrame({"x": [1, 2], "user-id": [3, 4]}).write_avro(path)
    schema = {
        "type": "record",
        "name": "row",
        "fields": [
            {"name": "x", "type": ["null", "double"]},
            {"name": "user", "type": ["null", "long"], "aliases": ["user-id"]},
        ],
    }
    batch = one_batch(str(path), 10, reader_schema=schema)
    assert batch["x"].tolist() == [1.0, 2.0]
    assert batch["user"].tolist() == [3, 4]


@pytest.mark.parametrize(
    "name",
    ["한글컬럼", "größe", "user-id", "first name", "@timestamp", "3hsp", "a.b", "", "a\n'b'"],
)
def test_a_field_of_any_name(tmp_path: Path, name: str) -> None:
    path = avro_file(tmp_path / "a.avro", record(name, "ok"), b"\x0e\x02", b"\x10\x04")
    assert one_batch(path, 10)[name].tolist() == [7, 8]
    by_name = one_batch(path, 10, {name: atds.DenseFeature([], "int64")})
    assert by_name[name].tolist() == [7, 8]
    quoted = "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
    feature = atds.DenseFeature([], "int64", expression=quoted)
    assert one_batch(path, 10, {"f": feature})["f"].tolist() == [7, 8]
    assert list(atds.infer_features(path)) == [name, "ok"]


def test_fields_of_one_name_are_told_apart(tmp_path: Path) -> None:
    path = avro_file(tmp_path / "a.avro", record("x", "x", "x"), b"\x02\x04\x06")
    batch = one_batch(path, 10)
    assert {name: batch[name].tolist() for name in batch} == {"x": [1], "x#2": [2], "x#3": [3]}


def test_files_of_old_java() -> None:
    path = TESTDATA / "java" / "inner_class.avro"
    text = (TESTDATA / "java" / "rows" / "inner_class.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    batch = one_batch(str(path), 100)
    assert batch["id"].tolist() == [row["id"] for row in rows]
    assert list(batch["place.path"]) == [row["place"]["path"] for row in rows]
    assert list(batch["kind"]) == [row["kind"] for row in rows]


def test_strict_refuses(tmp_path: Path) -> None:
    path = avro_file(tmp_path / "a.avro", record("x", name=""), b"\x02")
    assert one_batch(path, 10)["x"].tolist() == [1]
    assert [place for place, _ in atds.inspect(path).notes] == ["/name"]
    with pytest.raises(atds.SchemaError, match='at /name: "" is not a name'):
        atds.Dataset(path, 10, strict=True)
    good = avro_file(tmp_path / "b.avro", record("x"), b"\x02")
    assert one_batch(good, 10, strict=True)["x"].tolist() == [1]
    with pytest.raises(atds.OptionError, match="strict"):
        atds.Dataset(path, 10, strict="yes")  # type: ignore[arg-type]


def test_an_expression_that_needs_quotes(tmp_path: Path) -> None:
    path = avro_file(tmp_path / "a.avro", record("user-id"), b"\x02")
    feature = atds.DenseFeature([], "int64", expression="user-id")
    with pytest.raises(atds.FeatureError, match="write 'user-id'"):
        atds.Dataset(path, 10, {"f": feature})


def test_messages_of_odd_names() -> None:
    schema = record("user-id", name="")
    decoder = atds.MessageDecoder(schema, {"user-id": atds.DenseFeature([], "int64")})
    assert decoder.decode([b"\x02", b"\x04"])["user-id"].tolist() == [1, 2]


def test_a_default_that_is_no_number(tmp_path: Path) -> None:
    """Python's JSON module writes NaN, which is not JSON."""
    field = {"name": "x", "type": "double", "default": math.nan}
    schema = fastavro.parse_schema({"type": "record", "name": "R", "fields": [field]})
    path = tmp_path / "a.avro"
    with open(path, "wb") as file:
        fastavro.writer(file, schema, [{"x": 0.5}, {}])
    first, second = one_batch(str(path), 10)["x"].tolist()
    assert first == 0.5 and math.isnan(second)
    with pytest.raises(atds.SchemaError, match="not JSON"):
        atds.Dataset(path, 10, strict=True)
