"""Sparse, ragged and string columns, and conversions to other libraries."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

import atds
from frameworks import need

IDS = "ask for ids with hash_buckets= or vocabulary="


@pytest.fixture
def batch(write: Any) -> atds.Batch:
    """Three rows with all kinds of columns."""
    ints = {"type": "array", "items": "int"}
    cells = {
        "type": "record",
        "name": "Cells",
        "fields": [
            {"name": "indices0", "type": {"type": "array", "items": "long"}},
            {"name": "values", "type": {"type": "array", "items": "float"}},
        ],
    }
    fields = [
        {"name": "pair", "type": {"type": "array", "items": "float"}},
        {"name": "wide", "type": "long"},
        {"name": "flag", "type": "boolean"},
        {"name": "list", "type": ints},
        {"name": "deep", "type": {"type": "array", "items": ints}},
        {"name": "cells", "type": cells},
        {"name": "text", "type": "string"},
        {"name": "words", "type": {"type": "array", "items": "string"}},
    ]
    records = [
        {
            "pair": [1.0, 2.0],
            "wide": 1 << 40,
            "flag": True,
            "list": [1, 2],
            "deep": [[1], [], [2, 3]],
            "cells": {"indices0": [4, 1], "values": [0.5, 1.5]},
            "text": "één",
            "words": ["a", "bc"],
        },
        {
            "pair": [3.0, 4.0],
            "wide": -1,
            "flag": False,
            "list": [],
            "deep": [],
            "cells": {"indices0": [], "values": []},
            "text": "",
            "words": [],
        },
        {
            "pair": [5.0, 6.0],
            "wide": 0,
            "flag": True,
            "list": [3],
            "deep": [[4, 5]],
            "cells": {"indices0": [0], "values": [2.5]},
            "text": "x",
            "words": ["d"],
        },
    ]
    features = {
        "pair": atds.DenseFeature([2], "float32"),
        "brain": atds.DenseFeature([2], "bfloat16", expression="pair", cast=True),
        "half": atds.DenseFeature([2], "float16", expression="pair", cast=True),
        "double": atds.DenseFeature([2], "float64", expression="pair", cast=True),
        "wide": atds.DenseFeature([], "int64"),
        "flag": atds.DenseFeature([], "bool"),
        "coo": atds.VarlenFeature([-1], "int32", expression="list"),
        "list": atds.VarlenFeature([-1], "int32", layout="ragged"),
        "deep": atds.VarlenFeature([-1, -1], "int32", layout="ragged"),
        "cells": atds.SparseFeature([5], "float32"),
        "rows": atds.SparseFeature([5], "float32", layout="ragged", expression="cells"),
        "text": atds.DenseFeature([], "string"),
        "words": atds.VarlenFeature([-1], "string", layout="ragged"),
        "words_coo": atds.VarlenFeature([-1], "string", expression="words"),
    }
    (batch,) = atds.Dataset(write(fields, records), 8, features)
    return batch


DENSE_CELLS = [[0, 1.5, 0, 0, 0.5], [0, 0, 0, 0, 0], [2.5, 0, 0, 0, 0]]
NUMBERS = ("pair", "half", "double", "wide", "flag")


def test_parts_are_tuples(batch: atds.Batch) -> None:
    indices, values, dense_shape = batch["cells"]
    assert indices.tolist() == [[0, 4], [0, 1], [2, 0]]
    assert values.tolist() == [0.5, 1.5, 2.5]
    assert dense_shape == (3, 5)
    values, splits = batch["list"]
    assert (values.tolist(), splits.tolist()) == ([1, 2, 3], [0, 2, 2, 3])
    values, outer, inner = batch["deep"]
    assert batch["deep"].row_splits == (outer, inner)
    assert (values.tolist(), outer.tolist()) == ([1, 2, 3, 4, 5], [0, 3, 3, 4])
    assert inner.tolist() == [0, 1, 1, 3, 5]
    indices, values, splits = batch["rows"]
    assert (indices.tolist(), splits.tolist()) == ([[4], [1], [0]], [0, 2, 2, 3])
    assert batch["rows"].dense_shape == (3, 5)


def test_all_parts_can_be_written_to(batch: atds.Batch) -> None:
    for name in NUMBERS:
        assert batch[name].flags.writeable
        batch[name][...] = 0
        assert not batch[name].any()
    for part in (*batch["cells"][:2], *batch["list"], *batch["rows"], batch["brain"].bits):
        part[...] = 1
        assert (part == 1).all()
    for part in (batch["text"].offsets, batch["text"].data):
        assert not part.flags.writeable


def test_strings(batch: atds.Batch) -> None:
    text = batch["text"]
    assert text.to_pylist() == ["één", "", "x"] == list(text) == text.to_numpy().tolist()
    assert (text.shape, text.ndim, text.size, len(text)) == ((3,), 1, 3, 3)
    assert text.nbytes == 4 * 8 + len("één".encode()) + 1
    assert text[0] == "één" and text[-1] == "x"
    assert (text == np.array(["één", "", "y"], dtype=object)).tolist() == [True, True, False]
    assert np.asarray(text).dtype == object
    assert np.array(text, dtype="U3").tolist() == ["één", "", "x"]
    with pytest.raises(IndexError):
        text[3]
    table = batch["words"].values.reshape(-1, 1)
    assert (table.shape, table.to_pylist()) == ((3, 1), [["a"], ["bc"], ["d"]])
    assert table[1].to_pylist() == ["bc"] == list(table)[1].to_pylist()
    with pytest.raises(ValueError, match="which needs a copy"):
        np.asarray(text, copy=False)
    assert (text[1:].to_pylist(), text[:-1].to_pylist()) == (["", "x"], ["één", ""])
    assert (text[2:1].shape, text[2:1].to_pylist(), text[:9].shape) == ((0,), [], (3,))
    assert (table[1:].shape, table[1:].to_pylist()) == ((2, 1), [["bc"], ["d"]])
    assert table[1:][1:].to_pylist() == [["d"]]
    assert text[1:].data.ctypes.data == text.data.ctypes.data
    assert text[::-2].tolist() == ["x", "één"]


def array_of(*strings: bytes, binary: bool = False) -> atds.StringArray:
    """The strings as a part of a larger array."""
    offsets = 3 + np.cumsum([0, *map(len, strings)])
    return atds.StringArray(
        offsets, np.frombuffer(b"..." + b"".join(strings), np.uint8), None, binary
    )


WORDS = [b"b", b"", "é".encode(), b"abc", b"b", b"a\x00"]

PLACES: list[Any] = [
    0,
    -1,
    np.int32(2),
    slice(None),
    slice(1, -1),
    slice(None, None, -2),
    slice(4, 1),
    [],
    [0, -1, 0],
    np.array([5, 2], np.uint8),
    np.array([[0, 1], [2, 3]]),
    [True, False, True, False, False, True],
    np.zeros(6, bool),
    ...,
    (),
    None,
    (slice(None), None),
]


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("shape", [(6,), (2, 3), (3, 2, 1)], ids=str)
def test_strings_are_indexed_as_in_numpy(place: Any, shape: tuple[int, ...]) -> None:
    strings = array_of(*WORDS).reshape(*shape)
    objects = strings.to_numpy()
    try:
        expected = objects[place]
    except IndexError:
        with pytest.raises(IndexError):
            strings[place]
        return
    found = strings[place]
    if isinstance(expected, np.ndarray):
        assert isinstance(found, atds.StringArray)
        assert (found.shape, found.tolist()) == (expected.shape, expected.tolist())
        assert found.offsets.dtype == np.int64
        assert not found.data.flags.writeable
    else:
        assert found == expected


def test_strings_are_indexed_by_several_places_as_in_numpy() -> None:
    strings = array_of(*WORDS).reshape(2, 3)
    assert strings[1, 0] == "abc" == strings[-1, -3]
    assert strings[:, 1].tolist() == ["", "b"]
    assert strings[..., [0, 2]].tolist() == [["b", "é"], ["abc", "a\x00"]]
    assert strings[strings == "b"].tolist() == ["b", "b"]
    one = atds.StringArray(np.array([0, 1]), np.frombuffer(b"x", np.uint8), ())
    assert (one[()], one.tolist(), one == "x") == ("x", "x", True)
    for place in (6, -7, 1.5, "b", [7], [True], array_of(b"b")):
        with pytest.raises(IndexError):
            array_of(*WORDS)[place]


@pytest.mark.parametrize("binary", [False, True])
def test_strings_are_compared_one_by_one(binary: bool) -> None:
    strings = array_of(*WORDS, binary=binary)
    objects = np.array(WORDS, dtype=object)
    for word in (*WORDS, b"ab", b"abcd", b"\xff"):
        # NumPy removes a NUL at the end of bytes.
        expected = [known == word for known in WORDS]
        others: list[Any] = [word, bytearray(word), memoryview(word)]
        if not word.endswith(b"\0"):
            others.append(np.bytes_(word))
        if word != b"\xff":
            others.append(word.decode())
        for other in others:
            for found in (strings == other, other == strings):
                assert isinstance(found, np.ndarray)
                assert (found.dtype, found.tolist()) == (np.bool_, expected)
            assert (strings != other).tolist() == [not equal for equal in expected]
    texts = [word.decode() for word in WORDS]
    sames: list[Any] = [WORDS, texts, objects, np.array(texts, object), strings, strings[:]]
    for same in sames:
        assert (strings == same).all()
        assert (same == strings).all()
        assert not (strings != same).any()
    assert (strings == np.array(["b"] * 6)).tolist() == [True, False, False, False, True, False]
    assert (np.array(["b"] * 6) == strings).tolist() == [True, False, False, False, True, False]
    for other in (None, 1, 1.5, "\ud800", [None] * 6, range(6)):
        assert (strings == other).tolist() == [False] * 6
        assert (strings != other).tolist() == [True] * 6
    table = strings.reshape(2, 3)
    assert (table == ["b", "", "x"]).tolist() == [[True, True, False], [False, False, False]]
    assert (table == "abc").tolist() == [[False] * 3, [True, False, False]]
    with pytest.raises(ValueError, match="shape"):
        strings == ["b"] * 5  # noqa: B015
    nothing = strings[:0]
    assert (nothing == "b").shape == (0,)


def test_strings_that_are_no_text_are_compared() -> None:
    strings = array_of(b"\xff", b"a")
    assert (strings == "a").tolist() == [False, True]
    assert (strings == [b"\xff", "b"]).tolist() == [True, False]
    assert strings[strings != b"\xff"].tolist() == ["a"]


def test_dense_arrays(batch: atds.Batch) -> None:
    for name in ("cells", "rows"):
        assert batch[name].shape == (3, 5)
        for dense in (batch[name].toarray(), batch[name].to_dense()):
            assert (dense.dtype, dense.tolist()) == (np.float32, DENSE_CELLS)
    assert batch["coo"].to_dense().tolist() == [[1, 2], [0, 0], [3, 0]]
    assert batch["words_coo"].toarray().tolist() == [["a", "bc"], ["", ""], ["d", ""]]
    with pytest.raises(atds.MemoryLimitError, match=r"\[3, 5\] has 60 bytes, and max_bytes is 59"):
        batch["cells"].toarray(max_bytes=59)
    assert batch["cells"].toarray(max_bytes=60).shape == (3, 5)


def sparse(indices: list[list[int]], values: Any, shape: tuple[int, ...]) -> atds.SparseTensor:
    return atds.SparseTensor(np.array(indices, np.int64).reshape(-1, len(shape)), values, shape)


def test_dense_arrays_of_each_dtype() -> None:
    twice = [[0, 1], [1, 0], [0, 1]]
    for dtype in ("int32", "int64", "float16", "float32", "float64"):
        dense = sparse(twice, np.array([1, 2, 3], dtype), (2, 2)).toarray()
        assert (dense.dtype.name, dense.tolist()) == (dtype, [[0, 4], [2, 0]])
    flags = sparse(twice, np.array([True, False, True]), (2, 2)).toarray()
    assert flags.tolist() == [[False, True], [False, False]]
    ones = atds.BFloat16Array(np.full(3, 0x3F80, np.uint16))
    assert sparse(twice, ones, (2, 2)).toarray().tolist() == [[0, 2], [1, 0]]
    assert ones.tolist() == [1, 1, 1]
    raw = array_of(b"x", b"y", binary=True)
    assert sparse(twice[:2], raw, (2, 2)).toarray().tolist() == [[b"", b"x"], [b"y", b""]]
    with pytest.raises(ValueError, match=r"several strings have the indices \[0, 1\]"):
        sparse(twice, array_of(b"x", b"y", b"z"), (2, 2)).toarray()
    assert sparse([], np.zeros(0), (2, 0, 3)).toarray().shape == (2, 0, 3)


def test_a_dense_array_that_is_absurd() -> None:
    huge = sparse([[0, 1]], np.ones(1, "float32"), (1024, 1 << 40))
    with pytest.raises(atds.MemoryLimitError, match="keep it sparse"):
        huge.to_dense()
    ragged = atds.RaggedSparseTensor(
        np.array([[1]]), np.ones(1), np.array([0, 1]), (1, (1 << 63) - 1)
    )
    with pytest.raises(MemoryError):
        ragged.toarray()


def test_lists_of_ragged_tensors(batch: atds.Batch) -> None:
    assert batch["list"].tolist() == [[1, 2], [], [3]]
    assert batch["deep"].tolist() == [[[1], [], [2, 3]], [], [[4, 5]]]
    assert batch["words"].tolist() == [["a", "bc"], [], ["d"]]


def test_strings_that_are_no_text(write: Any) -> None:
    file = write([{"name": "x", "type": "bytes"}], [{"x": b"\xff"}, {"x": b"a"}])
    (batch,) = atds.Dataset(file, 8)
    assert batch["x"].dtype == "bytes"
    assert batch["x"].to_pylist() == [b"\xff", b"a"]
    (batch,) = atds.Dataset(file, 8, {"x": atds.DenseFeature([], "string")})
    with pytest.raises(UnicodeDecodeError):
        batch["x"].to_pylist()


def test_strings_of_several_dimensions(samples: Any) -> None:
    feature = atds.DenseFeature([2, 2], "bytes")
    (batch, *_) = atds.Dataset(samples / "strings", 5, {"d_keys": feature})
    keys = batch["d_keys"]
    assert keys.shape == (5, 2, 2)
    assert np.array(keys.to_pylist(), dtype=object).shape == (5, 2, 2)
    assert keys[3][1].to_pylist() == keys.to_pylist()[3][1]


def test_scipy(batch: atds.Batch) -> None:
    assert batch["cells"].to_scipy().toarray().tolist() == DENSE_CELLS
    assert batch["rows"].to_scipy().toarray().tolist() == DENSE_CELLS
    assert batch["list"].to_scipy().toarray().tolist() == [[1, 2], [0, 0], [3, 0]]
    assert batch["coo"].to_scipy().toarray().tolist() == [[1, 2], [0, 0], [3, 0]]
    with pytest.raises(TypeError, match=f"^SciPy has no strings: {IDS}".replace("(", r"\(")):
        batch["words"].to_scipy()
    with pytest.raises(TypeError, match="SciPy has one level of lists, but this has 2"):
        batch["deep"].to_scipy()
    for dtype in ("half", "brain"):
        cells = batch["cells"]._replace(values=batch[dtype][0])
        name = {"half": "float16", "brain": "bfloat16"}[dtype]
        with pytest.raises(TypeError, match=f"^SciPy has no {name}: ask for dtype='float32'$"):
            cells.to_scipy()


def test_numpy_takes_dlpack_without_a_copy(batch: atds.Batch) -> None:
    for name in NUMBERS:
        taken = np.from_dlpack(batch[name])
        assert taken.ctypes.data == batch[name].ctypes.data
        assert taken.tolist() == batch[name].tolist()
        assert batch[name].__dlpack_device__() == (1, 0)


def test_bfloat16_of_numpy_says_what_it_needs(
    batch: atds.Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(atds.MissingPackageError) as caught:
        batch["brain"].to_numpy()
    assert str(caught.value) == (
        "bfloat16 in NumPy needs ml-dtypes, which is not installed: pip install ml-dtypes"
    )
    assert isinstance(caught.value, ImportError)
    assert batch["brain"].to_float32().tolist() == batch["pair"].tolist()


def test_numpy_copies_bfloat16_where_it_is_asked_to(batch: atds.Batch) -> None:
    ml_dtypes, brain = need("ml_dtypes"), batch["brain"]
    assert np.asarray(brain).ctypes.data == brain.bits.ctypes.data
    for dtype in (None, ml_dtypes.bfloat16, "float32"):
        copied = np.array(brain, dtype)
        copied[...] = 0
        assert brain.to_float32().tolist() == batch["pair"].tolist()
    with pytest.raises(ValueError, match="^bfloat16 cannot be float32 without a copy$"):
        brain.__array__("float32", copy=False)


def test_dlpack_of_bfloat16(batch: atds.Batch) -> None:
    brain = batch["brain"]
    assert brain.__dlpack_device__() == (1, 0)
    # A capsule that is not consumed is freed.
    capsule = brain.__dlpack__(max_version=(1, 0), copy=True)
    assert "dltensor" in repr(capsule)
    del capsule
    with pytest.raises(BufferError, match=r"not of the device \(2, 0\)"):
        brain.__dlpack__(dl_device=(2, 0))


def test_jax(batch: atds.Batch) -> None:
    jax = need("jax")
    for name in ("pair", "half", "flag", "brain"):
        taken = jax.numpy.from_dlpack(batch[name])
        assert taken.shape == batch[name].shape
        data = batch["brain"].bits if name == "brain" else batch[name]
        assert taken.unsafe_buffer_pointer() == data.ctypes.data
    assert str(jax.numpy.from_dlpack(batch["brain"]).dtype) == "bfloat16"
    assert batch["cells"].to_jax().todense().tolist() == DENSE_CELLS
    assert batch["rows"].to_jax().todense().tolist() == DENSE_CELLS
    values, splits = batch["list"].to_jax()
    assert (values.tolist(), splits.tolist()) == ([1, 2, 3], [0, 2, 2, 3])
    assert len(batch["deep"].to_jax()) == 3
    with pytest.raises(TypeError, match="^JAX has no strings"):
        batch["words"].to_jax()


def test_jax_does_not_lose_bits(batch: atds.Batch) -> None:
    jax = need("jax")
    wide = atds.SparseTensor(batch["coo"].indices, batch["coo"].values.astype("int64"), (3, 2))
    with pytest.raises(atds.OptionError, match="jax_enable_x64.*cast="):
        wide.to_jax()
    huge = batch["cells"]._replace(dense_shape=(3, 1 << 40))
    with pytest.raises(atds.OptionError, match="beyond 32 bits: switch jax_enable_x64 on"):
        huge.to_jax()
    jax.config.update("jax_enable_x64", True)
    try:
        assert wide.to_jax().data.dtype == np.int64
    finally:
        jax.config.update("jax_enable_x64", False)


def test_torch(batch: atds.Batch) -> None:
    torch = need("torch")
    for name in (*NUMBERS, "brain"):
        taken = torch.from_dlpack(batch[name])
        data = batch["brain"].bits if name == "brain" else batch[name]
        assert taken.data_ptr() == data.ctypes.data
        assert tuple(taken.shape) == batch[name].shape
    assert torch.from_dlpack(batch["brain"]).dtype == torch.bfloat16
    assert torch.from_dlpack(batch["brain"]).float().tolist() == batch["pair"].tolist()
    sparse = batch["cells"].to_torch()
    assert sparse.to_dense().tolist() == DENSE_CELLS
    assert sparse._values().data_ptr() == batch["cells"].values.ctypes.data
    assert batch["rows"].to_torch().to_dense().tolist() == DENSE_CELLS
    jagged = batch["list"].to_torch()
    assert [row.tolist() for row in jagged.unbind()] == [[1, 2], [], [3]]
    with pytest.raises(TypeError, match="^PyTorch has no strings"):
        batch["words_coo"].to_torch()
    with pytest.raises(TypeError, match="PyTorch has one level of lists, but this has 2"):
        batch["deep"].to_torch()


def test_tensorflow(batch: atds.Batch) -> None:
    tf = need("tensorflow")
    assert tf.sparse.to_dense(tf.sparse.reorder(batch["cells"].to_tf())).numpy().tolist() == (
        DENSE_CELLS
    )
    assert batch["deep"].to_tf().to_list() == [[[1], [], [2, 3]], [], [[4, 5]]]
    assert batch["words"].to_tf().to_list() == [[b"a", b"bc"], [], [b"d"]]
    assert batch["words_coo"].to_tf().values.numpy().tolist() == [b"a", b"bc", b"d"]
    brain = atds.SparseTensor(batch["cells"].indices, batch["brain"][0], (3, 5))._replace(
        indices=batch["cells"].indices[:2]
    )
    assert brain.to_tf().values.dtype == tf.bfloat16


def test_arrays_outlive_all_they_come_from(clicks: str) -> None:
    jax, torch, pa = need("jax"), need("torch"), need("pyarrow")
    features = {
        "d0": atds.DenseFeature([8], "float32"),
        "brain": atds.DenseFeature([8], "bfloat16", expression="d0", cast=True),
        "s_country": atds.DenseFeature([], "string"),
    }
    dataset = atds.Dataset(clicks, 64, features)
    batch = next(iter(dataset))
    kept = [
        batch["d0"][3:],
        np.from_dlpack(batch["d0"]),
        torch.from_dlpack(batch["d0"]),
        torch.from_dlpack(batch["brain"]),
        jax.numpy.from_dlpack(batch["brain"]),
        batch["brain"].to_numpy(),
        pa.array(batch["s_country"]),
    ]
    want = [array.tolist() for array in kept]
    del batch
    for _ in range(3):
        # Memory of dropped batches is overwritten.
        for batch in dataset:
            batch["d0"][...] = 0
            batch["brain"].bits[...] = 0
        del batch
    del dataset
    gc.collect()
    assert [array.tolist() for array in kept] == want


def test_hash_buckets_are_those_of_the_installed_tensorflow(write: Any) -> None:
    tf = need("tensorflow")
    random = np.random.default_rng(5)
    lengths = np.concatenate([np.arange(300), random.integers(0, 100, 9_700)])
    strings = [random.bytes(int(length)) for length in lengths]
    numbers = random.integers(-(1 << 63), 1 << 63, 10_000)
    records = [{"x": x, "n": int(n)} for x, n in zip(strings, numbers, strict=True)]
    file = write([{"name": "x", "type": "bytes"}, {"name": "n", "type": "long"}], records)
    for buckets in (1, 2, 1000, 1_000_003, 1 << 40, (1 << 63) - 1):
        features = {name: atds.DenseFeature([], "int64", hash_buckets=buckets) for name in "xn"}
        (batch,) = atds.Dataset(file, 1 << 20, features)
        for name, given in (("x", tf.constant(strings)), ("n", tf.as_string(numbers))):
            ids = tf.strings.to_hash_bucket_fast(given, buckets)
            assert np.array_equal(batch[name], ids)


def test_frameworks_own_dtypes() -> None:
    jnp = need("jax.numpy")
    assert atds.DenseFeature([], jnp.float32).dtype == "float32"
    assert atds.DenseFeature([], jnp.bfloat16).dtype == "bfloat16"
    numbers = [name for name in atds.dtypes.DTYPES if name not in ("string", "bytes")]
    for name in numbers:
        assert atds.DenseFeature([], getattr(jnp, name)).dtype == name
    torch = need("torch")
    for name in numbers:
        assert atds.DenseFeature([], getattr(torch, name)).dtype == name
    tf = need("tensorflow")
    for name in [*numbers, "string"]:
        assert atds.DenseFeature([], getattr(tf, name)).dtype == name


def test_tensorflows_own_features(write: Any) -> None:
    tf = need("tensorflow")
    ints = {"type": "array", "items": "int"}
    fields = [
        {"name": "n", "type": "int"},
        {"name": "l", "type": ints},
        {"name": "m", "type": ints},
    ]
    file = write(fields, [{"n": 1, "l": [2], "m": [3, 4]}])
    features = {
        "n": tf.io.FixedLenFeature([], tf.int32, default_value=3),
        "l[*]": tf.io.VarLenFeature(tf.int32),
        "m[*]": tf.io.FixedLenSequenceFeature([None], tf.int32, allow_missing=True),
    }
    (batch,) = atds.Dataset(file, 8, features)
    assert (batch["n"].tolist(), batch["m[*]"].tolist()) == ([1], [[3, 4]])
    assert batch["l[*]"].values.tolist() == [2]
    car = {
        "type": "record",
        "name": "Car",
        "fields": [{"name": "id", "type": "long"}, {"name": "power", "type": "float"}],
    }
    fields.append({"name": "cars", "type": {"type": "array", "items": car}})
    cars = [{"id": 3, "power": 0.5}, {"id": 1, "power": 1.5}]
    fields += [{"name": name, "type": {"type": "array", "items": "long"}} for name in "ab"]
    file = write(fields, [{"n": 1, "l": [], "m": [], "cars": cars, "a": [2, 5], "b": []}])
    features = {
        "cars": tf.io.SparseFeature("id", "power", tf.float32, size=9),
        "a": tf.io.RaggedFeature(tf.int64),
        "other": tf.io.RaggedFeature(tf.int64, value_key="b"),
    }
    (batch,) = atds.Dataset(file, 8, features)
    assert batch["cars"].indices.tolist() == [[0, 1], [0, 3]]
    assert batch["cars"].values.tolist() == [1.5, 0.5]
    assert [part.tolist() for part in batch["a"]] == [[2, 5], [0, 2]]
    assert batch["other"].row_splits[0].tolist() == [0, 0]


def test_missing_packages_are_named(batch: atds.Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, method in (
        ("scipy", "to_scipy"),
        ("torch", "to_torch"),
        ("tensorflow", "to_tf"),
        ("jax", "to_jax"),
    ):
        for name in [name for name in sys.modules if name.partition(".")[0] == module]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, module, None)
        said = f"{method} needs {module}, which is not installed: pip install {module}"
        with pytest.raises(atds.MissingPackageError, match=f"^{said}$"):
            getattr(batch["cells"], method)()
