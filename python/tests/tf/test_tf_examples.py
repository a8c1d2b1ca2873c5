"""TensorFlow's feature objects for TFRecord files, beside `tf.io.parse_example`."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atds
from frameworks import need

tf = need("tensorflow")

F = tf.io

#: The features of each case, of the keys that `row` makes.
CASES: dict[str, Any] = {
    "scalars": {
        "one": F.FixedLenFeature([], tf.int64),
        "image/height": F.FixedLenFeature([], tf.float32, 0.5),
        "text": F.FixedLenFeature([], tf.string, "none"),
    },
    "shapes": {
        "four": F.FixedLenFeature([2, 2], tf.float32),
        "maybe": F.FixedLenFeature([2], tf.int64, [7, 8]),
    },
    "var_len": {
        "ints": F.VarLenFeature(tf.int64),
        "floats": F.VarLenFeature(tf.float32),
        "texts": F.VarLenFeature(tf.string),
    },
    "ragged": {
        "ints": F.RaggedFeature(tf.int64, row_splits_dtype=tf.int64),
        "f": F.RaggedFeature(tf.float32, value_key="floats", row_splits_dtype=tf.int64),
        "h": F.RaggedFeature(tf.float32, value_key="image/height", row_splits_dtype=tf.int64),
    },
    "sequences": {
        "ints": F.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
        "texts": F.FixedLenSequenceFeature([], tf.string, allow_missing=True, default_value="-"),
        "pairs": F.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
    },
    "sparse": {
        "s": F.SparseFeature("at", "pairs", tf.float32, 50),
        "sorted": F.SparseFeature("at", "pairs", tf.float32, 50, already_sorted=True),
        "two": F.SparseFeature(["at", "at/2"], "pairs", tf.float32, [50, 9]),
    },
}


def row(rng: random.Random) -> dict[str, Any]:
    def some(value: Any) -> Any:
        return None if rng.random() < 0.3 else value

    count = rng.randrange(4)
    pairs = 2 * rng.randrange(4)
    return {
        "one": rng.randrange(-(2**40), 2**40),
        "image/height": some(rng.randrange(100) / 4),
        "text": some(rng.choice(["", "ä", "xyz"])),
        "four": [rng.randrange(9) / 2 for _ in range(4)],
        "maybe": some([1, 2]),
        "ints": some([rng.randrange(-5, 1000) for _ in range(count)]),
        "floats": some([0.5] * count),
        "texts": some(["t"] * count),
        "pairs": [rng.randrange(9) / 4 for _ in range(pairs)],
        "at": rng.sample(range(50), pairs),
        "at/2": [rng.randrange(9) for _ in range(pairs)],
    }


KINDS = {
    "one": "int64",
    "image/height": "float",
    "text": "bytes",
    "four": "float",
    "maybe": "int64",
    "ints": "int64",
    "floats": "float",
    "texts": "bytes",
    "pairs": "float",
    "at": "int64",
    "at/2": "int64",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("examples") / "a.tfrecord"
    rng = random.Random(1)
    atds.write(path, (row(rng) for _ in range(500)), KINDS)
    return path


def plain(values: Any) -> Any:
    """Values of either library as lists, with text as bytes."""
    values = values.numpy() if hasattr(values, "numpy") else values
    if isinstance(values, atds.StringArray):
        texts = [text.encode() for text in values.to_numpy().ravel()]
        values = np.array(texts, object).reshape(values.shape)
    return values.tolist()


@pytest.mark.parametrize("case", CASES)
def test_columns_are_those_of_parse_example(path: Path, case: str) -> None:
    features = CASES[case]
    records = tf.data.TFRecordDataset(str(path)).batch(64)
    batches = atds.Dataset(path, 64, features)
    count = 0
    for ours, serialized in zip(batches, records, strict=True):
        theirs = F.parse_example(serialized, features)
        assert ours.keys() == theirs.keys()
        for name, expected in theirs.items():
            found = ours[name]
            count += 1
            if isinstance(expected, tf.SparseTensor):
                assert found.indices.tolist() == expected.indices.numpy().tolist(), name
                assert plain(found.values) == plain(expected.values), name
                assert list(found.dense_shape) == expected.dense_shape.numpy().tolist(), name
            elif isinstance(expected, tf.RaggedTensor):
                assert plain(found.values) == plain(expected.values), name
                assert plain(found.row_splits[0]) == plain(expected.row_splits), name
            else:
                assert plain(found) == plain(expected), name
                assert list(found.shape) == list(expected.shape), name
    assert count == 8 * len(features)


def test_what_tensorflow_refuses_is_refused(path: Path) -> None:
    for features in (
        {"floats": F.VarLenFeature(tf.int64)},
        {"image/height": F.FixedLenFeature([], tf.float32)},
        {"four": F.FixedLenFeature([3], tf.float32)},
        {"s": F.SparseFeature("at", "ints", tf.int64, 50)},
    ):
        serialized = [record.numpy() for record in tf.data.TFRecordDataset(str(path))]
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
            F.parse_example(serialized, features)
        with pytest.raises(atds.DataError):
            list(atds.Dataset(path, 64, features))


def test_sequence_examples(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    ints = [[1], [], [2, 3]]
    steps = tf.train.FeatureList(
        feature=[tf.train.Feature(int64_list=tf.train.Int64List(value=step)) for step in ints]
    )
    singles = tf.train.FeatureList(
        feature=[tf.train.Feature(float_list=tf.train.FloatList(value=[x])) for x in (0.5, 1.5)]
    )
    example = tf.train.SequenceExample(
        feature_lists=tf.train.FeatureLists(feature_list={"a": steps, "b": singles})
    )
    atds.write(path, [example.SerializeToString()] * 2)
    ours = next(
        iter(
            atds.Dataset(
                path,
                2,
                {
                    "feature_lists.a": F.RaggedFeature(tf.int64),
                    "feature_lists.b": F.FixedLenSequenceFeature([], tf.float32),
                },
            )
        )
    )
    assert ours["feature_lists.a"].tolist() == [ints, ints]
    assert ours["feature_lists.b"].tolist() == [[0.5, 1.5]] * 2
