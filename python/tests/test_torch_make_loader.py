"""`atds.torch.loader`, which makes a `DataLoader` for a data set."""

from __future__ import annotations

import multiprocessing
from typing import Any

import numpy as np
import pytest

import atds
from conftest import NUMBER
from frameworks import need
from interpreters import succeeds

torch = need("torch")
from torch.utils.data import DataLoader
from torch_loading import flat, shuffled

import atds.torch

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_each_record_once_in_each_epoch(numbers: str, workers: int) -> None:
    dataset = shuffled(numbers)
    loader = atds.torch.loader(dataset, num_workers=workers)
    assert isinstance(loader, DataLoader)
    assert (loader.batch_size, loader.num_workers) == (None, workers)
    assert loader.persistent_workers == (workers > 0)
    assert len(loader) == len(dataset) == 32
    epochs = [[batch["n"].tolist() for batch in loader] for _ in range(2)]
    assert epochs[0] != epochs[1]
    for epoch in epochs:
        assert sorted(flat(epoch)) == list(range(1000))
    dataset.set_epoch(0)
    assert [batch["n"].tolist() for batch in loader] == epochs[0]
    assert dataset.epoch == 1


def test_batches_are_passed_on(numbers: str) -> None:
    dataset = atds.torch.Dataset(numbers, 64, NUMBER)
    for workers in (0, 1):
        batch = next(iter(atds.torch.loader(dataset, workers)))
        assert type(batch) is atds.torch.Batch
        assert batch["n"].tolist() == list(range(64))


def total(batch: Any) -> int:
    return int(batch["n"].sum())


def begin(worker: int) -> None:
    torch.manual_seed(worker)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_other_options_are_passed_on(numbers: str, method: str) -> None:
    loader = atds.torch.loader(
        atds.torch.Dataset(numbers, 100, NUMBER),
        num_workers=2,
        collate_fn=total,
        timeout=120,
        worker_init_fn=begin,
        multiprocessing_context=method,
        generator=torch.Generator(),
        prefetch_factor=3,
        persistent_workers=False,
        in_order=False,
    )
    assert sum(loader) == 999 * 500
    assert (loader.prefetch_factor, loader.timeout, loader.worker_init_fn) == (3, 120, begin)
    assert not loader.persistent_workers
    assert not loader.in_order
    assert loader.multiprocessing_context.get_start_method() == method
    with pytest.raises(TypeError, match="no_such_option"):
        atds.torch.loader(atds.torch.Dataset(numbers, 100, NUMBER), no_such_option=1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"batch_size": 8}, "batch_size= cannot be given, because the data set makes batches: "),
        ({"batch_size": 1}, "give it batch_size="),
        ({"batch_size": 0}, "batch_size= cannot be given"),
        ({"shuffle": True}, "the data set shuffles: give it shuffle_buffer_size="),
        ({"sampler": [0]}, "the data set chooses the order: .* rank= and world_size="),
        ({"sampler": np.arange(2)}, "sampler= cannot be given"),
        ({"batch_sampler": [[0]]}, "the data set makes batches"),
        ({"drop_last": True}, "give it drop_remainder=True"),
        ({"persistent_workers": True}, "persistent_workers= is for worker processes, and num_work"),
        ({"prefetch_factor": 2}, "give num_workers=1 or more, or leave it out"),
        ({"timeout": 5}, "timeout= is for worker processes"),
        ({"worker_init_fn": begin}, "worker_init_fn= is for worker processes"),
        ({"multiprocessing_context": "fork"}, "multiprocessing_context= is for worker processes"),
        ({"num_workers": -1}, "num_workers must be a whole number, 0 to 512, not -1"),
        ({"num_workers": 513}, "num_workers must be a whole number, 0 to 512, not 513"),
        ({"num_workers": None}, "num_workers must be a whole number, 0 to 512, not None"),
    ],
)
def test_options_that_contradict(numbers: str, options: dict[str, Any], said: str) -> None:
    dataset = atds.torch.Dataset(numbers, 64, NUMBER)
    with pytest.raises(atds.OptionError, match=said):
        atds.torch.loader(dataset, **options)


def test_options_that_say_nothing(numbers: str) -> None:
    nothing: dict[str, Any] = {
        "batch_size": None,
        "shuffle": False,
        "sampler": None,
        "batch_sampler": None,
        "drop_last": False,
        "timeout": 0,
        "prefetch_factor": None,
        "persistent_workers": False,
        "pin_memory": False,
    }
    loader = atds.torch.loader(atds.torch.Dataset(numbers, 64, NUMBER), **nothing)
    assert sum(len(batch["n"]) for batch in loader) == 1000


def test_what_is_no_data_set_of_tensors(numbers: str) -> None:
    for other in (atds.Dataset(numbers, 64, NUMBER), [1]):
        with pytest.raises(atds.OptionError, match=r"^dataset must be an atds.torch.Dataset, not "):
            atds.torch.loader(other)  # type: ignore[arg-type]


def test_how_workers_are_started(numbers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = atds.torch.Dataset(numbers, 64, NUMBER)

    def method(is_set: str | None) -> Any:
        monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none=False: is_set)
        context = atds.torch.loader(dataset, 1).multiprocessing_context
        return context and context.get_start_method()

    assert method(None) == "fork"
    # A method set for the program is used.
    assert method("spawn") is None


def test_a_script_without_a_guard(numbers: str) -> None:
    """Code that is not in a file can start workers with `fork` only."""
    out = succeeds(
        """
        import sys, warnings
        warnings.simplefilter("ignore")
        import atds, atds.torch
        dataset = atds.torch.Dataset(sys.argv[1], 50)
        loader = atds.torch.loader(dataset, num_workers=2, collate_fn=lambda batch: batch["n"])
        for _ in range(2):
            print(sum(int(n.sum()) for n in loader))
        """,
        numbers,
    )
    assert out.split() == ["499500", "499500"]


def test_pinning_is_left_to_the_loader(numbers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = atds.torch.Dataset(numbers, 64, NUMBER)
    assert not atds.torch.loader(dataset).pin_memory
    with pytest.warns(UserWarning, match="no accelerator is found"):
        batches = list(atds.torch.loader(dataset, pin_memory=True))
    assert sum(len(batch["n"]) for batch in batches) == 1000
    # If the data set asks for pinned memory, the loader pins with workers too.
    monkeypatch.setattr("atds.torch.dataset.is_pinning_possible", lambda stacklevel: True)
    pins = atds.torch.Dataset(numbers, 64, NUMBER, pin_memory=True)
    for workers in (0, 2):
        loader = atds.torch.loader(pins, workers)
        assert loader.pin_memory
        assert not atds.torch.loader(pins, workers, pin_memory=False).pin_memory
    monkeypatch.undo()
    with pytest.warns(UserWarning, match="no accelerator is found"):
        seen = [batch["n"].tolist() for batch in loader]
    assert sorted(flat(seen)) == list(range(1000))
    # The loader has the data set's epoch.
    assert pins.epoch == 1
