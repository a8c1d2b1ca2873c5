"""`atds.jax`: batches as arrays of JAX, and their devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import atds
from frameworks import need
from interpreters import succeeds

jax = need("jax")
import atds.jax

INTS = {"type": "array", "items": "int"}
CELLS = {
    "type": "record",
    "name": "Cells",
    "fields": [
        {"name": "indices0", "type": {"type": "array", "items": "long"}},
        {"name": "values", "type": {"type": "array", "items": "float"}},
    ],
}
FIELDS: list[dict[str, Any]] = [
    {"name": "pair", "type": {"type": "array", "items": "float"}},
    {"name": "wide", "type": "long"},
    {"name": "flag", "type": ["null", "boolean"]},
    {"name": "list", "type": INTS},
    {"name": "deep", "type": {"type": "array", "items": INTS}},
    {"name": "cells", "type": CELLS},
    {"name": "text", "type": "string"},
]
RECORDS: list[dict[str, Any]] = [
    {
        "pair": [1.0, 2.0],
        "wide": 1 << 40,
        "flag": True,
        "list": [1, 2],
        "deep": [[1], [], [2, 3]],
        "cells": {"indices0": [4, 1], "values": [0.5, 1.5]},
        "text": "één",
    },
    {
        "pair": [3.0, 4.0],
        "wide": -1,
        "flag": None,
        "list": [],
        "deep": [],
        "cells": {"indices0": [], "values": []},
        "text": "",
    },
    {
        "pair": [5.0, 6.0],
        "wide": 0,
        "flag": False,
        "list": [3],
        "deep": [[4, 5], [], [], [], [], [], []],
        "cells": {"indices0": [0], "values": [2.5]},
        "text": "x",
    },
]
FEATURES: dict[str, atds.Feature] = {
    "pair": atds.DenseFeature([2], "float32"),
    "half": atds.DenseFeature([2], "float16", expression="pair", cast=True),
    "brain": atds.DenseFeature([2], "bfloat16", expression="pair", cast=True),
    "flag": atds.DenseFeature([], "bool", default=False, mask="has_flag"),
    "list": atds.VarlenFeature([-1], "int32", layout="ragged"),
    "coo": atds.VarlenFeature([-1], "int32", expression="list"),
    "deep": atds.VarlenFeature([-1, -1], "int32", layout="ragged"),
    "cells": atds.SparseFeature([5], "float32"),
    "rows": atds.SparseFeature([5], "float32", layout="ragged", expression="cells"),
}
WIDE = {"wide": atds.DenseFeature([], "int64")}


@pytest.fixture
def file(write: Any) -> str:
    """Three records of all kinds of fields."""
    path: str = write(FIELDS, RECORDS)
    return path


@pytest.fixture
def x64() -> Iterator[None]:
    """JAX with 64 bits."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def only(file: str, features: Any, device: Any = None) -> dict[str, Any]:
    """The only batch of a file."""
    (batch,) = atds.jax.iterate(atds.Dataset(file, 8, features), device)
    return batch


def check_values(batch: dict[str, Any]) -> None:
    assert list(batch) == sorted([*FEATURES, "has_flag"])
    pairs = [record["pair"] for record in RECORDS]
    for name, dtype in (("pair", "float32"), ("half", "float16"), ("brain", "bfloat16")):
        assert isinstance(batch[name], jax.Array)
        assert (str(batch[name].dtype), batch[name].tolist()) == (dtype, pairs)
    assert batch["flag"].tolist() == [True, False, False]
    assert batch["has_flag"].tolist() == [True, False, True]
    values, splits = batch["list"]
    assert (values.tolist(), splits.tolist()) == ([1, 2, 3], [0, 2, 2, 3])
    assert batch["coo"].todense().tolist() == [[1, 2], [0, 0], [3, 0]]
    values, outer, inner = batch["deep"]
    assert values.tolist() == [1, 2, 3, 4, 5]
    assert outer.tolist() == [0, 3, 3, 10]
    assert inner.tolist() == [0, 1, 1, 3, 5, 5, 5, 5, 5, 5, 5]
    assert batch["cells"].todense().tolist() == [[0, 1.5, 0, 0, 0.5], [0] * 5, [2.5, 0, 0, 0, 0]]
    indices, values, splits = batch["rows"]
    assert indices.tolist() == [[4], [1], [0]]
    assert (values.tolist(), splits.tolist()) == ([0.5, 1.5, 2.5], [0, 2, 2, 3])


