"""The threads of a PyTorch data set: an epoch uses those of the previous one."""

from __future__ import annotations

import gc
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import atds
from conftest import NUMBER
from frameworks import need
from interpreters import HANGS

torch = need("torch")
from torch.utils.data import DataLoader

import atds.torch

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


#: Threads of other tests' data sets.
OLD: set[str] = set()


@pytest.fixture(autouse=True)
def others() -> None:
    """Leaves out the threads that exist before the test."""
    OLD.clear()
    OLD.update(threads())


def threads() -> dict[str, str]:
    """The names of this process's native threads by id, without those of other tests."""
    found = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
        except (FileNotFoundError, ProcessLookupError):
            # The thread has ended.
            continue
        # Calls that count records have a thread for a moment.
        if name.startswith("atds") and name != "atds-call" and task.name not in OLD:
            found[task.name] = name
    return found


def assert_no_threads() -> None:
    """Waits until the kernel lists no threads, which can be a little after they were joined."""
    deadline = time.monotonic() + HANGS
    while threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threads() == {}


def latest_thread() -> int:
    """The id of a thread that is started now. The system gives increasing ids."""
    started = threading.Thread(target=lambda: ids.append(threading.get_native_id()))
    ids: list[int] = []
    started.start()
    started.join()
    return ids[0]


@pytest.mark.parametrize("options", [{}, {"rank": 0, "world_size": 3}])
def test_an_epoch_uses_the_threads_of_the_first(numbers: str, options: dict[str, Any]) -> None:
    dataset = atds.torch.Dataset(numbers, 16, NUMBER, num_parallel_calls=3, **options)
    assert_no_threads()
    list(dataset)
    first = threads()
    assert sorted(first.values()) == ["atds-planner"] + ["atds-worker"] * 3
    for epoch in range(3):
        iterator = iter(dataset)
        next(iterator)
        assert threads() == first, epoch
        for _ in iterator:
            pass
        del iterator
        assert threads() == first, epoch
    # The threads end with the data set.
    del dataset
    gc.collect()
    assert_no_threads()


def test_threads_are_older_than_the_epoch(numbers: str) -> None:
    dataset = atds.torch.Dataset(numbers, 64, NUMBER, num_parallel_calls=2)
    for end in ("", "left", "closed"):
        list(dataset)
        before = latest_thread()
        iterator = iter(dataset)
        next(iterator)
        if end == "closed":
            iterator.close()
        elif not end:
            list(iterator)
        del iterator
        started = [n for n in threads() if int(n) > before]
        assert started == [], end


def test_epochs_side_by_side_have_threads_of_their_own(numbers: str) -> None:
    dataset = atds.torch.Dataset(numbers, 10, NUMBER, num_parallel_calls=1)
    one, other = iter(dataset), iter(dataset)
    seen = [next(one)["n"].tolist(), next(other)["n"].tolist()]
    assert seen == [list(range(10))] * 2
    both = threads()
    assert sorted(both.values()) == ["atds-planner"] * 2 + ["atds-worker"] * 2
    assert sum(len(batch["n"]) for batch in one) == sum(len(batch["n"]) for batch in other) == 990
    list(dataset)
    assert threads() == both


def test_an_epoch_that_is_left_gives_its_threads_back(numbers: str) -> None:
    # Of several workers, an epoch that is left soon starts as many as find work.
    dataset = atds.torch.Dataset(numbers, 8, NUMBER, num_parallel_calls=1)
    next(iter(dataset))
    # Without names: a new thread has the name of its parent for a moment.
    first = set(threads())
    assert len(first) == 2
    for _ in range(5):
        next(iter(dataset))
        assert set(threads()) == first
    assert sum(len(batch["n"]) for batch in dataset) == 1000


def threads_of_worker(batch: Any) -> Any:
    info = torch.utils.data.get_worker_info()
    return info.id, threads(), batch["n"].tolist()


def test_persistent_workers_keep_their_threads(numbers: str) -> None:
    dataset = atds.torch.Dataset(numbers, 25, NUMBER)
    loader = DataLoader(
        dataset,
        batch_size=None,
        num_workers=2,
        persistent_workers=True,
        collate_fn=threads_of_worker,
    )
    epochs = []
    for _ in range(3):
        seen: dict[int, dict[str, str]] = {0: {}, 1: {}}
        records = []
        for worker, found, numbers_of_batch in loader:
            seen[worker].update(found)
            records += numbers_of_batch
        assert sorted(records) == list(range(1000))
        epochs.append(seen)
    assert set(epochs[0][0].values()) >= {"atds-planner", "atds-worker"}
    assert epochs[0] == epochs[1] == epochs[2]


def test_a_data_set_of_arrays_keeps_none(numbers: str) -> None:
    dataset = atds.Dataset(numbers, 64, NUMBER)
    list(dataset)
    assert_no_threads()


def test_with_ends_the_threads_that_wait(many: str) -> None:
    features = {"s_label": atds.DenseFeature([], "int32")}
    with atds.torch.Dataset(many, 64, features, num_parallel_calls=3) as dataset:
        first = [batch["s_label"].tolist() for batch in dataset]
        assert len(threads()) == 4
    assert_no_threads()
    # The data set can still be iterated over, and running iterations go on.
    batches = iter(dataset)
    next(batches)
    dataset.close()
    assert [batch["s_label"].tolist() for batch in batches] == first[1:]
    del batches
    assert len(threads()) == 4
    dataset.close()
    dataset.close()
    assert_no_threads()
