"""`atds.grain`: batches as a data set of Grain, saved and restored by Orbax."""

from __future__ import annotations

import functools
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jax_states import NUMBERS, dataset, lists

import atds
from frameworks import need

grain = need("grain")
ocp = need("orbax.checkpoint")
jax = need("jax")
import atds.grain
import atds.jax


@pytest.mark.parametrize("iterate", [iter, atds.jax.iterate])
@pytest.mark.parametrize("epochs", [1, 2])
def test_goes_on_after_each_batch(numbers: str, iterate: Any, epochs: int) -> None:
    ours = atds.grain.IterDataset(dataset(numbers, epochs=epochs), iterate)
    batches = iter(ours)
    states, whole = [batches.get_state()], []
    for batch in batches:
        assert type(batch) is dict
        whole.append(batch["n"].tolist())
        states.append(batches.get_state())
    states.append(batches.get_state())
    assert lists(dataset(numbers, epochs=epochs)) == whole
    for given, state in enumerate(json.loads(json.dumps(states))):
        again = iter(ours)
        again.set_state(state)
        assert again.get_state() == state
        assert lists(again) == whole[given:]
        # Once it has begun, and after its end.
        again.set_state(state)
        assert lists(again) == whole[given:]


def test_iterators_begin_alike(numbers: str) -> None:
    given = dataset(numbers)
    given.set_epoch(3)
    ours = atds.grain.IterDataset(given)
    first, second = iter(ours), iter(ours)
    mixed = [next(iterator)["n"].tolist() for _ in range(3) for iterator in (first, second)]
    assert mixed[0::2] == mixed[1::2]
    assert (given.epoch, given.state_dict()["batches"]) == (3, 0)
    whole = lists(given)
    assert mixed[0::2] == whole[:3]
    assert lists(ours) == whole
    assert "atds.grain.IterDataset(atds.Dataset(" in repr(ours)


def test_a_seed_that_was_not_given(numbers: str) -> None:
    first = iter(atds.grain.IterDataset(atds.Dataset(numbers, 64, NUMBERS, shuffle_buffer_size=90)))
    next(first)
    state, rest = first.get_state(), lists(first)
    ours = atds.grain.IterDataset(atds.Dataset(numbers, 64, NUMBERS, shuffle_buffer_size=90))
    before = lists(ours)
    begun = iter(ours)
    next(begun)
    for iterator in (iter(ours), begun):
        iterator.set_state(state)
        assert iterator.get_state() == state
        assert lists(iterator) == rest
    # The other iterators are as before.
    assert lists(ours) == before


def test_transformations(numbers: str) -> None:
    ours = atds.grain.IterDataset(dataset(numbers))
    whole = lists(ours)
    made = ours.map(lambda batch: {"n": batch["n"] * 2}).filter(lambda batch: len(batch["n"]) == 64)
    doubled = [[2 * n for n in batch] for batch in whole if len(batch) == 64]
    assert lists(made) == doubled
    repeated = grain.experimental.RepeatIterDataset(made, 3)
    ahead = grain.experimental.ThreadPrefetchIterDataset(repeated, prefetch_buffer_size=3)
    assert lists(ahead) == doubled * 3
    batches = iter(ahead)
    for _ in range(len(doubled) + 2):
        next(batches)
    state = json.loads(json.dumps(batches.get_state()))
    batches.close()
    batches = iter(ahead)
    batches.set_state(state)
    assert lists(batches) == (doubled * 3)[len(doubled) + 2 :]
    mixed = grain.IterDataset.mix([ours, ours.map(lambda batch: batch)], [0.5, 0.5])
    assert len(lists(mixed)) >= 2 * len(whole) - 1
    random = ours.seed(1).random_map(lambda batch, rng: {"n": batch["n"] + rng.integers(1, 9)})
    assert lists(random) == lists(random) != whole


def test_worker_processes(numbers: str) -> None:
    # Grain reads flags of absl, which a program's app.run parses.
    need("absl.flags").FLAGS.mark_as_parsed()
    ours = atds.grain.IterDataset(dataset(numbers))
    whole = lists(ours)

    def options(workers: int) -> Any:
        return grain.MultiprocessingOptions(num_workers=workers)

    assert lists(ours.mp_prefetch(options(0))) == whole
    batches = iter(ours.mp_prefetch(options(1)))
    found = lists(itertools.islice(batches, 5))
    state = batches.get_state()
    batches.close()
    again = iter(ours.mp_prefetch(options(1)))
    again.set_state(state)
    assert found + lists(again) == whole
    again.close()
    batches = iter(ours.mp_prefetch(options(2)))
    with pytest.raises(atds.OptionError, match="among 2 workers: give num_workers=1, or leave"):
        next(batches)
    batches.close()


