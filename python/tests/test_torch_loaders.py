"""Loaders that read a data set: some join batches, and some split them among ranks."""

from __future__ import annotations

from typing import Any

import pytest

import atds
from conftest import NUMBER
from frameworks import need

torch = need("torch")
from torch.utils.data import ChainDataset, DataLoader, IterableDataset
from torch_loading import flat

import atds.torch
from atds.torch import ranks
from atds.torch.callers import Dispatcher
from atds.torch.shares import dispatched_share

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

WHOLE_BATCHES = "yields whole batches, .* give it batch_size=None"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 8},
        {"batch_size": 1, "collate_fn": lambda batches: batches[0]},
        {"num_workers": 2},
    ],
)
def test_a_loader_with_a_batch_size_is_refused(numbers: str, options: dict[str, Any]) -> None:
    dataset = atds.torch.Dataset(numbers, 32, NUMBER)
    with pytest.raises(atds.OptionError, match=WHOLE_BATCHES):
        next(iter(DataLoader(dataset, **options)))
    with pytest.raises(atds.OptionError, match=WHOLE_BATCHES):
        next(iter(DataLoader(ChainDataset([dataset, dataset]), **options)))
    # Follows the advice of the error.
    options = {**options, "batch_size": None, "collate_fn": None}
    assert flat([b["n"].tolist() for b in DataLoader(dataset, **options)])[:3] == [0, 1, 2]


class Rows(IterableDataset[Any]):
    """Single records."""

    def __init__(self, batches: Any) -> None:
        self.batches = batches

    def __iter__(self) -> Any:
        for batch in self.batches:
            yield from batch["n"]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_with_a_batch_size_of_what_was_made_of_batches(numbers: str, workers: int) -> None:
    rows = Rows(atds.torch.Dataset(numbers, 32, NUMBER))
    batches = list(DataLoader(rows, batch_size=10, num_workers=workers))
    assert sorted(flat([batch.tolist() for batch in batches])) == list(range(1000))


def test_data_sets_one_after_another(numbers: str) -> None:
    dataset = atds.torch.Dataset(numbers, 32, NUMBER)
    found = [batch["n"].tolist() for batch in DataLoader(dataset + dataset, batch_size=None)]
    assert flat(found) == [*range(1000)] * 2


def test_a_sharding_filter(numbers: str) -> None:
    def read(**options: Any) -> list[int]:
        dataset = atds.torch.Dataset(numbers, 32, NUMBER, **options)
        wrapper = torch.utils.data.datapipes.iter.IterableWrapper(dataset)
        pipe = wrapper.sharding_filter()
        torch.utils.data.graph_settings.apply_sharding(pipe, 2, 0)
        return flat([batch["n"].tolist() for batch in pipe])

    with pytest.raises(atds.OptionError, match="ShardingFilterIterDataPipe splits .* world_size=1"):
        read()
    numbers_of_rank = read(rank=0, world_size=1)
    assert numbers_of_rank[30:34] == [30, 31, 64, 65]


def test_a_loader_of_a_later_accelerate(numbers: str) -> None:
    class LaterLoader:
        def __init__(self, dataset: Any) -> None:
            self.dataset = dataset

        def __iter__(self) -> Any:
            yield from self.dataset

    LaterLoader.__module__ = "accelerate.later"
    with pytest.raises(atds.OptionError, match="LaterLoader splits the batches among ranks"):
        list(LaterLoader(atds.torch.Dataset(numbers, 32, NUMBER)))
    remedied = atds.torch.Dataset(numbers, 32, NUMBER, rank=0, world_size=1)
    assert flat([b["n"].tolist() for b in LaterLoader(remedied)]) == list(range(1000))


def test_an_accelerate_shard_that_iterates_already(numbers: str) -> None:
    shard_class = need("accelerate.data_loader").IterableDatasetShard

    def shards(**options: Any) -> list[Any]:
        dataset = atds.torch.Dataset(numbers, 25, NUMBER, **options)
        return [
            shard_class(dataset, batch_size=2, num_processes=2, process_index=rank)
            for rank in range(2)
        ]

    def read(shard: Any) -> list[int]:
        return flat([batch["n"].tolist() for batch in shard])

    # The shard's iterator has decided how to split before it takes batches.
    with pytest.raises(atds.OptionError, match="IterableDatasetShard splits .* world_size=1"):
        read(shards()[0])
    # Follows the advice of the error: the data set splits itself.
    assert sorted(flat([read(shard) for shard in shards(rank=0, world_size=1)])) == [*range(1000)]
    # Accelerate's loaders set the epoch first.
    found = []
    for shard in shards():
        shard.set_epoch(0)
        assert len(shard) == 20
        found.append(read(shard))
    assert found == [[*range(500)], [*range(500, 1000)]]


def test_records_that_a_dispatcher_splits_evenly() -> None:
    for records in (0, 1, 63, 64, 65, 1001):
        for batch_size in (1, 6, 32):
            for world_size in (2, 3):
                for drop_remainder in (False, True):
                    for in_order in (False, True):
                        for splits_each in (False, True):
                            if splits_each and batch_size % world_size:
                                continue
                            dispatcher = Dispatcher(0, world_size, splits_each, in_order)
                            share = dispatched_share(
                                records, batch_size, drop_remainder, dispatcher
                            )
                            step = batch_size if splits_each else batch_size * world_size
                            most = step if drop_remainder or not in_order else world_size
                            read = share.records[1]
                            assert share.records[0] == 0
                            assert read % most == 0
                            assert share.dropped_records == records - read < most
                            assert (share.batches - 1) * batch_size < max(read, 1)
                            assert read <= share.batches * batch_size


def test_batches_that_a_dispatcher_cannot_split() -> None:
    with pytest.raises(atds.OptionError, match="batch_size must be a multiple of 2, not 33"):
        dispatched_share(100, 33, False, Dispatcher(0, 2, True, True))


LAUNCHED = {"RANK": "1", "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none"}


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({}, None),
        (LAUNCHED, (1, 2)),
        ({"RANK": "1", "WORLD_SIZE": "2"}, None),
        ({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, (1, 2)),
        ({**LAUNCHED, "WORLD_SIZE": "1"}, None),
        ({**LAUNCHED, "RANK": "2"}, None),
        ({**LAUNCHED, "RANK": ""}, None),
        ({**LAUNCHED, "WORLD_SIZE": "two"}, None),
    ],
)
def test_ranks_of_the_environment(
    numbers: str,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    rank: tuple[int, int] | None,
) -> None:
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ranks.launched() == rank
    dataset = atds.torch.Dataset(numbers, 32, NUMBER)
    found = flat([batch["n"].tolist() for batch in dataset])
    assert found == list(range(1000) if rank is None else range(500, 1000))
