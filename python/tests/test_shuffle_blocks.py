"""``shuffle="blocks"``: runs of blocks of all files in a random order."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import atds
from conftest import generate

FEATURES = {"s_label": atds.DenseFeature([], "int32")}

Place = tuple[int, int]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three files of some megabytes."""
    folder = tmp_path_factory.mktemp("large") / "large"
    options = ("--records", "4000", "--files", "3", "--codec", "null")
    return str(generate(folder, *options))


def make(large: str, **options: Any) -> atds.Dataset:
    shuffled = {"shuffle": "blocks", "seed": 7, **options}
    return atds.Dataset(large, 100, FEATURES, provenance="place", **shuffled)


def places(batches: Any) -> list[Place]:
    return [tuple(place) for batch in batches for place in batch["place"].tolist()]


def test_runs_of_all_files_are_mixed_and_have_a_megabyte(large: str) -> None:
    ordered = places(make(large, shuffle=None))
    assert ordered == sorted(ordered) and len(ordered) == 4000
    dataset = make(large)
    first, second = places(dataset), places(dataset)
    assert first != second
    for found in (first, second):
        assert sorted(found) == ordered
        following = dict(itertools.pairwise(ordered))
        starts = [0] + [at for at in range(1, 4000) if following.get(found[at - 1]) != found[at]]
        runs = [found[start:end] for start, end in zip(starts, [*starts[1:], 4000], strict=True)]
        files = [run[0][0] for run in runs]
        assert files != sorted(files)
        size = sum(Path(name).stat().st_size for name in dataset.filenames)
        # Neighbours may have come out side by side.
        assert all(len(run) * size / 4000 > 0.9 * (1 << 20) for run in runs)


def test_shards_and_states(large: str) -> None:
    options: dict[str, Any] = {"shuffle_buffer_size": 300}
    shards = [places(make(large, shard=(index, 3), **options)) for index in range(3)]
    assert sorted(place for shard in shards for place in shard) == sorted(places(make(large)))
    batches = iter(make(large, **options))
    for _ in range(13):
        next(batches)
    state = json.loads(json.dumps(batches.state_dict()))
    assert state["fingerprint"]["options"]["shuffle"] == "blocks"
    rest = places(batches)
    dataset = make(large, **options)
    dataset.load_state_dict(state)
    assert places(dataset) == rest and len(rest) == 2700
    # A data set without a seed takes that of the state.
    dataset = make(large, seed=None, **options)
    dataset.load_state_dict(state)
    assert places(dataset) == rest


@pytest.mark.parametrize("other", ["shuffle_files", "shuffle_blocks"])
def test_it_replaces_other_orders(large: str, other: str) -> None:
    with pytest.raises(atds.OptionError, match="^shuffle must be"):
        make(large, **{other: True})
