"""Provenance: the column that says which record of which file each row is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import atds
from frameworks import need

FEATURES = {"s_weight": atds.DenseFeature([], "float32")}

SHUFFLED = {"shuffle_buffer_size": 50, "shuffle_files": True, "shuffle_blocks": True, "seed": 3}


def by_place(clicks: str) -> dict[tuple[int, int], float]:
    """The weight of each record of each file."""
    files = atds.Dataset(clicks, 30, FEATURES).filenames
    found = {}
    for number, file in enumerate(files):
        weights = [w for batch in atds.Dataset(file, 30, FEATURES) for w in batch["s_weight"]]
        found.update({(number, record): weight for record, weight in enumerate(weights)})
    assert len(files) > 1 and len(found) == 200
    return found


def checked(batches: Any, expected: dict[tuple[int, int], float]) -> list[tuple[int, int]]:
    """The places of all rows, which have the values of these records."""
    found = []
    for batch in batches:
        place = np.asarray(batch["place"])
        assert (place.dtype, place.shape) == (np.int64, (batch.num_records, 2))
        found += [tuple(row) for row in place.tolist()]
        for row, weight in zip(place.tolist(), batch["s_weight"], strict=True):
            assert expected[tuple(row)] == weight
    return found


@pytest.mark.parametrize("options", [{}, SHUFFLED])
def test_rows_have_the_place_of_their_record(clicks: str, options: dict[str, Any]) -> None:
    expected = by_place(clicks)
    dataset = atds.Dataset(clicks, 30, FEATURES, provenance="place", **options)
    found = checked(dataset, expected)
    assert sorted(found) == sorted(expected)
    assert (found == sorted(found)) == (not options)
    assert dataset.element_spec["place"] == atds.ArraySpec((None, 2), "int64")

    shards = []
    for index in range(3):
        shard = atds.Dataset(clicks, 30, FEATURES, shard=(index, 3), provenance="place", **options)
        shards += checked(shard, expected)
    assert sorted(shards) == sorted(expected)


def test_it_may_be_asked_for_where_an_iteration_goes_on(clicks: str) -> None:
    expected = by_place(clicks)
    batches = iter(atds.Dataset(clicks, 30, FEATURES, **SHUFFLED))
    next(batches)
    state = json.loads(json.dumps(batches.state_dict()))
    rest = [batch["s_weight"].tolist() for batch in batches]
    dataset = atds.Dataset(clicks, 30, FEATURES, provenance="place", **SHUFFLED)
    dataset.load_state_dict(state)
    found = list(dataset)
    assert [batch["s_weight"].tolist() for batch in found] == rest
    assert len(checked(found, expected)) == 170


def test_a_name_that_a_column_has(clicks: str) -> None:
    with pytest.raises(atds.OptionError, match="provenance must be a name that no other column"):
        atds.Dataset(clicks, 30, FEATURES, provenance="s_weight")


# DataLoader warns of too few cores, and Python of threads in a process that forks.
@pytest.mark.filterwarnings("ignore")
def test_pytorch(clicks: str) -> None:
    need("torch")
    import torch

    import atds.torch

    expected = by_place(clicks)
    dataset = atds.torch.Dataset(
        clicks, 30, FEATURES, provenance="place", shuffle_buffer_size=50, seed=1
    )
    found = []
    for batch in atds.torch.loader(dataset, num_workers=2):
        assert batch["place"].dtype == torch.int64
        for row, weight in zip(batch["place"].tolist(), batch["s_weight"].tolist(), strict=True):
            assert expected[tuple(row)] == pytest.approx(weight)
            found.append(tuple(row))
    assert sorted(found) == sorted(expected)
