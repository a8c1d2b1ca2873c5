"""Files that take turns, beside the installed TensorFlow's ``interleave``."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import atds

FEATURES = {"number": atds.DenseFeature([], "int64")}
#: A table of float64 has no integers.
OF_TABLES = {"number": atds.DenseFeature([], "float64")}


def written(folder: Path, suffix: str, counts: list[int]) -> list[str]:
    """Files with so many rows each, whose ``number`` tells the file and the record."""
    paths = []
    for file, count in enumerate(counts):
        path = folder / f"{file:02}.{suffix}"
        numbers = [file * 1000 + record for record in range(count)]
        if suffix == "btable":
            atds.btable.write(path, ["number"], np.array(numbers, "float64").reshape(count, 1))
        else:
            schema: Any = {
                "type": "record",
                "name": "Row",
                "fields": [{"name": "number", "type": "long"}],
            }
            rows = [{"number": number} for number in numbers]
            atds.write(path, rows, schema if suffix == "avro" else {"number": "int64"})
        paths.append(str(path))
    return paths


def numbers(dataset: Any) -> list[int]:
    return [int(number) for batch in dataset for number in np.asarray(batch["number"])]


def interleaved(counts: list[int], cycle: int, block: int, parallel: bool) -> list[int]:
    """What TensorFlow gives of files with so many records."""
    sizes = tf.constant(counts, tf.int64)
    calls = {"num_parallel_calls": tf.data.AUTOTUNE, "deterministic": True} if parallel else {}
    found = tf.data.Dataset.range(len(counts)).interleave(
        lambda file: tf.data.Dataset.range(sizes[file]).map(lambda record: file * 1000 + record),
        cycle_length=cycle,
        block_length=block,
        **calls,
    )
    return [int(number) for number in found]


@pytest.mark.parametrize("suffix", ["avro", "tfrecord", "btable"])
def test_the_order_is_tensorflows(tmp_path: Path, suffix: str) -> None:
    draw = random.Random(suffix)
    features = OF_TABLES if suffix == "btable" else FEATURES
    for case in range(12):
        folder = tmp_path / str(case)
        folder.mkdir()
        counts = [draw.randrange(1, 40) for _ in range(draw.randrange(1, 7))]
        files = written(folder, suffix, counts)
        for _ in range(4):
            cycle, block = draw.randrange(1, 8), draw.choice([1, 2, 5, 16, 100])
            expected = interleaved(counts, cycle, block, parallel=draw.random() < 0.5)
            options: Any = {
                "interleave": (cycle, block),
                "num_parallel_calls": draw.choice([1, 3]),
            }
            dataset = atds.Dataset(files, draw.randrange(1, 30), features, **options)
            assert numbers(dataset) == expected, (counts, cycle, block)
            of_shards = [
                numbers(atds.Dataset(files, 7, features, shard=(index, 3), **options))
                for index in range(3)
            ]
            found = [number for shard in of_shards for number in shard]
            assert found == expected, (counts, cycle, block)


def test_records_are_those_of_a_tfrecord_dataset(tmp_path: Path) -> None:
    files = written(tmp_path, "tfrecord", [50, 3, 20, 31])
    records = tf.data.Dataset.from_tensor_slices(files).interleave(
        tf.data.TFRecordDataset, cycle_length=3, block_length=7
    )
    spec = {"number": tf.io.FixedLenFeature([], tf.int64)}
    expected = [int(tf.io.parse_single_example(record, spec)["number"]) for record in records]
    dataset = atds.Dataset(files, 16, FEATURES, interleave=(3, 7))
    assert numbers(dataset) == expected


@pytest.mark.parametrize("suffix", ["avro", "tfrecord", "btable"])
def test_shards_of_files_take_turns_of_their_own(tmp_path: Path, suffix: str) -> None:
    """As ``files.shard(count, index).interleave(..)`` has it."""
    counts = [50, 3, 20, 31, 8, 1, 40]
    files = written(tmp_path, suffix, counts)
    features = OF_TABLES if suffix == "btable" else FEATURES
    found = []
    for index in range(3):
        own = tf.data.Dataset.from_tensor_slices(list(enumerate(counts))).shard(3, index)
        expected = own.interleave(
            lambda file: tf.data.Dataset.range(tf.cast(file[1], tf.int64)).map(
                lambda record: tf.cast(file[0], tf.int64) * 1000 + record
            ),
            cycle_length=2,
            block_length=7,
        )
        dataset = atds.Dataset(
            files, 9, features, shard=(index, 3), shard_by="file", interleave=(2, 7)
        )
        assert numbers(dataset) == [int(number) for number in expected]
        assert dataset.num_records == len(numbers(dataset))
        found += numbers(dataset)
    assert sorted(found) == sorted(
        file * 1000 + record for file, count in enumerate(counts) for record in range(count)
    )


def test_a_state_goes_on_in_turns(tmp_path: Path) -> None:
    files = written(tmp_path, "avro", [50, 3, 20, 31])
    for buffer in (0, 20):
        options: Any = {"interleave": (3, 7), "shuffle_buffer_size": buffer, "seed": 5}
        dataset = atds.Dataset(files, 8, FEATURES, **options)
        whole = numbers(dataset)
        assert sorted(whole) == sorted(interleaved([50, 3, 20, 31], 3, 7, parallel=False))
        batches = iter(atds.Dataset(files, 8, FEATURES, **options))
        for _ in range(5):
            next(batches)
        state = batches.state_dict()
        again = atds.Dataset(files, 8, FEATURES, **options)
        again.load_state_dict(state)
        assert numbers(again) == whole[40:]
        other = atds.Dataset(files, 8, FEATURES, **{**options, "interleave": (2, 7)})
        with pytest.raises(atds.StateError, match="interleave"):
            other.load_state_dict(state)


@pytest.mark.parametrize("value", [4, (0, 1), (1, 0), (1,), (1, 2, 3), ("a", 1)])
def test_other_values_are_refused(tmp_path: Path, value: Any) -> None:
    files = written(tmp_path, "avro", [3])
    with pytest.raises(atds.OptionError, match="interleave must be the number of files"):
        atds.Dataset(files, 2, FEATURES, interleave=value)


def test_orders_that_it_would_replace_are_refused(tmp_path: Path) -> None:
    files = written(tmp_path, "avro", [3])
    for options in ({"shuffle": "blocks"}, {"shuffle_blocks": True}):
        with pytest.raises(atds.OptionError, match="interleave"):
            atds.Dataset(files, 2, FEATURES, interleave=(2, 2), **options)
