"""ATDSDataset gives the batches of :class:`atds.Dataset` as a ``tf.data.Dataset``."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atds
from conftest import avro_file
from frameworks import need

tf = need("tensorflow")
at = need("atds.tensorflow")
iterations = need("atds.tensorflow._iterations")

FEATURES = {
    "s_label": at.DenseFeature([], tf.int32),
    "s_weight": at.DenseFeature([], tf.float32),
    "s_member": at.DenseFeature([], tf.int64),
    "s_bid": at.DenseFeature([], tf.float64),
    "s_click": at.DenseFeature([], tf.bool),
    "s_country": at.DenseFeature([], tf.string),
    "d2": at.DenseFeature([16], tf.float64),
    "d7": at.DenseFeature([128], tf.float32),
    "sp0": at.SparseFeature([50_001], tf.float32),
    "sp3": at.SparseFeature([5_000_000], tf.int64),
}
LABEL = {"s_label": at.DenseFeature([], tf.int32)}


def same(tensor: Any, column: Any) -> None:
    """Asserts that a tensor equals a column of :class:`atds.Dataset`'s batch."""
    if isinstance(tensor, tf.SparseTensor):
        np.testing.assert_array_equal(tensor.indices, column.indices)
        assert tuple(tensor.dense_shape.numpy()) == column.dense_shape
        same(tensor.values, column.values)
        return
    if isinstance(tensor, tf.RaggedTensor):
        same(tensor.flat_values, column.values)
        for splits, expected in zip(tensor.nested_row_splits, column.row_splits, strict=True):
            np.testing.assert_array_equal(splits, expected)
        return
    if isinstance(column, atds.StringArray):
        expected = [item if isinstance(item, bytes) else item.encode() for item in flat(column)]
        assert tensor.numpy().reshape(-1).tolist() == expected
        assert tuple(tensor.shape) == column.shape
        return
    assert tensor.dtype == column.dtype
    np.testing.assert_array_equal(tensor, column)


def flat(strings: atds.StringArray) -> list[Any]:
    return strings.to_numpy().reshape(-1).tolist()


def labels(dataset: Any) -> list[int]:
    return [label for batch in dataset for label in batch["s_label"].numpy().tolist()]


@pytest.mark.parametrize("folder", ["clicks", "strings", "varlen"])
@pytest.mark.parametrize("calls", [None, 2, tf.data.AUTOTUNE])
def test_gives_what_atds_gives(samples: Path, folder: str, calls: int | None) -> None:
    files = str(samples / folder)
    reference = atds.Dataset(files, 64)
    dataset = at.ATDSDataset(files, 64, reference.features, num_parallel_calls=calls)
    batches = list(dataset)
    assert len(batches) == len(reference)
    # The comparison comes last, since later batches must not overwrite earlier ones.
    for batch, expected in zip(batches, reference, strict=True):
        assert list(batch) == list(expected)
        for name, tensor in batch.items():
            same(tensor, expected[name])


def test_element_spec(clicks: str) -> None:
    dataset = at.ATDSDataset(clicks, 64, FEATURES)
    assert isinstance(dataset, tf.data.Dataset)
    assert list(dataset.element_spec) == sorted(FEATURES)
    assert dataset.element_spec["d2"] == tf.TensorSpec([None, 16], tf.float64)
    assert dataset.element_spec["s_country"] == tf.TensorSpec([None], tf.string)
    assert dataset.element_spec["sp3"] == tf.SparseTensorSpec([None, 5_000_000], tf.int64)
    full = at.ATDSDataset(clicks, 64, FEATURES, drop_remainder=True)
    assert full.element_spec["d2"] == tf.TensorSpec([64, 16], tf.float64)
    assert full.element_spec["sp0"] == tf.SparseTensorSpec([64, 50_001], tf.float32)
    for batch in full.map(lambda batch: (batch["d2"], batch["sp0"])):
        assert batch[0].shape == [64, 16]
        assert batch[1].shape == [64, 50_001]
    varlen = at.ATDSDataset(clicks, 64, {"d2": at.VarlenFeature([-1], tf.float64)})
    assert varlen.element_spec == {"d2": tf.SparseTensorSpec([None, None], tf.float64)}


