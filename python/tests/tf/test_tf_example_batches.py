"""ATDSDataset with TFRecord files, beside a data set of TensorFlow that parses batches."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_tf_examples import CASES, KINDS, row

import atds
from frameworks import need

tf = need("tensorflow")
at = need("atds.tensorflow")
Columns = need("atds.tensorflow._columns").Columns

F = tf.io
R = F.RaggedFeature

ALL: dict[str, Any] = {
    **{f"{case}": features for case, features in CASES.items()},
    "partitions": {
        "r": R(tf.float32, "pairs", [R.UniformRowLength(1)], row_splits_dtype=tf.int64),
        "ids": R(tf.float32, "pairs", [R.UniformRowLength(2)], row_splits_dtype=tf.int64),
    },
    "row splits": {
        "of the default": R(tf.int64, "ints"),
        "int32": R(tf.float32, "pairs", [R.UniformRowLength(2)], row_splits_dtype=tf.int32),
        "int64": R(tf.string, "texts", row_splits_dtype=tf.int64),
    },
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("examples")
    rng = random.Random(2)
    for name in ("a", "b"):
        atds.write(folder / f"{name}.tfrecord", (row(rng) for _ in range(70)), KINDS)
    return [str(folder / f"{name}.tfrecord") for name in ("a", "b")]


def assert_same(ours: Any, theirs: Any, features: dict[str, Any]) -> None:
    found = list(ours)
    expected = list(theirs.map(lambda records: F.parse_example(records, features)))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        for name, tensor in other.items():
            if isinstance(tensor, tf.RaggedTensor):
                assert one[name].to_list() == tensor.to_list(), name
                assert one[name].row_splits.dtype == tensor.row_splits.dtype, name
            elif isinstance(tensor, tf.SparseTensor):
                for part in ("indices", "values", "dense_shape"):
                    parts = (getattr(of, part).numpy().tolist() for of in (one[name], tensor))
                    assert len({str(part) for part in parts}) == 1, name
            else:
                assert one[name].dtype == tensor.dtype
                assert one[name].numpy().tolist() == tensor.numpy().tolist(), name
                assert one[name].shape == tensor.shape, name


@pytest.mark.parametrize("batch_size", [16, 50])
@pytest.mark.parametrize("case", ALL)
def test_elements_are_those_of_parse_example(files: list[str], case: str, batch_size: int) -> None:
    features = ALL[case]
    records = tf.data.TFRecordDataset(files).batch(batch_size)
    ours = at.ATDSDataset(files, batch_size, features, num_parallel_calls=2)
    assert_same(ours, records, features)
    theirs = records.map(lambda one: F.parse_example(one, features)).element_spec
    for name, spec in theirs.items():
        assert type(ours.element_spec[name]) is type(spec), name
        assert ours.element_spec[name].dtype == spec.dtype, name
        if isinstance(spec, tf.RaggedTensorSpec):
            assert ours.element_spec[name].row_splits_dtype == spec.row_splits_dtype, name
        else:
            # Ours has the sizes of a sparse tensor, too.
            assert ours.element_spec[name].is_compatible_with(spec) or spec.shape.rank == len(
                ours.element_spec[name].shape
            ), name


def test_the_format_is_told_in_three_ways(files: list[str], tmp_path: Path) -> None:
    features = CASES["sequences"]
    records = tf.data.TFRecordDataset(files[0]).batch(16)
    plain = str(tmp_path / "examples")
    shutil.copy(files[0], plain)
    assert_same(at.ATDSDataset(files[0], 16, features), records, features)
    assert_same(at.ATDSDataset(plain, 16, features), records, features)
    assert_same(at.ATDSDataset(plain, 16, features, format="tfrecord"), records, features)

    # In a graph the names of files are not known.
    def of_file(name: Any) -> Any:
        return at.ATDSDataset(name, 16, features, format="tfrecord")

    names = tf.data.Dataset.from_tensors(files[0])
    assert_same(names.interleave(of_file), records, features)


def test_more_values_than_int32_counts() -> None:
    columns = Columns(
        {"x": atds.VarLenFeature("int64", layout="ragged")}, splits_dtypes={"x": tf.int32}
    )

    def batch(count: int) -> Any:
        # The values do not matter.
        return {"x": atds.RaggedTensor(np.zeros(1), np.array([0, count]))}

    assert columns.arrays(batch(2**31 - 1))[1].tolist() == [0, 2**31 - 1]
    with pytest.raises(atds.DataError, match="'x': a batch has 2147483648 values"):
        columns.arrays(batch(2**31))