def test_all_columns(file: str) -> None:
    batch = only(file, FEATURES)
    check_values(batch)
    for array in jax.tree.leaves(batch):
        assert isinstance(array, jax.Array)
    assert batch["list"][1].dtype == batch["rows"][0].dtype == np.int32
    assert batch["cells"].indices.dtype == np.int32


def test_all_columns_with_64_bits(file: str, x64: None) -> None:
    batch = only(file, FEATURES | WIDE)
    assert batch["wide"].dtype == np.int64
    assert batch.pop("wide").tolist() == [1 << 40, -1, 0]
    check_values(batch)
    assert batch["list"][1].dtype == batch["rows"][0].dtype == np.int64
    assert batch["cells"].indices.dtype == np.int64


def test_memory_is_that_of_the_batch(file: str) -> None:
    """Compares the addresses of JAX arrays with those of the native batches."""
    dataset = atds.Dataset(file, 8, FEATURES)
    seen = []

    def watched(batches: Any) -> Iterator[Any]:
        for batch in batches:
            seen.append(batch)
            yield batch

    batches = atds.jax.iterate(dataset)
    batches._batches = watched(batches._batches)  # type: ignore[assignment]
    taken, given = next(batches), seen[0]

    def same(array: Any, memory: Any) -> bool:
        return bool(array.unsafe_buffer_pointer() == memory.ctypes.data)

    for name in ("pair", "half", "flag", "has_flag"):
        assert same(taken[name], given[name]), name
    assert same(taken["brain"], given["brain"].bits)
    assert same(taken["list"][0], given["list"].values)
    assert same(taken["deep"][0], given["deep"].values)
    assert same(taken["cells"].data, given["cells"].values)
    assert same(taken["rows"][1], given["rows"].values)


def test_arrays_keep_their_memory(many: str) -> None:
    """Later batches do not overwrite batches that are kept."""
    features = {"d0": atds.DenseFeature([8], "float32")}
    dataset = atds.Dataset(many, 256, features)
    kept = [batch["d0"] for batch in atds.jax.iterate(dataset)]
    plain = [batch["d0"].copy() for batch in dataset]
    assert len(kept) == len(plain) == len(dataset)
    for ours, theirs in zip(kept, plain, strict=True):
        assert np.array_equal(np.asarray(ours), theirs)


def test_each_call_is_an_epoch(numbers: str) -> None:
    number = {"n": atds.DenseFeature([], "int32", cast=True)}
    dataset = atds.Dataset(numbers, 1000, number, shuffle_blocks=True, seed=7)
    epochs = [batch["n"].tolist() for _ in range(2) for batch in atds.jax.iterate(dataset)]
    assert epochs[0] != epochs[1]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(1000))
    dataset.set_epoch(0)
    assert next(atds.jax.iterate(dataset))["n"].tolist() == epochs[0]


def test_an_iteration_can_be_closed(many: str) -> None:
    features = {"d0": atds.DenseFeature([8], "float32")}
    batches = atds.jax.iterate(atds.Dataset(many, 64, features))
    assert next(batches)["d0"].shape == (64, 8)
    assert batches.stats()["steps"] == 1
    batches.close()
    with pytest.raises(StopIteration):
        next(batches)


