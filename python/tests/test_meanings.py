"""A column has one meaning, though the files of a data set may differ."""

from __future__ import annotations

import datetime
import decimal
import io
import pickle
import uuid
from typing import Any

import fastavro
import numpy as np
import pytest

import atds
from conftest import Write

UTC = datetime.timezone.utc
AT = datetime.datetime(2024, 2, 29, 12, 30, 15, 250_000, tzinfo=UTC)
MILLIS, MICROS = 1_709_209_815_250, 1_709_209_815_250_000


def timestamp(unit: str) -> dict[str, Any]:
    return {"type": "long", "logicalType": f"timestamp-{unit}"}


def times(write: Write, *units: str) -> list[str]:
    """Files of the same time in different units, as fastavro writes it."""
    files = []
    for number, unit in enumerate(units):
        field = {"name": "x", "type": timestamp(unit)}
        files.append(write([field], [{"x": AT}], f"{number}.avro"))
    return files


def read(files: list[str], features: Any = None, **options: Any) -> list[Any]:
    (batch,) = atds.Dataset(files, 10, features, **options)
    column = batch["x"]
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def test_units_of_time(write: Write) -> None:
    assert read(times(write, "micros", "millis")) == [MICROS, MICROS]
    files = times(write, "millis", "micros")
    with pytest.raises(atds.FeatureError, match="timestamps in micros") as info:
        atds.Dataset(files, 10)
    message = str(info.value)
    assert message.startswith(f"{files[1]}: feature 'x': ") and f"'{files[0]}'" in message
    assert "timestamps in millis" in message and "unit" in message and "reader_schema" in message
    assert info.value.file == files[1]
    seconds = {"x": atds.DenseFeature([], "int64", unit="seconds")}
    assert read(files, seconds) == [MILLIS // 1000, MILLIS // 1000]
    schema = {"type": "record", "name": "R", "fields": [{"name": "x", "type": timestamp("micros")}]}
    assert read(files, reader_schema=schema) == [MICROS, MICROS]
    # fastavro reads the same times.
    for file in files:
        with open(file, "rb") as data:
            records: list[Any] = list(fastavro.reader(data, schema))
        assert [record["x"] for record in records] == [AT]
    assert read(files, seconds, reader_schema=schema) == [MILLIS // 1000, MILLIS // 1000]
    # Without the check, the error comes when the file is opened.
    dataset = atds.Dataset(files, 1, check_files=False)
    iterator = iter(dataset)
    assert next(iterator)["x"].tolist() == [MILLIS]
    with pytest.raises(atds.FeatureError, match="timestamps in micros"):
        next(iterator)


def test_a_pickled_data_set_has_the_meaning_of_the_first_file(write: Write) -> None:
    without = write([{"name": "y", "type": "int"}], [{"y": 1}], "first.avro")
    files = [without, *times(write, "micros", "millis")]
    features = {"x": atds.DenseFeature([], "int64", mask="has_x")}
    dataset = atds.Dataset(files, 10, features)
    for found in (dataset, pickle.loads(pickle.dumps(dataset))):
        (batch,) = found
        assert batch["x"][batch["has_x"]].tolist() == [MICROS, MICROS]


def test_symbols_are_numbered_once(write: Write) -> None:
    def file(name: str, symbols: list[str], written: list[str]) -> str:
        enum = {"type": "enum", "name": "E", "symbols": symbols}
        records = [{"x": symbol} for symbol in written]
        return write([{"name": "x", "type": enum}], records, name)

    first = file("a.avro", ["A", "B", "C"], ["A", "B", "C"])
    second = file("b.avro", ["C", "A"], ["C", "A"])
    numbers = {"x": atds.DenseFeature([], "int32")}
    assert read([first, second], numbers) == [0, 1, 2, 2, 0]
    with pytest.raises(atds.FeatureError, match=r"'A', 'B', 'C'.*'C', 'A'.*strings"):
        atds.Dataset([second, first], 10, numbers)
    strings = {"x": atds.DenseFeature([], "string")}
    assert read([second, first], strings) == ["C", "A", "A", "B", "C"]
    words = {"x": atds.DenseFeature([], "int32", vocabulary=["A", "B", "C"])}
    assert read([second, first], words) == [2, 0, 0, 1, 2]


def test_scales_and_uuids(write: Write) -> None:
    def file(name: str, ty: dict[str, Any], value: Any) -> str:
        return write([{"name": "x", "type": ty}], [{"x": value}], name)

    def price(scale: int) -> dict[str, Any]:
        return {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": scale}

    value = decimal.Decimal("12.34")
    cents, finer = file("a.avro", price(2), value), file("b.avro", price(4), value)
    whole = {"x": atds.DenseFeature([], "int64")}
    assert read([finer, cents], whole) == [123400, 123400]
    with pytest.raises(atds.FeatureError, match="decimals of scale 4"):
        atds.Dataset([cents, finer], 10, whole)
    assert read([cents, finer], {"x": atds.DenseFeature([], "float64")}) == [12.34, 12.34]

    key = uuid.UUID("12345678-1234-5678-1234-567812345678")
    text = file("c.avro", {"type": "string", "logicalType": "uuid"}, key)
    fixed = {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}
    stored = file("d.avro", fixed, key.bytes)
    strings = {"x": atds.DenseFeature([], "string")}
    assert read([text, stored], strings) == read([stored, text], strings) == [str(key)] * 2


def test_messages(write: Write) -> None:
    def schema(unit: str) -> dict[str, Any]:
        return {"type": "record", "name": "R", "fields": [{"name": "x", "type": timestamp(unit)}]}

    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema("millis")), {"x": AT})
    features = {"x": atds.DenseFeature([], "int64")}
    batch = atds.decode(
        [out.getvalue()], schema("millis"), features, reader_schema=schema("micros")
    )
    assert batch["x"].tolist() == [MICROS]
    with pytest.raises(atds.Error, match="does not become"):
        atds.decode([out.getvalue()], schema("micros"), features, reader_schema=schema("millis"))


def test_bytes_of_uuids(write: Write) -> None:
    """A UUID as a string gives its text, and as bytes its 16 bytes."""
    one = uuid.UUID(int=7)
    fixed = {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}
    plain = {"type": "fixed", "name": "U", "size": 16}
    text = {"type": "string", "logicalType": "uuid"}
    as_fixed = write([{"name": "x", "type": fixed}], [{"x": one.bytes}], "fixed.avro")
    as_plain = write([{"name": "x", "type": plain}], [{"x": one.bytes}], "plain.avro")
    as_text = write([{"name": "x", "type": text}], [{"x": str(one)}], "text.avro")
    raw = {"x": atds.DenseFeature([], "bytes")}
    assert read([as_fixed, as_text]) == [str(one), str(one)]
    assert read([as_fixed, as_plain], raw) == [one.bytes, one.bytes]
    assert read([as_plain, as_fixed], raw) == [one.bytes, one.bytes]
    assert read([as_text], raw) == [str(one).encode()]
    for files in [as_fixed, as_text], [as_text, as_fixed]:
        with pytest.raises(atds.FeatureError, match="read them as strings"):
            atds.Dataset(files, 10, raw)
    items = {"type": "array", "items": ["null", fixed]}
    of_items = write([{"name": "x", "type": items}], [{"x": [one.bytes, None]}], "items.avro")
    (batch,) = atds.Dataset(of_items, 1, {"x": atds.VarlenFeature([-1], "bytes", mask="there")})
    assert list(batch["x"].values) == [one.bytes, b""]
