"""Files that fastavro writes, and rows as fastavro reads them."""

import io
import struct
from pathlib import Path
from typing import Any

import fastavro

CODECS = ("null", "deflate", "snappy", "zstandard", "bzip2", "xz")

SCHEMA = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "x", "type": "double"},
        {"name": "s", "type": "string"},
        {"name": "l", "type": {"type": "array", "items": "int"}},
    ],
}

MARKER = bytes(range(100, 116))

Row = tuple[int, bytes, str, tuple[int, ...]]


def record(number: int) -> dict[str, Any]:
    """A record with this id. Its other values follow from the id."""
    return {
        "id": number,
        "x": number * 0.37,
        "s": f"text {number}" if number % 3 else "",
        "l": [number * 5 - i for i in range(number % 4)],
    }


def row(values: dict[str, Any]) -> Row:
    """A record as a row that can be compared: NaN too."""
    return (values["id"], struct.pack("<d", values["x"]), values["s"], tuple(values["l"]))


def write(path: Path, first: int, records: int, block: int, codec: str = "null") -> Path:
    """Write a file of records with ids from `first` on, `block` of them a block."""
    out = io.BytesIO()
    writer = fastavro.write.Writer(out, SCHEMA, codec=codec, sync_marker=MARKER)
    for number in range(records):
        writer.write(record(first + number))
        if (number + 1) % block == 0:
            writer.dump()
    writer.flush()
    path.write_bytes(out.getvalue())
    return path


def blocks(data: bytes) -> list[range]:
    """The bytes of each block of a healthy file."""
    reader = fastavro.block_reader(io.BytesIO(data))
    return [range(block.offset, block.offset + block.size) for block in reader]


def read(data: bytes, texts: str = "strict") -> tuple[list[Row], bool]:
    """The rows that fastavro gives, and whether it read to the end without an error. With `texts` of
    "replace", texts that are not UTF-8 are no error."""
    rows = []
    try:
        reader = fastavro.reader(io.BytesIO(data), handle_unicode_errors=texts)
        rows.extend(row(values) for values in reader)
    except Exception:  # noqa: BLE001 - each codec raises its own kind
        return rows, False
    return rows, True