def test_shards_of_an_epoch(numbers: str) -> None:
    number = {"n": atds.DenseFeature([], "int32", cast=True)}
    dataset = atds.Dataset(numbers, 64, number, shuffle_blocks=True, seed=7)

    def read(**options: Any) -> list[int]:
        return [n for batch in atds.jax.iterate(dataset, **options) for n in batch["n"].tolist()]

    epochs = []
    for epoch in range(2):
        found = []
        for index in range(3):
            dataset.set_epoch(epoch)
            found.append(read(shard=(index, 3)))
            assert dataset.epoch == epoch + 1
        assert [len(shard) for shard in found] == [333, 333, 334]
        assert sorted(n for shard in found for n in shard) == list(range(1000))
        epochs.append(found)
    assert sorted(epochs[0][0]) != sorted(epochs[1][0])
    # These shards equal the shards of the data set itself.
    of_dataset = atds.Dataset(numbers, 64, number, shuffle_blocks=True, seed=7, shard=(1, 3))
    assert [n for batch in of_dataset for n in batch["n"].tolist()] == epochs[0][1]
    # A shard can be sharded again.
    of_dataset.set_epoch(0)
    (half,) = [list(atds.jax.iterate(of_dataset, shard=(0, 2)))]
    assert sum(len(batch["n"]) for batch in half) == 166
    with pytest.raises(atds.OptionError, match="^shard must be the index"):
        atds.jax.iterate(dataset, shard=(3, 3))
    unseeded = atds.Dataset(numbers, 64, number, shuffle_blocks=True)
    with pytest.raises(atds.OptionError, match="^seed must be given where several shards"):
        atds.jax.iterate(unseeded, shard=(0, 3))


def test_inferred_columns_that_jax_lacks(
    write: Any, caplog: pytest.LogCaptureFixture, x64: None
) -> None:
    file = write(
        [
            {"name": "text", "type": "string"},
            {"name": "wide", "type": "long"},
            {"name": "n", "type": "int"},
        ],
        [{"text": "a", "wide": 1 << 40, "n": k} for k in range(10)],
    )
    dataset = atds.Dataset(file, 5)
    jax.config.update("jax_enable_x64", False)
    said = (
        "features= was not given, and JAX cannot hold these inferred columns: {}. They are left "
        "out. To have them, give features=, and ask for ids of strings with hash_buckets= or "
        "vocabulary={}"
    )
    wide = (
        "; switch jax_enable_x64 on (jax.config.update('jax_enable_x64', True)) or ask for 32 bits "
        "with cast="
    )
    for _ in range(2):
        assert [set(batch) for batch in atds.jax.iterate(dataset)] == [{"n"}] * 2
    assert dataset.epoch == 2
    assert dataset.stats()["records"] == 10
    assert caplog.messages == [said.format("'text' (string), 'wide' (int64)", wide)]
    caplog.clear()
    jax.config.update("jax_enable_x64", True)
    (batch, _) = atds.jax.iterate(dataset)
    assert set(batch) == {"n", "wide"}
    assert batch["wide"].tolist() == [1 << 40] * 5
    assert caplog.messages == [said.format("'text' (string)", "")]
    # A shard leaves the column out too.
    assert len(list(atds.jax.iterate(dataset, shard=(0, 2)))) == 1


def test_nothing_that_jax_has_is_inferred(write: Any) -> None:
    file = write([{"name": "wide", "type": "long"}], [{"wide": 1}])
    with pytest.raises(atds.FeatureError) as caught:
        atds.jax.iterate(atds.Dataset(file, 5))
    assert str(caught.value) == (
        "features= was not given, and JAX cannot hold these inferred columns: 'wide' (int64); there "
        "are no others: give features=, and switch jax_enable_x64 on "
        "(jax.config.update('jax_enable_x64', True)) or ask for 32 bits with cast="
    )


def test_device_put(file: str) -> None:
    check_values(jax.device_put(only(file, FEATURES), jax.devices()[0]))


def test_under_jit(file: str) -> None:
    def total(batch: dict[str, Any]) -> Any:
        values, splits = batch["list"]
        rows = jax.numpy.repeat(
            jax.numpy.arange(3), jax.numpy.diff(splits), total_repeat_length=len(values)
        )
        lists = jax.ops.segment_sum(values, rows, num_segments=3)
        return batch["pair"].sum(1) + lists + batch["cells"] @ jax.numpy.ones(5)

    assert jax.jit(total)(only(file, FEATURES)).tolist() == [8.0, 7.0, 16.5]


