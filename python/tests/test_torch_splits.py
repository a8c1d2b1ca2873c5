"""Splits through `atds.torch`: workers of a loader."""

from __future__ import annotations

from test_splits import NUMBER, PARTS, read

import atds
from frameworks import need

torch = need("torch")
from torch.utils.data import DataLoader

import atds.torch


def test_workers_of_a_loader_share_a_split(numbers: str) -> None:
    found = []
    for name in PARTS:
        dataset = atds.torch.Dataset(
            numbers, 30, NUMBER, split=name, splits=PARTS, shuffle_buffer_size=50, seed=3
        )
        plain = atds.Dataset(numbers, 30, NUMBER, split=name, splits=PARTS)
        loader = DataLoader(dataset, batch_size=None, num_workers=2)
        batches = list(loader)
        assert len(batches) == len(dataset) == len(plain)
        rows = [number for batch in batches for number in batch["n"].tolist()]
        assert sorted(rows) == sorted(read(plain))
        found += rows
    assert sorted(found) == sorted(read(atds.Dataset(numbers, 30, NUMBER)))
