"""Features: dtypes, kinds, options, and TensorFlow's features."""

from __future__ import annotations

import dataclasses
import json
import pickle
from datetime import date as day
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import atds
from conftest import TESTDATA, Write

DTYPES: list[tuple[Any, str]] = [
    (np.float32, "float32"),
    (np.dtype("f8"), "float64"),
    ("f4", "float32"),
    ("<i8", "int64"),
    ("int32", "int32"),
    (np.uint8, "uint8"),
    ("u2", "uint16"),
    (np.dtype("i1"), "int8"),
    ("short", "int16"),
    ("half", "float16"),
    (int, "int64"),
    (float, "float64"),
    (bool, "bool"),
    (str, "string"),
    (bytes, "bytes"),
    (np.str_, "string"),
    (np.dtype("S3"), "bytes"),
    (np.bool_, "bool"),
    ("bfloat16", "bfloat16"),
    # TensorFlow's dtypes have a name.
    (SimpleNamespace(name="string"), "string"),
    (SimpleNamespace(name="bfloat16"), "bfloat16"),
]


@pytest.mark.parametrize(("dtype", "name"), DTYPES, ids=[str(d) for d, _ in DTYPES])
def test_dtypes(dtype: Any, name: str) -> None:
    assert atds.DenseFeature([], dtype).dtype == name


def test_features_are_what_was_said() -> None:
    feature = atds.DenseFeature(8, "f4", expression="a.b", mask="has", default=np.float32(1))
    assert feature == atds.DenseFeature([8], np.float32, expression="a.b", mask="has", default=1.0)
    assert repr(feature) == (
        "DenseFeature(shape=(8,), dtype='float32', expression='a.b', default=1.0, mask='has')"
    )
    assert eval(repr(feature), vars(atds)) == feature
    with pytest.raises(AttributeError):
        feature.shape = ()  # type: ignore[misc]
    fixed = atds.FixedLenFeature([2], "int32", [1, 2])
    assert repr(fixed) == "FixedLenFeature(shape=(2,), dtype='int32', default_value=[1, 2])"
    assert repr(atds.VarLenFeature("int32")) == "VarLenFeature(dtype='int32')"


def test_numpys_own_values_are_taken(people: str) -> None:
    given: dict[str, Any] = {
        "rank": np.int64(1),
        "expression": np.str_("cars[*].power"),
        "cast": np.True_,
    }
    batch = one(people, power=atds.VarLenFeature("float64", **given))
    assert batch["power"].values.tolist() == [1.5, 2.5, 0.5]


def test_features_can_be_changed_and_pickled() -> None:
    features = [
        atds.FixedLenFeature([2], "float32", float("nan"), expression="x"),
        atds.DenseFeature([], "bytes", default=b"\xff"),
        atds.VarlenFeature([-1], "int64", vocabulary=[b"\xff", "a"], unknown=3),
        atds.VarlenFeature([-1], "int64", vocabulary=Path("words.txt")),
    ]
    for feature in features:
        assert dataclasses.replace(feature) == feature == pickle.loads(pickle.dumps(feature))
        assert dataclasses.replace(feature, mask="m").mask == "m"


