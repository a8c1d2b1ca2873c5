"""Errors have the kinds of tensorflow-io, and messages that say what to change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import atds
from frameworks import need

tf = need("tensorflow")
at = need("atds.tensorflow")

LABEL = {"s_label": at.DenseFeature([], tf.int32)}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: at.DenseFeature(None, tf.int32),
            "the shape of a DenseFeature is None: give a list",
        ),
        (lambda: at.DenseFeature([0], tf.int32), "DenseFeature is [0]: a dimension is above 0"),
        (lambda: at.DenseFeature([-1], tf.int32), "DenseFeature is [-1]: a dimension is above 0"),
        (lambda: at.DenseFeature([None], tf.int32), "DenseFeature is [None]: a dimension is above"),
        (lambda: at.VarlenFeature([0], tf.int32), "[0]: a dimension is above 0, or -1 where it"),
        (lambda: at.SparseFeature([], tf.int32), "a SparseFeature has at least one dimension"),
        (lambda: at.DenseFeature([], None), "the dtype of a DenseFeature is None: it is one of tf"),
        (lambda: at.DenseFeature([], tf.uint8), "is tf.uint8: it is one of tf.int32, tf.int64"),
        (
            lambda: at.VarlenFeature([-1], tf.complex64),
            "tf.float32, tf.float64, tf.string, tf.bool",
        ),
    ],
)
def test_features(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_features_are_named_tuples() -> None:
    feature = at.SparseFeature([8], tf.int32)
    assert feature == (([8]), tf.int32)
    assert feature._fields == ("shape", "dtype")
    assert str(feature) == "SparseFeature(shape=[8], dtype=tf.int32)"
    assert at.VarLenFeatureWithRank(tf.int32).rank == 1
    assert at.VarLenFeatureWithRank(tf.int32, 2).dtype is tf.int32


def test_names_of_any_text(tmp_path: Path) -> None:
    names = ["user-id", "größe", "1st", "", "a."]
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": name, "type": "long"} for name in names],
    }
    text = json.dumps(schema).encode()
    sync = b"0123456789abcdef"
    header = b"Obj\1\2\x16avro.schema" + bytes([(2 * len(text)) & 127 | 128, len(text) >> 6])
    path = tmp_path / "any.avro"
    path.write_bytes(header + text + b"\0" + sync + b"\2\x0a\0\2\4\6\x08" + sync)
    features = {name: at.DenseFeature([], tf.int64) for name in [*names[:4], "'a.'"]}
    (batch,) = at.ATDSDataset(str(path), 8, features)
    assert [int(batch[name][0]) for name in features] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (None, "features is a NoneType: give a dict of names and features"),
        ({}, "features is empty: name at least one"),
        ({"a": 3}, "feature 'a' is a int: give one such as"),
        (
            {"a": tf.io.FixedLenFeature([], tf.uint32)},
            "feature 'a': dtype 'tf.uint32' is unknown",
        ),
        ({"a.": LABEL["s_label"]}, "feature 'a.'"),
        (
            {"a": atds.SparseFeature([3], "int32", layout="ragged")},
            "TensorFlow has no ragged form of a sparse feature",
        ),
    ],
)
def test_features_of_a_data_set(clicks: str, features: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        at.ATDSDataset(clicks, 4, features)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "`batch_size` must be 1 or more, but is 0"),
        ({"batch_size": -3}, "`batch_size` must be 1 or more, but is -3"),
        ({"reader_buffer_size": 0}, "`reader_buffer_size` must be 1 or more, but is 0"),
        ({"shuffle_buffer_size": -1}, "`shuffle_buffer_size` must be 0 or more, but is -1"),
        ({"num_parallel_calls": 0}, "must be 1 or more, or tf.data.AUTOTUNE, but is 0"),
        ({"num_parallel_calls": -2}, "must be 1 or more, or tf.data.AUTOTUNE, but is -2"),
        ({"filenames": [["a"]]}, "`filenames` must be a name or a vector of names"),
    ],
)
def test_options(clicks: str, options: dict[str, Any], message: str) -> None:
    arguments = {"filenames": clicks, "batch_size": 4, "features": LABEL} | options
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
        at.ATDSDataset(**arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerate": "checksums"}, "tolerate must be of 'trailing-block-bytes'"),
        ({"tolerate": ["utf8", 3]}, "several of them, not 3"),
        ({"max_block_bytes": 0}, "max_block_bytes must be a whole number, 1 to"),
        ({"max_depth": 301}, "max_depth must be a whole number, 1 to 300, or None, not 301"),
    ],
)
def test_options_that_are_no_tensors(clicks: str, options: dict[str, Any], message: str) -> None:
    for make in (
        lambda: at.ATDSDataset(clicks, 4, LABEL, **options),
        lambda: at.AvroRecordDataset(clicks, **options),
        lambda: at.make_avro_record_dataset(clicks, LABEL, 4, "int", **options),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            make()


def test_what_an_error_names_reads_the_file(numbers: str, tmp_path: Path) -> None:
    path = tmp_path / "padded.avro"
    path.write_bytes(Path(numbers).read_bytes() + bytes(100))
    features = {"n": tf.io.FixedLenFeature([], tf.int64)}
    schema = atds.read_schema(numbers)
    makers: list[Callable[..., Any]] = [
        lambda **options: at.ATDSDataset(
            str(path), 1, {"n": at.DenseFeature([], tf.int64)}, **options
        ),
        lambda **options: at.AvroRecordDataset(str(path), **options),
        lambda **options: at.make_avro_record_dataset(
            str(path), features, 1, schema, num_epochs=1, **options
        ),
    ]
    count = len(list(at.AvroRecordDataset(numbers)))
    for make in makers:
        with pytest.raises(tf.errors.InvalidArgumentError, match="tolerate='trailing-file-bytes'"):
            list(make())
        assert len(list(make(tolerate="trailing-file-bytes"))) == count
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(tf.errors.InvalidArgumentError, match="raise max_block_bytes="):
            list(make(max_block_bytes=8))
        assert len(list(make(max_block_bytes=1 << 20, max_depth=1))) == count
        path.write_bytes(path.read_bytes() + bytes(100))


@pytest.mark.parametrize(
    "options",
    [
        {"filenames": 3},
        {"batch_size": 1.5},
        {"drop_remainder": "yes"},
        {"shuffle_buffer_size": "many"},
        {"num_parallel_calls": 1.5},
    ],
)
def test_types_of_options(clicks: str, options: dict[str, Any]) -> None:
    arguments = {"filenames": clicks, "batch_size": 4, "features": LABEL} | options
    # TensorFlow raises these for a value that does not convert to a tensor of the type.
    with pytest.raises((TypeError, ValueError)):
        at.ATDSDataset(**arguments)


def test_options_in_a_graph(clicks: str) -> None:
    """In a graph, invalid options are found when it runs."""
    sizes = tf.data.Dataset.from_tensors(tf.constant(0, tf.int64))
    dataset = sizes.flat_map(lambda size: at.ATDSDataset(clicks, size, LABEL))
    with pytest.raises(tf.errors.InvalidArgumentError, match="batch_size must be a whole number"):
        list(dataset)


def fields(name: str, avro: Any) -> list[dict[str, Any]]:
    return [{"name": name, "type": avro}]


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        ({"m": at.DenseFeature([], tf.int64)}, "feature 'm': the schema has no field 'm'"),
        ({"n": at.DenseFeature([], tf.int64)}, "feature 'n'"),
        ({"n": at.DenseFeature([2], tf.int32)}, "feature 'n'"),
        ({"n": at.SparseFeature([2], tf.int32)}, "feature 'n'"),
    ],
)
def test_features_that_a_file_does_not_have(
    write: Callable[..., str], feature: dict[str, Any], message: str
) -> None:
    dataset = at.ATDSDataset(write(fields("n", "int"), [{"n": 1}]), 1, feature)
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
        list(dataset)


def test_values_that_do_not_fit(write: Callable[..., str]) -> None:
    array = {"type": "array", "items": "int"}
    path = write(fields("a", array), [{"a": [1, 2]}, {"a": [1]}])
    with pytest.raises(tf.errors.InvalidArgumentError, match="record 1: field 'a'"):
        list(at.ATDSDataset(path, 1, {"a": at.DenseFeature([2], tf.int32)}))
    path = write(fields("n", ["null", "int"]), [{"n": 1}, {"n": None}])
    with pytest.raises(tf.errors.InvalidArgumentError, match="record 1: field 'n'"):
        list(at.ATDSDataset(path, 1, {"n": at.DenseFeature([], tf.int32)}))


@pytest.mark.parametrize(
    "read",
    [
        lambda file: at.ATDSDataset(file, 1, LABEL),
        lambda file: at.AvroRecordDataset(file),
        lambda file: at.AvroRecordDataset([file], num_parallel_reads=2, num_parallel_calls=2),
    ],
)
def test_files(tmp_path: Path, read: Callable[[str], Any]) -> None:
    missing = str(tmp_path / "missing.avro")
    with pytest.raises(tf.errors.NotFoundError, match="missing.avro; No such file"):
        list(read(missing))
    other = tmp_path / "other.avro"
    other.write_text("no Avro")
    with pytest.raises(tf.errors.InvalidArgumentError, match="not an Avro object container file"):
        list(read(str(other)))


def test_file_systems(numbers: str) -> None:
    """File systems of tf.io.gfile. Only the local one is read."""
    features = {"n": at.DenseFeature([], tf.int64)}
    assert len(list(at.ATDSDataset(f"file://{numbers}", 1000, features))) == 1
    assert len(list(at.AvroRecordDataset([f"file://{numbers}"]).batch(1000))) == 1
    missing = f"file://{numbers}.none.avro"
    for made in (at.ATDSDataset(missing, 1, features), at.AvroRecordDataset(missing)):
        with pytest.raises(tf.errors.NotFoundError, match="none.avro; No such file"):
            list(made)
    for made in (
        at.ATDSDataset("gs://bucket/a.avro", 1, features),
        at.AvroRecordDataset("gs://bucket/a.avro"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="gs:// is not read yet"):
            list(made)


def test_no_files() -> None:
    none = tf.constant([], tf.string)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="filenames is empty: give at least one file"
    ):
        list(at.ATDSDataset(none, 1, LABEL))
    assert list(at.AvroRecordDataset(none)) == []


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"filenames": [1]}, TypeError, "`filenames` must be of `tf.string`, not of"),
        ({"filenames": tf.data.Dataset.range(3)}, TypeError, "`tf.data.Dataset` of `tf.string`"),
        (
            {"filenames": tf.data.Dataset.from_tensors(["a"])},
            TypeError,
            "must be a `tf.data.Dataset` of scalars",
        ),
        ({"num_parallel_calls": 2}, ValueError, "must be num_parallel_calls (2) or more"),
        (
            {"num_parallel_reads": 1, "num_parallel_calls": 2},
            ValueError,
            "num_parallel_reads must be num_parallel_calls (2) or more, or tf.data.AUTOTUNE, not 1",
        ),
        (
            {"num_parallel_reads": 1, "num_parallel_calls": 0},
            ValueError,
            "num_parallel_calls must be above 0, tf.data.AUTOTUNE or None, not 0",
        ),
        ({"buffer_size": -1}, tf.errors.InvalidArgumentError, "`buffer_size` must be 0 or more"),
    ],
)
def test_options_of_records(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        at.AvroRecordDataset(**({"filenames": "a.avro"} | options))


def test_schemas_of_records(numbers: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="reader_schema: schema: not JSON"):
        list(at.AvroRecordDataset(numbers, reader_schema="{"))
    other = {"type": "record", "name": "R", "fields": fields("m", "int")}
    with pytest.raises(tf.errors.InvalidArgumentError, match="m"):
        list(at.AvroRecordDataset(numbers, reader_schema=other))
