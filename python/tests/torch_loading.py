"""Reads the file `numbers` through a `DataLoader`."""

from __future__ import annotations

import itertools
from typing import Any

from torch.utils.data import DataLoader

import atds.torch
from conftest import NUMBER


def flat(lists: list[list[int]]) -> list[int]:
    return list(itertools.chain.from_iterable(lists))


def load(dataset: Any, **options: Any) -> list[list[int]]:
    """The numbers in each batch of a `DataLoader`."""
    return [batch["n"].tolist() for batch in DataLoader(dataset, batch_size=None, **options)]


def shuffled(path: str, **options: Any) -> Any:
    return atds.torch.Dataset(
        path, 32, NUMBER, shuffle_buffer_size=200, shuffle_blocks=True, seed=5, **options
    )
