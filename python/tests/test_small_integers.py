"""The dtypes int8, int16, uint8 and uint16, everywhere that a dtype is accepted."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest

import atds
from atds.dtypes import DTYPES
from conftest import Write
from frameworks import need

SMALL: list[Any] = ["int8", "int16", "uint8", "uint16"]

FIELDS: list[dict[str, Any]] = [
    {"name": "n", "type": "int"},
    {"name": "l", "type": "long"},
    {"name": "b", "type": "boolean"},
    {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}},
    {"name": "word", "type": "string"},
    {"name": "maybe", "type": ["null", "int"]},
    {"name": "pair", "type": {"type": "array", "items": "int"}},
    {"name": "list", "type": {"type": "array", "items": "long"}},
    {
        "name": "s",
        "type": {
            "type": "record",
            "name": "S",
            "fields": [
                {"name": "indices0", "type": {"type": "array", "items": "long"}},
                {"name": "values", "type": {"type": "array", "items": "int"}},
            ],
        },
    },
]


def record(n: int) -> dict[str, Any]:
    return {
        "n": n,
        "l": 127 - n,
        "b": n % 2 == 0,
        "e": "ABC"[n % 3],
        "word": ["red", "green", "?"][n % 3],
        "maybe": n if n % 3 else None,
        "pair": [n, 100],
        "list": list(range(n % 4)),
        "s": {"indices0": [n, 3][: n % 3], "values": [n, 7][: n % 3]},
    }


RECORDS = [record(n) for n in range(100)]


@pytest.fixture
def file(write: Write) -> str:
    return write(FIELDS, RECORDS, sync_interval=500)


def features(dtype: Any) -> dict[str, atds.Feature]:
    def dense(shape: Any = (), expression: Any = None, **options: Any) -> Any:
        return atds.DenseFeature(shape, dtype, expression=expression, cast=True, **options)

    return {
        "n": dense(),
        "l": dense(),
        "b": dense(),
        "e": dense(),
        "id": atds.DenseFeature(
            [], dtype, expression="word", vocabulary=["green", "red"], unknown=9
        ),
        "maybe": dense(default=5, mask="has"),
        "pair": dense([2]),
        "padded": dense([None], "list", default=99),
        "coo": atds.VarlenFeature([-1], dtype, expression="list", cast=True),
        "ragged": atds.VarlenFeature([-1], dtype, "ragged", expression="list", cast=True),
        "s": atds.SparseFeature([100], dtype, cast=True),
        "entries": atds.SparseFeature([100], dtype, "ragged", expression="s", cast=True),
    }


@pytest.mark.parametrize("dtype", SMALL)
def test_values_are_those_that_numpy_casts_to(file: str, dtype: Any) -> None:
    dataset = atds.Dataset(file, 64, features(dtype))
    batch = next(iter(dataset))
    with open(file, "rb") as opened:
        records: list[Any] = list(fastavro.reader(opened))[:64]

    def same(found: Any, values: Any) -> None:
        assert found.dtype == np.dtype(dtype)
        assert np.array_equal(found, np.array(values).astype(dtype))

    for name in ("n", "l", "b", "pair"):
        same(batch[name], [record[name] for record in records])
    same(batch["e"], ["ABC".index(record["e"]) for record in records])
    same(batch["id"], [{"green": 0, "red": 1}.get(record["word"], 9) for record in records])
    same(batch["maybe"], [5 if r["maybe"] is None else r["maybe"] for r in records])
    assert batch["has"].tolist() == [record["maybe"] is not None for record in records]
    lists = [record["list"] for record in records]
    same(batch["padded"], [items + [99] * (3 - len(items)) for items in lists])
    values = [value for items in lists for value in items]
    same(batch["coo"].values, values)
    same(batch["ragged"].values, values)
    entries = [value for record in records for value in record["s"]["values"]]
    same(batch["s"].values, entries)
    same(batch["entries"].values, entries)
    spec = dataset.element_spec
    assert {spec[name].dtype for name in features(dtype)} == {dtype}
    assert pickle.loads(pickle.dumps(dataset)).element_spec == spec
    same(np.from_dlpack(batch["pair"]), batch["pair"])


@pytest.mark.parametrize("dtype", SMALL)
def test_the_ends_of_the_range_and_what_is_outside(write: Write, dtype: Any) -> None:
    info = np.iinfo(dtype)
    feature = {"x": atds.DenseFeature([], dtype, cast=True)}
    lists = {"x": atds.VarlenFeature([-1], dtype, "ragged", cast=True)}
    for avro in ("int", "long"):
        ends = [info.min, 0, info.max]
        file = write([{"name": "x", "type": avro}], [{"x": end} for end in ends])
        (batch,) = atds.Dataset(file, 8, feature)
        assert batch["x"].tolist() == ends
        for outside in (info.min - 1, info.max + 1):
            message = f"record 1: field 'x': {outside} is not in the range of {dtype}"
            file = write([{"name": "x", "type": avro}], [{"x": 0}, {"x": outside}])
            with pytest.raises(atds.DataError, match=message):
                list(atds.Dataset(file, 8, feature))
            many = {"type": "array", "items": avro}
            file = write([{"name": "x", "type": many}], [{"x": []}, {"x": [0, outside]}])
            with pytest.raises(atds.DataError, match=f"{outside} is not in the range of {dtype}"):
                list(atds.Dataset(file, 8, lists))
    with pytest.raises(atds.FeatureError, match="ask for it with cast=True"):
        atds.Dataset(file, 8, {"x": atds.VarlenFeature([-1], dtype)})
    for bad in (info.min - 1, info.max + 1, 0.5):
        with pytest.raises(atds.FeatureError, match=f"which is not of dtype {dtype}"):
            atds.Dataset(file, 8, {"x": atds.VarlenFeature([-1], dtype, default=bad)})


def test_a_vocabulary_has_to_fit(write: Write) -> None:
    file = write([{"name": "x", "type": "string"}], [{"x": "a"}])
    words = [str(word) for word in range(129)]
    with pytest.raises(
        atds.FeatureError, match="the vocabulary has the id 128, which is outside int8"
    ):
        atds.Dataset(file, 8, {"x": atds.DenseFeature([], "int8", vocabulary=words)})
    with pytest.raises(
        atds.FeatureError, match="the vocabulary has the id -1, which is outside uint8"
    ):
        atds.Dataset(file, 8, {"x": atds.DenseFeature([], "uint8", vocabulary=words)})
    feature = atds.DenseFeature([], "uint8", vocabulary=words, unknown=200)
    (batch,) = atds.Dataset(file, 8, {"x": feature})
    assert batch["x"].tolist() == [200]


def test_all_dtypes_have_a_numpy_array_or_an_array_of_their_own(write: Write) -> None:
    file = write([{"name": "x", "type": "int"}], [{"x": 1}])
    for dtype in DTYPES:
        if dtype not in ("string", "bytes"):
            (batch,) = atds.Dataset(file, 1, {"x": atds.DenseFeature([], dtype, cast=True)})
            assert str(batch["x"].dtype) == dtype
            assert np.array(batch["x"]).astype(float).tolist() == [1.0]


@pytest.mark.parametrize("dtype", SMALL)
def test_arrow(file: str, dtype: Any) -> None:
    table = pa.table(atds.Dataset(file, 64, features(dtype)))
    arrow = pa.from_numpy_dtype(np.dtype(dtype))
    assert table["n"].type == arrow
    assert table["n"].to_pylist() == list(range(100))
    assert table["ragged"].type.value_type == arrow
    assert table["ragged"].to_pylist() == [record["list"] for record in RECORDS]
    assert table["pair"].to_pylist() == [record["pair"] for record in RECORDS]
    assert table["maybe"].to_pylist() == [n if n % 3 else 5 for n in range(100)]


@pytest.mark.parametrize("dtype", SMALL)
def test_torch(file: str, dtype: Any) -> None:
    torch = need("torch")
    if not hasattr(torch, dtype):
        pytest.skip(f"this PyTorch has no {dtype}")
    import atds.torch

    batch = next(iter(atds.torch.Dataset(file, 64, features(dtype), sparse="bag")))
    assert batch["n"].dtype == getattr(torch, dtype)
    assert batch["pair"].tolist() == [[n, 100] for n in range(64)]
    assert batch["ragged"].values.dtype == batch["n"].dtype
    assert batch["s"].per_sample_weights.dtype == batch["n"].dtype
    assert torch.from_dlpack(next(iter(atds.Dataset(file, 64, features(dtype))))["n"]).tolist() == [
        *range(64)
    ]


@pytest.mark.parametrize("dtype", SMALL)
def test_jax(file: str, dtype: Any) -> None:
    jax = need("jax")
    import atds.jax

    names = ("n", "maybe", "pair")
    dense = {name: feature for name, feature in features(dtype).items() if name in names}
    batch = next(iter(atds.jax.iterate(atds.Dataset(file, 64, dense))))
    batch = batch[0] if isinstance(batch, tuple) else batch
    assert batch["pair"].dtype == getattr(jax.numpy, dtype)
    assert batch["pair"].tolist() == [[n, 100] for n in range(64)]


@pytest.mark.parametrize("dtype", SMALL)
def test_tensorflow(file: str, dtype: Any) -> None:
    tf = need("tensorflow")
    import atds.tensorflow as at

    asked = {name: one for name, one in features(dtype).items() if name != "entries"}
    dataset = at.ATDSDataset(file, 64, asked)
    batch = next(iter(dataset))
    for name, tensor in batch.items():
        assert dataset.element_spec[name].is_compatible_with(tensor), name
    assert batch["pair"].dtype == getattr(tf, dtype)
    assert batch["pair"].numpy().tolist() == [[n, 100] for n in range(64)]
    assert batch["ragged"].to_list() == [record(n)["list"] for n in range(64)]
    assert batch["s"].values.dtype == batch["n"].dtype
    arrays = next(iter(atds.Dataset(file, 64, asked)))
    assert arrays["ragged"].to_tf().dtype == getattr(tf, dtype)
    assert arrays["s"].to_tf().dtype == getattr(tf, dtype)


@pytest.mark.parametrize("size", [0, 1, 5])
def test_bytes_and_fixed_are_uint8_lists(write: Write, size: int) -> None:
    fixed = {"type": "fixed", "name": "F", "size": 6}
    fields = [
        {"name": "image", "type": fixed},
        {"name": "blob", "type": "bytes"},
        {"name": "maybe", "type": ["null", "bytes"]},
    ]
    rng = np.random.default_rng(size)
    lengths = rng.integers(0, 300, 50) * (size > 0)
    records = [
        {"image": rng.bytes(6), "blob": rng.bytes(n), "maybe": rng.bytes(n % 4) if n % 3 else None}
        for n in lengths
    ]
    file = write(fields, records)
    features = {
        "image": atds.DenseFeature([6], "uint8"),
        "square": atds.FixedLenFeature([2, 3], np.uint8, expression="image"),
        "blob": atds.VarlenFeature([-1], "uint8", "ragged"),
        "coo": atds.VarlenFeature([-1], "uint8", expression="blob"),
        "padded": atds.DenseFeature([None], "uint8", expression="blob", default=9),
        "maybe": atds.DenseFeature([3], "uint8", default=9, mask="has"),
        "text": atds.DenseFeature([], "bytes", expression="blob"),
    }
    (batch,) = atds.Dataset(file, 64, features)
    with open(file, "rb") as opened:
        read: list[Any] = list(fastavro.reader(opened))
    images = np.stack([np.frombuffer(record["image"], np.uint8) for record in read])
    assert batch["image"].dtype == np.uint8
    assert np.array_equal(batch["image"], images)
    assert np.array_equal(batch["square"], images.reshape(-1, 2, 3))
    blobs = [record["blob"] for record in read]
    joined = np.frombuffer(b"".join(blobs), np.uint8)
    assert np.array_equal(batch["blob"].values, joined)
    assert np.diff(batch["blob"].row_splits[0]).tolist() == [len(blob) for blob in blobs]
    assert np.array_equal(batch["coo"].values, joined)
    assert batch["padded"].shape == (50, max(map(len, blobs)))
    for row, blob in zip(batch["padded"], blobs, strict=True):
        assert row.tobytes() == blob.ljust(len(row), b"\t")
    for row, has, record in zip(batch["maybe"], batch["has"], read, strict=True):
        there = record["maybe"] or b""
        assert row.tobytes() == there.ljust(3, b"\t")
        assert has.tolist() == [i < len(there) for i in range(3)]
    assert batch["text"].tolist() == blobs


def test_what_is_no_list_of_bytes(write: Write) -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
    fields = [
        {"name": "price", "type": decimal},
        {"name": "text", "type": "string"},
        {"name": "blob", "type": "bytes"},
    ]
    file = write(fields, [{"price": Decimal("1.23"), "text": "a", "blob": b"abc"}])
    for name, message in [
        ("price", "read as int64, float64 or string, not uint8"),
        ("text", "read as string, not uint8"),
    ]:
        with pytest.raises(atds.FeatureError, match=message):
            atds.Dataset(file, 1, {name: atds.DenseFeature([], "uint8")})
    with pytest.raises(atds.FeatureError, match="shape"):
        atds.Dataset(file, 1, {"blob": atds.DenseFeature([], "uint8")})
    with pytest.raises(atds.FeatureError, match="read as uint8 or string, not int8"):
        atds.Dataset(file, 1, {"blob": atds.DenseFeature([], "int8")})
    with pytest.raises(atds.DataError, match="an array of 3 values, where the shape says 4"):
        list(atds.Dataset(file, 1, {"blob": atds.DenseFeature([4], "uint8")}))
