"""Damage that is left out by choice, with PyTorch: ranks, workers, masks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_on_error import FEATURES, HEALTHY, LOST, write

from frameworks import need

torch = need("torch")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Three files, the first and the last of which have a damaged block."""
    for number, damaged in enumerate([[1], [], [3]]):
        write(tmp_path / f"{number}.avro", 20 * number, damaged)
    return tmp_path


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("uneven", ["drop", "pad"])
def test_ranks_end_on_the_same_step(files: Path, workers: int, uneven: str) -> None:
    from torch.utils.data import DataLoader

    import atds.torch

    log = files / "skipped.jsonl"
    found: list[int] = []
    steps = []
    for rank in range(3):
        dataset = atds.torch.Dataset(
            files,
            4,
            {"id": FEATURES["id"]},
            rank=rank,
            world_size=3,
            uneven=uneven,  # type: ignore[arg-type]
            on_error="skip_block",
            skip_log=log,
        )
        batches = list(DataLoader(dataset, batch_size=None, num_workers=workers))
        steps.append(len(batches))
        for batch in batches:
            rows = torch.ones_like(batch["id"], dtype=torch.bool)
            found += batch["id"][batch.get("mask", rows)].tolist()
    assert len(set(steps)) == 1
    # An odd record is dropped where worker processes share out a rank's records.
    assert sorted(found) == HEALTHY
    places = {
        (line["file"], line["block"]) for line in map(json.loads, log.read_text().splitlines())
    }
    assert {(Path(file).name, block) for file, block in places} == {("0.avro", 1), ("2.avro", 3)}


def test_padding_and_damage_share_a_mask(files: Path) -> None:
    import atds.torch

    dataset = atds.torch.Dataset(
        files,
        4,
        {"id": FEATURES["id"]},
        rank=1,
        world_size=2,
        uneven="pad",
        drop_remainder=True,
        on_error="skip_block",
    )
    found = []
    for batch in dataset:
        assert batch["mask"].dtype == torch.bool and batch["id"].shape == (4,)
        found += batch["id"][batch["mask"]].tolist()
    assert found == [number for number in range(30, 58) if number not in LOST]
    assert [Path(place["file"]).name for place in dataset.skipped()] == ["2.avro"]
