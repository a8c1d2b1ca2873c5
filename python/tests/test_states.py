"""Saving where an iteration is, and going on there."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import atds
from conftest import NUMBER

ORDERS: list[dict[str, Any]] = [
    {},
    {"drop_remainder": True},
    {"shuffle_buffer_size": 200, "seed": 3},
    {"shuffle_blocks": True, "shuffle_buffer_size": 90, "seed": 5},
    {"shard": (1, 3), "shuffle_buffer_size": 90, "seed": 5},
]


def dataset(numbers: str, **options: Any) -> atds.Dataset:
    return atds.Dataset(numbers, 64, NUMBER, **options)


def lists(batches: Any) -> list[list[int]]:
    return [batch["n"].tolist() for batch in batches]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("epochs", [1, 2])
def test_goes_on_after_each_batch(numbers: str, order: dict[str, Any], epochs: int) -> None:
    batches = iter(dataset(numbers, epochs=epochs, **order))
    states, whole = [batches.state_dict()], []
    for batch in batches:
        whole.append(batch["n"].tolist())
        states.append(batches.state_dict())
    keys = [list(json.loads(json.dumps(state))) for state in states]
    assert all(of_state == keys[0] for of_state in keys)
    assert all(len(json.dumps(state)) < 1000 for state in states)
    for given, state in enumerate(states):
        resumed = dataset(numbers, epochs=epochs, num_parallel_calls=1 + given % 3, **order)
        resumed.load_state_dict(state)
        assert resumed.state_dict() == state
        assert lists(resumed) == whole[given:]
        # Once only: the next epoch is whole, and the one that comes after the iteration.
        assert resumed.epoch == epochs
        following = dataset(numbers, epochs=epochs, **order)
        following.set_epoch(epochs)
        assert lists(resumed) == lists(following)


def test_the_end_is_the_start_of_the_next_epoch(numbers: str) -> None:
    ours = dataset(numbers, shuffle_buffer_size=90, seed=7)
    assert (ours.state_dict()["epoch"], ours.state_dict()["batches"]) == (0, 0)
    whole = lists(ours)
    state = ours.state_dict()
    assert (state["epoch"], state["batches"]) == (1, 0)
    second = lists(ours)
    assert second != whole
    resumed = dataset(numbers, shuffle_buffer_size=90, seed=7)
    resumed.load_state_dict(state)
    assert lists(resumed) == second

    # After the last batch, before the end was seen: nothing, and then the next epoch.
    batches = iter(dataset(numbers, shuffle_buffer_size=90, seed=7))
    for _ in whole:
        next(batches)
    state = batches.state_dict()
    assert (state["epoch"], state["batches"]) == (0, len(whole))
    resumed.load_state_dict(state)
    assert (lists(resumed), lists(resumed)) == ([], second)


def test_iterators_go_on(numbers: str) -> None:
    ours = dataset(numbers, shuffle_buffer_size=90, seed=7)
    batches = iter(ours)
    whole = lists(batches)
    batches = iter(dataset(numbers, shuffle_buffer_size=90, seed=7))
    next(batches)
    state = batches.get_state()
    next(batches)
    batches.set_state(state)
    assert batches.state_dict() == state
    assert lists(batches) == whole[1:]
    # An iterator that has ended, too.
    batches.load_state_dict(state)
    assert lists(batches) == whole[1:]
    # Data set and iterator are given the same state: it counts once.
    resumed = dataset(numbers, shuffle_buffer_size=90, seed=7)
    resumed.set_state(state)
    batches = iter(resumed)
    batches.set_state(state)
    next(batches)
    assert resumed.get_state() == batches.get_state()
    assert lists(batches) == whole[2:]


def test_what_is_prefetched_does_not_count(numbers: str) -> None:
    ours = dataset(numbers, prefetch=10)
    batches = iter(ours)
    next(batches)
    while batches.stats()["decode_s"] == 0:
        pass
    assert ours.state_dict()["batches"] == 1


def test_a_seed_that_was_not_given(numbers: str) -> None:
    batches = iter(dataset(numbers, shuffle_buffer_size=90))
    next(batches)
    state, rest = batches.state_dict(), lists(batches)
    resumed = dataset(numbers, shuffle_buffer_size=90)
    first_seed = resumed.seed
    resumed.load_state_dict(state)
    assert lists(resumed) == rest
    assert resumed.seed == state["fingerprint"]["options"]["seed"] != first_seed
    # An iterator takes it, too, and the data set has its own.
    other = dataset(numbers, shuffle_buffer_size=90)
    first_seed = other.seed
    batches = iter(other)
    batches.load_state_dict(state)
    assert batches.state_dict() == state
    assert lists(batches) == rest
    assert other.seed == first_seed


def test_two_iterators(numbers: str) -> None:
    ours = dataset(numbers)
    first = iter(ours)
    second = iter(ours)
    next(second)
    with pytest.raises(atds.StateError, match="of the iterator"):
        ours.state_dict()
    assert (first.state_dict()["epoch"], first.state_dict()["batches"]) == (0, 0)
    first.close()
    assert ours.state_dict() == second.state_dict()
    assert second.state_dict()["epoch"] == 1
    # A loop that was left.
    for _ in ours:
        break
    second.close()
    assert (ours.state_dict()["epoch"], ours.state_dict()["batches"]) == (2, 1)


def test_other_process(numbers: str) -> None:
    ours = dataset(numbers, shuffle_buffer_size=90, seed=7)
    batches = iter(ours)
    next(batches)
    program = (
        "import atds, json, sys\n"
        "ours = atds.Dataset(sys.argv[1], 64, {'n': atds.DenseFeature([], 'int64')}, "
        "shuffle_buffer_size=90, num_parallel_calls=1)\n"
        "ours.load_state_dict(json.loads(sys.argv[2]))\n"
        "print(json.dumps([batch['n'].tolist() for batch in ours]))\n"
    )
    arguments = [sys.executable, "-c", program, numbers, json.dumps(ours.state_dict())]
    found = subprocess.run(arguments, check=True, capture_output=True, text=True)
    assert json.loads(found.stdout) == lists(batches)


@pytest.mark.parametrize("copied", [pickle.loads, None])
def test_copies_go_on(numbers: str, copied: Any) -> None:
    ours = dataset(numbers)
    batches = iter(ours)
    next(batches)
    ours.load_state_dict(batches.state_dict())
    again = copy.copy(ours) if copied is None else copied(pickle.dumps(ours))
    assert lists(again) == lists(batches)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 32}, "batch_size= was 64 when it was taken, and is 32"),
        ({"shuffle_buffer_size": 91}, "shuffle_buffer_size= was 90 when it was taken, and is 91"),
        ({"seed": 1}, "seed= was 7 when it was taken, and is 1"),
        ({"shuffle_blocks": True}, "shuffle_blocks= was false when it was taken, and is true"),
        ({"shuffle": "blocks"}, 'shuffle= was null when it was taken, and is "blocks"'),
        (
            {"shard": (0, 2)},
            "the number of ranks was 1 when it was taken, and is 2: merge the states of all",
        ),
        ({"features": {"n": atds.DenseFeature([], "int32", cast=True)}}, "features= was another"),
    ],
)
def test_other_options(numbers: str, options: dict[str, Any], message: str) -> None:
    state = dataset(numbers, shuffle_buffer_size=90, seed=7).state_dict()
    shuffled = {"shuffle_buffer_size": 90, "seed": 7}
    given = {"batch_size": 64, "features": NUMBER, **shuffled, **options}
    other = atds.Dataset(numbers, **given)
    with pytest.raises(atds.StateError, match=message):
        other.load_state_dict(state)
    assert len(lists(other)[0]) == given["batch_size"]


def test_other_files(numbers: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    state = dataset(numbers).state_dict()
    bytes_ = Path(numbers).read_bytes()
    # A copy elsewhere is the same file.
    (tmp_path / "copied").mkdir()
    copied = tmp_path / "copied" / Path(numbers).name
    copied.write_bytes(bytes_)
    with caplog.at_level(logging.WARNING, "atds"):
        dataset(str(copied)).load_state_dict(state)
    assert "changed or copied after the state was taken" in caplog.text
    copied.write_bytes(bytes_ + b"\0")
    other = dataset(str(copied), tolerate=["trailing-file-bytes"])
    with pytest.raises(atds.StateError, match="tolerate="):
        other.load_state_dict(state)
    copied.rename(copied.with_name("other.avro"))
    copied.with_name("other.avro").write_bytes(bytes_)
    with pytest.raises(atds.StateError, match=r"other\.avro is not the file .* another name"):
        dataset(str(copied.with_name("other.avro"))).load_state_dict(state)
    with pytest.raises(atds.StateError, match="were 1 files when it was taken, and there are 2"):
        both = [numbers, str(copied.with_name("other.avro"))]
        atds.Dataset(both, 64, NUMBER).load_state_dict(state)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: {}, "missing field version"),
        (lambda state: {**state, "version": 99}, "version 99"),
        (lambda state: {**state, "layers": [1]}, "layers are text"),
        (lambda state: {**state, "more": 1}, "more"),
        (lambda state: {key: state[key] for key in state if key != "epoch"}, "epoch"),
        (lambda state: {**state, "batches": -1}, "-1"),
        (lambda state: {**state, "epoch": 3}, "epoch 3 of an iteration up to epoch 1"),
        (lambda state: {**state, "epoch": b"x"}, "no state"),
    ],
)
def test_what_is_no_state(numbers: str, change: Any, message: str) -> None:
    ours = dataset(numbers)
    with pytest.raises(atds.StateError, match=message):
        ours.load_state_dict(change(ours.state_dict()))


def test_more_batches_than_there_are(numbers: str) -> None:
    ours = dataset(numbers)
    ours.load_state_dict({**ours.state_dict(), "batches": 17})
    with pytest.raises(atds.StateError, match="fewer than the 17 batches"):
        lists(ours)


def test_set_epoch_and_loaded_states(numbers: str, caplog: pytest.LogCaptureFixture) -> None:
    ours = dataset(numbers, shuffle_buffer_size=90, seed=7)
    batches = iter(ours)
    next(batches)
    state, rest = batches.state_dict(), lists(batches)
    # Loops call it before each epoch, also before that which goes on.
    ours.load_state_dict(state)
    ours.set_epoch(0)
    assert lists(ours) == rest
    ours.load_state_dict(state)
    for epoch in (1, 5):
        caplog.clear()
        ours.load_state_dict(state)
        with caplog.at_level(logging.WARNING, "atds"):
            ours.set_epoch(epoch)
        assert "is given up" in caplog.text
    assert len(lists(ours)) == 16


def test_a_state_takes_microseconds(numbers: str) -> None:
    # Not timed: that nothing is read is what makes it fast.
    ours = dataset(numbers)
    batches = iter(ours)
    batches.state_dict()
    Path(numbers).rename(numbers + ".moved")
    assert batches.state_dict()["batches"] == 0


@pytest.mark.parametrize("order", ORDERS[2:4])
def test_batches_of_what_is_before_an_error(
    numbers: str, tmp_path: Path, order: dict[str, Any]
) -> None:
    files = [tmp_path / f"{number}.avro" for number in range(4)]
    for file in files:
        file.write_bytes(Path(numbers).read_bytes())
    # Headers are read when the data set is made.
    whole = lists(atds.Dataset(list(map(str, files)), 64, NUMBER, **order))
    ours = atds.Dataset(list(map(str, files)), 64, NUMBER, check_files=False, **order)
    files[2].rename(tmp_path / "away")
    batches = iter(ours)
    found = []
    with pytest.raises(atds.MissingFileError):
        for batch in batches:
            found.append(batch["n"].tolist())
    (tmp_path / "away").rename(files[2])
    state = batches.state_dict()
    # What was drawn from a window without the file comes again, from the whole window.
    given = state["batches"]
    assert 0 < given < len(found)
    assert found[:given] == whole[:given]
    ours.load_state_dict(state)
    assert lists(ours) == whole[given:]


def test_iterators_that_went_on_lead_the_data_set(numbers: str) -> None:
    ours = dataset(numbers, shuffle_buffer_size=90, seed=7)
    ours.set_epoch(5)
    state = iter(ours).state_dict()
    epochs = [lists(ours) for _ in range(2)]
    again = dataset(numbers, shuffle_buffer_size=90, seed=7)
    batches = iter(again)
    batches.set_state(state)
    assert again.epoch == 6
    assert len(lists(batches)) == 16
    assert again.state_dict()["epoch"] == 6
    assert lists(again) == epochs[0]


def test_refused_states_change_nothing(numbers: str) -> None:
    ours = atds.Dataset(numbers, 32, NUMBER, shuffle_buffer_size=90)
    seed = ours.seed
    for change in ({}, {"seed": -1}, {"seed": 1 << 70}, {"seed": True}):
        state = dataset(numbers, shuffle_buffer_size=90, seed=0).state_dict()
        state["fingerprint"]["options"].update(change)
        with pytest.raises(atds.StateError):
            ours.load_state_dict(state)
        assert ours.seed == seed
    again = dataset(numbers, shuffle_buffer_size=90)
    again.load_state_dict(dataset(numbers, shuffle_buffer_size=90, seed=0).state_dict())
    assert again.seed == 0


def test_loaded_states_are_copied(numbers: str) -> None:
    ours = dataset(numbers)
    state = ours.state_dict()
    ours.load_state_dict(state)
    state["fingerprint"]["options"]["batch_size"] = 7
    ours.state_dict()["fingerprint"]["options"]["batch_size"] = 8
    assert ours.state_dict()["fingerprint"]["options"]["batch_size"] == 64


def test_other_threads_take_batches_while_a_state_is_loaded(numbers: str) -> None:
    batches = iter(dataset(numbers, epochs=100_000))
    state, taken = batches.state_dict(), []

    def take() -> None:
        for batch in batches:
            taken.append(batch.num_records)
            if len(taken) > 2_000:
                return

    taker = threading.Thread(target=take)
    taker.start()
    while taker.is_alive():
        batches.load_state_dict(state)
    taker.join()
    assert len(taken) > 2_000


def test_the_only_shard_is_all(numbers: str) -> None:
    options: dict[str, Any] = {"shuffle_buffer_size": 90, "seed": 7}
    for one, other in (({}, {"shard": (0, 1)}), ({"shard": (0, 1)}, {})):
        batches = iter(dataset(numbers, **options, **one))
        next(batches)
        resumed = dataset(numbers, **options, **other)
        resumed.load_state_dict(batches.state_dict())
        assert lists(resumed) == lists(batches)


def test_statistics_say_what_is_drawn_again(numbers: str) -> None:
    options: dict[str, Any] = {"shuffle_buffer_size": 90, "seed": 7}
    batches = iter(dataset(numbers, **options))
    for _ in range(5):
        next(batches)
    assert batches.stats()["steps_to_replay"] == 0
    resumed = dataset(numbers, **options)
    resumed.load_state_dict(batches.state_dict())
    next(iter(resumed))
    stats = resumed.stats()
    assert (stats["replayed_steps"], stats["steps_to_replay"]) == (5, 5)


def test_two_threads_load_states(numbers: str) -> None:
    ours = dataset(numbers, shuffle_buffer_size=90, seed=7)
    batches = iter(ours)
    states, whole = [batches.state_dict()], []
    for batch in batches:
        whole.append(batch["n"].tolist())
        states.append(batches.state_dict())
    states.pop()
    barrier = threading.Barrier(2)

    def load(mine: list[Any]) -> None:
        for state in mine * 5:
            barrier.wait()
            (batches if state["batches"] % 3 else ours).load_state_dict(state)

    both = [states[0:6], states[6:12]]
    threads = [threading.Thread(target=load, args=[mine]) for mine in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Of each, one of the two was the last.
    found = batches.state_dict()
    assert found in states
    assert lists(batches) == whole[found["batches"] :]
    found = ours.state_dict()
    assert found in states
    assert lists(ours) == whole[found["batches"] :]


def test_pipes_have_no_state(numbers: str) -> None:
    with subprocess.Popen(["cat", numbers], stdout=subprocess.PIPE) as cat:
        assert cat.stdout is not None
        ours = dataset(f"/dev/fd/{cat.stdout.fileno()}")
        batches = iter(ours)
        next(batches)
        with pytest.raises(atds.ReadOnceError, match="cannot go on"):
            batches.state_dict()


def test_files_below_a_root(numbers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in ("1", "2"):
        (tmp_path / "tree" / day).mkdir(parents=True)
        (tmp_path / "tree" / day / "n.avro").write_bytes(Path(numbers).read_bytes())
    tree = tmp_path / "tree"
    days = ["1", "2"]

    def rooted(root: Path, names: list[str], **options: Any) -> atds.Dataset:
        return dataset([str(root / name / "n.avro") for name in names], root=root, **options)  # type: ignore[arg-type]

    state = rooted(tree, days).state_dict()
    tree = tree.rename(tmp_path / "moved")
    rooted(tree, days).load_state_dict(state)
    (tree / "2").rename(tree / "3")
    with pytest.raises(atds.StateError, match="3/n.avro is not the file .* another name"):
        rooted(tree, ["1", "3"]).load_state_dict(state)
    with pytest.raises(atds.OptionError, match="root must be a folder that has all files"):
        dataset(numbers, root=tree)
