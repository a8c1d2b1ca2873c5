"""Going on with other ranks, workers and batch sizes."""

from __future__ import annotations

import itertools
import json
import logging
from typing import Any

import pytest
from torch_states import STATEFUL, text

import atds
from conftest import NUMBER

torch = pytest.importorskip("torch")
import atds.torch

stateful = pytest.importorskip("torchdata.stateful_dataloader")

pytestmark = STATEFUL

#: Number of records.
RECORDS = 1000

ORDERS: list[dict[str, Any]] = [
    {},
    {"shuffle_buffer_size": 150, "seed": 3},
    {"shuffle_buffer_size": 150, "seed": 3, "shuffle_files": True, "shuffle_blocks": True},
    {"shuffle_buffer_size": 150, "seed": 3, "shuffle": "blocks"},
]


def dataset(numbers: str, batch_size: int, **options: Any) -> Any:
    return atds.torch.Dataset(numbers, batch_size, NUMBER, num_parallel_calls=1, **options)


def loader(ours: Any, workers: int, every: int = 1) -> Any:
    context = "fork" if workers else None
    return stateful.StatefulDataLoader(
        ours,
        batch_size=None,
        num_workers=workers,
        multiprocessing_context=context,
        snapshot_every_n_steps=every,
    )


def real(batch: Any) -> list[int]:
    """The records of a batch that are no padding."""
    found = batch["n"] if "mask" not in batch else batch["n"][batch["mask"]]
    numbers: list[int] = found.tolist()
    return numbers


def run(
    numbers: str,
    world: tuple[int, int, int],
    state: Any,
    steps: int | None,
    every: int = 1,
    **options: Any,
) -> tuple[list[int], list[int], list[Any]]:
    """Has all ranks of a world of ranks, workers and a batch size go on from a state for some steps, or
    to the end of the epoch. Returns the records, the number of steps of each rank, and the states."""
    ranks, workers, batch_size = world
    records: list[int] = []
    counts, states = [], []
    for rank in range(ranks):
        ours = dataset(numbers, batch_size, rank=rank, world_size=ranks, **options)
        if state is not None:
            ours.load_state_dict(state)
        loaded = loader(ours, workers, every)
        batches = iter(loaded)
        count = 0
        for batch in itertools.islice(batches, steps):
            records += real(batch)
            count += 1
        counts.append(count)
        states.append(text(loaded.state_dict()))
        # A worker of torch that is ended while it sends a batch may abort.
        for _ in batches:
            pass
    return records, counts, states


@pytest.mark.parametrize(("order", "every"), [*zip(ORDERS, (1, 3, 1, 2), strict=True)])
@pytest.mark.parametrize("uneven", ["drop", "pad"])
def test_other_ranks_and_workers_go_on(
    numbers: str, order: dict[str, Any], every: int, uneven: str
) -> None:
    options = {**order, "uneven": uneven}
    # 4 ranks of 2 workers, 8 of one, 3 without; other batch sizes.
    first, counts, states = run(numbers, (4, 2, 20), None, 5, every, **options)
    assert (len(first), counts) == (4 * 5 * 20, [5] * 4)
    state = text(atds.merge_states(reversed(states)))
    second, counts, states = run(numbers, (8, 1, 13), state, 2, every, **options)
    assert (len(second), counts) == (8 * 2 * 13, [2] * 8)
    state = text(atds.merge_states(states))
    assert len(json.dumps(state)) < 1000
    third, counts, states = run(numbers, (3, 0, 26), state, None, **options)
    assert len(set(counts)) == 1
    read = first + second + third
    assert len(set(read)) == len(read)
    ours = dataset(numbers, 26, rank=0, world_size=3, **options)
    ours.load_state_dict(state)
    share = ours.share
    assert len(read) == RECORDS - share.total_dropped_records
    assert share.total_dropped_records == (2 if uneven == "drop" else 0)
    # After its end comes the next epoch, whole.
    state = atds.merge_states(states)
    assert (state["epoch"], state["batches"], state["layers"]) == (1, 0, "")
    following, counts, _ = run(numbers, (2, 0, 50), state, None, **options)
    assert sorted(following) == list(range(RECORDS))
    assert counts == [10, 10]


def test_each_goes_on_in_the_middle_of_what_was_left(numbers: str) -> None:
    options = {"shuffle_buffer_size": 150, "seed": 3, "epochs": 2, "uneven": "pad"}
    _, _, states = run(numbers, (2, 2, 30), None, 7, **options)
    state = atds.merge_states(states)
    for rank in range(3):

        def ours(rank: int = rank) -> Any:
            return dataset(numbers, 25, rank=rank, world_size=3, **options)

        one = ours()
        one.load_state_dict(state)
        first, found = iter(one), []
        kept = [first.state_dict()]
        for batch in first:
            found.append(real(batch))
            kept.append(first.state_dict())
        for given in range(0, len(found), 5):
            other = ours()
            other.load_state_dict(text(kept[given]))
            assert other.state_dict() == kept[given]
            assert [real(batch) for batch in other] == found[given:], given
            # An iterator that has begun elsewhere, and goes on in the epoch after.
            batches = iter(other)
            batches.load_state_dict(kept[given])
            assert [real(batch) for batch in batches] == found[given:], given
        # By a loader with a worker.
        again = ours()
        again.load_state_dict(state)
        whole = loader(again, 1)
        batches = iter(whole)
        for _ in itertools.islice(batches, 4):
            pass
        middle = whole.state_dict()
        assert [real(batch) for batch in batches] == found[4:]
        third = loader(ours(), 1)
        third.load_state_dict(middle)
        assert [real(batch) for batch in third] == found[4:]


