"""Faults that `tolerate` accepts, and files that are not Avro."""

from __future__ import annotations

import bz2
import io
import json
import logging
import lzma
import pickle
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atds

SYNC = bytes(range(16))


def long(n: int) -> bytes:
    n = n * 2 if n >= 0 else -n * 2 - 1
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*out, n])


def text(data: bytes) -> bytes:
    return long(len(data)) + data


def block(count: int, payload: bytes) -> bytes:
    return long(count) + text(payload) + SYNC


def container(schema: Any, *blocks: bytes, codec: bytes = b"null") -> bytes:
    entries = [(b"avro.schema", json.dumps(schema).encode()), (b"avro.codec", codec)]
    head = b"".join(text(key) + text(value) for key, value in entries)
    return b"Obj\x01" + long(len(entries)) + head + b"\0" + SYNC + b"".join(blocks)


def record(**fields: Any) -> dict[str, Any]:
    named = [{"name": name, "type": schema} for name, schema in fields.items()]
    return {"type": "record", "name": "r", "fields": named}


NUMBERS = container(record(x="long"), block(3, long(1) + long(2) + long(3)))


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.avro", NUMBERS)
    return out.getvalue()


def tarred() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("a.avro")
        info.size = len(NUMBERS)
        archive.addfile(info, io.BytesIO(NUMBERS))
    return out.getvalue()


def saved() -> bytes:
    out = io.BytesIO()
    np.save(out, np.arange(3))
    return out.getvalue()


FOREIGN = {
    "bzip2 data": bz2.compress(NUMBERS),
    "xz data": lzma.compress(NUMBERS),
    "a zip archive": zipped(),
    "a tar archive": tarred(),
    "a NumPy file": saved(),
    "a Python pickle": pickle.dumps([1, 2, 3]),
    "JSON text": b'{"x": 1}\n',
    "an Avro schema": json.dumps(record(x="long"), indent=2).encode(),
    "an Avro protocol": json.dumps({"protocol": "P", "types": [], "messages": {}}).encode(),
    "an HTML page": b"<!doctype html><html></html>",
    "XML": b"<?xml version='1.0'?><Error/>",
    "a Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 1\n",
    "text in UTF-16": "a,b\n1,2\n".encode("utf-16"),
    "a single Avro message": b"\xc3\x01" + bytes(8) + b"\x02",
    "NUL bytes": bytes(100),
    "text": b"a,b\n1,2\n",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_a_file_is_instead(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.avro"
    path.write_bytes(FOREIGN[name])
    with pytest.raises(atds.DataError, match=f"not an Avro object container file but {name}"):
        atds.Dataset(path, 8)


def test_files_of_arrow_and_its_kin(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, ipc, orc, parquet

    table = pa.table({"x": [1, 2, 3]})
    path = tmp_path / "x.avro"

    def stream() -> None:
        with ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table)

    for name, write in {
        "a Parquet file": lambda: parquet.write_table(table, path),
        "an ORC file": lambda: orc.write_table(table, str(path)),
        "an Arrow IPC file": lambda: feather.write_feather(table, str(path)),
        "an Arrow IPC stream": stream,
    }.items():
        write()
        with pytest.raises(atds.DataError, match=f"but {name}"):
            atds.Dataset(path, 8)


TAILS = {
    "newline": b"\n",
    "NULs": bytes(4096),
    "another file": NUMBERS,
    "text": b"-- the end --",
}


@pytest.mark.parametrize("tail", TAILS)
def test_bytes_after_the_last_block(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, tail: str
) -> None:
    path = tmp_path / "x.avro"
    path.write_bytes(NUMBERS + TAILS[tail])
    read = []
    with pytest.raises(atds.DataError, match="tolerate='trailing-file-bytes'"):
        for batch in atds.Dataset(path, 8):
            read.extend(batch["x"].tolist())
    assert read == [1, 2, 3]
    with caplog.at_level(logging.WARNING, "atds"):
        dataset = atds.Dataset(path, 8, tolerate="trailing-file-bytes")
        assert len(dataset) == 1
        assert [batch["x"].tolist() for batch in dataset] == [[1, 2, 3]]
        assert dataset.stats()["trailing_file_bytes"] == len(TAILS[tail])
        assert atds.inspect(path, tolerate=["trailing-file-bytes"]).records == 3
    assert any("after the last block" in message for message in caplog.messages)
    path.write_bytes(NUMBERS[:-1])
    with pytest.raises(atds.DataError, match="ends inside"):
        list(atds.Dataset(path, 8, tolerate=atds._options.TOLERATED))


def test_bytes_left_in_a_block(tmp_path: Path) -> None:
    path = tmp_path / "x.avro"
    path.write_bytes(container(record(x="long"), block(2, long(1) + long(2) + b"left")))
    with pytest.raises(atds.DataError, match="tolerate='trailing-block-bytes'"):
        list(atds.Dataset(path, 8))
    dataset = atds.Dataset(path, 8, tolerate=("trailing-block-bytes", "utf8"))
    assert [batch["x"].tolist() for batch in dataset] == [[1, 2]]
    assert dataset.stats()["trailing_block_bytes"] == 4


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "x.avro"
    path.write_bytes(container(record(s="string"), block(1, text(b"gr\xfcn"))))
    with pytest.raises(atds.DataError, match="tolerate='utf8'"):
        list(atds.Dataset(path, 8))
    dataset = atds.Dataset(path, 8, tolerate="utf8")
    assert [batch["s"].to_pylist() for batch in dataset] == [["gr\ufffdn"]]
    assert dataset.stats()["replaced_texts"] == 1
    features = {"s": atds.DenseFeature([], "bytes")}
    assert [batch["s"].to_pylist() for batch in atds.Dataset(path, 8, features)] == [[b"gr\xfcn"]]
    ids = {"s": atds.DenseFeature([], "int64", hash_buckets=10)}
    assert len(list(atds.Dataset(path, 8, ids))) == 1


def test_messages() -> None:
    schema = record(s="string")
    features = {"s": atds.DenseFeature([], "string")}
    message = text(b"\xff") + b"left"
    decoder = atds.MessageDecoder(schema, features, tolerate=["utf8", "trailing-block-bytes"])
    assert decoder.decode([message])["s"].to_pylist() == ["\ufffd"]
    assert decoder.tolerated() == {"trailing_block_bytes": 4, "replaced_texts": 1}
    with pytest.raises(atds.DataError):
        atds.MessageDecoder(schema, features, tolerate="utf8").decode([message])


def test_depth() -> None:
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "next", "type": ["null", "r"]}, {"name": "x", "type": "int"}],
    }
    features = {"x": atds.DenseFeature([], "int32")}
    message = b"\x02" * 70 + b"\0" + b"\x04" * 71
    with pytest.raises(atds.DataError, match="raise max_depth="):
        atds.MessageDecoder(schema, features).decode([message])
    decoder = atds.MessageDecoder(schema, features, max_depth=300)
    assert decoder.decode([message])["x"].tolist() == [2]


