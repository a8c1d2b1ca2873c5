"""Truncated lists, slices in expressions, and lists of one length that are inferred as dense."""

from __future__ import annotations

import logging
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest

import atds

SCHEMA = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "x", "type": {"type": "array", "items": "int"}},
        {"name": "words", "type": {"type": "array", "items": "string"}},
    ],
}

Write = Callable[..., str]


@pytest.fixture
def lists(tmp_path: Path) -> Write:
    """A function that writes records with lists of these lengths, one block for each argument."""

    def written(*blocks: list[int], name: str = "0.avro") -> str:
        path = tmp_path / name
        with path.open("wb") as file:
            writer = fastavro.write.Writer(file, fastavro.parse_schema(SCHEMA))
            for lengths in blocks:
                for length in lengths:
                    words = [str(i) for i in range(length)]
                    writer.write({"x": list(range(length)), "words": words})
                writer.dump()
            writer.flush()
        return str(path)

    return written


def test_lists_that_are_longer_are_cut(lists: Write) -> None:
    file = lists([2, 5, 3])
    features: dict[str, Any] = {
        "x": atds.DenseFeature([3], "int32", truncate=True, default=-1, mask="m"),
        "words": atds.VarlenFeature([2], "string", layout="ragged", truncate=True),
    }
    dataset = atds.Dataset(file, 8, features)
    (batch,) = dataset
    assert batch["x"].tolist() == [[0, 1, -1], [0, 1, 2], [0, 1, 2]]
    assert batch["m"].tolist() == [[True, True, False], [True] * 3, [True] * 3]
    assert batch["words"].row_splits[0].tolist() == [0, 2, 4, 6]
    # One list of x and two of words are truncated.
    assert dataset.stats()["truncated_lists"] == 3
    assert eval(repr(features["x"]), {"DenseFeature": atds.DenseFeature}) == features["x"]
    copy = pickle.loads(pickle.dumps(dataset))
    assert next(iter(copy))["x"].shape == (3, 3)


def test_without_truncate_the_error_names_it(lists: Write) -> None:
    dataset = atds.Dataset(lists([2, 5]), 8, {"x": atds.DenseFeature([2], "int32")})
    with pytest.raises(atds.DataError, match=r"where the shape says 2; truncate= drops the rest"):
        list(dataset)
    for feature in (
        atds.DenseFeature([], "int32", truncate=True),
        atds.VarLenFeature("int32", truncate=True),
        atds.SparseFeature([-1], "int32", truncate=True),
    ):
        with pytest.raises(atds.FeatureError, match="^feature 'x': truncate= cuts lists to"):
            atds.Dataset(lists([2]), 8, {"x": feature})
    with pytest.raises(atds.FeatureError, match="truncate"):
        atds.DenseFeature([2], "int32", truncate="yes")  # type: ignore[arg-type]


def test_slices(lists: Write) -> None:
    file = lists([2, 5])

    def read(expression: str, length: int) -> Any:
        feature = atds.DenseFeature([length], "int32", expression=expression, default=-1)
        (batch,) = atds.Dataset(file, 8, {"f": feature})
        return batch["f"].tolist()

    assert read("x[0:4]", 4) == [[0, 1, -1, -1], [0, 1, 2, 3]]
    assert read("x[-3:]", 3) == [[0, 1, -1], [2, 3, 4]]
    assert read("x[1:-1]", 3) == [[-1, -1, -1], [1, 2, 3]]
    with pytest.raises(atds.FeatureError, match="a slice has no step"):
        read("x[::2]", 3)
    with pytest.raises(atds.FeatureError, match="the shape has rank 0, but the schema has rank 1"):
        atds.Dataset(file, 8, {"f": atds.DenseFeature([], "int32", expression="x[0:1]")})


def test_lists_of_one_length_are_inferred_as_dense(
    lists: Write, caplog: pytest.LogCaptureFixture
) -> None:
    file = lists([3] * 20)
    with caplog.at_level(logging.INFO, "atds"):
        dataset = atds.Dataset(file, 8)
        assert dataset.features["x"] == atds.DenseFeature([3], "int32")
        atds._native.forward_logs()
    known = "all lists of the 20 sampled records have the same length: 'x' [3], 'words' [3]"
    assert known in caplog.text
    assert atds.infer_features(file) == dataset.features
    varlen = atds.infer_features(file, sample_records=0)
    assert varlen["x"] == atds.VarlenFeature([-1], "int32")
    assert atds.infer_features(file, reader_schema=SCHEMA)["x"] == dataset.features["x"]


def test_a_list_of_another_length_says_what_was_inferred(lists: Write) -> None:
    file = lists([3] * 20, [3, 4])
    dataset = atds.Dataset(file, 100)
    said = (
        r"field 'x': an array of 4 values; the feature was inferred as dense because all arrays of "
        r"the 20 sampled records have 3: name the column in features=, as varlen, or dense with "
        r"truncate= or a default="
    )
    for of in (dataset, pickle.loads(pickle.dumps(dataset))):
        with pytest.raises(atds.DataError, match=said):
            list(of)
    # Features that were passed get a different error.
    given = atds.Dataset(file, 100, dataset.features)
    with pytest.raises(atds.DataError, match=re.escape("where the shape says 3; truncate=")):
        list(given)
    (batch,) = atds.Dataset(file, 100, sample_records=0)
    assert tuple(batch["x"].dense_shape) == (22, 4)