def test_filenames(samples: Path) -> None:
    files = sorted(str(file) for file in (samples / "clicks").glob("*.avro"))
    expected = labels(at.ATDSDataset(files, 64, LABEL))
    assert len(expected) == 200
    given: list[Any] = [
        tf.constant(files),
        np.array(files),
        [Path(file) for file in files],
        tuple(file.encode() for file in files),
        str(samples / "clicks" / "*.avro"),
        samples / "clicks",
    ]
    for filenames in given:
        assert labels(at.ATDSDataset(filenames, 64, LABEL)) == expected
    assert labels(at.ATDSDataset(tf.constant(files[0]), 64, LABEL)) == expected[:100]


def test_arguments_may_be_tensors(clicks: str) -> None:
    dataset = at.ATDSDataset(
        filenames=tf.constant(clicks),
        batch_size=tf.constant(64, tf.int64),
        features=LABEL,
        drop_remainder=tf.constant(True),
        reader_buffer_size=tf.constant(1024, tf.int64),
        shuffle_buffer_size=tf.constant(0, tf.int64),
        num_parallel_calls=tf.constant(2, tf.int64),
    )
    assert dataset.element_spec == {"s_label": tf.TensorSpec([64], tf.int32)}
    assert len(labels(dataset)) == 192


def test_transformations(samples: Path) -> None:
    files = sorted(str(file) for file in (samples / "clicks").glob("*.avro"))
    dataset = at.ATDSDataset(files, 64, LABEL)
    once = labels(dataset)
    assert labels(dataset) == once
    assert labels(dataset.repeat(3)) == once * 3
    assert labels(dataset.prefetch(2).cache().repeat(2)) == once * 2
    assert labels(dataset.take(1)) == once[:64]
    assert labels(dataset.skip(1)) == once[64:]
    assert labels(dataset.concatenate(dataset)) == once * 2
    assert [int(n) for n in dataset.unbatch().map(lambda row: row["s_label"])] == once
    assert labels(dataset.filter(lambda batch: tf.size(batch["s_label"]) == 8)) == once[192:]
    pairs = list(tf.data.Dataset.zip((dataset, dataset.skip(1))))
    assert len(pairs) == 3
    doubled = dataset.map(lambda batch: batch["s_label"] * 2, num_parallel_calls=2)
    assert [n for batch in doubled for n in batch.numpy()] == [2 * n for n in once]


@pytest.mark.parametrize("calls", [None, 2])
def test_interleave(samples: Path, calls: int | None) -> None:
    files = sorted(str(file) for file in (samples / "clicks").glob("*.avro"))
    of_each = [labels(at.ATDSDataset(file, 50, LABEL)) for file in files]
    dataset = tf.data.Dataset.from_tensor_slices(files).interleave(
        lambda file: at.ATDSDataset(file, 50, LABEL), cycle_length=2, num_parallel_calls=calls
    )
    assert dataset.element_spec == {"s_label": tf.TensorSpec([None], tf.int32)}
    first, second = of_each
    assert labels(dataset) == first[:50] + second[:50] + first[50:] + second[50:]


def test_in_a_function(clicks: str) -> None:
    @tf.function
    def total(files: Any, batch_size: Any) -> Any:
        found = tf.constant(0)
        for batch in at.ATDSDataset(files, batch_size, LABEL):
            found += tf.reduce_sum(batch["s_label"])
        return found

    expected = sum(labels(at.ATDSDataset(clicks, 64, LABEL)))
    assert int(total(tf.constant([clicks]), tf.constant(64, tf.int64))) == expected
    assert int(total(tf.constant([clicks]), tf.constant(7, tf.int64))) == expected


def test_shuffling(clicks: str, many: str) -> None:
    features = {"s_member": at.DenseFeature([], tf.int64)}

    def members(dataset: Any) -> list[int]:
        return [n for batch in dataset for n in batch["s_member"].numpy().tolist()]

    in_order = members(at.ATDSDataset(many, 512, features))

    def shuffled(**options: Any) -> Any:
        return at.ATDSDataset(many, 512, features, shuffle_buffer_size=4096, **options)

    without_seed = shuffled()
    first, second = members(without_seed), members(without_seed)
    assert sorted(first) == sorted(second) == sorted(in_order)
    assert first != second
    assert first != in_order
    seeded = shuffled(seed=7)
    epochs = [members(seeded), members(seeded)]
    assert epochs[0] != epochs[1]
    again = members(shuffled(seed=7, num_parallel_calls=2).repeat(2))
    assert again == epochs[0] + epochs[1]
    assert members(shuffled(seed=8)) != epochs[0]


