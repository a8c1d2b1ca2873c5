"""`DataLoader` with workers: shared records, epochs and errors."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest

import atds
from conftest import NUMBER, Write
from frameworks import need

torch = need("torch")
from torch.utils.data import DataLoader
from torch_loading import flat, load, shuffled

import atds.torch

pytestmark = [
    # DataLoader warns of too few cores, but these tests do not measure speed.
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    # Python 3.12 and later warn if a process with threads is forked.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

METHODS = ["fork", "spawn"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("workers", [0, 1, 4])
def test_workers_share_the_records(numbers: str, workers: int, method: str) -> None:
    options = {"num_workers": workers}
    if workers:
        options["multiprocessing_context"] = method  # type: ignore[assignment]
    cases = ((64, False, 16), (64, True, 15), (1000, False, 1))
    # Workers that are not forked import everything and take seconds to start.
    for batch_size, drop, batches in cases if method == "fork" else cases[:1]:
        dataset = atds.torch.Dataset(numbers, batch_size, NUMBER, drop_remainder=drop)
        found = load(dataset, **options)
        assert len(found) == len(dataset) == batches == len(DataLoader(dataset, batch_size=None))
        records = flat(found)
        assert sorted(records) == list(range(960 if drop else 1000))
        assert dataset.epoch == 1
        # Only the last batch may be smaller, whichever worker has it.
        assert sorted(map(len, found))[1:] == [batch_size] * (batches - 1)


@pytest.mark.parametrize("workers", [0, 2])
def test_each_iteration_is_an_epoch(numbers: str, workers: int) -> None:
    dataset = shuffled(numbers)
    epochs = [load(dataset, num_workers=workers) for _ in range(3)]
    assert len({tuple(map(tuple, epoch)) for epoch in epochs}) == 3
    assert dataset.epoch == 3
    dataset.set_epoch(1)
    assert dataset.epoch == 1
    assert load(dataset, num_workers=workers) == epochs[1]
    assert load(dataset, num_workers=workers) == epochs[2]
    for epoch in epochs:
        assert sorted(flat(epoch)) == list(range(1000))


@pytest.mark.parametrize("method", METHODS)
def test_persistent_workers_go_on_to_the_next_epoch(numbers: str, method: str) -> None:
    dataset = shuffled(numbers)
    loader = DataLoader(
        dataset,
        batch_size=None,
        num_workers=2,
        persistent_workers=True,
        multiprocessing_context=method,
    )
    epochs = [[batch["n"].tolist() for batch in loader] for _ in range(3)]
    assert len({tuple(map(tuple, epoch)) for epoch in epochs}) == 3
    # The call reaches running workers.
    dataset.set_epoch(1)
    assert [batch["n"].tolist() for batch in loader] == epochs[1]
    dataset.set_epoch(1)
    assert load(dataset, num_workers=2) == epochs[1]


def test_workers_of_any_number_are_in_the_same_epoch(numbers: str) -> None:
    # Workers in different epochs would shuffle blocks differently and read records twice.
    dataset = shuffled(numbers)
    for epoch, workers in enumerate([0, 3, 2, 5, 0, 4]):
        assert dataset.epoch == epoch
        assert sorted(flat(load(dataset, num_workers=workers))) == list(range(1000))


def threads_of(batch: Any) -> Any:
    info = torch.utils.data.get_worker_info()
    return (0 if info is None else info.id), info.dataset.stats()["threads"]


def test_workers_share_the_cores(clicks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    features = {"s_label": atds.DenseFeature([], "int32")}
    cores = len(os.sched_getaffinity(0))
    for workers in (1, 2, cores + 1):
        dataset = atds.torch.Dataset(clicks, 8, features)
        loader = DataLoader(dataset, batch_size=None, num_workers=workers, collate_fn=threads_of)
        most = Counter[int]()
        for worker, threads in loader:
            most[worker] = max(most[worker], threads)
        assert len(most) == workers
        assert max(most.values()) <= max(1, cores // workers)
    # Ranks of this machine share the cores too. A given number of threads is not reduced.
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(cores))
    for given, threads in ((atds.AUTOTUNE, 1), (3, 3)):
        dataset = atds.torch.Dataset(clicks, 200, features, num_parallel_calls=given)
        list(dataset)
        assert dataset.stats()["threads"] == threads


def test_processes_share_the_default_memory(numbers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def limit(**options: Any) -> Any:
        dataset = atds.torch.Dataset(numbers, 100, NUMBER, **options)
        list(dataset)
        return dataset.stats()["memory_limit"]

    alone = limit()
    assert 64 << 20 <= alone <= 4 << 30
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "10000")
    assert limit() == 64 << 20
    assert limit(memory_limit=12_345_678) == 12_345_678


def test_an_error_in_a_worker_is_that_error(write: Write) -> None:
    fields = [{"name": "n", "type": {"type": "array", "items": "long"}}]
    records = [{"n": [n] * (2 if n < 150 else 3)} for n in range(200)]
    path = write(fields, records, sync_interval=100)
    dataset = atds.torch.Dataset(path, 10, {"n": atds.DenseFeature([2], "int64")})
    for workers in (0, 1):
        seen = 0
        with pytest.raises(atds.DataError, match="field 'n'"):
            for batch in DataLoader(dataset, batch_size=None, num_workers=workers):
                seen += len(batch["n"])
        assert seen == 150


def test_a_loader_can_be_left_half_way(many: str) -> None:
    dataset = atds.torch.Dataset(many, 16, {"s_label": atds.DenseFeature([], "int32")})
    for workers in (0, 2):
        for taken in (1, 40):
            for step, _ in enumerate(DataLoader(dataset, batch_size=None, num_workers=workers)):
                if step == taken:
                    break
    assert sum(len(batch["s_label"]) for batch in dataset) == 20000