def test_errors_of_the_data_are_ours(file: str, write: Any) -> None:
    features = {"pair": atds.DenseFeature([2], "float32")}
    bad = write(FIELDS, [*RECORDS, {**RECORDS[0], "pair": [1.0]}], "bad.avro")
    with pytest.raises(atds.DataError, match="pair"):
        only(bad, features)


SHARDED = """
    import sys
    import jax, numpy as np
    from jax.sharding import NamedSharding, PartitionSpec
    import atds, atds.jax

    assert len(jax.devices()) == 4
    features = {
        "d0": atds.DenseFeature([8], "float32"),
        "s_label": atds.DenseFeature([], "int32"),
        "half": atds.DenseFeature([8], "bfloat16", expression="d0", cast=True),
    }
    dataset = atds.Dataset(sys.argv[1], 64, features, drop_remainder=True)
    plain = [(batch["d0"].copy(), batch["s_label"].copy()) for batch in dataset]
    rows = NamedSharding(jax.make_mesh((4,), ("rows",)), PartitionSpec("rows"))
    put = [jax.device_put(batch, rows) for batch in atds.jax.iterate(dataset)]
    laid_out = list(atds.jax.iterate(dataset, rows))
    step = jax.jit(lambda batch: (batch["d0"].sum(), batch["s_label"].sum()))
    assert len(put) == len(laid_out) == len(plain) == 3
    for batches in (put, laid_out):
        for batch, (d0, labels) in zip(batches, plain):
            assert all(column.sharding == rows for column in batch.values())
            shards = batch["d0"].addressable_shards
            assert len({shard.device for shard in shards}) == 4
            for shard in shards:
                assert shard.data.shape == (16, 8)
                assert np.array_equal(np.asarray(shard.data), d0[shard.index])
            half = np.asarray(batch["half"]).astype("f4")
            assert np.allclose(half, d0, rtol=1e-2)
            total, labelled = step(batch)
            assert abs(float(total) - d0.sum()) < 1e-3 * np.abs(d0).sum()
            assert int(labelled) == labels.sum()
    print("sharded")
"""

PLACED = """
    import sys
    import jax, numpy as np
    import atds, atds.jax

    features = {
        "d0": atds.DenseFeature([8], "float32"),
        "brain": atds.DenseFeature([8], "bfloat16", expression="d0", cast=True),
        "sp0": atds.SparseFeature([50_001], "float32"),
        "rows": atds.SparseFeature([50_001], "float32", expression="sp0", layout="ragged"),
    }
    dataset = atds.Dataset(sys.argv[1], 64, features)
    first, second, third = jax.devices()[:3]

    def one(device=None):
        return next(atds.jax.iterate(dataset, device))

    def devices(batch):
        return {device for array in jax.tree.leaves(batch) for device in array.devices()}

    here, there = one(), one(second)
    assert (devices(here), devices(there)) == ({first}, {second})
    for ours, theirs in zip(jax.tree.leaves(here), jax.tree.leaves(there), strict=True):
        assert ours.dtype == theirs.dtype and np.array_equal(np.asarray(ours), np.asarray(theirs))
    with jax.default_device(third):
        batches = atds.jax.iterate(dataset)
        assert devices(next(batches)) == {third}
    assert devices(next(batches)) == {third}
    with jax.default_device("cpu"):
        assert devices(one()) == {first}
    print("placed")
"""


@pytest.mark.parametrize(("code", "said"), [(SHARDED, "sharded"), (PLACED, "placed")])
def test_several_devices(
    clicks: str, monkeypatch: pytest.MonkeyPatch, code: str, said: str
) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert succeeds(code, clicks) == said


def test_64_bits_are_not_lost(file: str) -> None:
    dataset = atds.Dataset(file, 8, WIDE)
    with pytest.raises(atds.OptionError) as caught:
        atds.jax.iterate(dataset)
    assert str(caught.value) == (
        "feature 'wide' is int64, of which JAX would keep 32 bits: switch jax_enable_x64 on "
        "(jax.config.update('jax_enable_x64', True)), or ask for 32 bits with cast=, such as "
        "atds.DenseFeature(shape=(), dtype='int32', cast=True)"
    )
    assert dataset.epoch == 0
    doubles = {"pair": atds.VarlenFeature([-1], "float64", cast=True)}
    with pytest.raises(atds.OptionError, match="'pair' is float64.*dtype='float32'"):
        atds.jax.iterate(atds.Dataset(file, 8, doubles))


