"""The files of the comparison, written by fastavro."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import fastavro
import tensorflow as tf

#: Types of Avro, with their dtypes and some values.
TYPES: dict[str, tuple[Any, list[Any]]] = {
    "int": (tf.int32, [1, -2, 2**31 - 1, -(2**31), 0]),
    "long": (tf.int64, [1 << 40, -5, 2**63 - 1, -(2**63), 0]),
    "float": (tf.float32, [0.5, -1.5, float("nan"), float("inf"), 3.25]),
    "double": (tf.float64, [0.1, -1e300, float("-inf"), 2.0, 0.0]),
    "boolean": (tf.bool, [True, False, True, True, False]),
    "string": (tf.string, ["a", "", "üñ", "a longer text", "日本"]),
    "bytes": (tf.string, [b"\x00", b"", b"\xff\xfe", b"abc", b"\x80"]),
}


def array(items: Any) -> dict[str, Any]:
    """The type of arrays."""
    return {"type": "array", "items": items}


def record(name: str, /, **fields: Any) -> dict[str, Any]:
    """The type of records."""
    return {"type": "record", "name": name, "fields": [
        {"name": field, "type": avro} for field, avro in fields.items()]}  # fmt: skip


def write(path: Path, schema: Any, records: list[Any], codec: str = "null") -> str:
    """Writes a file of small blocks."""
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), records, codec, sync_interval=500)
    return str(path)


def encoded(schema: Any, records: list[Any]) -> list[bytes]:
    """Records without a file."""
    parsed, out = fastavro.parse_schema(schema), []
    for one in records:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, parsed, one)
        out.append(stream.getvalue())
    return out