def test_the_seed_of_tensorflow(many: str) -> None:
    def shuffled() -> list[int]:
        tf.random.set_seed(3)
        return labels(at.ATDSDataset(many, 512, LABEL, shuffle_buffer_size=4096))

    try:
        assert shuffled() == shuffled()
    finally:
        tf.random.set_seed(None)


# Keras warns of any data set of unknown length.
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_model_fit(clicks: str) -> None:
    features = {"d7": at.DenseFeature([128], tf.float32), **LABEL}
    dataset = at.ATDSDataset(clicks, 50, features, shuffle_buffer_size=100)
    pairs = dataset.map(lambda batch: (batch["d7"], batch["s_label"])).prefetch(1)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, activation="sigmoid")])
    model.compile(optimizer="sgd", loss="binary_crossentropy")
    history = model.fit(pairs, epochs=3, shuffle=False, verbose=0)
    assert len(history.history["loss"]) == 3
    assert model.predict(pairs, verbose=0).shape == (200, 1)


def test_features_of_atds(write: Callable[..., str]) -> None:
    nullable = ["null", "float"]
    fields = [
        {"name": "x", "type": nullable},
        {"name": "word", "type": "string"},
        {"name": "lists", "type": {"type": "array", "items": {"type": "array", "items": "int"}}},
        {"name": "blob", "type": "bytes"},
        {"name": "user", "type": {"type": "record", "name": "U", "fields": [
            {"name": "ages", "type": {"type": "array", "items": nullable}}]}},
    ]  # fmt: skip
    records = [
        {"x": None, "word": "a", "lists": [[1], [2, 3]], "blob": b"\xff", "user": {"ages": []}},
        {"x": 2.5, "word": "é", "lists": [], "blob": b"\0", "user": {"ages": [None, 4.0]}},
    ]
    features = {
        "x": atds.DenseFeature([], "float32", default=-1, mask="has_x"),
        "half": atds.DenseFeature([], "bfloat16", expression="x", default=0, cast=True),
        "id": atds.DenseFeature([], "int64", expression="word", hash_buckets=1000),
        "lists": atds.VarlenFeature([-1, -1], "int32", layout="ragged"),
        "blob": atds.DenseFeature([], "bytes"),
        "ages": atds.VarLenFeature("float32", expression="user.ages[*]", mask="has_age"),
    }
    dataset = at.ATDSDataset(write(fields, records), 2, features)
    (batch,) = dataset
    for name, tensor in batch.items():
        assert dataset.element_spec[name].is_compatible_with(tensor), name
    assert batch["x"].numpy().tolist() == [-1.0, 2.5]
    assert batch["has_x"].numpy().tolist() == [False, True]
    assert batch["half"].dtype == tf.bfloat16
    assert tf.cast(batch["half"], tf.float32).numpy().tolist() == [0.0, 2.5]
    words = tf.constant([record["word"] for record in records])
    assert (
        batch["id"].numpy().tolist() == tf.strings.to_hash_bucket_fast(words, 1000).numpy().tolist()
    )
    assert batch["lists"].to_list() == [[[1], [2, 3]], []]
    assert batch["blob"].numpy().tolist() == [b"\xff", b"\0"]
    assert tf.sparse.to_dense(batch["ages"]).numpy().tolist() == [[0.0, 0.0], [0.0, 4.0]]
    assert batch["has_age"].numpy().tolist() == [False, True]


@pytest.mark.parametrize("name", ["a.", ".a", "a[", "a.b", "a[*]", "user-id", ""])
def test_inferred_features_of_a_field_of_any_name(tmp_path: Path, name: str) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": name, "type": "long"}]}
    path = avro_file(tmp_path / "a.avro", schema, b"\x0e", b"\x10")
    (batch,) = at.ATDSDataset(path, 2, atds.infer_features(path))
    assert batch[name].numpy().tolist() == [7, 8]


def test_reader_schema(write: Callable[..., str]) -> None:
    path = write([{"name": "n", "type": "int"}], [{"n": 3}])
    schema = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "double"}]}
    features = {"n": at.DenseFeature([], tf.float64)}
    (batch,) = at.ATDSDataset(path, 1, features, reader_schema=schema)
    assert batch["n"].numpy().tolist() == [3.0]


