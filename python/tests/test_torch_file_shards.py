"""Ranks and workers of PyTorch that share whole files."""

from __future__ import annotations

import itertools
import logging
from pathlib import Path
from typing import Any

import pytest
from torch_states import STATEFUL, text

import atds
from conftest import NUMBER

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader

import atds.torch

stateful = pytest.importorskip("torchdata.stateful_dataloader")

pytestmark = STATEFUL

#: Numbers of records of the files. Ranks of two have 97 and 54, in 13 and 7 batches of 8.
COUNTS = (30, 4, 17, 50, 50)
ALL = list(range(sum(COUNTS)))


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Files that are packed as a whole, of running numbers."""
    folder, first = tmp_path_factory.mktemp("packed"), 0
    for part, count in enumerate(COUNTS):
        rows = [{"n": n} for n in range(first, first + count)]
        atds.write(folder / f"{part}.tfrecord", rows, {"n": "int64"}, codec="gzip")
        first += count
    return str(folder)


def dataset(path: str, rank: int, world_size: int = 2, **options: Any) -> Any:
    options = {"shard_by": "file", "uneven": "keep", **options}
    return atds.torch.Dataset(path, 8, NUMBER, rank=rank, world_size=world_size, **options)


def lists(batches: Any) -> list[list[int]]:
    return [batch["n"].tolist() for batch in batches]


def flat(batches: list[list[int]]) -> list[int]:
    return list(itertools.chain(*batches))


@pytest.mark.parametrize("options", [{}, {"shuffle_files": True, "shuffle_buffer_size": 20}])
@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_ranks_and_workers_read_each_record_once(
    packed: str, workers: int, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    loaders = [
        DataLoader(dataset(packed, rank, **options), batch_size=None, num_workers=workers)
        for rank in range(2)
    ]
    for _ in range(2):
        assert sorted(flat(lists(loaders[0]) + lists(loaders[1]))) == ALL
    # Nothing was counted, which would be logged for such files.
    assert not caplog.records
    # A length is, for the workers of the loader.
    for rank, loader in enumerate(loaders):
        assert len(loader) == len(lists(loader))
        assert loader.dataset.share.records == (0, (97, 54)[rank])
        assert loader.dataset.num_records == len(ALL)
    assert any("packed as gzip" in record.getMessage() for record in caplog.records)


def test_a_worker_has_every_nth_file_of_its_rank(packed: str) -> None:
    found = lists(DataLoader(dataset(packed, 0), batch_size=None, num_workers=2))
    # Worker 0 has the files 0 and 4, and worker 1 the file 2.
    assert found[:4] == [[*range(8)], [*range(34, 42)], [*range(8, 16)], [*range(42, 50)]]


@pytest.mark.parametrize("epochs", [1, 2])
@pytest.mark.parametrize("workers", [0, 2])
def test_all_ranks_have_as_many_batches(
    packed: str, workers: int, epochs: int, caplog: pytest.LogCaptureFixture
) -> None:
    # The second of two workers of rank 0 has 17 records, in 3 batches, and the first gives 5 of its own.
    made, of_first = ((13, 8), 17 + 5 * 8) if workers == 2 else ((13, 7), 7 * 8)
    rows: dict[str, list[int]] = {}
    for uneven, each in (("drop", min(made)), ("pad", max(made))):
        rows[uneven] = []
        for rank in range(2):
            ours = dataset(packed, rank, uneven=uneven, epochs=epochs, shuffle_buffer_size=10)
            loader = DataLoader(ours, batch_size=None, num_workers=workers)
            batches = list(loader)
            assert len(batches) == len(loader) == each * epochs, (uneven, rank)
            for batch in batches:
                real = batch["mask"] if uneven == "pad" else slice(None)
                rows[uneven] += batch["n"][real].tolist()
    assert sorted(rows["pad"]) == sorted(ALL * epochs)
    assert len(rows["drop"]) == (54 + of_first) * epochs and set(rows["drop"]) < set(ALL)
    share = dataset(packed, 0, uneven="drop").share
    assert (share.batches, share.rank_batches, share.dropped_records) == (7, (13, 7), 41)
    said = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert any(
        "those beyond 7 are dropped on these, here 41 records" in s.getMessage() for s in said
    )


def test_more_ranks_than_files(packed: str) -> None:
    for rank in range(7):
        kept = lists(dataset(packed, rank, 7))
        assert len(flat(kept)) == (*COUNTS, 0, 0)[rank]
        assert lists(dataset(packed, rank, 7, uneven="drop")) == []
        padded = list(dataset(packed, rank, 7, uneven="pad"))
        assert len(padded) == 7
        assert sum(int(batch["mask"].sum()) for batch in padded) == (*COUNTS, 0, 0)[rank]


@pytest.mark.parametrize("uneven", ["keep", "drop", "pad"])
@pytest.mark.parametrize("epochs", [1, 3])
def test_iterators_go_on(packed: str, uneven: str, epochs: int) -> None:
    for rank in range(2):

        def make(rank: int = rank) -> Any:
            return dataset(
                packed, rank, uneven=uneven, epochs=epochs, shuffle_buffer_size=9, seed=1
            )

        first = iter(make())
        states, whole = [first.state_dict()], []
        for batch in first:
            whole.append(batch["n"].tolist())
            states.append(first.state_dict())
        for given, state in enumerate(map(text, states)):
            ours = make()
            ours.load_state_dict(state)
            assert lists(ours) == whole[given:], given


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("rank", [0, 1])
def test_stateful_loaders_go_on(packed: str, rank: int, workers: int) -> None:
    def make() -> Any:
        ours = dataset(packed, rank, shuffle_buffer_size=20, shuffle_files=True, seed=3)
        return stateful.StatefulDataLoader(ours, batch_size=None, num_workers=workers)

    plain = make()
    epochs = [lists(plain) for _ in range(3)]
    for taken in (0, 1, 5, len(epochs[1]) - 1, len(epochs[1])):
        first = make()
        assert lists(first) == epochs[0]
        batches = iter(first)
        found = [next(batches)["n"].tolist() for _ in range(taken)]
        state = first.state_dict()
        second = make()
        second.load_state_dict(state)
        assert found + lists(second) == epochs[1], taken
        assert lists(second) == epochs[2], taken
        lists(batches)


def test_others_go_on_after_an_epoch_alone(packed: str) -> None:
    def loader(rank: int, state: Any = None) -> Any:
        ours = dataset(packed, rank)
        if state is not None:
            ours.load_state_dict(state)
        return stateful.StatefulDataLoader(ours, batch_size=None, num_workers=2)

    def states(batches: int | None) -> list[Any]:
        loaders = [loader(rank) for rank in range(2)]
        for one in loaders:
            for _ in itertools.islice(one, batches):
                pass
        return [one.state_dict() for one in loaders]

    merged = atds.merge_states(states(None))
    found = []
    for rank in range(3):
        ours = dataset(packed, rank, 3)
        ours.load_state_dict(merged)
        assert ours.epoch == 1
        found += flat(lists(ours))
    # The iterations that the states are of have ended.
    assert sorted(found) in ([], ALL)
    with pytest.raises(atds.StateError, match="not all at the start of the same epoch"):
        atds.merge_states(states(3))


def test_a_state_of_another_world_is_refused(packed: str) -> None:
    batches = iter(dataset(packed, 0))
    next(batches)
    state = batches.state_dict()
    for other in (
        dataset(packed, 1),
        dataset(packed, 0, 3),
        dataset(packed, 0, uneven="drop"),
        dataset(packed, 0, shard_by="record"),
    ):
        with pytest.raises(atds.StateError):
            other.load_state_dict(state)


def test_pipes_without_workers(tmp_path: Path, packed: str) -> None:
    import os
    import threading

    pipes = [tmp_path / f"{part}.tfrecord" for part in range(4)]
    writers = []
    for part, pipe in enumerate(pipes):
        os.mkfifo(pipe)
        if part % 2 == 0:
            data = (Path(packed) / f"{part}.tfrecord").read_bytes()
            writers.append(threading.Thread(target=pipe.write_bytes, args=[data]))
            writers[-1].start()
    ours: Any = dataset(pipes, 0, format="tfrecord", check_files=False)  # type: ignore[arg-type]
    assert flat(lists(ours)) == [*range(30), *range(34, 51)]
    for writer in writers:
        writer.join()
    with pytest.raises(atds.ReadOnceError, match="counted first"):
        dataset(pipes, 0, uneven="drop", format="tfrecord", check_files=False)  # type: ignore[arg-type]
