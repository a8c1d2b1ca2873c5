"""Writing Avro files: every type through the data set, fastavro and Apache's avro; errors; batches."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import os
import random
import struct
import threading
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import avro.datafile
import avro.errors
import avro.io
import fastavro
import numpy as np
import pytest

import atds

UTC = datetime.timezone.utc
EAST = datetime.timezone(datetime.timedelta(hours=3))
AT = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")


def record(**fields: Any) -> dict[str, Any]:
    listed = [{"name": name, "type": type_} for name, type_ in fields.items()]
    return {"type": "record", "name": "R", "fields": listed}


def logical(type_: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": type_, "logicalType": name, **more}


def fixed(name: str, size: int, **more: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **more}


def by_fastavro(path: Any) -> list[Any]:
    with open(path, "rb") as file:
        return list(fastavro.reader(file))


def by_apache(path: Any) -> list[Any]:
    """The rows as Apache's package reads them, which ignores some logical types."""
    with (
        open(path, "rb") as file,
        avro.datafile.DataFileReader(file, avro.io.DatumReader()) as rows,
    ):
        return list(rows)


#: For each type: the value to write, and the value that readers give, if it is another.
TYPES: dict[str, tuple[Any, Any, Any]] = {
    "null": ("null", None, None),
    "boolean": ("boolean", True, True),
    "int": ("int", -(2**31), -(2**31)),
    "long": ("long", 2**63 - 1, 2**63 - 1),
    "float": ("float", 0.5, 0.5),
    "double": ("double", 0.1, 0.1),
    "bytes": ("bytes", b"\x00\xff", b"\x00\xff"),
    "string": ("string", "größe\0", "größe\0"),
    "fixed": (fixed("F", 3), b"abc", b"abc"),
    "enum": ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", "B"),
    "enum_number": ({"type": "enum", "name": "E2", "symbols": ["A", "B"]}, 1, "B"),
    "array": ({"type": "array", "items": "long"}, [1, -2, 300], [1, -2, 300]),
    "empty": ({"type": "array", "items": "long"}, [], []),
    "arrays": (
        {"type": "array", "items": {"type": "array", "items": "float"}},
        np.array([[0.5, 1.5], [2.5, 3.5]], np.float32),
        [[0.5, 1.5], [2.5, 3.5]],
    ),
    "map": ({"type": "map", "values": "int"}, {"a": 1, "ü": 2}, {"a": 1, "ü": 2}),
    "nested": (
        {"type": "record", "name": "N", "fields": [{"name": "x", "type": "int"}]},
        {"x": 7},
        {"x": 7},
    ),
    "nullable": (["null", "string"], None, None),
    "numbers": (["int", "double"], 2**40, float(2**40)),
    "number": (["double", "long"], 3, 3),
    "chosen": (["long", "double"], ("double", 3), 3.0),
    "symbol": ([{"type": "enum", "name": "S", "symbols": ["x"]}, "string"], "y", "y"),
    "date": (logical("int", "date"), datetime.date(1969, 12, 31), datetime.date(1969, 12, 31)),
    "time_millis": (
        logical("int", "time-millis"),
        datetime.time(23, 59, 59, 999000),
        datetime.time(23, 59, 59, 999000),
    ),
    "time_micros": (logical("long", "time-micros"), AT.time(), AT.time()),
    "timestamp_millis": (
        logical("long", "timestamp-millis"),
        AT.replace(microsecond=5000, tzinfo=EAST),
        (AT - datetime.timedelta(hours=3)).replace(microsecond=5000, tzinfo=UTC),
    ),
    "timestamp_micros": (
        logical("long", "timestamp-micros"),
        AT.replace(tzinfo=UTC),
        AT.replace(tzinfo=UTC),
    ),
    "local_micros": (logical("long", "local-timestamp-micros"), AT, AT),
    "numpy_time": (logical("long", "local-timestamp-millis"), np.datetime64("1970-01-02", "D"), 0),
    "number_as_time": (
        logical("long", "timestamp-millis"),
        0,
        datetime.datetime(1970, 1, 1, tzinfo=UTC),
    ),
    "decimal": (
        logical("bytes", "decimal", precision=6, scale=2),
        decimal.Decimal("-1234.5"),
        decimal.Decimal("-1234.50"),
    ),
    "decimal_fixed": (
        fixed("D", 5, logicalType="decimal", precision=9, scale=3),
        decimal.Decimal("99.001"),
        decimal.Decimal("99.001"),
    ),
    "uuid": (logical("string", "uuid"), ID, ID),
    "uuid_text": (logical("string", "uuid"), str(ID), ID),
    "duration": (
        fixed("Span", 12, logicalType="duration"),
        [1, 2, 2**32 - 1],
        struct.pack("<III", 1, 2, 2**32 - 1),
    ),
}
TYPES["numpy_time"] = (*TYPES["numpy_time"][:2], datetime.datetime(1970, 1, 2))


