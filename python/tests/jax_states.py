"""What the tests of states with JAX and Grain share."""

from __future__ import annotations

from typing import Any

import atds

NUMBERS = {"n": atds.DenseFeature([], "int32", cast=True)}


def dataset(numbers: str, **options: Any) -> atds.Dataset:
    options = {"shuffle_buffer_size": 90, "seed": 7, **options}
    return atds.Dataset(numbers, 64, NUMBERS, **options)


def lists(batches: Any) -> list[list[int]]:
    return [batch["n"].tolist() for batch in batches]
