"""The memory limit holds, by the resident memory that the operating system says."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

MIB = 1 << 20
LIMIT = 64 * MIB
#: What the limit does not count.
UNCOUNTED = 64 * MIB

READ = """
import re, sys
from pathlib import Path
import atds

small, large, limit, threads = sys.argv[1:]


def read(path):
    try:
        options = {"memory_limit": int(limit), "num_parallel_calls": int(threads)}
        for _ in atds.Dataset(path, 1024, **options):
            pass
    except atds.MemoryLimitError as error:
        return str(error)
    return ""


def peak():
    # The peak of `resource` begins with that of the parent.
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", status)[1])


read(small)
before = peak()
error = read(large)
print(peak() - before)
print(error)
"""


def number(value: int) -> bytes:
    value <<= 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def zeros(count: int, end: bytes = b"") -> bytes:
    return number(count) + bytes(count) + end


def write(path: Path, kind: Any, blocks: int, records: int, payload: bytes) -> str:
    schema = {"type": "record", "name": "R", "fields": [{"name": "x", "type": kind}]}
    encoder = zlib.compressobj(9, zlib.DEFLATED, -15)
    payload = encoder.compress(payload) + encoder.flush()
    sync = bytes(16)
    with path.open("wb") as file:
        file.write(b"Obj\1" + number(2))
        for item in (b"avro.schema", json.dumps(schema).encode(), b"avro.codec", b"deflate"):
            file.write(number(len(item)) + item)
        file.write(b"\0" + sync)
        block = number(records) + number(len(payload)) + payload + sync
        file.write(block * blocks)
    return str(path)


ARRAY = {"type": "array", "items": "string"}


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells the peak")
@pytest.mark.parametrize("threads", [1, 16])
@pytest.mark.parametrize(
    ("kind", "blocks", "records", "payload"),
    [
        ("bytes", 16, 1, zeros(100 * MIB)),
        ("bytes", 1, 16, zeros(5 * MIB // 2) * 16),
        (ARRAY, 1, 1, zeros(8 * MIB, b"\0")),
        (ARRAY, 16, 1, zeros(MIB, b"\0")),
    ],
    ids=["bombs", "values", "strings", "strings-16"],
)
def test_the_limit_holds(
    tmp_path: Path, kind: Any, blocks: int, records: int, payload: bytes, threads: int
) -> None:
    small = write(tmp_path / "small.avro", kind, 1, 1, b"\0")
    large = write(tmp_path / "large.avro", kind, blocks, records, payload)
    args = [sys.executable, "-c", READ, small, large, str(LIMIT), str(threads)]
    out = subprocess.run(args, check=True, capture_output=True, text=True).stdout
    peak, error = out.splitlines()
    assert int(peak) * 1024 <= LIMIT + UNCOUNTED, error
    assert f"{large}: block " in error
    assert "record " in error
