"""TensorFlow reads the TFRecord files that are written."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
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


def sequence(rng: random.Random) -> dict[str, Any]:
    steps = rng.randrange(1, 5)
    return {
        "context": {"id": rng.randrange(1000), "label": [rng.choice("ab")] * rng.randrange(3)},
        "feature_lists": {
            "tokens": [
                [rng.randrange(-9, 9) for _ in range(rng.randrange(3))] for _ in range(steps)
            ],
            "emb": np.array([[rng.random(), 1] for _ in range(steps)], np.float32),
            "words": [rng.choice(["one", b"two"]) for _ in range(steps)],
            # An int beside floats, and a step without values.
            "x": [1, [], 0.5, [2, 3]][:steps],
        },
    }


@pytest.mark.parametrize("with_schema", [False, True])
def test_sequences(tmp_path: Path, with_schema: bool) -> None:
    rng = random.Random(7)
    rows = [
        # It tells the kind of each key.
        {"context": {"label": "a"}, "feature_lists": {"tokens": [1], "x": np.array([0.5])}},
        *(sequence(rng) for _ in range(40)),
        {"context": {"id": 5}},
        {"feature_lists": {"tokens": []}},
    ]
    kinds = {
        "context": {"id": "int64", "label": "bytes"},
        "feature_lists": {"tokens": "int64", "emb": "float32", "words": "bytes", "x": "float32"},
    }
    path = str(tmp_path / "a.tfrecord")
    assert atds.write(path, rows, kinds if with_schema else None) == len(rows)
    context, lists, lengths = tf.io.parse_sequence_example(
        [record.numpy() for record in tf.data.TFRecordDataset(path)],
        {
            "id": tf.io.FixedLenFeature([], tf.int64, -1),
            "label": tf.io.RaggedFeature(tf.string),
        },
        {
            "tokens": tf.io.RaggedFeature(tf.int64),
            "emb": tf.io.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
            "words": tf.io.RaggedFeature(tf.string),
            "x": tf.io.RaggedFeature(tf.float32),
        },
    )
    for number, row in enumerate(rows):
        given = row.get("context", {})
        assert context["id"][number] == given.get("id", -1)
        labels = given.get("label", [])
        assert context["label"][number].numpy().tolist() == [label.encode() for label in labels]
        given = row.get("feature_lists", {})
        assert lengths["emb"][number] == len(given.get("emb", []))
        emb = lists["emb"][number][: lengths["emb"][number]]
        assert emb.numpy().tolist() == np.asarray(given.get("emb", np.zeros((0, 2)))).tolist()
        for key in ("tokens", "words", "x"):
            steps = [step if isinstance(step, list) else [step] for step in given.get(key, [])]
            steps = [[v.encode() if isinstance(v, str) else v for v in step] for step in steps]
            assert lists[key][number].to_list() == steps
