"""Iterations of several epochs in `atds.torch`, with ranks and workers."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from conftest import NUMBER
from frameworks import need


def lists(batches: Any) -> list[list[int]]:
    return [batch["n"].tolist() for batch in batches]


def joined(epochs: list[list[Any]]) -> list[Any]:
    return list(itertools.chain.from_iterable(epochs))


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
    from atds.torch.checks import check_caller

    dataset = atds.torch.Dataset(numbers, 64, NUMBER, epochs=2)
    with pytest.raises(atds.OptionError, match="epochs=2 is not possible with Accelerate's"):
        caller = Caller(dispatcher=Dispatcher(0, 2, False, True))
        check_caller(caller, None, "drop", dataset.dataset)
