"""TensorFlow reads the TFRecord files that are written."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import atds
from frameworks import need

tf = need("tensorflow")


def row(rng: random.Random) -> dict[str, Any]:
    count = rng.randrange(5)
    values: dict[str, Any] = {
        "ints": [rng.randrange(-(2**63), 2**63) >> rng.randrange(64) for _ in range(count)],
        "floats": [rng.choice([0.5, -1.25, 2.0**100, float("inf")]) for _ in range(count)],
        "texts": [
            "".join(rng.choice("aä漢") for _ in range(rng.randrange(90))) for _ in range(count)
        ],
        "raw": rng.randbytes(rng.randrange(300)),
        "größe/x": 7,
    }
    return {key: values[key] for key in rng.sample(sorted(values), rng.randrange(6))}


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_random_rows(tmp_path: Path, compression: str) -> None:
    rng = random.Random(5)
    rows = [row(rng) for _ in range(300)]
    path = tmp_path / "a.tfrecord"
    kinds = {
        "ints": "int64",
        "floats": "float",
        "texts": "string",
        "raw": "bytes",
        "größe/x": "int64",
    }
    codec = compression.lower() or "none"
    assert atds.write(path, rows, kinds, codec=codec) == 300
    records = list(tf.data.TFRecordDataset(str(path), compression_type=compression))
    assert len(records) == 300
    for record, expected in zip(records, rows, strict=True):
        example = tf.train.Example.FromString(record.numpy())
        assert set(example.features.feature) == set(expected)
        for key, values in expected.items():
            feature = example.features.feature[key]
            kind = kinds[key]
            assert feature.WhichOneof("kind") == {"int64": "int64_list", "float": "float_list"}.get(
                kind, "bytes_list"
            )
            found = list(getattr(feature, feature.WhichOneof("kind")).value)
            values = values if isinstance(values, list) else [values]
            values = [value.encode() if isinstance(value, str) else value for value in values]
            assert found == values


def test_parse_example_takes_a_batch(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    atds.write(path, ({"id": n, "emb": [n / 2, n / 4], "tags": ["t"] * (n % 3)} for n in range(10)))
    parsed = tf.io.parse_example(
        [record.numpy() for record in tf.data.TFRecordDataset(path)],
        {
            "id": tf.io.FixedLenFeature([], tf.int64),
            "emb": tf.io.FixedLenFeature([2], tf.float32),
            "tags": tf.io.RaggedFeature(tf.string),
        },
    )
    assert parsed["id"].numpy().tolist() == list(range(10))
    assert parsed["emb"].numpy().tolist() == [[n / 2, n / 4] for n in range(10)]
    assert parsed["tags"].to_list() == [[b"t"] * (n % 3) for n in range(10)]
