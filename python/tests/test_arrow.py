"""Arrow: batches, strings and streams, read by pyarrow, polars and DuckDB."""

from __future__ import annotations

import contextlib
import gc
import logging
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atds
from frameworks import need


@pytest.fixture
def make(write: Any) -> Callable[..., atds.Dataset]:
    """Makes a data set of five records, two in a batch, with every kind of column."""
    ints = {"type": "array", "items": ["null", "int"]}
    cells = {
        "type": "record",
        "name": "Cells",
        "fields": [
            {"name": "indices0", "type": {"type": "array", "items": "long"}},
            {"name": "indices1", "type": {"type": "array", "items": "long"}},
            {"name": "values", "type": {"type": "array", "items": "float"}},
        ],
    }
    fields = [
        {"name": "n", "type": "long"},
        {"name": "flag", "type": "boolean"},
        {"name": "pair", "type": {"type": "array", "items": "float"}},
        {"name": "text", "type": "string"},
        {"name": "blob", "type": "bytes"},
        {"name": "list", "type": ints},
        {"name": "deep", "type": {"type": "array", "items": {"type": "array", "items": "int"}}},
        {"name": "cells", "type": cells},
    ]
    records = [
        {
            "n": n,
            "flag": n % 2 == 0,
            "pair": [n, -n],
            "text": "é" * n,
            "blob": b"\xff" * n,
            "list": [i if i % 2 else None for i in range(n)],
            "deep": [[i] * i for i in range(n)],
            "cells": {
                "indices0": list(range(n)),
                "indices1": [7] * n,
                "values": [i / 2 for i in range(n)],
            },
        }
        for n in range(5)
    ]
    file = write(fields, records)
    features: dict[str, Any] = {
        "n": atds.DenseFeature([], "int64"),
        "flag": atds.DenseFeature([], "bool"),
        "pair": atds.DenseFeature([2], "float32"),
        "table": atds.DenseFeature([2], "bfloat16", expression="pair", cast=True),
        "text": atds.DenseFeature([], "string"),
        "blob": atds.DenseFeature([], "bytes"),
        "list": atds.VarlenFeature([-1], "int32", "ragged", default=-1, mask="list_mask"),
        "coo": atds.VarlenFeature([-1], "int32", default=-1, expression="list", mask="coo_mask"),
        "deep": atds.VarlenFeature([-1, -1], "int32", "ragged"),
        "deep_coo": atds.VarlenFeature([-1, -1], "int32", expression="deep"),
        "cells": atds.SparseFeature([10, 10], "float32"),
        "rows": atds.SparseFeature([10, 10], "float32", "ragged", expression="cells"),
        "padded": atds.DenseFeature([None], "int32", default=-1, expression="list"),
    }

    def make(**options: Any) -> atds.Dataset:
        return atds.Dataset(file, 2, features, **options)

    return make


def entries(n: int) -> list[dict[str, Any]]:
    return [{"indices": [i, 7], "values": i / 2} for i in range(n)]


def listed(n: int) -> list[int]:
    return [i if i % 2 else -1 for i in range(n)]


def expected(n: int, longest: int) -> dict[str, Any]:
    """Record n of `make` in the stream. `longest` is the length of its batch's longest list."""
    present = [i % 2 == 1 for i in range(n)]
    return {
        "n": n,
        "flag": n % 2 == 0,
        "pair": [n, -n],
        "table": [n, -n],
        "text": "é" * n,
        "blob": b"\xff" * n,
        "list": listed(n),
        "list_mask": present,
        "coo": listed(n),
        "coo_mask": present,
        "deep": [[i] * i for i in range(n)],
        "deep_coo": [[i] * i for i in range(n)],
        "cells": entries(n),
        "rows": entries(n),
        "padded": listed(n) + [-1] * (longest - n),
    }


EXPECTED = [expected(n, longest) for n, longest in zip(range(5), (1, 1, 3, 3, 4), strict=True)]


def test_a_batch(make: Any) -> None:
    pa = need("pyarrow")
    batches = list(make())
    for i, batch in enumerate(batches):
        arrow = batch.to_arrow()
        arrow.validate(full=True)
        assert isinstance(arrow, pa.RecordBatch)
        assert arrow.schema.names == list(batch)
        assert arrow.num_rows == batch.num_records
        for n, row in enumerate(arrow.to_pylist()):
            want = dict(EXPECTED[2 * i + n])
            # With coordinates, a varlen column has indices too.
            deep = [(j, k) for j in range(want["n"]) for k in range(j)]
            want["deep_coo"] = [{"indices": [j, k], "values": j} for j, k in deep]
            items = enumerate(want["coo"])
            want["coo"] = [{"indices": j, "values": value} for j, value in items]
            assert row == want


