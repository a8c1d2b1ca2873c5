"""Partitions of tf.io.RaggedFeature for TFRecord files, beside TensorFlow's own parsers."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

import atds
from frameworks import need

tf = need("tensorflow")

F = tf.io
R = F.RaggedFeature

KINDS = {"v": "float", "t": "bytes", "outer": "int64", "inner": "int64"}
WITH_KEY = (R.RowSplits, R.RowLengths, R.RowStarts, R.RowLimits, R.ValueRowIds)

#: Partitions, the outermost first.
CASES: list[list[Any]] = [
    *([kind("outer")] for kind in WITH_KEY),
    [R.UniformRowLength(2)],
    *([one("outer"), two("inner")] for one, two in itertools.product(WITH_KEY, WITH_KEY)),
    *([kind("outer"), R.UniformRowLength(2)] for kind in WITH_KEY),
    *([R.UniformRowLength(2), kind("inner")] for kind in WITH_KEY),
    [R.UniformRowLength(1), R.UniformRowLength(3)],
    [R.RowLengths("outer"), R.UniformRowLength(1), R.RowLengths("inner")],
]


def numbers(rng: random.Random, partition: Any, items: int) -> tuple[list[int], int]:
    """The numbers of a partition that fits, and how many lists it has."""
    lists = rng.randrange(1, 4) if items else rng.randrange(3)
    ends = sorted(rng.randrange(items + 1) for _ in range(lists))
    ends[-1:] = [items] * bool(lists)
    splits = [0, *ends]
    lens = [end - start for start, end in itertools.pairwise(splits)]
    match partition:
        case R.RowSplits():
            return splits, lists
        case R.RowLengths():
            return lens, lists
        case R.RowStarts():
            return splits[:-1], lists
        case R.RowLimits():
            return ends, lists
        case _:
            ids = [number for number, size in enumerate(lens) for _ in range(size)]
            return ids, ids[-1] + 1 if ids else 0


def spoiled(rng: random.Random, found: list[int]) -> list[int]:
    """Other numbers, which mostly do not fit."""
    found = list(found)
    match rng.randrange(4):
        case 0:
            found.insert(rng.randrange(len(found) + 1), rng.randrange(-2, 5))
        case 1 if found:
            found[rng.randrange(len(found))] = rng.randrange(-2, 5)
        case 2:
            rng.shuffle(found)
        case _:
            found = found[1:]
    return found


def row(rng: random.Random, partitions: list[Any], odds: float) -> dict[str, Any]:
    count = rng.choice([0, 2, 4, 6]) if rng.random() > odds else rng.randrange(7)
    found: dict[str, Any] = {
        "v": [n + 0.5 for n in range(count)],
        "t": [str(n) for n in range(count)],
        "outer": None,
        "inner": None,
    }
    items = count
    for partition in reversed(partitions):
        if isinstance(partition, R.UniformRowLength):
            items //= partition.length
            continue
        found[partition.key], items = numbers(rng, partition, items)
        if rng.random() < odds:
            found[partition.key] = spoiled(rng, found[partition.key])
    if count == 0 and rng.random() < 0.5:
        found["v"] = found["t"] = None
    return found


def feature(partitions: list[Any], key: str = "v") -> Any:
    dtype = tf.float32 if key == "v" else tf.string
    return R(dtype, key, partitions, row_splits_dtype=tf.int64, validate=True)


def ours(path: Path, partitions: list[Any], batch: int, key: str = "v") -> list[Any]:
    return [found["r"] for found in atds.Dataset(path, batch, {"r": feature(partitions, key)})]


def theirs(serialized: Any, partitions: list[Any], key: str = "v") -> Any:
    parse = F.parse_example if isinstance(serialized, list) else F.parse_single_example
    return parse(serialized, {"r": feature(partitions, key)})["r"]


def refuses(serialized: Any, partitions: list[Any]) -> bool:
    try:
        theirs(serialized, partitions)
    except (tf.errors.InvalidArgumentError, ValueError):
        return True
    return False


def serialized_of(path: Path) -> list[bytes]:
    return [record.numpy() for record in tf.data.TFRecordDataset(str(path))]


def name_of(partitions: list[Any]) -> str:
    return ",".join(type(partition).__name__ for partition in partitions)


@pytest.mark.parametrize("partitions", CASES, ids=name_of)
def test_right_ones_are_those_of_parse_example(tmp_path: Path, partitions: list[Any]) -> None:
    path = tmp_path / "a.tfrecord"
    rng = random.Random(name_of(partitions))
    good: list[dict[str, Any]] = []
    while len(good) < 20:
        found = row(rng, partitions, 0.0)
        atds.write(path, [found], KINDS)
        try:
            list(atds.Dataset(path, 1, {"r": feature(partitions)}))
        except atds.DataError:
            # The number of values or lists is no multiple of a uniform length.
            assert any(isinstance(partition, R.UniformRowLength) for partition in partitions)
            continue
        good.append(found)
    atds.write(path, good, KINDS)
    serialized = serialized_of(path)
    for key, size in (("v", 7), ("t", 20)):
        for start, found in zip(range(0, 20, size), ours(path, partitions, size, key), strict=True):
            expected = theirs(serialized[start : start + size], partitions, key)
            values = expected.to_list()
            if key == "t":
                values = tf.nest.map_structure(bytes.decode, values)
            assert found.tolist() == values
            assert len(found.row_splits) == len(partitions) + 1
            # TensorFlow has uniform innermost lists as dimensions of the values.
            for splits, split in zip(found.row_splits, expected.nested_row_splits):
                assert splits.tolist() == split.numpy().tolist()


@pytest.mark.parametrize("partitions", CASES, ids=name_of)
def test_right_and_wrong_ones(tmp_path: Path, partitions: list[Any]) -> None:
    """A batch is refused where TensorFlow, which validates, refuses it or one of its records."""
    path = tmp_path / "a.tfrecord"
    rng = random.Random(name_of(partitions))
    right = wrong = 0
    for _ in range(15):
        rows = [row(rng, partitions, 0.3) for _ in range(rng.randrange(1, 4))]
        atds.write(path, rows, KINDS)
        serialized = serialized_of(path)
        try:
            (found,) = ours(path, partitions, 4)
        except atds.DataError as error:
            assert "record " in str(error), error
            assert "'v'" in str(error), error
            wrong += 1
            # Where there are no starts, TensorFlow loses the values, even as it validates.
            if "row_starts" in str(error) and "lists of 0 items" in str(error):
                continue
            assert refuses(serialized, partitions) or any(
                refuses(one, partitions) for one in serialized
            ), (rows, error)
            continue
        assert found.tolist() == theirs(serialized, partitions).to_list(), rows
        right += 1
    assert right > 0
    assert wrong > 0


@pytest.mark.parametrize(
    ("partition", "given", "said"),
    [
        (R.RowSplits("outer"), [1, 3], "partition row_splits 'outer' starts at 1, not at 0"),
        (R.RowSplits("outer"), [0, 2], "lists of 2 items together, but there are 3 to divide"),
        (R.RowLimits("outer"), [2, 1, 3], "row_limits 'outer' goes down from 2 to 1"),
        (R.RowLengths("outer"), [4, -1], "has lists of 4 items together, but there are 3"),
        (R.RowLengths("outer"), [-1, 4], "row_lengths 'outer' has -1, which is below 0"),
        (R.ValueRowIds("outer"), [0, 1], "lists of 2 items together, but there are 3 to divide"),
        (R.UniformRowLength(2), None, "uniform_row_length 2 does not divide 3 items"),
        (R.RowLengths("t"), None, "row_lengths 't' has bytes values, not int64"),
    ],
)
def test_errors_say_where(tmp_path: Path, partition: Any, given: Any, said: str) -> None:
    path = tmp_path / "a.tfrecord"
    right = {"v": None, "outer": None, "t": None}
    wrong = {"v": [1.0, 2.0, 3.0], "outer": given, "t": ["x"]}
    atds.write(path, [right, wrong], {key: KINDS[key] for key in right})
    with pytest.raises(atds.DataError) as caught:
        ours(path, [partition], 2)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert "record 1" in str(caught.value)


def test_more_lists_than_memory_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    row = {"v": [1.0, 2.0], "outer": [0, 2**62]}
    atds.write(path, [row], {key: KINDS[key] for key in row})
    with pytest.raises(atds.MemoryLimitError, match="record 0"):
        ours(path, [R.ValueRowIds("outer")], 2)


def test_features_of_this_package(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    atds.write(path, [{"v": [1.0, 2.0, 3.0], "outer": [1, 2]}], {"v": "float", "outer": "int64"})
    lines = atds.VarLenFeature(
        "float32", layout="ragged", partitions=[("row_lengths", "outer")], expression="v"
    )
    (batch,) = atds.Dataset(path, 1, {"lines": lines})
    assert batch["lines"].tolist() == [[[1.0], [2.0, 3.0]]]
    for partitions in ([("rows", "a")], [("row_splits", 3)], [("uniform_row_length", 0)], "x", 3):
        with pytest.raises(atds.FeatureError):
            atds.VarLenFeature("float32", layout="ragged", partitions=partitions)  # type: ignore[arg-type]
    with pytest.raises(atds.FeatureError, match="layout='ragged'"):
        atds.VarLenFeature("float32", partitions=[("row_splits", "a")])


def test_the_context_of_a_sequence_example(tmp_path: Path) -> None:
    def list_of(**kinds: Any) -> Any:
        return tf.train.Feature(**kinds)

    context = {
        "v": list_of(float_list=tf.train.FloatList(value=[1, 2, 3])),
        "n": list_of(int64_list=tf.train.Int64List(value=[2, 0, 1])),
    }
    example = tf.train.SequenceExample(context=tf.train.Features(feature=context))
    path = str(tmp_path / "a.tfrecord")
    atds.write(path, [example.SerializeToString()] * 2)
    partitions = [R.RowLengths("n")]
    expected, _, _ = F.parse_sequence_example(
        [example.SerializeToString()] * 2, {"v": R(tf.float32, "v", partitions)}
    )
    divided = atds.VarLenFeature(
        "float32", layout="ragged", partitions=[("row_lengths", "n")], expression="context.v"
    )
    (batch,) = atds.Dataset(path, 2, {"v": divided})
    assert batch["v"].tolist() == expected["v"].to_list()
    steps = atds.VarLenFeature(
        "float32", layout="ragged", partitions=[("row_lengths", "n")], expression="feature_lists.v"
    )
    with pytest.raises(atds.FeatureError, match="the steps of a feature list are lists already"):
        list(atds.Dataset(path, 2, {"v": steps}))