def test_what_cannot_be(numbers: str) -> None:
    with pytest.raises(atds.OptionError, match=r"must be an atds\.Dataset, not str"):
        atds.grain.IterDataset(numbers)  # type: ignore[arg-type]
    batches = iter(atds.grain.IterDataset(dataset(numbers)))
    state = batches.get_state()
    other = iter(atds.grain.IterDataset(dataset(numbers, seed=8)))
    for given in range(2):
        with pytest.raises(atds.StateError, match="seed= was 7"):
            other.set_state(state)
        assert other.get_state()["batches"] == given
        next(other)
    batches.close()
    with pytest.raises(ValueError, match="closed"):
        next(batches)
    assert batches.get_state() == state


STEP = """
import json, sys
import grain, jax, numpy as np
import orbax.checkpoint as ocp
import atds, atds.grain, atds.jax
path, folder, interface = sys.argv[1:]
features = {"n": atds.DenseFeature([], "int32", cast=True)}
ours = atds.Dataset(path, 64, features, shuffle_buffer_size=90, seed=7, epochs=2, num_parallel_calls=1)
batches = iter(atds.grain.IterDataset(ours, atds.jax.iterate))
if interface == "v1":
    loaded = ocp.v1.load_checkpointables(folder, {"data": batches, "weights": None})
    weights = loaded["weights"]
else:
    manager = ocp.CheckpointManager(folder)
    restored = manager.restore(manager.latest_step(), args=ocp.args.Composite(
        weights=ocp.args.StandardRestore({"w": np.zeros(3)}),
        data=grain.checkpoint.CheckpointRestore(batches)))
    weights = restored["weights"]
    batches = restored["data"]
rest = [batch["n"].tolist() for batch in batches]
print(json.dumps([np.asarray(weights["w"]).tolist(), rest]))
"""


@pytest.mark.parametrize("interface", ["manager", "v1"])
def test_orbax_saves_in_the_middle_of_an_epoch(
    numbers: str, tmp_path: Path, interface: str
) -> None:
    whole = lists(dataset(numbers, epochs=2))
    batches = iter(atds.grain.IterDataset(dataset(numbers, epochs=2), atds.jax.iterate))
    given = lists(itertools.islice(batches, 21))
    folder = tmp_path / "checkpoints"
    weights = {"w": np.arange(3.0)}
    if interface == "v1":
        ocp.v1.save_checkpointables(folder, {"weights": weights, "data": batches})
    else:
        with ocp.CheckpointManager(folder) as manager:
            manager.save(
                21,
                args=ocp.args.Composite(
                    weights=ocp.args.StandardSave(weights),
                    data=grain.checkpoint.CheckpointSave(batches),
                ),
            )
            # What comes after is not saved.
            next(batches)
            manager.wait_until_finished()
    command = [sys.executable, "-c", STEP, numbers, str(folder), interface]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found, rest = json.loads(done.stdout.splitlines()[-1])
    assert found == [0.0, 1.0, 2.0]
    assert given + rest == whole


def test_others_go_on_with_merged_states(numbers: str) -> None:
    def batches(shard: tuple[int, int], batch_size: int) -> Any:
        options: dict[str, Any] = {"shuffle_buffer_size": 90, "seed": 7, "shard": shard}
        made = atds.grain.IterDataset(atds.Dataset(numbers, batch_size, NUMBERS, **options))
        return made.map(lambda batch: batch)

    states, read = [], []
    for index in range(4):
        # These pass on the state of the iterator that they take from.
        made = batches((index, 4), 20)
        ahead = grain.experimental.ThreadPrefetchIterDataset(made, prefetch_buffer_size=2)
        iterator = iter(ahead)
        read += itertools.chain(*lists(itertools.islice(iterator, 5)))
        states.append(json.loads(json.dumps(iterator.get_state())))
        iterator.close()
    state = atds.merge_states(states)
    for index in range(3):
        iterator = iter(batches((index, 3), 26))
        iterator.set_state(state)
        read += itertools.chain(*lists(iterator))
    assert sorted(read) == list(range(1000))


def test_states_that_grain_wraps_are_not_merged(numbers: str) -> None:
    need("absl.flags").FLAGS.mark_as_parsed()
    ours = atds.grain.IterDataset(dataset(numbers))
    options = grain.MultiprocessingOptions(num_workers=1)
    for wrapped in (
        ours.seed(1).random_map(lambda batch, rng: batch),
        grain.experimental.RepeatIterDataset(ours, 2),
        grain.IterDataset.mix([ours, ours], [0.5, 0.5]),
        ours.mp_prefetch(options),
    ):
        iterator = iter(wrapped)
        next(iterator)
        with pytest.raises(atds.StateError, match="merge the states of the iterators below it"):
            atds.merge_states([iterator.get_state()])
        iterator.close()


def test_each_process_saves_its_shard(numbers: str) -> None:
    for index in range(3):
        ours = atds.grain.IterDataset(dataset(numbers, shard=(index, 3)))
        batches = iter(ours)
        found = lists(itertools.islice(batches, 2))
        again = iter(ours)
        again.set_state(batches.get_state())
        assert found + lists(again) == lists(ours)
    iterate = functools.partial(atds.jax.iterate, shard=(1, 3))
    batches = iter(atds.grain.IterDataset(dataset(numbers), iterate))
    assert len(lists(batches)) == 6
