"""TFRecord files through `atds.jax`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import atds
from frameworks import need

jax = need("jax")
import atds.jax


def test_batches_of_examples(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord.gz"
    atds.write(
        path, ({"n": n, "x": [n / 2, n / 4]} for n in range(10)), {"n": "int64", "x": "float"}
    )
    features = {
        "n": atds.FixedLenFeature([], "int32", cast=True),
        "x": atds.FixedLenFeature([2], "float32"),
    }
    batches = list(atds.jax.iterate(atds.Dataset(path, 4, features)))
    assert all(isinstance(batch["x"], jax.Array) for batch in batches)
    found = np.concatenate([np.asarray(batch["n"]) for batch in batches])
    assert found.tolist() == list(range(10))
    assert np.asarray(batches[1]["x"]).tolist() == [[n / 2, n / 4] for n in range(4, 8)]