def test_iterations_end(many: str) -> None:
    def under_way() -> int:
        gc.collect()
        return len(iterations._ITERATIONS)

    before = under_way()
    dataset = at.ATDSDataset(many, 16, LABEL)
    iterator = iter(dataset)
    next(iterator)
    assert under_way() == before + 1
    del iterator
    assert under_way() == before
    labels(dataset.take(2))
    labels(dataset)
    assert under_way() == before
    with pytest.raises(tf.errors.InvalidArgumentError):
        labels(at.ATDSDataset(many, 16, {"none": LABEL["s_label"]}))
    assert under_way() == before


def test_a_program_may_end_in_the_middle(many: str) -> None:
    program = f"""
import tensorflow as tf
from atds.tensorflow import ATDSDataset, DenseFeature
dataset = ATDSDataset({many!r}, 16, {{"s_label": DenseFeature([], tf.int32)}})
iterators = [iter(dataset), iter(dataset.prefetch(4)), iter(dataset.repeat().prefetch(4))]
for iterator in iterators:
    next(iterator)
print("done")
"""
    run = [sys.executable, "-c", program]
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        run, check=False, capture_output=True, text=True, timeout=300, env=environment
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_records_before_a_fault_are_given(numbers: str, tmp_path: Path) -> None:
    content = Path(numbers).read_bytes()
    damaged = tmp_path / "damaged.avro"
    damaged.write_bytes(content[: len(content) - 150])
    features = {"n": at.DenseFeature([], tf.int64)}
    found: list[int] = []
    with pytest.raises(tf.errors.InvalidArgumentError, match="damaged.avro"):
        for batch in at.ATDSDataset(str(damaged), 16, features):
            found += batch["n"].numpy().tolist()
    assert found == list(range(len(found)))
    assert len(found) > 500


def test_files_of_fastavro(write: Callable[..., str]) -> None:
    """Every dtype and every kind, in some ranks, from files of fastavro."""
    types: dict[str, tuple[Any, list[Any]]] = {
        "int": (tf.int32, [1, -2, 3]),
        "long": (tf.int64, [1 << 40, -5, 0]),
        "float": (tf.float32, [0.5, -1.5, 2.0]),
        "double": (tf.float64, [0.1, -1e300, 2.0]),
        "boolean": (tf.bool, [True, False, True]),
        "string": (tf.string, ["a", "", "üñ"]),
        "bytes": (tf.string, [b"\x00", b"", b"\xff\xfe"]),
    }
    for avro, (dtype, values) in types.items():
        array = {"type": "array", "items": avro}
        longs = {"type": "array", "items": "long"}
        sparse = [{"name": "indices0", "type": longs}, {"name": "values", "type": array}]
        fields = [
            {"name": "s", "type": avro},
            {"name": "d", "type": array},
            {"name": "v", "type": {"type": "array", "items": array}},
            {"name": "sp", "type": {"type": "record", "name": "S", "fields": sparse}},
        ]
        records = [
            {"s": value, "d": values, "v": [values[:i], []],
             "sp": {"indices0": list(range(i)), "values": values[:i]}}
            for i, value in enumerate(values)
        ]  # fmt: skip
        features = {
            "s": at.DenseFeature([], dtype),
            "d": at.DenseFeature([3], dtype),
            "v": at.VarlenFeature([-1, -1], dtype),
            "sp": at.SparseFeature([9], dtype),
        }
        (batch,) = at.ATDSDataset(write(fields, records), 8, features)
        expected = tf.constant(values, dtype).numpy().tolist()
        assert batch["s"].numpy().tolist() == expected
        assert batch["d"].numpy().tolist() == [expected] * 3
        few = expected[:1] + expected[:2]
        assert batch["v"].values.numpy().tolist() == few
        assert batch["v"].indices.numpy().tolist() == [[1, 0, 0], [2, 0, 0], [2, 0, 1]]
        assert batch["v"].dense_shape.numpy().tolist() == [3, 1, 2]
        assert batch["sp"].values.numpy().tolist() == few
        assert batch["sp"].indices.numpy().tolist() == [[1, 0], [2, 0], [2, 1]]
        assert batch["sp"].dense_shape.numpy().tolist() == [3, 9]
