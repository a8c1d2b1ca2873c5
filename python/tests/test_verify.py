"""``atds verify`` and ``atds repair`` beside fastavro, over damaged files that fastavro wrote."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest

SCHEMA = fastavro.parse_schema(
    {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "text", "type": ["null", "string"]},
            {"name": "list", "type": {"type": "array", "items": "double"}},
            {"name": "kind", "type": {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}},
        ],
    }
)
CODECS = ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"]
#: The codecs whose payloads always have a checksum.
CHECKED = {"snappy", "bzip2", "xz"}

#: A block: the offset of its first byte and of the next one, and its records.
Block = tuple[int, int, list[Any]]


def record(number: int) -> dict[str, Any]:
    return {
        "id": number * 7919,
        "text": None if number % 5 == 0 else f"record {number} " * (number % 4 + 1),
        "list": [number / 8, -number] * (number % 3),
        "kind": "ABC"[number % 3],
    }


def written(path: Path, codec: str) -> tuple[bytes, list[Block]]:
    """The bytes of a new file, and its blocks."""
    try:
        with path.open("wb") as file:
            records = map(record, range(200))
            fastavro.writer(file, SCHEMA, records, codec=codec, sync_interval=600)
    except ValueError as error:
        pytest.skip(str(error))
    blocks: list[Block] = []
    with path.open("rb") as file:
        for block in fastavro.block_reader(file):
            blocks.append((block.offset, block.offset + block.size, list(block)))
    return path.read_bytes(), blocks


def read(path: Path) -> list[Any] | None:
    """The records of a file by fastavro; None if it fails."""
    try:
        with path.open("rb") as file:
            return list(fastavro.reader(file))
    except Exception:  # noqa: BLE001 - it fails in many ways
        return None


def atds(*args: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "atds", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def flip(file: bytearray, at: int, draw: random.Random) -> None:
    file[at] ^= draw.randrange(1, 256)


def cut(file: bytearray, at: int, draw: random.Random) -> None:
    del file[at + draw.randrange(1, 5) :]


def zeros(file: bytearray, at: int, draw: random.Random) -> None:
    end = min(len(file), at + draw.randrange(1, 900))
    file[at:end] = bytes(end - at)


def noise(file: bytearray, at: int, draw: random.Random) -> None:
    end = min(len(file), at + draw.randrange(1, 900))
    file[at:end] = draw.randbytes(end - at)


DAMAGES: list[Callable[[bytearray, int, random.Random], None]] = [
    flip,
    flip,
    flip,
    cut,
    zeros,
    noise,
]


@pytest.mark.parametrize("codec", CODECS)
def test_damage_is_seen_and_healthy_records_are_kept(codec: str, tmp_path: Path) -> None:
    whole, blocks = written(tmp_path / "whole.avro", codec)
    records = [value for _, _, values in blocks for value in values]
    starts = {start for start, _, _ in blocks}
    draw = random.Random(codec)
    files = tmp_path / "files"
    files.mkdir()
    for number in range(90):
        damaged = bytearray(whole)
        at = draw.randrange(blocks[0][0], len(whole))
        DAMAGES[number % len(DAMAGES)](damaged, at, draw)
        # A file that is cut between two blocks is a shorter file.
        if len(damaged) not in starts:
            (files / f"{number:03}.avro").write_bytes(damaged)

    ran = atds("verify", "--json", files)
    *found, total = map(json.loads, ran.stdout.splitlines())
    paths = sorted(files.iterdir())
    assert [Path(file["file"]) for file in found] == paths
    assert total["total"]["files"] == len(paths)
    assert ran.returncode == 1
    mended = tmp_path / "mended"
    mended.mkdir()
    for number, (path, file) in enumerate(zip(paths, found, strict=True)):
        now = path.read_bytes()
        by_fastavro = read(path)
        if by_fastavro is None or (by_fastavro != records and codec in CHECKED):
            assert not file["well"], path
        if file["well"] or number % 4 > 0:
            continue
        repaired = atds("repair", path, mended / path.name)
        assert repaired.returncode == 0, repaired.stderr
        # The records of the blocks that are as they were, and no others.
        healthy = [values for start, end, values in blocks if whole[start:end] == now[start:end]]
        kept = [value for values in healthy for value in values]
        in_mended = read(mended / path.name)
        assert in_mended is not None
        if codec in CHECKED:
            assert in_mended == kept, path
        elif codec != "null" or len(healthy) >= len(blocks) - 1:
            # A damaged block without a checksum may be read as other records. After several
            # uncompressed blocks that are lost, the start of the next one cannot be found.
            assert all(value in in_mended for value in kept), path
        assert file["records"] == len(in_mended)
    assert len(list(mended.iterdir())) > 10
    again = atds("verify", mended)
    assert (again.returncode, again.stderr) == (0, ""), again.stdout