def test_types_of_a_batch(make: Any) -> None:
    pa = need("pyarrow")
    schema = list(make())[1].to_arrow().schema
    entry = pa.struct({"indices": pa.list_(pa.int64(), 2), "values": pa.float32()})
    assert {name: schema.field(name).type for name in schema.names} == {
        "n": pa.int64(),
        "flag": pa.bool_(),
        "pair": pa.list_(pa.float32(), 2),
        "table": pa.list_(pa.float32(), 2),
        "text": pa.large_string(),
        "blob": pa.large_binary(),
        "list": pa.large_list(pa.int32()),
        "list_mask": pa.large_list(pa.bool_()),
        "coo": pa.large_list(pa.struct({"indices": pa.int64(), "values": pa.int32()})),
        "coo_mask": pa.large_list(pa.bool_()),
        "deep": pa.large_list(pa.large_list(pa.int32())),
        "deep_coo": pa.large_list(
            pa.struct({"indices": pa.list_(pa.int64(), 2), "values": pa.int32()})
        ),
        "cells": pa.large_list(entry),
        "rows": pa.large_list(entry),
        "padded": pa.list_(pa.int32(), 3),
    }


def test_memory_is_shared_where_layouts_agree(make: Any) -> None:
    need("pyarrow")
    batch = list(make())[-1]
    arrow = batch.to_arrow()

    def address(array: Any, i: int = 1) -> int:
        return int(array.buffers()[i].address)

    assert address(arrow["n"]) == batch["n"].ctypes.data
    assert address(arrow["pair"].flatten()) == batch["pair"].ctypes.data
    assert address(arrow["text"]) == batch["text"].offsets.ctypes.data
    assert address(arrow["text"], 2) == batch["text"].data.ctypes.data
    assert address(arrow["list"]) == batch["list"].row_splits[0].ctypes.data
    assert address(arrow["list"].flatten()) == batch["list"].values.ctypes.data
    assert address(arrow["deep"].flatten()) == batch["deep"].row_splits[1].ctypes.data
    rows = arrow["rows"].flatten()
    assert address(rows.field("indices").flatten()) == batch["rows"].indices.ctypes.data
    assert address(rows.field("values")) == batch["rows"].values.ctypes.data
    assert address(arrow["cells"].flatten().field("values")) == batch["cells"].values.ctypes.data


def test_arrow_keeps_the_memory(make: Any) -> None:
    need("pyarrow")
    dataset = make()
    arrow = [batch.to_arrow() for batch in dataset]
    texts = [batch["text"].__arrow_c_array__() for batch in dataset]
    del texts
    for batch in dataset:
        batch["n"][:] = -1
    assert [row["n"] for batch in arrow for row in batch.to_pylist()] == [0, 1, 2, 3, 4]


def test_strings(make: Any) -> None:
    pa, pl = need("pyarrow"), need("polars")
    (_, batch, _) = make()
    assert pa.array(batch["text"]).to_pylist() == ["éé", "ééé"]
    assert pa.array(batch["blob"]).to_pylist() == [b"\xff" * 2, b"\xff" * 3]
    assert pl.Series(batch["text"]).to_list() == ["éé", "ééé"]
    shared = pa.array(batch["text"]).buffers()[2].address
    assert shared == batch["text"].data.ctypes.data
    table = pa.array(batch["text"].reshape(1, 2))
    assert (table.type, table.to_pylist()) == (pa.list_(pa.large_string(), 2), [["éé", "ééé"]])
    assert pa.array(batch["text"].reshape(2, 1)[1]).to_pylist() == ["ééé"]


def test_strings_that_are_no_text(write: Any) -> None:
    pa = need("pyarrow")
    file = write([{"name": "x", "type": "bytes"}], [{"x": b"\xff"}])
    (batch,) = atds.Dataset(file, 8, {"x": atds.DenseFeature([], "string")})
    with pytest.raises(ValueError, match="(?i)utf-?8"):
        pa.array(batch["x"])