#: What Apache's package gives for logical types that it does not know.
APACHE = {
    "local_micros": 1_709_209_815_123_456,
    "numpy_time": 86_400_000,
    "uuid": str(ID),
    "uuid_text": str(ID),
}


@pytest.mark.parametrize("name", TYPES)
def test_every_type_is_read_by_others(tmp_path: Path, name: str) -> None:
    type_, value, expected = TYPES[name]
    path = tmp_path / "a.avro"
    schema = record(before="int", x=type_, after="string")
    rows = [{"before": 1, "x": value, "after": "z"}] * 3
    assert atds.write(path, rows, schema) == 3
    assert by_fastavro(path) == [{"before": 1, "x": expected, "after": "z"}] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", avro.errors.IgnoredLogicalType)
        read = by_apache(path)
    expected = APACHE.get(name, expected)
    assert read == [{"before": 1, "x": expected, "after": "z"}] * 3


def test_the_data_set_reads_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    schema = record(
        id="long",
        weight="float",
        text="string",
        raw="bytes",
        flag="boolean",
        kind={"type": "enum", "name": "K", "symbols": ["a", "b"]},
        at=logical("long", "timestamp-micros"),
        vector={"type": "array", "items": "float"},
    )
    rows = [
        {
            "id": n,
            "weight": n / 4,
            "text": f"t{n}",
            "raw": bytes([n]),
            "flag": n % 2 == 0,
            "kind": "ab"[n % 2],
            "at": datetime.datetime.fromtimestamp(n, UTC),
            "vector": np.arange(3, dtype=np.float32) + n,
        }
        for n in range(100)
    ]
    assert atds.write(path, rows, schema, codec="snappy", block_bytes=500) == 100
    (batch,) = atds.Dataset(path, 100)
    assert batch["id"].tolist() == list(range(100))
    assert batch["weight"].tolist() == [row["weight"] for row in rows]
    assert batch["text"].tolist() == [row["text"] for row in rows]
    assert batch["flag"].tolist() == [row["flag"] for row in rows]
    assert batch["at"].tolist() == [n * 1_000_000 for n in range(100)]
    assert batch["vector"].tolist() == [row["vector"].tolist() for row in rows]