def test_the_same_with_any_number_of_threads(numbers: str) -> None:
    options = {"shuffle_buffer_size": 150, "seed": 3, "shuffle_blocks": True}
    _, _, states = run(numbers, (3, 0, 20), None, 6, **options)
    state = atds.merge_states(states)

    def rest(threads: int) -> list[list[int]]:
        ours = atds.torch.Dataset(
            numbers, 17, NUMBER, rank=1, world_size=2, num_parallel_calls=threads, **options
        )
        ours.load_state_dict(state)
        return [real(batch) for batch in ours]

    assert rest(1) == rest(2) == rest(5)


def test_what_is_dropped_is_reported(numbers: str, caplog: pytest.LogCaptureFixture) -> None:
    _, _, states = run(numbers, (1, 0, 15), None, 1)
    state = atds.merge_states(states)
    with caplog.at_level(logging.WARNING, "atds"):
        ours = dataset(numbers, 41, rank=1, world_size=2)
        before = ours.share
        ours.load_state_dict(state)
    # 985 records: 492 make 12 batches, and 493 make 13.
    assert (
        "rank 1, the rest of epoch 0: the records of 2 ranks make 12 batches on some" in caplog.text
    )
    assert "here 1 records, on all ranks 1" in caplog.text
    assert (ours.share.batches, ours.share.total_dropped_records) == (12, 1)
    assert len(list(ours)) == 12
    assert ours.share == before


def test_shards_of_arrays_go_on(numbers: str) -> None:
    def shard(index: int, count: int, batch_size: int, **options: Any) -> atds.Dataset:
        return atds.Dataset(numbers, batch_size, NUMBER, shard=(index, count), **options)

    options: dict[str, Any] = {"shuffle_buffer_size": 100, "seed": 5, "epochs": 2}
    states, read = [], []
    for index in range(4):
        ours = shard(index, 4, 30, **options)
        batches = iter(ours)
        read += [n for _ in range(4) for n in next(batches)["n"].tolist()]
        assert ours.state_dict() == batches.state_dict()
        states.append(ours.state_dict())
    state = atds.merge_states(states)
    # One process that reads all; its next epoch is whole.
    one = atds.Dataset(numbers, 64, NUMBER, **options)
    one.load_state_dict(state)
    assert one.state_dict() == state
    batches = iter(one)
    found = [batch["n"].tolist() for batch in itertools.islice(batches, 9)]
    assert sorted([*read, *itertools.chain(*found)]) == list(range(RECORDS))
    assert one.state_dict() == batches.state_dict()
    assert one.state_dict()["layers"] == "EBbEEC"
    later = [batch["n"].tolist() for batch in batches]
    fresh = atds.Dataset(numbers, 64, NUMBER, **options)
    fresh.set_epoch(1)
    assert later == [batch["n"].tolist() for batch in itertools.islice(fresh, 16)]
    # An iterator goes on with it, too, and the data set says where that is.
    batches = iter(one)
    batches.load_state_dict(state)
    assert next(batches)["n"].tolist() == found[0]
    assert one.state_dict() == batches.state_dict()
    assert one.state_dict()["layers"] == "EBbEEC"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda states: states[:2],
            "that of worker 0 of rank 2 is missing, of 3 ranks with 1 workers",
        ),
        (lambda states: [*states, states[0]], "there are two of worker 0 of rank 0"),
        (lambda states: [], "there are none"),
        (
            lambda states: [states[0], {**states[1], "batches": 4}, states[2]],
            "rank 1 has given out 4 batches of the epoch, and rank 0 3: take the states of all ranks after",
        ),
        (lambda states: [None], "no state of an iteration, but of type NoneType"),
        (lambda states: [{}], "no state of an iteration: missing field"),
        (lambda states: [{"_num_yielded": 1, "_iterator_finished": False}], "no state of a loader"),
    ],
)
def test_states_that_cannot_be_merged(numbers: str, change: Any, message: str) -> None:
    states = []
    for rank in range(3):
        batches = iter(dataset(numbers, 20, rank=rank, world_size=3))
        for _ in range(3):
            next(batches)
        states.append(batches.state_dict())
    assert atds.merge_states(states)["layers"] == "DBUDA"
    with pytest.raises(atds.StateError, match=message):
        atds.merge_states(change(states))


def test_ranks_without_a_common_seed_cannot_be_merged(numbers: str) -> None:
    states = [
        iter(dataset(numbers, 20, rank=rank, world_size=2, shuffle_buffer_size=9)).state_dict()
        for rank in range(2)
    ]
    with pytest.raises(
        atds.StateError, match="seed is .* in one of them .* give all ranks the same"
    ):
        atds.merge_states(states)


def test_other_worlds_need_all_states(numbers: str) -> None:
    batches = iter(dataset(numbers, 20, rank=0, world_size=2))
    next(batches)
    state = batches.state_dict()
    for other in (
        dataset(numbers, 20, rank=0, world_size=3),
        dataset(numbers, 30, rank=0, world_size=2),
        dataset(numbers, 20, rank=0, world_size=2, uneven="pad"),
    ):
        with pytest.raises(
            atds.StateError, match=r"merge the states of all .*\(atds.merge_states\)"
        ):
            other.load_state_dict(state)


def test_an_epoch_is_shared_out_16_times(numbers: str) -> None:
    state, read = None, []
    for layer in range(16):
        found, _, states = run(numbers, (1 + layer % 3, 0, 10), state, 1, **ORDERS[1])
        read += found
        state = atds.merge_states(states)
        assert len(json.dumps(state)) < 1000
    found, _, states = run(numbers, (2, 0, 10), state, 1, **ORDERS[1])
    read += found
    with pytest.raises(atds.StateError, match="the epoch has 16 layers"):
        atds.merge_states(states)
    assert len(set(read)) == len(read)
