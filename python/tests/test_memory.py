"""The memory limit holds, by the resident memory that the operating system says."""

from __future__ import annotations

import bz2
import json
import lzma
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import atds

MIB = 1 << 20
LIMIT = 64 * MIB
#: What the limit does not count.
UNCOUNTED = 64 * MIB

#: Prints how much the peak grows while a file or a folder is read, and the error. Reading a small file
#: first loads what does not depend on the data.
READ = """
import re, sys
from pathlib import Path
import atds

small, large, limit, threads, batch = sys.argv[1:]


def read(path):
    options = {"memory_limit": int(limit), "num_parallel_calls": int(threads)}
    try:
        for made in atds.Dataset(path, int(batch), **options):
            del made
    except atds.MemoryLimitError as error:
        return str(error)
    return ""


def memory(name):
    # The peak of `resource` begins with that of the parent.
    status = Path("/proc/self/status").read_text()
    return int(re.search(name + r":\\s*(\\d+) kB", status)[1])


read(small)
Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
before = memory("VmRSS")
error = read(large)
print(memory("VmHWM") - before)
print(error)
"""

SYNC = b"0123456789abcdef"


def number(value: int) -> bytes:
    value <<= 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def zeros(count: int, end: bytes = b"") -> bytes:
    return number(count) + bytes(count) + end


#: Payloads are compressed in parts, so that a bomb takes no memory here.
Parts = list[bytes]


