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


#: Ranks and their `uneven`, with batch sizes for which ranks have unequal numbers of batches.
RANKS = [
    (2, "drop", 64),
    (3, "drop", 37),
    (3, "pad", 37),
    (3, "keep", 37),
    (3, "pad", 334),
]


@pytest.mark.parametrize(("world_size", "uneven", "batch_size"), RANKS)
@pytest.mark.parametrize("shuffled", [False, True])
def test_epochs_of_ranks(
    numbers: str, world_size: int, uneven: Any, batch_size: int, shuffled: bool
) -> None:
    need("torch")
    import atds.torch

    options: dict[str, Any] = {"shuffle_buffer_size": 50, "shuffle_blocks": True, "seed": 2}
    for rank, drop in itertools.product((0, world_size - 1), (False, True)):

        def dataset(**more: Any) -> Any:
            return atds.torch.Dataset(
                numbers,
                batch_size,
                NUMBER,
                rank=rank,  # noqa: B023
                world_size=world_size,
                uneven=uneven,
                drop_remainder=drop,  # noqa: B023
                **(options if shuffled else {}),
                **more,
            )

        def rows(batches: Any) -> list[Any]:
            return [(b["n"].tolist(), b.get("mask", b["n"]).tolist()) for b in batches]

        one, three = dataset(), dataset(epochs=3)
        apart = [rows(one) for _ in range(3)]
        assert rows(three) == joined(apart)
        assert len(three) == 3 * len(one) == sum(map(len, apart))
        assert (three.epoch, three.epochs, three.share) == (3, 3, one.share)


def test_a_rank_without_records_has_padding_in_each_epoch(numbers: str) -> None:
    need("torch")
    import atds.torch

    options: dict[str, Any] = {"rank": 0, "world_size": 1001, "epochs": 3}
    dataset = atds.torch.Dataset(numbers, 8, NUMBER, uneven="pad", **options)
    assert dataset.share.records == (0, 0)
    assert [batch["mask"].any().item() for batch in dataset] == [False] * 3
    options["epochs"] = (1 << 32) - 1
    assert lists(atds.torch.Dataset(numbers, 8, NUMBER, uneven="keep", **options)) == []


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("workers", [0, 1, 2, 3])
@pytest.mark.parametrize("persistent", [False, True])
def test_epochs_of_workers(numbers: str, workers: int, persistent: bool) -> None:
    need("torch")
    import atds.torch

    options: dict[str, Any] = {"shuffle_buffer_size": 100, "seed": 2}
    one = atds.torch.Dataset(numbers, 64, NUMBER, **options)
    two = atds.torch.Dataset(numbers, 64, NUMBER, **options, epochs=2)
    kept = {"persistent_workers": persistent} if workers else {}
    loader = atds.torch.loader(two, workers, **kept)
    for _ in range(2):
        apart = [lists(atds.torch.loader(one, workers)) for _ in range(2)]
        found = lists(loader)
        assert len(found) == len(loader) == len(two) == 32
        # Three workers have 5, 5 and 6 of 16 batches, so the last falls behind.
        if workers < 3:
            assert found == joined(apart)
        else:
            assert sorted(found) == sorted(joined(apart))
    assert two.epoch == one.epoch == 4


def test_the_iteration_ends_where_it_is_closed_or_fails(numbers: str, tmp_path: Path) -> None:
    need("torch")
    import atds.torch

    dataset = atds.torch.Dataset(numbers, 64, NUMBER, epochs=(1 << 32) - 1)
    batches = iter(dataset)
    next(batches)
    batches.close()
    assert next(batches, None) is None
    # Two thirds of the file: the error comes in the first epoch, and nothing after it.
    damaged = tmp_path / "damaged.avro"
    damaged.write_bytes(Path(numbers).read_bytes())
    options: dict[str, Any] = {"rank": 0, "world_size": 1, "epochs": (1 << 32) - 1}
    dataset = atds.torch.Dataset(damaged, 64, NUMBER, uneven="pad", **options)
    damaged.write_bytes(Path(numbers).read_bytes()[: damaged.stat().st_size * 2 // 3])
    batches = iter(dataset)
    with pytest.raises(atds.Error):
        for _ in batches:
            pass
    assert next(batches, None) is None


def test_accelerate_does_not_join_epochs(numbers: str) -> None:
    need("torch")
    import atds.torch
    from atds.torch.callers import Caller, Dispatcher

    dataset = atds.torch.Dataset(numbers, 64, NUMBER, epochs=2)
    with pytest.raises(atds.OptionError, match="epochs=2 is not possible with Accelerate's"):
        dataset._check(Caller(dispatcher=Dispatcher(0, 2, False, True)))


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
        deadline = time.monotonic() + 60
        while "waits for batch 0 since" not in stuck.describe_waits():
            assert time.monotonic() < deadline, stuck.describe_waits()
            time.sleep(0.01)
        told = stuck.describe_waits()
        name = str(path).replace("'", r"\'")
        assert f"'{name}' from" in told, told
        iterator.close()
        thread.join()