def test_a_stream_to_pyarrow(make: Any) -> None:
    pa = need("pyarrow")
    dataset = make()
    reader = pa.RecordBatchReader.from_stream(dataset)
    batches = list(reader)
    assert [batch.num_rows for batch in batches] == [2, 2, 1]
    assert [row for batch in batches for row in batch.to_pylist()] == EXPECTED
    assert reader.schema.field("padded").type == pa.large_list(pa.int32())
    assert reader.schema.field("pair").type == pa.list_(pa.float32(), 2)
    assert dataset.stats()["records"] == 5
    assert dataset.epoch == 1
    assert pa.table(dataset).to_pylist() == EXPECTED


def test_a_stream_to_polars(make: Any) -> None:
    pl = need("polars")
    frame = pl.DataFrame(make())
    assert frame.shape == (5, 15)
    assert frame["n"].to_list() == [0, 1, 2, 3, 4]
    assert frame["text"].to_list() == [row["text"] for row in EXPECTED]
    assert frame["deep"].to_list() == [row["deep"] for row in EXPECTED]
    assert frame["cells"].to_list() == [row["cells"] for row in EXPECTED]


def test_a_stream_to_duckdb(make: Any) -> None:
    duckdb = need("duckdb")
    dataset = make()
    connection = duckdb.connect()
    connection.register("dataset", dataset)
    query = "select sum(n), count(*), max(length(text)), sum(len(list)) from dataset"
    assert connection.execute(query).fetchall() == [(10, 5, 4, 10)]
    # Each query reads an epoch.
    assert connection.execute("select n from dataset where flag order by n").fetchall() == [
        (0,),
        (2,),
        (4,),
    ]


def test_a_large_stream_is_the_batches(many: str) -> None:
    pa = need("pyarrow")
    dataset = atds.Dataset(many, 512, shuffle_buffer_size=1000, seed=1)
    table = pa.table(dataset)
    dataset.set_epoch(0)
    members = [batch["s_member"] for batch in dataset]
    assert table["s_member"].to_pylist() == np.concatenate(members).tolist()
    assert table.num_rows == 20000


def test_a_stream_can_be_left(many: str) -> None:
    pa = need("pyarrow")
    reader = pa.RecordBatchReader.from_stream(atds.Dataset(many, 64))
    reader.read_next_batch()
    assert threads()
    del reader
    assert_no_threads()


def threads() -> list[str]:
    """The names of the package's threads in this process."""
    names = []
    for task in Path("/proc/self/task").iterdir():
        # A thread can end before its name is read.
        with contextlib.suppress(OSError):
            names.append((task / "comm").read_text())
    return [name for name in names if name.startswith("atds")]


def assert_no_threads() -> None:
    """Waits for the threads. Closing waits for a second, too short for a busy machine."""
    deadline = time.monotonic() + 60
    while threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not threads()


def test_streams_and_batches_end_within_a_call(many: str, clicks: str, tmp_path: Path) -> None:
    """The garbage collector can drop a stream within a call, as this log handler does."""
    pa = need("pyarrow")
    stream = pa.RecordBatchReader.from_stream(atds.Dataset(many, 64))
    stream.read_next_batch()
    held = [stream, pa.table(atds.Dataset(clicks, 8)).to_reader()]
    del stream

    class Dropping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            held.clear()

    for name in ("a.avro", "_b.avro"):
        shutil.copy(Path(clicks) / "part-00000.avro", tmp_path / name)
    handler = Dropping()
    logger = logging.getLogger("atds")
    logger.addHandler(handler)
    try:
        assert len(atds.Dataset(tmp_path, 8)) > 0
    finally:
        logger.removeHandler(handler)
    assert not held
    gc.collect()
    assert_no_threads()


def test_errors_in_a_stream(clicks: str, tmp_path: Path) -> None:
    pa = need("pyarrow")
    whole = (Path(clicks) / "part-00000.avro").read_bytes()
    path = tmp_path / "cut.avro"
    path.write_bytes(whole[:-1000])
    reader = pa.RecordBatchReader.from_stream(atds.Dataset(path, 8))
    with pytest.raises(Exception, match=r"cut\.avro: block \d+ at byte \d+: ") as caught:
        list(reader)
    assert isinstance(caught.value, (OSError, pa.ArrowException))


def test_what_is_no_column(make: Any) -> None:
    need("pyarrow")
    (batch, *_) = make()
    batch["n"] = [1, 2]
    with pytest.raises(
        TypeError, match="^column 'n' is a list, which cannot be a column of a batch$"
    ):
        batch.to_arrow()
    batch["n"] = np.arange(3)
    with pytest.raises(ValueError, match="^column 'n' has 3 rows, but the batch 2$"):
        batch.to_arrow()