@pytest.fixture
def people(write: Any) -> str:
    """Three records with nulls, an enum, a map, an array of records, dates."""
    car = {
        "type": "record",
        "name": "Car",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "power", "type": "float"},
            {"name": "colour", "type": "string"},
        ],
    }
    fields = [
        {"name": "age", "type": ["null", "int"]},
        {
            "name": "size",
            "type": {"type": "enum", "name": "Size", "symbols": ["small", "large"]},
        },
        {"name": "scores", "type": {"type": "map", "values": "double"}},
        {"name": "cars", "type": {"type": "array", "items": car}},
        {"name": "born", "type": {"type": "int", "logicalType": "date"}},
        {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
    ]
    cars = [
        {"id": 7, "power": 1.5, "colour": "red"},
        {"id": 2, "power": 2.5, "colour": "blue"},
        {"id": 5, "power": 0.5, "colour": "red"},
    ]
    records = [
        {
            "age": 31,
            "size": "small",
            "scores": {"a": 1.0, "b": 2.0},
            "cars": cars[:2],
            "born": day(1970, 1, 2),
            "tags": ["x", None],
        },
        {
            "age": None,
            "size": "large",
            "scores": {},
            "cars": [],
            "born": day(1970, 1, 1),
            "tags": [],
        },
        {
            "age": 5,
            "size": "large",
            "scores": {"a": 3.0},
            "cars": cars[2:],
            "born": day(1969, 12, 31),
            "tags": ["yes", "no", "x"],
        },
    ]
    return write(fields, records)  # type: ignore[no-any-return]


def one(path: str, /, **features: atds.Feature) -> atds.Batch:
    (batch,) = atds.Dataset(path, 8, features)
    return batch


def test_nulls_by_default_and_by_mask(people: str) -> None:
    batch = one(
        people,
        default=atds.DenseFeature([], "int32", expression="age", default=-1),
        masked=atds.DenseFeature([], "int32", expression="age", mask="has_age"),
        fixed=atds.FixedLenFeature([], "int32", -2, expression="age"),
    )
    assert batch["default"].tolist() == [31, -1, 5]
    assert batch["masked"].tolist() == [31, 0, 5]
    assert batch["has_age"].tolist() == [True, False, True]
    assert batch["has_age"].dtype == np.bool_
    assert batch["fixed"].tolist() == [31, -2, 5]


def test_casts_enums_maps_and_dates(people: str) -> None:
    batch = one(
        people,
        age=atds.DenseFeature([], "float16", cast=True, default=0),
        symbol=atds.DenseFeature([], "string", expression="size"),
        index=atds.DenseFeature([], "int32", expression="size"),
        score=atds.DenseFeature([], "float64", expression="scores['a']", default=float("nan")),
        born=atds.DenseFeature([], "int64", unit="hours"),
        ids=atds.DenseFeature([], "int64", expression="size", vocabulary=["large"], unknown=9),
        hashed=atds.DenseFeature([], "int64", expression="size", hash_buckets=1000),
    )
    assert batch["age"].tolist() == [31.0, 0.0, 5.0]
    assert batch["symbol"].to_pylist() == ["small", "large", "large"]
    assert batch["index"].tolist() == [0, 1, 1]
    assert np.array_equal(batch["score"], [1.0, np.nan, 3.0], equal_nan=True)
    assert batch["born"].tolist() == [24, 0, -24]
    assert batch["ids"].tolist() == [9, 0, 0]
    assert 0 <= batch["hashed"].min() and batch["hashed"].max() < 1000


def test_vocabularies_from_files_and_bytes(people: str, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("x\r\nno\n")
    of_tags: dict[str, Any] = {"layout": "ragged", "expression": "tags", "default": -7}
    batch = one(
        people,
        file=atds.VarlenFeature([-1], "int64", vocabulary=words, **of_tags),
        given=atds.VarlenFeature([-1], "int32", vocabulary=[b"x", "no", b"\xff"], **of_tags),
    )
    for name in ("file", "given"):
        assert batch[name].values.tolist() == [0, -7, -1, 1, 0]
        assert batch[name].row_splits[0].tolist() == [0, 2, 2, 5]


def test_path_expressions_and_filters(people: str) -> None:
    batch = one(
        people,
        power=atds.VarLenFeature("float32", expression="cars[*].power"),
        red=atds.VarLenFeature("int64", rank=None, expression="cars[colour='red'].id"),
        padded=atds.FixedLenSequenceFeature(
            [None], "int64", allow_missing=True, expression="cars[*].id"
        ),
        first=atds.DenseFeature([], "int64", expression="cars[0].id", default=-1),
    )
    assert batch["power"].indices.tolist() == [[0, 0], [0, 1], [2, 0]]
    assert batch["power"].values.tolist() == [1.5, 2.5, 0.5]
    assert batch["power"].dense_shape == (3, 2)
    assert batch["red"].values.tolist() == [7, 5]
    assert batch["padded"].tolist() == [[7, 2], [0, 0], [5, 0]]
    assert batch["first"].tolist() == [7, -1, 5]


def test_sparse_features_by_keys(people: str) -> None:
    keys: dict[str, Any] = {"index_key": "id", "value_key": "power", "dtype": "float32"}
    batch = one(
        people,
        sorted=atds.SparseFeature(size=10, expression="cars", **keys),
        given=atds.SparseFeature(size=[10], already_sorted=True, expression="cars", **keys),
    )
    assert batch["sorted"].indices.tolist() == [[0, 2], [0, 7], [2, 5]]
    assert batch["sorted"].values.tolist() == [2.5, 1.5, 0.5]
    assert batch["sorted"].dense_shape == (3, 10)
    assert batch["given"].indices.tolist() == [[0, 7], [0, 2], [2, 5]]


def test_masks_of_lists(people: str) -> None:
    batch = one(
        people,
        tags=atds.VarlenFeature([-1], "string", "ragged", mask="present", row_mask="any"),
    )
    assert batch["tags"].values.to_pylist() == ["x", "", "yes", "no", "x"]
    assert batch["present"].tolist() == [True, False, True, True, True]
    assert batch["any"].tolist() == [True, True, True]


@pytest.mark.parametrize("default", [False, True])
def test_a_default_of_a_bool(write: Any, default: bool) -> None:
    path = write([{"name": "b", "type": ["null", "boolean"]}], [{"b": None}, {"b": not default}])
    feature = atds.DenseFeature([], "bool", default=default)
    (batch,) = atds.Dataset(path, 2, {"b": feature})
    assert batch["b"].tolist() == [default, not default]


def test_defaults_of_each_place(write: Any) -> None:
    array = {"type": "array", "items": "int"}
    file = write([{"name": "a", "type": ["null", array]}], [{"a": [5, 6]}, {"a": None}, {"a": [7]}])
    batch = one(file, a=atds.DenseFeature([2], "int32", default=np.array([1, 2])))
    assert batch["a"].tolist() == [[5, 6], [1, 2], [7, 2]]


def test_false_is_a_default(write: Any) -> None:
    file = write([{"name": "b", "type": ["null", "boolean"]}], [{"b": True}, {"b": None}])
    for feature in (
        atds.DenseFeature([], "bool", expression="b", default=False),
        atds.FixedLenFeature([], "bool", False, expression="b"),
        atds.DenseFeature([], "bool", expression="b", default=np.False_),
    ):
        assert one(file, x=feature)["x"].tolist() == [True, False]


def test_frameworks_own_features_are_known_by_name(people: str) -> None:
    def made(name: str, **attributes: Any) -> Any:
        return type(name, (), attributes)()

    float32, shape = SimpleNamespace(name="float32"), SimpleNamespace(as_list=list)
    features: dict[str, Any] = {
        "age": made("FixedLenFeature", shape=shape, dtype=np.int32, default_value=np.int32(3)),
        "cars[*].power": made("VarLenFeature", dtype=float32),
        "cars": made(
            "SparseFeature",
            index_key="id",
            value_key="power",
            dtype=float32,
            size=9,
            already_sorted=False,
        ),
    }
    (batch,) = atds.Dataset(people, 8, features)
    assert batch["age"].tolist() == [31, 3, 5]
    assert batch["cars[*].power"].values.tolist() == [1.5, 2.5, 0.5]
    assert batch["cars"].values.tolist() == [2.5, 1.5, 0.5]
    ragged: dict[str, Any] = {"dtype": float32, "value_key": "cars[*].power"}
    features = {"power": made("RaggedFeature", partitions=(), **ragged)}
    (batch,) = atds.Dataset(people, 8, features)
    assert [part.tolist() for part in batch["power"]] == [[1.5, 2.5, 0.5], [0, 2, 2, 3]]
    cut = made("RaggedFeature", partitions=[made("RowLengths", key="lengths")], **ragged)
    with pytest.raises(atds.FeatureError, match=r"feature 'power': partitions= are for TFRecord"):
        atds.Dataset(people, 8, {"power": cut})
    strange = made("VarLenFeature", dtype="nothing")
    with pytest.raises(atds.FeatureError, match=r"^feature 'age': dtype 'nothing' is unknown"):
        atds.Dataset(people, 8, {"age": strange})


def test_inferred_features(samples: Path) -> None:
    features = atds.infer_features(samples / "strings")
    assert features["s_title"] == atds.DenseFeature([], "string")
    assert features["s_token"] == atds.DenseFeature([], "bytes")
    assert features["d_keys"] == atds.DenseFeature([2, 2], "bytes")
    assert features["sp_words"] == atds.SparseFeature([-1], "string")
    assert features["sp_cells"] == atds.SparseFeature([-1, -1], "bytes")
    assert atds.Dataset(samples / "strings", 8).features == features
    by_schema = atds.infer_features(samples / "strings", sample_records=0)
    assert by_schema["d_keys"] == atds.VarlenFeature([-1, -1], "bytes")
    assert atds.Dataset(samples / "strings", 8, sample_records=0).features == by_schema


def test_hash_buckets_are_tensorflows(write: Any) -> None:
    golden = json.loads((TESTDATA / "hash_golden.json").read_text())
    records = [{"x": bytes.fromhex(string["hex"])} for string in golden["strings"]]
    file = write([{"name": "x", "type": "bytes"}], records)
    assert len(records) > 100
    for i, buckets in enumerate(golden["buckets"]):
        feature = atds.DenseFeature([], "int64", hash_buckets=buckets)
        (batch,) = atds.Dataset(file, 1000, {"x": feature})
        assert batch["x"].tolist() == [string["ids"][i] for string in golden["strings"]]


LISTS = [{"name": "a", "type": {"type": "array", "items": {"type": "array", "items": "int"}}}]


def test_unknown_dimensions_without_a_default(write: Write) -> None:
    """As in TensorFlow, records of one length are dense; different lengths are an error."""
    rows = [[[1, 2, 3]], [[4, 5, 6]], [[1], [2]], [[3], [4]], [[], []], [[], []]]
    file = write(LISTS, [{"a": row} for row in rows])
    for feature in (
        atds.FixedLenFeature([None, None], "int32", expression="a[*][*]"),
        atds.FixedLenSequenceFeature([None, None], "int32", expression="a[*][*]"),
    ):
        found = [batch["x"].tolist() for batch in atds.Dataset(file, 2, {"x": feature})]
        assert found == [rows[0:2], rows[2:4], rows[4:6]]

        batches = iter(atds.Dataset(file, 3, {"x": feature}))
        assert next(batches)["x"].tolist() == rows[:2]
        with pytest.raises(atds.DataError) as caught:
            next(batches)
        assert (caught.value.block, caught.value.record, caught.value.field) == (0, 2, "x")
        said = str(caught.value)
        assert (
            "record 2: field 'x': the shape [2, 1] is not [1, 3], the shape of the first record"
            in said
        )
        assert said.endswith(": for lists of several lengths give a default= or a mask=")
    filled = atds.FixedLenFeature([None, None], "int32", 0, expression="a[*][*]")
    (batch,) = atds.Dataset(file, 6, {"x": filled})
    assert batch["x"].shape == (6, 2, 3)