def test_limits_and_names_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "x.avro"
    path.write_bytes(NUMBERS)
    with pytest.raises(atds.OptionError, match="tolerate must be of"):
        atds.Dataset(path, 8, tolerate="everything")
    with pytest.raises(atds.OptionError, match="max_depth"):
        atds.Dataset(path, 8, max_depth=301)
    with pytest.raises(atds.DataError, match="raise max_block_bytes="):
        list(atds.Dataset(path, 8, max_block_bytes=2))


def test_a_logical_type_that_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "x.avro"
    schema = record(x={"type": "int", "logicalType": "timestamp-millis"})
    path.write_bytes(container(schema, block(1, long(1))))
    features = {"x": atds.DenseFeature([], "int64", unit="seconds")}
    with pytest.raises(atds.FeatureError, match="'timestamp-millis' is ignored: it is of long"):
        atds.Dataset(path, 8, features)


def test_a_checksum_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "x.avro"
    # Snappy's format by hand: the length, then a literal.
    payload = bytes([3, 2 << 2]) + long(1) + long(2) + long(3)
    for checksum in (b"", struct.pack(">I", 1)):
        path.write_bytes(container(record(x="long"), block(3, payload + checksum), codec=b"snappy"))
        with pytest.raises(atds.DataError, match="tolerate='checksum'"):
            list(atds.Dataset(path, 8))
        dataset = atds.Dataset(path, 8, tolerate="checksum")
        assert [batch["x"].tolist() for batch in dataset] == [[1, 2, 3]]
        assert dataset.stats()["bad_checksums"] == 1