def test_what_the_error_of_64_bits_says_helps(write: Any) -> None:
    file = write(FIELDS[1:2], [{"wide": 7}, {"wide": -7}])
    narrow = {"wide": atds.DenseFeature(shape=(), dtype="int32", cast=True)}
    assert only(file, narrow)["wide"].tolist() == [7, -7]


def test_64_bits_are_not_lost_when_jax_changes_meanwhile(file: str) -> None:
    with jax.enable_x64(True):
        batches = atds.jax.iterate(atds.Dataset(file, 8, WIDE))
    with pytest.raises(atds.OptionError, match="jax_enable_x64.*cast="):
        next(batches)


def test_ids_of_buckets_are_indices(file: str) -> None:
    features = {
        "text": atds.DenseFeature([], "int64", hash_buckets=1000),
        "ids": atds.VarlenFeature(
            [-1], "int64", expression="list", layout="ragged", hash_buckets=(1 << 31) - 1
        ),
    }
    batch = only(file, features)
    (plain,) = atds.Dataset(file, 8, features)
    assert batch["text"].dtype == batch["ids"][0].dtype == np.int32
    assert batch["text"].tolist() == plain["text"].tolist()
    assert batch["ids"][0].tolist() == plain["ids"].values.tolist()
    with jax.enable_x64(True):
        assert only(file, features)["text"].dtype == np.int64


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"hash_buckets": 1 << 31}, "or ask for hash_buckets=2147483647 or fewer"),
        ({"vocabulary": ["x"]}, "or ask for the ids of the vocabulary as dtype='int32'"),
    ],
)
def test_ids_of_64_bits(file: str, options: dict[str, Any], said: str) -> None:
    features = {"text": atds.DenseFeature([], "int64", **options)}
    with pytest.raises(atds.OptionError, match=f"jax_enable_x64.*, {said}$"):
        atds.jax.iterate(atds.Dataset(file, 8, features))


def test_times_of_64_bits(write: Any) -> None:
    date = {"name": "day", "type": {"type": "int", "logicalType": "date"}}
    file = write([date], [{"day": 1}])
    features = {"day": atds.DenseFeature([], "int64", unit="seconds")}
    with pytest.raises(atds.OptionError, match="jax_enable_x64.*: times in a unit= are int64$"):
        atds.jax.iterate(atds.Dataset(file, 8, features))


def test_indices_beyond_32_bits(file: str) -> None:
    for layout in ("coo", "ragged"):
        features = {"cells": atds.SparseFeature([1 << 40], "float32", layout=layout)}
        said = r"^feature 'cells' has the dense shape \(None, 1099511627776\), whose indices are "
        with pytest.raises(atds.OptionError, match=said + "beyond 32 bits: .*jax_enable_x64"):
            atds.jax.iterate(atds.Dataset(file, 8, features))


def test_strings_are_refused(file: str) -> None:
    features = {"text": atds.DenseFeature([], "string")}
    with pytest.raises(atds.FeatureError) as caught:
        atds.jax.iterate(atds.Dataset(file, 8, features))
    assert str(caught.value).startswith(
        "feature 'text' is strings, which JAX does not have: ask for ids, such as "
        "atds.DenseFeature(shape=(), dtype='int64', hash_buckets=10000), or those of"
    )


def test_what_is_no_data_set() -> None:
    with pytest.raises(atds.OptionError, match=r"^dataset must be an atds.Dataset, not list$"):
        atds.jax.iterate([])  # type: ignore[arg-type]


def test_without_jax() -> None:
    code = """
        import sys
        sys.modules["jax"] = None
        import atds
        try:
            import atds.jax
        except atds.MissingPackageError as error:
            print(error)
    """
    assert succeeds(code) == "atds.jax needs jax, which is not installed: pip install jax"
