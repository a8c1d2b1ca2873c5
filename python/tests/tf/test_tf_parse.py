"""parse_avro: expressions and features on serialized records, eagerly and in graphs."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import fastavro
import numpy as np
import pytest

from frameworks import need

tf = need("tensorflow")
at = need("atds.tensorflow")

PARTY = {"type": "record", "name": "Party", "namespace": "com.example", "fields": [
    {"name": "host", "type": {"type": "record", "name": "Host", "fields": [
        {"name": "age", "type": ["null", "int"]}]}},
    {"name": "guests", "type": {"type": "array", "items": {
        "type": "record", "name": "Guest", "fields": [
            {"name": "name", "type": "string"},
            {"name": "gender", "type": {
                "type": "enum", "name": "Gender", "symbols": ["female", "male"]}},
            {"name": "address", "type": {"type": "array", "items": {
                "type": "record", "name": "Address", "fields": [
                    {"name": "zip", "type": "long"},
                    {"name": "street_no", "type": "int"}]}}}]}}},
    {"name": "x", "type": {"type": "array", "items": "int"}},
    {"name": "rooms", "type": {"type": "map", "values": "float"}}]}  # fmt: skip


def guest(name: str, gender: str, *address: tuple[int, int]) -> dict[str, Any]:
    places = [{"zip": code, "street_no": number} for code, number in address]
    return {"name": name, "gender": gender, "address": places}


RECORDS = [
    {
        "host": {"age": None},
        "guests": [guest("Hans", "male"), guest("Mary", "female", (29040, 3))],
        "x": [0, 1, 2],
        "rooms": {"first": 1.5},
    },
    {
        "host": {"age": 30},
        "guests": [guest("Joel", "male"), guest("JoAn", "female"), guest("Marc", "male")],
        "x": [3],
        "rooms": {"second": 2.5},
    },
]


def encoded(schema: Any, records: list[dict[str, Any]]) -> list[bytes]:
    parsed, out = fastavro.parse_schema(schema), []
    for record in records:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, parsed, record)
        out.append(stream.getvalue())
    return out


SERIALIZED = encoded(PARTY, RECORDS)
SCHEMA = json.dumps(PARTY)

FEATURES = {
    "host.age:int": tf.io.FixedLenFeature([], tf.int32, default_value=-1),
    "rooms['second']": tf.io.FixedLenFeature([], tf.float32, default_value=0.0),
    "guests[1].name": tf.io.FixedLenFeature([], tf.string),
    "guests[*].name": at.VarLenFeatureWithRank(tf.string),
    "guests[gender='male'].name": tf.io.VarLenFeature(tf.string),
    "guests[*].address[*].zip": at.VarLenFeatureWithRank(tf.int64, 2),
    "guests[gender='female'].address": tf.io.SparseFeature("zip", "street_no", tf.int32, 94040),
    "x[*]": tf.io.FixedLenFeature([4], tf.int32, default_value=[7, 8, 9, 10]),
    "com.example.x[*]": tf.io.FixedLenFeature([None], tf.int32, default_value=-5),
    "com.example.Party.x[*]": tf.io.FixedLenSequenceFeature([3], tf.int32, allow_missing=True),
}


def check(parsed: dict[str, Any]) -> None:
    """Asserts that `parsed` has the values of `FEATURES`."""
    assert set(parsed) == set(FEATURES)

    def dense(name: str) -> Any:
        return parsed[name].numpy().tolist()

    def sparse(name: str) -> tuple[Any, Any, Any]:
        tensor = parsed[name]
        parts = (tensor.indices, tensor.values, tensor.dense_shape)
        indices, values, shape = (part.numpy().tolist() for part in parts)
        return indices, values, shape

    assert dense("host.age:int") == [-1, 30]
    assert dense("rooms['second']") == [0.0, 2.5]
    assert dense("guests[1].name") == [b"Mary", b"JoAn"]
    assert sparse("guests[*].name") == (
        [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]],
        [b"Hans", b"Mary", b"Joel", b"JoAn", b"Marc"],
        [2, 3],
    )
    men = ([[0, 0], [1, 0], [1, 1]], [b"Hans", b"Joel", b"Marc"], [2, 2])
    assert sparse("guests[gender='male'].name") == men
    assert sparse("guests[*].address[*].zip") == ([[0, 1, 0]], [29040], [2, 3, 1])
    assert sparse("guests[gender='female'].address") == ([[0, 0, 29040]], [3], [2, 1, 94040])
    assert dense("x[*]") == [[0, 1, 2, 10], [3, 8, 9, 10]]
    assert dense("com.example.x[*]") == [[0, 1, 2], [3, -5, -5]]
    assert dense("com.example.Party.x[*]") == [[0, 1, 2], [3, 0, 0]]
    dtypes = {
        name: feature.dtype for name, feature in FEATURES.items() if hasattr(feature, "dtype")
    }
    assert {name: tensor.dtype for name, tensor in parsed.items()} == dtypes


@pytest.mark.parametrize("schema", [SCHEMA, PARTY, tf.constant(SCHEMA)])
def test_eagerly(schema: Any) -> None:
    check(at.parse_avro(SERIALIZED, schema, FEATURES))
    check(at.parse_avro(tf.constant(SERIALIZED), schema, FEATURES, avro_names=["a", "b"]))


def test_in_a_graph() -> None:
    shapes = {}

    @tf.function
    def parse(serialized: Any, schema: Any) -> Any:
        parsed = at.parse_avro(serialized, schema, FEATURES, name="parsed")
        shapes.update({name: tensor.shape.as_list() for name, tensor in parsed.items()})
        return parsed

    check(parse(tf.constant(SERIALIZED), tf.constant(SCHEMA)))
    assert shapes["host.age:int"] == [2]
    assert shapes["x[*]"] == [2, 4]
    assert shapes["com.example.x[*]"] == [2, None]
    # As in tensorflow-io, the number of rows of a sparse tensor is unknown.
    assert shapes["guests[*].address[*].zip"] == [None, None, None]
    assert shapes["guests[gender='female'].address"] == [None, None, 94040]
    parse.get_concrete_function(tf.TensorSpec([None], tf.string), tf.TensorSpec([], tf.string))
    assert shapes["x[*]"] == [None, 4]
    assert shapes["guests[*].name"] == [None, None]


@pytest.mark.parametrize("calls", [None, 3])
def test_in_a_map(calls: int | None) -> None:
    dataset = tf.data.Dataset.from_tensor_slices(SERIALIZED).repeat(50).batch(2)
    parsed = dataset.map(lambda s: at.parse_avro(s, SCHEMA, FEATURES), num_parallel_calls=calls)
    assert parsed.element_spec["x[*]"] == tf.TensorSpec([None, 4], tf.int32)
    batches = list(parsed)
    assert len(batches) == 50
    for batch in batches:
        check(batch)


def test_keys_of_sparse_features() -> None:
    entries = {"type": "array", "items": {"type": "record", "name": "E", "fields": [
        {"name": "a", "type": "long"}, {"name": "b", "type": "long"},
        {"name": "v", "type": "float"}]}}  # fmt: skip
    schema = {"type": "record", "name": "R", "fields": [{"name": "e", "type": entries}]}
    rows = [
        {"e": [{"a": 3, "b": 1, "v": 0.5}, {"a": 1, "b": 2, "v": 1.5}]},
        {"e": []},
    ]
    serialized = encoded(schema, rows)

    def parse(name: str, feature: Any) -> list[Any]:
        tensor = at.parse_avro(serialized, schema, {name: feature})[name]
        parts = (tensor.indices, tensor.values, tensor.dense_shape)
        return [part.numpy().tolist() for part in parts]

    one = tf.io.SparseFeature("a", "v", tf.float32, 9)
    assert parse("e", one) == [[[0, 1], [0, 3]], [1.5, 0.5], [2, 9]]
    two = tf.io.SparseFeature(["b", "a"], "v", tf.float32, [5, 9])
    assert parse("e", two) == [[[0, 1, 3], [0, 2, 1]], [0.5, 1.5], [2, 5, 9]]
    kept = tf.io.SparseFeature("a", "v", tf.float32, 9, already_sorted=True)
    assert parse("e", kept) == [[[0, 3], [0, 1]], [0.5, 1.5], [2, 9]]
    rooted = tf.io.SparseFeature(["@e[*].b"], "@e[*].v", tf.float32, [5])
    assert parse("anything", rooted) == [[[0, 1], [0, 2]], [0.5, 1.5], [2, 5]]


def test_what_tensorflow_io_fails_over() -> None:
    """Cases of its documentation on which tensorflow-io crashes or gives other values."""
    lists = {"type": "array", "items": {"type": "array", "items": "int"}}
    friend = {"type": "record", "name": "F", "fields": [
        {"name": "first", "type": "string"}, {"name": "last", "type": "string"},
        {"name": "cube", "type": lists}]}  # fmt: skip
    schema = {"type": "record", "name": "R", "fields": [
        {"name": "first", "type": "string"},
        {"name": "friends", "type": {"type": "array", "items": friend}},
        {"name": "grid", "type": lists}]}  # fmt: skip

    def one(first: str, last: str, cube: list[list[int]]) -> dict[str, Any]:
        return {"first": first, "last": last, "cube": cube}

    rows = [
        {"first": "a", "friends": [one("a", "b", [[1], []]), one("b", "b", [])], "grid": [[1, 2]]},
        {"first": "b", "friends": [one("c", "b", [[2, 3]])], "grid": [[3], [4, 5], []]},
    ]
    serialized = encoded(schema, rows)

    def parse(name: str, feature: Any) -> Any:
        return at.parse_avro(serialized, schema, {name: feature})[name]

    def sparse(name: str, dtype: Any, rank: int) -> list[Any]:
        tensor = parse(name, at.VarLenFeatureWithRank(dtype, rank))
        parts = (tensor.indices, tensor.values, tensor.dense_shape)
        return [part.numpy().tolist() for part in parts]

    entries = [[0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 1]]
    assert sparse("friends[*].cube[*][*]", tf.int32, 3) == [entries, [1, 2, 3], [2, 2, 2, 2]]
    assert sparse("friends[first=last].last", tf.string, 1) == [[[0, 0]], [b"b"], [2, 1]]
    assert sparse("friends[first=@first].last", tf.string, 1) == [[[0, 0]], [b"b"], [2, 1]]
    assert sparse("friends[first='z'].last", tf.string, 1) == [[], [], [2, 0]]

    def dense(shape: list[int | None], default: Any) -> Any:
        feature = tf.io.FixedLenFeature(shape, tf.int32, default)
        return parse("grid[*][*]", feature).numpy().tolist()

    padded = [[[1, 2], [0, 0], [0, 0]], [[3, 0], [4, 5], [0, 0]]]
    assert dense([None, None], 0) == padded
    assert dense([None, 2], 0) == padded
    assert dense([None, None, 2], 0) == padded
    assert dense([3, 2], [[6, 7], [8, 9], [10, 11]]) == [
        [[1, 2], [8, 9], [10, 11]],
        [[3, 7], [4, 5], [10, 11]],
    ]


def test_defaults_of_any_form() -> None:
    def parse(shape: list[int], dtype: Any, default: Any) -> Any:
        feature = tf.io.FixedLenFeature(shape, dtype, default_value=default)
        return at.parse_avro(SERIALIZED[1:], PARTY, {"x[*]": feature})["x[*]"].numpy().tolist()

    for default in ([7, 8], (7, 8), np.array([7, 8]), tf.constant([7, 8])):
        assert parse([2], tf.int32, default) == [[3, 8]]
    flat = tf.io.FixedLenFeature([2, 2], tf.int32, default_value=[5, 6, 7, 8])
    schema = {"type": "record", "name": "R", "fields": [{"name": "m", "type": {
        "type": "array", "items": {"type": "array", "items": "int"}}}]}  # fmt: skip
    parsed = at.parse_avro(encoded(schema, [{"m": [[1]]}]), schema, {"m[*][*]": flat})
    assert parsed["m[*][*]"].numpy().tolist() == [[[1, 6], [7, 8]]]
    for one in (6, np.int32(6), tf.constant(6)):
        assert parse([2], tf.int32, one) == [[3, 6]]


def test_no_records() -> None:
    parsed = at.parse_avro(tf.constant([], tf.string), PARTY, FEATURES)
    assert parsed["x[*]"].shape == [0, 4]
    assert parsed["guests[*].name"].dense_shape.numpy().tolist() == [0, 0]


X = "x[*]"


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({}, "features is {}: name at least one"),
        (None, "features is None: name at least one"),
        ({X: 3}, "feature 'x[*]' is a int"),
        ({X: tf.io.FixedLenFeature([], None)}, "dtype 'None' is unknown"),
        ({X: tf.io.FixedLenFeature(None, tf.int32)}, "shape is None"),
        ({X: at.VarLenFeatureWithRank(None)}, "dtype 'None' is unknown"),
        ({X: at.VarLenFeatureWithRank(tf.int32, 0)}, "feature 'x[*]' has the rank 0: it is 1 or"),
        ({X: tf.io.SparseFeature(["a"], "v", tf.float32, [3, 4])}, "feature 'x[*]'"),
        ({"x[": tf.io.VarLenFeature(tf.int32)}, "feature 'x['"),
    ],
)
def test_features_that_cannot_be(features: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        at.parse_avro(SERIALIZED, PARTY, features)


@pytest.mark.parametrize("name", ["x[", "x[a=b=c]", "x[='a']", "x..y"])
def test_expressions_that_cannot_be(name: str) -> None:
    """The errors have tensorflow-io's kinds and come before anything runs."""
    features = {name: at.VarLenFeatureWithRank(tf.int32)}
    with pytest.raises(tf.errors.InvalidArgumentError, match="feature "):
        at.parse_avro(SERIALIZED, PARTY, features)
    dataset = tf.data.Dataset.from_tensors(SERIALIZED)
    with pytest.raises(tf.errors.InvalidArgumentError, match="feature "):
        dataset.map(lambda batch: at.parse_avro(batch, PARTY, features))


