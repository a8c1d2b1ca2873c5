"""Data sets: options, epochs, counts, and their reprs."""

from __future__ import annotations

import copy
import logging
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atds


def order(dataset: atds.Dataset) -> list[int]:
    return [n for batch in dataset for n in batch["n"].tolist()]


def test_files_are_paths_patterns_folders_and_lists(samples: Path) -> None:
    folder = samples / "clicks"
    files = sorted(str(file) for file in folder.glob("*.avro"))
    assert len(files) == 2
    given: list[Any] = [
        folder,
        str(folder),
        str(folder / "*.avro"),
        files,
        [folder / "part-00000.avro", files[1]],
        (file for file in files),
    ]
    for filenames in given:
        dataset = atds.Dataset(filenames, 64)
        assert dataset.filenames == files
        assert dataset.num_records == 200
    assert atds.Dataset(files[0], 64).filenames == files[:1]


def test_a_file_name_that_is_no_text(numbers: str, number: Any, tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.avro")
    Path(numbers).rename(name)
    ways: list[Any] = [name, os.fsencode(name), Path(name), str(tmp_path)]
    for given in ways:
        dataset = atds.Dataset(given, 64, number)
        assert dataset.filenames == [name]
        assert pickle.loads(pickle.dumps(dataset)).num_records == 1000
    assert atds.inspect(name).path == name
    Path(name).write_bytes(b"nothing")
    with pytest.raises(atds.DataError) as caught:
        list(dataset)
    assert caught.value.file == name


def test_length_is_that_of_an_epoch(numbers: str, number: Any) -> None:
    for size in (1, 7, 250, 999, 1000, 1001):
        for drop in (False, True):
            dataset = atds.Dataset(numbers, size, number, drop_remainder=drop)
            sizes = [batch.num_records for batch in dataset]
            assert len(dataset) == len(sizes)
            assert sum(sizes) == (1000 - 1000 % size if drop else 1000)
            assert set(sizes[:-1]) <= {size}


def test_without_shuffling_records_come_in_order(numbers: str, number: Any) -> None:
    for threads in (1, 3, atds.AUTOTUNE):
        dataset = atds.Dataset(numbers, 64, number, num_parallel_calls=threads)
        assert order(dataset) == list(range(1000))
        assert order(dataset) == list(range(1000))


def test_seed_and_epoch_fix_the_order(numbers: str, number: Any) -> None:
    def make(seed: int | None) -> atds.Dataset:
        return atds.Dataset(numbers, 64, number, shuffle_buffer_size=500, seed=seed)

    dataset, same, other = make(7), make(7), make(8)
    epochs = [order(dataset) for _ in range(3)]
    assert [order(same) for _ in range(3)] == epochs
    assert order(other) != epochs[0]
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    assert all(sorted(epoch) == list(range(1000)) for epoch in epochs)
    assert dataset.epoch == 3
    dataset.set_epoch(1)
    assert order(dataset) == epochs[1]
    # A seed that was drawn at random can be passed again.
    drawn = make(None)
    assert order(make(drawn.seed)) == order(drawn)
    assert drawn.seed != make(None).seed


def test_files_and_blocks_can_be_shuffled(samples: Path, numbers: str, number: Any) -> None:
    blocks = atds.Dataset(numbers, 64, number, shuffle_blocks=True, seed=3)
    first, second = order(blocks), order(blocks)
    assert first != second != list(range(1000))
    assert sorted(first) == sorted(second) == list(range(1000))
    features = {"s_member": atds.DenseFeature([], "int64")}
    files = atds.Dataset(samples / "many", 64, features, shuffle_files=True, seed=3)
    orders = {tuple(batch["s_member"][0] for batch in files) for _ in range(8)}
    assert len(orders) > 1


def test_element_spec(clicks: str) -> None:
    features = {
        "s_label": atds.DenseFeature([], "int32"),
        "d0": atds.DenseFeature([8], "float32"),
        "s_country": atds.DenseFeature([], "bytes"),
        "d1": atds.VarlenFeature([-1], "float32"),
        "d2": atds.VarlenFeature([-1], "float64", layout="ragged"),
        "sp0": atds.SparseFeature([50_001], "float32"),
        "sp1": atds.SparseFeature([-1], "float32", layout="ragged"),
        "d3": atds.DenseFeature([None], "int64", default=0, mask="d3_mask"),
    }
    spec = atds.Dataset(clicks, 64, features).element_spec
    assert spec == {
        "s_label": atds.ArraySpec((None,), "int32"),
        "d0": atds.ArraySpec((None, 8), "float32"),
        "s_country": atds.ArraySpec((None,), "bytes"),
        "d1": atds.SparseTensorSpec((None, None), "float32"),
        "d2": atds.RaggedTensorSpec((None, None), "float64"),
        "sp0": atds.SparseTensorSpec((None, 50_001), "float32"),
        "sp1": atds.RaggedSparseTensorSpec((None, None), "float32"),
        "d3": atds.ArraySpec((None, None), "int64"),
        "d3_mask": atds.ArraySpec((None, None), "bool"),
    }
    assert spec["d2"].ragged_rank == 1  # type: ignore[union-attr]
    whole = atds.Dataset(clicks, 64, features, drop_remainder=True).element_spec
    assert whole["d0"] == atds.ArraySpec((64, 8), "float32")


def test_what_it_says_of_itself(clicks: str, numbers: str, number: Any) -> None:
    assert repr(atds.Dataset(clicks, 64)) == "atds.Dataset(2 files, batch_size=64, 19 features)"
    shuffled = atds.Dataset(numbers, 8, number, shuffle_buffer_size=9, seed=1)
    assert repr(shuffled) == (
        f"atds.Dataset({numbers!r}, batch_size=8, 1 feature, shuffle_buffer_size=9, seed=1)"
    )
    assert shuffled.schema["fields"] == [{"name": "n", "type": "long"}]
    assert shuffled.features == number
    assert (shuffled.batch_size, shuffled.drop_remainder) == (8, False)
    (batch, *_) = shuffled
    assert repr(batch) == "Batch of 8 records\n  n: int64 [8]"


def test_stats(numbers: str, number: Any) -> None:
    dataset = atds.Dataset(numbers, 300, number, drop_remainder=True)
    none = dataset.stats()
    assert (none["records"], none["steps"], none["records_per_s"]) == (0, 0, 0.0)
    iterator = iter(dataset)
    next(iterator)
    assert dataset.stats()["records"] == iterator.stats()["records"] == 300
    for _ in iterator:
        pass
    del iterator
    stats = dataset.stats()
    assert (stats["records"], stats["steps"], stats["dropped_records"]) == (900, 3, 100)
    assert stats.keys() == none.keys()
    assert stats["elapsed_s"] > 0 and stats["decode_s"] > 0
    assert 0 < stats["memory_peak"] <= stats["memory_limit"]


def test_dropped_entries_are_counted(clicks: str) -> None:
    features = {"sp0": atds.SparseFeature([100], "float32")}
    with pytest.raises(atds.DataError, match="sp0"):
        list(atds.Dataset(clicks, 64, features))
    dataset = atds.Dataset(clicks, 64, features, out_of_bounds="drop")
    kept = sum(len(batch["sp0"].values) for batch in dataset)
    every = atds.Dataset(clicks, 64, {"sp0": atds.SparseFeature([-1], "float32")})
    entries = sum(len(batch["sp0"].values) for batch in every)
    assert dataset.stats()["dropped_entries"] == entries - kept > 0


def test_all_ways_of_reading_give_the_same(numbers: str, number: Any) -> None:
    ways: list[dict[str, Any]] = [
        {"mmap": True},
        {"reader_buffer_size": 10},
        {"prefetch": 0},
        {"memory_limit": 1 << 20},
        {"shuffle_blocks": False, "drop_remainder": False},
    ]
    for options in ways:
        assert order(atds.Dataset(numbers, 64, number, **options)) == list(range(1000))


def test_pickling_takes_the_configuration_along(numbers: str, number: Any) -> None:
    dataset = atds.Dataset(numbers, 64, number, shuffle_buffer_size=500, num_parallel_calls=1)
    first = order(dataset)
    iterator = iter(dataset)
    next(iterator)
    for other in (pickle.loads(pickle.dumps(dataset)), copy.copy(dataset)):
        assert (other.seed, other.epoch, other.filenames) == (dataset.seed, 2, [numbers])
        assert repr(other) == repr(dataset)
        assert other.stats()["records"] == 0
        third = order(other)
        other.set_epoch(0)
        assert order(other) == first != third
    assert dataset.epoch == 2


def test_a_batch_can_be_pickled(samples: Path) -> None:
    for name in ("clicks", "strings", "varlen"):
        batch = next(iter(atds.Dataset(samples / name, 8)))
        again = pickle.loads(pickle.dumps(batch))
        assert isinstance(again, atds.Batch)
        assert again.num_records == batch.num_records
        assert repr(again) == repr(batch)


def test_fields_that_are_no_tensor_are_logged(write: Any, caplog: pytest.LogCaptureFixture) -> None:
    nothing = {"name": "u", "type": "null"}
    file = write([{"name": "n", "type": "int"}, nothing], [{"n": 1, "u": None}])
    with caplog.at_level(logging.WARNING, logger="atds"):
        dataset = atds.Dataset(file, 8)
    assert list(dataset.features) == ["n"]
    (record,) = caplog.records
    assert record.name == "atds"
    assert record.getMessage() == "left out 'u' (null): it holds no value"


def test_a_reader_schema(write: Any) -> None:
    file = write([{"name": "n", "type": "int"}], [{"n": 1}, {"n": 2}])
    fields = [
        {"name": "m", "type": "double", "aliases": ["n"]},
        {"name": "new", "type": "string", "default": "x"},
    ]
    schema = {"type": "record", "name": "R", "fields": fields}
    dataset = atds.Dataset(file, 8, reader_schema=schema)
    (batch,) = dataset
    assert batch["m"].tolist() == [1.0, 2.0]
    assert batch["new"].to_pylist() == ["x", "x"]
    assert dataset.schema == schema


def test_arrays_are_of_native_byte_order(clicks: str) -> None:
    (batch, *_) = atds.Dataset(clicks, 64, {"d0": atds.DenseFeature([8], np.float32)})
    assert batch["d0"].dtype == np.dtype("=f4")
    assert batch["d0"].flags.c_contiguous and batch["d0"].flags.aligned