def bomb(count: int) -> Parts:
    return [number(count), *[bytes(MIB)] * (count // MIB)]


def deflate(parts: Parts) -> bytes:
    out, before = [], b""
    encoder = zlib.compressobj(9, zlib.DEFLATED, -15)
    for part in parts:
        # After a full flush, equal parts are compressed alike.
        if part is not before:
            compressed = encoder.compress(part) + encoder.flush(zlib.Z_FULL_FLUSH)
        out.append(compressed)
        before = part
    return b"".join(out) + encoder.flush()


def bzip2(parts: Parts) -> bytes:
    encoder = bz2.BZ2Compressor()
    return b"".join(map(encoder.compress, parts)) + encoder.flush()


def xz(parts: Parts) -> bytes:
    encoder = lzma.LZMACompressor()
    return b"".join(map(encoder.compress, parts)) + encoder.flush()


def zstandard(parts: Parts) -> bytes:
    """Of a bomb: a frame with a window of 1 MiB of a raw block, and of blocks that repeat a byte."""
    front, *zeros = parts
    frame = (0xFD2FB528).to_bytes(4, "little") + b"\0\x50"
    frame += (len(front) << 3).to_bytes(3, "little") + front
    repeat = (128 << 10 << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    return frame + repeat * (8 * len(zeros)) + b"\1\0\0"


def snappy(parts: Parts) -> bytes:
    """Of a bomb: its front and a zero, then copies of the byte before."""
    front, *zeros = parts
    length, size = bytearray(), sum(map(len, parts))
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    length.append(size)
    check = 0
    for part in parts:
        check = zlib.crc32(part, check)
    out = bytes(length) + bytes([len(front) << 2]) + front + b"\0"
    copy = bytes([63 << 2 | 2, 1, 0])
    copies, rest = divmod(MIB * len(zeros) - 1, 64)
    return out + copy * copies + bytes([(rest - 1) << 2 | 2, 1, 0]) + check.to_bytes(4, "big")


CODECS: dict[str, Callable[[Parts], bytes]] = {
    "null": b"".join,
    "deflate": deflate,
    "zstandard": zstandard,
    "snappy": snappy,
    "bzip2": bzip2,
    "xz": xz,
}


def header(fields: list[Any], codec: str) -> bytes:
    schema = {"type": "record", "name": "R", "fields": fields}
    out = b"Obj\1" + number(2)
    for item in (b"avro.schema", json.dumps(schema).encode(), b"avro.codec", codec.encode()):
        out += number(len(item)) + item
    return out + b"\0" + SYNC


def block(codec: str, records: int, payload: Parts) -> bytes:
    compressed = CODECS[codec](payload)
    return number(records) + number(len(compressed)) + compressed + SYNC


BYTES = [{"name": "x", "type": "bytes"}]
STRINGS = [{"name": "x", "type": {"type": "array", "items": "string"}}]
PAIR = [{"name": "n", "type": "long"}, {"name": "x", "type": "string"}]
RECORD = number(7) + number(50) + b"x" * 50

#: Fields, codec, number of blocks, records in a block, and its payload.
CASES: dict[str, tuple[list[Any], str, int, int, Parts]] = {
    "16-bombs-deflate": (BYTES, "deflate", 16, 1, bomb(500 * MIB)),
    "16-bombs-zstandard": (BYTES, "zstandard", 16, 1, bomb(500 * MIB)),
    "16-bombs-snappy": (BYTES, "snappy", 16, 1, bomb(100 * MIB)),
    "bomb-bzip2": (BYTES, "bzip2", 1, 1, bomb(100 * MIB)),
    "bomb-xz": (BYTES, "xz", 1, 1, bomb(100 * MIB)),
    "values": (BYTES, "deflate", 1, 16, [zeros(5 * MIB // 2)] * 16),
    "strings": (STRINGS, "deflate", 1, 1, [zeros(8 * MIB, b"\0")]),
    "16-strings": (STRINGS, "deflate", 16, 1, [zeros(MIB, b"\0")]),
}


def peak(tmp_path: Path, large: Path, threads: int, batch: int = 1024) -> tuple[int, str]:
    """By how many bytes the peak grows, and the error."""
    small = tmp_path / "small.avro"
    small.write_bytes(header(PAIR, "null") + block("null", 1, [RECORD]))
    options = map(str, (small, large, LIMIT, threads, batch))
    args = [sys.executable, "-c", READ, *options]
    out = subprocess.run(args, check=True, capture_output=True, text=True).stdout
    kilobytes, error = out.splitlines()
    return int(kilobytes) * 1024, error


linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux tells the peak")


@linux
@pytest.mark.parametrize("case", CASES)
def test_the_limit_holds(tmp_path: Path, case: str) -> None:
    large = tmp_path / "large.avro"
    fields, codec, blocks, records, payload = CASES[case]
    large.write_bytes(header(fields, codec) + block(codec, records, payload) * blocks)
    for threads in (1, 16):
        bytes_more, error = peak(tmp_path, large, threads)
        assert bytes_more <= LIMIT + UNCOUNTED, error
        assert f"{large}: block " in error
        assert "bytes, but the window and a batch need " in error


@linux
@pytest.mark.parametrize("case", ["records", "small-files", "large-and-small"])
def test_the_limit_holds_for_what_fits(tmp_path: Path, case: str) -> None:
    large, batch = tmp_path / "large.avro", 1024
    if case == "records":
        payload = [RECORD * 200_000]
        large.write_bytes(header(PAIR, "deflate") + block("deflate", 200_000, payload))
    elif case == "small-files":
        large = tmp_path / "many"
        large.mkdir()
        first = large / "0.avro"
        first.write_bytes(header(PAIR, "null") + block("null", 1, [RECORD]))
        for i in range(1, 3_000):
            os.link(first, large / f"{i}.avro")
    else:
        # Whoever expects batches as large as the largest takes too much, each of 16 threads.
        blocks = [block("deflate", 1, [zeros(MIB * size // 4)]) for size in (24, 1, 2, 3)]
        some = blocks[0] + b"".join(blocks[1:]) * 8
        large.write_bytes(header(BYTES, "deflate") + some * 6)
        batch = 1
    for threads in (1, 16):
        bytes_more, error = peak(tmp_path, large, threads, batch)
        assert error == ""
        assert bytes_more <= LIMIT + UNCOUNTED


def test_ranks_of_a_machine_share_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "small.avro"
    path.write_bytes(header(PAIR, "null") + block("null", 1, [RECORD]))

    def limit() -> Any:
        dataset = atds.Dataset(str(path), 1)
        list(dataset)
        return dataset.stats()["memory_limit"]

    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    alone = limit()
    assert 64 * MIB <= alone <= 4096 * MIB
    found = re.search(r"MemTotal:\s*(\d+) kB", Path("/proc/meminfo").read_text())
    assert found is None or alone <= int(found[1]) * 1024 // 4
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "10000")
    assert limit() == 64 * MIB