def test_in_a_graph_of_tensorflow_1() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        parsed = at.parse_avro(tf.constant(SERIALIZED), SCHEMA, FEATURES)
        found = session.run(parsed)
    assert found["host.age:int"].tolist() == [-1, 30]
    assert found["guests[*].name"].dense_shape.tolist() == [2, 3]


FIXED = {X: tf.io.FixedLenFeature([3], tf.int32, default_value=0)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": {"y": tf.io.FixedLenFeature([], tf.int32)}}, "has no field 'y'"),
        ({"features": {X: at.VarLenFeatureWithRank(tf.int64)}}, "feature 'x[*]'"),
        ({"features": {X: at.VarLenFeatureWithRank(tf.int32, 2)}}, "feature 'x[*]'"),
        ({"features": {X: tf.io.FixedLenFeature([3], tf.int32)}}, "x[*]"),
        ({"features": {X: tf.io.FixedLenFeature([2], tf.int32, 0)}}, "x[*]"),
        ({"reader_schema": "{"}, "schema: not JSON"),
        ({"serialized": [b"\xff"]}, "message 0"),
        ({"serialized": [SERIALIZED[0], SERIALIZED[1] + b"\0"]}, "message 1"),
    ],
)
def test_what_does_not_fit(arguments: dict[str, Any], message: str) -> None:
    given = {"serialized": SERIALIZED, "reader_schema": SCHEMA, "features": FIXED} | arguments
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
        at.parse_avro(**given)
    serialized = given.pop("serialized")
    dataset = tf.data.Dataset.from_tensors(tf.constant(serialized))
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
        list(dataset.map(lambda batch: at.parse_avro(batch, **given)))


def test_a_batch_is_a_vector() -> None:
    for serialized in (SERIALIZED[0], [SERIALIZED]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="`serialized` must be a vector"):
            at.parse_avro(serialized, SCHEMA, FIXED)
    one = tf.data.Dataset.from_tensors(SERIALIZED[0])
    with pytest.raises(ValueError, match="`serialized` must be a vector"):
        one.map(lambda record: at.parse_avro(record, SCHEMA, FIXED))
