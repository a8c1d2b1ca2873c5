"""States of `atds.jax.iterate`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jax_states import dataset, lists

import atds
from frameworks import need

jax = need("jax")
import atds.jax


@pytest.mark.parametrize("shard", [None, (1, 3)])
def test_iterators_go_on(numbers: str, shard: Any) -> None:
    ours = dataset(numbers)
    batches = atds.jax.iterate(ours, shard=shard)
    states, whole = [batches.state_dict()], []
    for batch in batches:
        whole.append(batch["n"].tolist())
        states.append(batches.get_state())
        if len(whole) < 5:
            assert ours.state_dict() == states[-1]
    for given, state in enumerate(json.loads(json.dumps(states))):
        again = atds.jax.iterate(dataset(numbers), shard=shard)
        again.load_state_dict(state)
        assert again.state_dict() == state
        assert lists(again) == whole[given:]
        # By the data set, too, if it has the shard itself.
        resumed = dataset(numbers, shard=shard)
        resumed.load_state_dict(state)
        assert lists(atds.jax.iterate(resumed)) == whole[given:]
        again.set_state(state)
        assert lists(again) == whole[given:]
    other = atds.jax.iterate(dataset(numbers), shard=(2, 3))
    with pytest.raises(atds.StateError, match="of rank 2|the number of ranks was 1"):
        other.load_state_dict(states[1])


def test_a_data_set_that_goes_on_in_a_shard(numbers: str) -> None:
    batches = atds.jax.iterate(dataset(numbers, shard=(1, 3)))
    next(batches)
    ours = dataset(numbers)
    with pytest.raises(atds.StateError, match="the number of ranks was 3 when"):
        ours.load_state_dict(batches.state_dict())
    whole = dataset(numbers)
    ours.load_state_dict(whole.state_dict())
    with pytest.raises(atds.StateError, match="the number of ranks was 1 when"):
        atds.jax.iterate(ours, shard=(1, 3))


def test_inferred_features_that_are_left_out(write: Any) -> None:
    fields = [{"name": "n", "type": "int"}, {"name": "text", "type": "string"}]
    path = write(fields, [{"n": n, "text": "x"} for n in range(200)], sync_interval=100)
    ours = atds.Dataset(path, 32)
    batches = atds.jax.iterate(ours)
    next(batches)
    state, rest = batches.state_dict(), lists(batches)
    # The data set has the text, and reads the same batches.
    assert "text" in ours.features
    whole = iter(atds.Dataset(path, 32))
    next(whole)
    assert whole.state_dict() == state
    ours = atds.Dataset(path, 32)
    ours.load_state_dict(state)
    batches = atds.jax.iterate(ours)
    assert ours.state_dict() == batches.state_dict() == state
    assert lists(batches) == rest


def test_a_batch_that_is_refused_does_not_count(write: Any) -> None:
    arrays = {"indices0": "long", "values": "float"}
    cells = [{"name": n, "type": {"type": "array", "items": t}} for n, t in arrays.items()]
    fields = [{"name": "s", "type": {"type": "record", "name": "S", "fields": cells}}]
    records = [
        {"s": {"indices0": list(range(n // 8)), "values": [1.0] * (n // 8)}} for n in range(64)
    ]
    path = write(fields, records, sync_interval=200)
    features = {"s": atds.SparseFeature([50], "float32")}
    whole = [batch["s"].nse for batch in atds.jax.iterate(atds.Dataset(path, 8, features))]
    assert whole == [8 * n for n in range(8)]
    for epochs in (1, 3):
        ours = atds.Dataset(path, 8, features, epochs=epochs)
        batches = atds.jax.iterate(ours, nse=30)
        found = []
        with pytest.raises(atds.OptionError, match="feature 's' has 32 entries"):
            for batch in batches:
                found.append(batch["s"].nse)
        assert found == [30] * 4
        state = batches.state_dict()
        assert (state["epoch"], state["batches"]) == (0, 4)
        assert ours.state_dict() == state
        ours.load_state_dict(state)
        assert [batch["s"].nse for batch in atds.jax.iterate(ours, nse=60)] == [60] * (
            8 * epochs - 4
        )
        batches.load_state_dict({**state, "batches": 2})
        assert batches.state_dict()["batches"] == 2


def test_other_shards_go_on(numbers: str) -> None:
    def shard(index: int, count: int, state: Any = None) -> Any:
        ours = dataset(numbers)
        if state is not None:
            ours.load_state_dict(state)
        return atds.jax.iterate(ours, shard=(index, count))

    states, read = [], []
    for index in range(4):
        batches = shard(index, 4)
        read += [n for _ in range(2) for n in next(batches)["n"].tolist()]
        states.append(batches.state_dict())
    state = atds.merge_states(states)
    for index in range(3):
        for batch in shard(index, 3, state):
            read += batch["n"].tolist()
    assert sorted(read) == list(range(1000))