class Rows:
    """Random schemas, and rows for them, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._names = 0

    def schema(self, depth: int = 0) -> Any:
        pick = self._random.randrange(12 if depth < 3 else 8)
        if pick < 8:
            return ["null", "boolean", "int", "long", "float", "double", "bytes", "string"][pick]
        self._names += 1
        if pick == 8:
            return {"type": "array", "items": self.schema(depth + 1)}
        if pick == 9:
            return {"type": "map", "values": self.schema(depth + 1)}
        if pick == 10:
            inner = self.schema(depth + 1)
            return ["null", inner] if not isinstance(inner, list) and inner != "null" else inner
        return {"type": "record", "name": f"R{self._names}", "fields": self.fields(depth + 1)}

    def fields(self, depth: int) -> list[dict[str, Any]]:
        count = self._random.randrange(1, 6)
        return [{"name": f"f{i}", "type": self.schema(depth)} for i in range(count)]

    def value(self, type_: Any) -> Any:
        rng = self._random
        if isinstance(type_, list):
            return self.value(rng.choice(type_))
        if isinstance(type_, dict):
            if type_["type"] == "record":
                return {field["name"]: self.value(field["type"]) for field in type_["fields"]}
            count = rng.choice([0, 1, 2, 70])
            if type_["type"] == "array":
                return [self.value(type_["items"]) for _ in range(count)]
            return {f"k{i}": self.value(type_["values"]) for i in range(count)}
        bits = rng.randrange(64)
        return {
            "null": lambda: None,
            "boolean": lambda: rng.random() < 0.5,
            "int": lambda: rng.randrange(-(2**31), 2**31) >> (bits // 2),
            "long": lambda: rng.randrange(-(2**63), 2**63) >> bits,
            "float": lambda: rng.choice([0.0, -0.5, 1.25, math.inf, 2.0**100]),
            "double": lambda: rng.choice([rng.gauss(0, 1e9), -0.0, -math.inf]),
            "bytes": lambda: rng.randbytes(rng.randrange(80)),
            "string": lambda: "".join(rng.choice("aäß漢😀\0") for _ in range(rng.randrange(80))),
        }[type_]()


@pytest.mark.parametrize("seed", range(40))
def test_random_rows_are_those_that_fastavro_reads_and_writes(tmp_path: Path, seed: int) -> None:
    made = Rows(seed)
    schema = {"type": "record", "name": "Root", "fields": made.fields(0)}
    rows = [made.value(schema) for _ in range(20)]
    path, other = tmp_path / "a.avro", tmp_path / "b.avro"
    assert atds.write(path, iter(rows), schema, codec="deflate", block_bytes=200) == 20
    assert by_fastavro(path) == rows
    # Record by record the bytes are the same.
    with open(other, "wb") as file:
        fastavro.writer(file, schema, rows)
    ours, theirs = (b"".join(_payloads(name)) for name in (path, other))
    assert ours == theirs


def _payloads(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        for block in fastavro.block_reader(file):
            yield block.bytes_.getvalue()


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"])
def test_every_codec(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "a.avro"
    rows = [{"n": n, "text": "x" * 50} for n in range(500)]
    options = {"metadata": {"made.by": "a test", "raw": b"x"}, "block_bytes": 1000}
    assert atds.write(path, rows, codec=codec, **options) == 500
    with open(path, "rb") as file:
        reader = fastavro.block_reader(file)
        assert reader.metadata["avro.codec"] == codec and reader.metadata["made.by"] == "a test"
        assert len([block for block in reader]) > 20
    assert by_fastavro(path) == rows
    (batch,) = atds.Dataset(path, 500)
    assert batch["n"].tolist() == list(range(500))


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        ({"a": 1, "b": 0.5, "c": "x", "d": b"y", "e": True}, "long double string bytes boolean"),
        ({"a": np.int32(1), "b": np.float32(0.5), "c": np.uint8(1)}, "int float int"),
        ({"a": [1, 2], "b": [1, 2.5]}, "[long] [double]"),
        ({"a": np.zeros((2, 3), np.float32)}, "[[float]]"),
        ({"a": [None, "x"]}, '[["null","string"]]'),
    ],
)
def test_the_schema_of_the_first_row(tmp_path: Path, row: dict[str, Any], fields: str) -> None:
    path = tmp_path / "a.avro"
    atds.write(path, [row])
    types = [field["type"] for field in atds.read_schema(path)["fields"]]

    def said(type_: Any) -> str:
        if isinstance(type_, dict) and type_["type"] == "array":
            return f"[{said(type_['items'])}]"
        return type_ if isinstance(type_, str) else json.dumps(type_, separators=(",", ":"))

    assert " ".join(map(said, types)) == fields


@pytest.mark.parametrize("value", [None, [], [None], [1, "x"], decimal.Decimal(1), object()])
def test_a_first_row_that_tells_no_type(tmp_path: Path, value: Any) -> None:
    with pytest.raises(atds.SchemaError, match="field 'x': .*give a schema"):
        atds.write(tmp_path / "a.avro", [{"x": value}])
    assert os.listdir(tmp_path) == []


def test_a_later_row_that_does_not_fit_the_first(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    with pytest.raises(atds.DataError, match="row 1, field x.*give a schema") as caught:
        atds.write(path, [{"x": 1}, {"x": None}])
    assert (caught.value.record, caught.value.field) == (1, "x")
    frames = [atds.Batch({"x": np.array([1, 2])}), atds.Batch({"x": np.array(["a"])})]
    with pytest.raises(atds.DataError, match="row 2, field x.*give a schema"):
        atds.write(path, frames)
    with pytest.raises(atds.DataError, match="row 1") as caught:
        atds.write(path, [{"x": 1}, {"x": None}], record(x="long"))
    assert "give a schema" not in str(caught.value)


#: A type, a value that does not fit it, and what the error says.
MISFITS = [
    ("int", 2**31, "out of the range of int"),
    ("long", 2**63, "out of the range of long"),
    ("int", True, "does not fit int"),
    ("int", 1.5, "does not fit int"),
    ("boolean", 1, "does not fit boolean"),
    ("float", 1e300, "make the field a double"),
    ("float", 2**24 + 1, "no float is equal"),
    ("double", 2**53 + 1, "no double is equal"),
    ("string", b"\xff", "not UTF-8"),
    ("string", 5, r"5 \(int\) does not fit string"),
    ("string", "\ud800", "surrogates"),
    ("bytes", 5, "does not fit bytes"),
    (fixed("F", 2), b"abc", "3 bytes where the fixed has 2"),
    ({"type": "enum", "name": "E", "symbols": ["A"]}, "B", "no symbol of the enum E: it has A"),
    ({"type": "enum", "name": "E", "symbols": ["A"]}, 1, "no number of the enum's 1 symbols"),
    ({"type": "array", "items": "int"}, 5, "does not fit array"),
    ({"type": "map", "values": "int"}, {1: 1}, "the keys of a map are text"),
    (["int", "string"], 0.5, "fits no branch of the union of int, string"),
    (["null", "int"], "x", "does not fit int"),
    (logical("int", "date"), AT, "give a datetime.date"),
    (logical("long", "timestamp-millis"), AT, "give a datetime with a time zone"),
    (logical("long", "timestamp-millis"), AT.replace(tzinfo=UTC), "a type of a finer unit"),
    (logical("long", "local-timestamp-micros"), np.datetime64("NaT"), "NaT"),
    (
        logical("bytes", "decimal", precision=3, scale=1),
        decimal.Decimal("1.25"),
        "more than 1 digits",
    ),
    (logical("bytes", "decimal", precision=3, scale=1), decimal.Decimal(100), "more than the 3"),
    (
        logical("bytes", "decimal", precision=3, scale=1),
        decimal.Decimal("1e999999999"),
        "more than",
    ),
    (
        logical("bytes", "decimal", precision=3, scale=1),
        decimal.Decimal("1e-999999999"),
        "round it",
    ),
    (logical("bytes", "decimal", precision=3, scale=1), 5, "give a decimal.Decimal"),
    (logical("bytes", "decimal", precision=3, scale=1), decimal.Decimal("NaN"), "no decimal"),
    (fixed("Span", 12, logicalType="duration"), [1, 2], "months, days and milliseconds"),
]


@pytest.mark.parametrize(("type_", "value", "said"), MISFITS)
def test_a_value_that_does_not_fit(tmp_path: Path, type_: Any, value: Any, said: str) -> None:
    path = tmp_path / "a.avro"
    path.write_bytes(b"before")
    schema = record(a="int", x={"type": "array", "items": type_})
    good = {"a": 1, "x": []}
    with pytest.raises(atds.DataError, match=said) as caught:
        atds.write(path, [good, good, {"a": 1, "x": [value]}], schema)
    error = caught.value
    assert (error.record, error.file) == (2, str(path))
    assert str(error.field).startswith("x[0]") and "row 2, field x[0]" in str(error)
    assert path.read_bytes() == b"before" and os.listdir(tmp_path) == ["a.avro"]


def test_fields_that_are_missing_or_unknown(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    schema: dict[str, Any] = record(a="int", b=["null", "int"], c="string", d=fixed("F", 2))
    schema["fields"][2]["default"] = "c!"
    schema["fields"][3]["default"] = "\u00ff\u0000"
    atds.write(path, [{"a": 1}, {"a": 2, "b": 3, "c": "x", "d": b"yz"}], schema)
    assert by_fastavro(path) == [
        {"a": 1, "b": None, "c": "c!", "d": b"\xff\0"},
        {"a": 2, "b": 3, "c": "x", "d": b"yz"},
    ]
    with pytest.raises(atds.DataError, match="row 0, field a: the row lacks the field"):
        atds.write(path, [{}], schema)
    with pytest.raises(atds.DataError, match=r"the key 'bb' \(str\) is no field of the record R"):
        atds.write(path, [{"a": 1, "bb": 1}], schema)
    with pytest.raises(atds.DataError, match="does not fit the record R"):
        atds.write(path, [5], schema)


def test_branches_that_are_records(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    one = {"type": "record", "name": "ns.One", "fields": [{"name": "x", "type": "int"}]}
    two = {
        "type": "record",
        "name": "ns.Two",
        "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": ["null", "int"]}],
    }
    schema = record(v=[one, two, {"type": "map", "values": "string"}])
    values = [{"x": 1}, {"x": 1, "y": 2}, ("ns.Two", {"x": 3}), ("Two", {"x": 4}), {"z": "w"}, {}]
    atds.write(path, [{"v": value} for value in values], schema)
    with open(path, "rb") as file:
        read = [row["v"] for row in fastavro.reader(file, return_record_name=True)]
    assert [value[0] if isinstance(value, tuple) else "map" for value in read] == [
        "ns.One",
        "ns.Two",
        "ns.Two",
        "ns.Two",
        "map",
        "map",
    ]


def test_recursive_types_and_lists_that_contain_themselves(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    schema = record(n="int", next=["null", "R"])
    row: dict[str, Any] = {"n": 0}
    for n in range(1, 40):
        row = {"n": n, "next": row}
    atds.write(path, [row], schema)
    assert by_fastavro(path)[0]["next"]["next"]["n"] == 37
    row["next"] = row
    with pytest.raises(atds.DataError, match="nested deeper than 100"):
        atds.write(path, [row], schema)


def test_rows_that_raise_leave_nothing(tmp_path: Path) -> None:
    def rows() -> Iterator[dict[str, int]]:
        yield {"x": 1}
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        atds.write(tmp_path / "a.avro", rows())
    assert os.listdir(tmp_path) == []


def test_many_rows_take_little_memory(tmp_path: Path) -> None:
    import resource

    def rows(count: int) -> Iterator[dict[str, Any]]:
        for n in range(count):
            yield {"n": n, "text": "x" * 1000}

    atds.write(tmp_path / "a.avro", rows(1000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert atds.write(tmp_path / "a.avro", rows(60_000)) == 60_000
    assert os.path.getsize(tmp_path / "a.avro") > 60_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000


def test_other_roots_than_records(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    assert atds.write(path, [1, 2, 3], '"long"') == 3
    assert by_fastavro(path) == [1, 2, 3]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"path": "a.txt"}, atds.OptionError, "tells no format"),
        ({"format": "parquet"}, atds.OptionError, "format must be"),
        ({"codec": "zstd"}, atds.OptionError, r"did you mean 'zstandard'\?"),
        ({"codec": "deflate", "level": 99}, atds.OptionError, "level must be"),
        ({"level": 1}, atds.OptionError, "has no levels"),
        ({"block_bytes": 0}, atds.OptionError, "block_bytes must be"),
        ({"metadata": {"avro.x": "y"}}, atds.OptionError, "does not begin with 'avro.'"),
        ({"path": "a.tfrecord", "block_bytes": 5}, atds.OptionError, "no option of tfrecord"),
        ({"rows": {"x": 1}}, atds.DataError, "rows cannot be a dict"),
        ({"rows": "text"}, atds.DataError, "rows cannot be a str"),
        ({"rows": []}, atds.SchemaError, "there is no row"),
        ({"schema": "{"}, atds.SchemaError, "not JSON"),
        ({"schema": {"type": "record"}}, atds.SchemaError, "name"),
        ({"path": "none/a.avro"}, atds.FileError, "none/a.avro"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], error: Any, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = {"path": "a.avro", "rows": [{"x": 1}], **given}
    with pytest.raises(error, match=said):
        atds.write(**arguments)
    assert os.listdir(tmp_path) == []


def test_several_threads_write(tmp_path: Path) -> None:
    def one(n: int) -> None:
        atds.write(tmp_path / f"{n}.avro", ({"n": n, "i": i} for i in range(5000)))

    threads = [threading.Thread(target=one, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(4):
        assert [row["i"] for row in by_fastavro(tmp_path / f"{n}.avro")] == list(range(5000))


def test_btable(tmp_path: Path) -> None:
    path = tmp_path / "a.btable"
    assert atds.write(path, [{"a": 1, "b": 0}, {"b": 2.5}, {}]) == 3
    table = atds.btable.BTable(path)
    assert table.labels == ["a", "b"] and list(table.rows()) == [[1, 0], [0, 2.5], [0, 0]]
    batch = atds.Batch({"x": np.array([0.0, 1.5]), "y": np.array([2, 0])})
    assert atds.write(tmp_path / "b.btable.gz", [batch], ["y", "x"]) == 2
    assert list(atds.btable.BTable(tmp_path / "b.btable.gz").rows()) == [[2, 0], [0, 1.5]]
    with pytest.raises(atds.DataError, match="row 1: the key 'c' is no label"):
        atds.write(path, [{"a": 1}, {"c": 1}])
    with pytest.raises(atds.OptionError, match="codec of a BTable"):
        atds.write(path, [{"a": 1}], codec="deflate")
