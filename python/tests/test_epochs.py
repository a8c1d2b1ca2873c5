"""Several epochs in one iteration: the batches are those of iterations one after another."""

from __future__ import annotations

import itertools
import os
import pickle
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atds
from conftest import NUMBER
from frameworks import need


def lists(dataset: Any) -> list[list[int]]:
    return [np.asarray(batch["n"]).tolist() for batch in dataset]


def joined(epochs: list[list[Any]]) -> list[Any]:
    """The batches of several epochs."""
    return list(itertools.chain.from_iterable(epochs))


#: Options of a data set of 1,000 records, and its shards.
CASES: list[dict[str, Any]] = [
    {},
    {"shuffle_buffer_size": 300},
    {"shuffle_buffer_size": 300, "shuffle_blocks": True, "drop_remainder": True},
    {"shuffle_blocks": True, "num_parallel_calls": 3},
    {"shard": (1, 3), "shuffle_buffer_size": 100},
]


@pytest.mark.parametrize("options", CASES)
@pytest.mark.parametrize("batch_size", [1, 64, 1000, 1001])
def test_epochs_are_as_iterations_one_after_another(
    numbers: str, options: dict[str, Any], batch_size: int
) -> None:
    one = atds.Dataset(numbers, batch_size, NUMBER, seed=7, **options)
    three = atds.Dataset(numbers, batch_size, NUMBER, seed=7, epochs=3, **options)
    apart = [lists(one) for _ in range(6)]
    assert (one.epochs, three.epochs, three.epoch) == (1, 3, 0)
    assert len(three) == 3 * len(one) and three.num_records == one.num_records
    assert lists(three) == joined(apart[:3])
    assert three.epoch == 3
    assert three.stats()["steps"] == len(three)
    assert lists(three) == joined(apart[3:])
    three.set_epoch(2)
    other = pickle.loads(pickle.dumps(three))
    assert lists(three) == lists(other) == joined(apart[2:5])


def test_no_batch_has_records_of_two_epochs(numbers: str) -> None:
    dataset = atds.Dataset(numbers, 300, NUMBER, epochs=2, seed=1)
    assert [len(batch) for batch in lists(dataset)] == [300, 300, 300, 100] * 2
    dropping = atds.Dataset(numbers, 300, NUMBER, epochs=2, drop_remainder=True)
    assert [len(batch) for batch in lists(dropping)] == [300] * 6
    assert dropping.stats()["dropped_records"] == 200
    nothing = atds.Dataset(numbers, 1001, NUMBER, epochs=(1 << 32) - 1, drop_remainder=True)
    assert (len(nothing), lists(nothing)) == (0, [])


def test_a_large_number_goes_on_as_long_as_batches_are_taken(numbers: str) -> None:
    dataset = atds.Dataset(numbers, 100, NUMBER, epochs=(1 << 32) - 1)
    assert len(dataset) == 10 * ((1 << 32) - 1)
    with iter(dataset) as batches:
        taken = list(itertools.islice(batches, 35))
    assert [batch["n"][0] for batch in taken] == [100 * (i % 10) for i in range(35)]
    # The next iteration does not repeat the order of this one.
    assert dataset.epoch == (1 << 32) - 1
    assert "epochs=4294967295" in repr(dataset)


@pytest.mark.parametrize("epochs", [None, 0, -1, 1 << 32, 1 << 70, 1.5, True, "2"])
def test_other_numbers_are_errors(numbers: str, epochs: Any) -> None:
    message = r"epochs must be a whole number, 1 to 4,294,967,295, not "
    with pytest.raises(atds.OptionError, match=message):
        atds.Dataset(numbers, 8, NUMBER, epochs=epochs)


def test_a_pipe_has_one_epoch(numbers: str, tmp_path: Path) -> None:
    path = tmp_path / "pipe.avro"
    os.mkfifo(path)
    with open(os.open(path, os.O_RDWR), "wb", buffering=0) as pipe:
        pipe.write(Path(numbers).read_bytes()[:4000])
        with pytest.raises(atds.ReadOnceError, match="set epochs= to 1"):
            atds.Dataset(path, 8, NUMBER, epochs=2)


def test_arrow_streams_have_all_epochs(numbers: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    dataset = atds.Dataset(numbers, 300, NUMBER, epochs=2)
    table = pyarrow.RecordBatchReader.from_stream(dataset).read_all()
    assert table.column("n").to_pylist() == 2 * list(range(1000))


def test_epochs_of_jax(numbers: str) -> None:
    need("jax")
    import atds.jax

    features = {"n": atds.DenseFeature([], "int32", cast=True)}
    options: dict[str, Any] = {"shuffle_buffer_size": 300, "seed": 3}
    for shard in (None, (1, 2)):
        one = atds.Dataset(numbers, 64, features, **options)
        two = atds.Dataset(numbers, 64, features, **options, epochs=2)
        apart = [lists(atds.jax.iterate(one, shard=shard)) for _ in range(2)]
        assert lists(atds.jax.iterate(two, shard=shard)) == joined(apart)
        assert two.epoch == 2


def test_it_tells_what_waits_for_what(numbers: str, tmp_path: Path) -> None:
    dataset = atds.Dataset(numbers, 64, NUMBER, num_parallel_calls=2)
    assert dataset.describe_waits() == "no iteration has begun"
    with iter(dataset) as batches:
        next(batches)
        told = batches.describe_waits()
        assert told.startswith("consumer: does something else, took a batch "), told
        assert "\nbatches: 1 given out, " in told and "\nmemory: " in told, told
        assert dataset.describe_waits().splitlines()[1].startswith("planning thread: ")
    del batches
    assert dataset.describe_waits() == "the iteration has ended\n"
    # While another thread is stuck.
    path = tmp_path / "pipe 'x'.avro"
    os.mkfifo(path)
    data = Path(numbers).read_bytes()
    with open(os.open(path, os.O_RDWR), "wb", buffering=0) as pipe:
        pipe.write(data[:4000])
        stuck = atds.Dataset(path, 1 << 20, NUMBER, check_files=False, sample_records=0)
        iterator = iter(stuck)
        thread = threading.Thread(target=lambda: next(iterator, None))
        thread.start()
        name = str(path).replace("'", r"\'")
        waits = ["waits for batch 0 since", f" of '{name}' since "]
        deadline = time.monotonic() + 60
        while not all(text in (told := stuck.describe_waits()) for text in waits):
            assert time.monotonic() < deadline, told
            time.sleep(0.01)
        iterator.close()
        thread.join()
