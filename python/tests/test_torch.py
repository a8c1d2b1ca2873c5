"""Batches as tensors of PyTorch, and `DataLoader` with and without workers."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atds
from conftest import NUMBER, Write
from frameworks import need

torch = need("torch")
from torch.utils.data import DataLoader
from torch_loading import flat, load, shuffled

import atds.torch
from atds.torch.tensors import converters

pytestmark = [
    # DataLoader warns of too few cores, but these tests do not measure speed.
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    # Python 3.12 and later warn if a process with threads is forked.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
    # PyTorch itself warns when it takes sparse tensors from workers.
    pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled"),
]


@pytest.fixture
def typed(write: Write) -> str:
    """100 records of every dtype and form."""
    dtypes = {"i": "int", "l": "long", "f": "float", "d": "double", "b": "boolean"}
    fields: list[dict[str, Any]] = [{"name": n, "type": t} for n, t in dtypes.items()]
    lists = {"list": "long", "vector": "float"}
    fields += [{"name": n, "type": {"type": "array", "items": t}} for n, t in lists.items()]
    nested = {"type": "array", "items": {"type": "array", "items": "int"}}
    fields.append({"name": "nested", "type": nested})
    long_array = {"type": "array", "items": "long"}
    cells: list[dict[str, Any]] = [
        {"name": "indices0", "type": long_array},
        {"name": "values", "type": {"type": "array", "items": "float"}},
    ]
    fields.append({"name": "s", "type": {"type": "record", "name": "S", "fields": cells}})
    cells = [{"name": "indices1", "type": "SIndices"}, *cells]
    cells[0]["type"] = long_array
    fields.append({"name": "s2", "type": {"type": "record", "name": "S2", "fields": cells}})
    fields.append({"name": "text", "type": "string"})
    records = [
        {
            "i": n,
            "l": n << 40,
            "f": n / 8,
            "d": n / 3,
            "b": n % 3 == 0,
            "list": list(range(n % 4)),
            "vector": [n, n + 0.5],
            "nested": [[n] * k for k in range(n % 3)],
            "s": {"indices0": [n, 5][: n % 3], "values": [1.5, -n][: n % 3]},
            "s2": {"indices0": [n], "indices1": [n % 7], "values": [float(n)]},
            "text": f"t{n}",
        }
        for n in range(100)
    ]
    return write(fields, records, sync_interval=500)


def typed_features(layout: Any = "coo") -> dict[str, atds.Feature]:
    return {
        "i": atds.DenseFeature([], torch.int32),
        "l": atds.DenseFeature([], torch.int64),
        "f": atds.DenseFeature([], torch.float32),
        "d": atds.DenseFeature([], torch.float64),
        "b": atds.DenseFeature([], torch.bool),
        "half": atds.DenseFeature([], torch.float16, expression="f", cast=True),
        "brain": atds.DenseFeature([2], torch.bfloat16, expression="vector", cast=True),
        "vector": atds.DenseFeature([2], torch.float32),
        "list": atds.VarlenFeature([-1], torch.int64),
        "nested": atds.VarlenFeature([-1, -1], torch.int32),
        "any": atds.VarLenFeature(torch.int64, expression="list"),
        "s": atds.SparseFeature([100], torch.float32, layout=layout),
        "id": atds.DenseFeature([], torch.int64, expression="text", hash_buckets=50),
    }


def test_dense_columns_are_tensors_over_the_same_memory(typed: str) -> None:
    dataset = atds.torch.Dataset(typed, 64, typed_features())
    (batch, _), (arrays, _) = list(dataset), list(dataset.dataset)
    assert list(batch) == sorted(typed_features()) == list(arrays)
    dense = {name for name, column in arrays.items() if not isinstance(column, tuple)}
    assert {str(batch[name].dtype) for name in dense} == {
        f"torch.{dtype}"
        for dtype in ["int32", "int64", "float16", "bfloat16", "float32", "float64", "bool"]
    }
    convert = converters(dataset.dataset.element_spec)
    for name in dense:
        array = arrays[name]
        bfloat16 = isinstance(array, atds.BFloat16Array)
        expected = array.to_float32() if bfloat16 else array
        found = batch[name]
        assert found.shape == array.shape
        assert np.array_equal(found.float() if bfloat16 else found, expected), name
        memory = (array.bits if bfloat16 else array).ctypes.data
        assert convert[name](array).data_ptr() == memory
    assert batch["brain"].tolist()[9] == [9.0, 9.5]
    # A value that was written to a tensor is not lost.
    batch["vector"][:] = 7
    assert next(iter(dataset))["vector"].tolist()[3] == [3.0, 3.5]


def test_a_tensor_outlives_its_batch(numbers: str) -> None:
    kept = [batch["n"][10:20] for batch in atds.torch.Dataset(numbers, 50, NUMBER)]
    assert torch.cat(kept).tolist() == [
        n for k in range(0, 1000, 50) for n in range(k + 10, k + 20)
    ]


def test_sparse_columns_are_coo_tensors_or_bags(typed: str) -> None:
    coo = next(iter(atds.torch.Dataset(typed, 64, typed_features())))["s"]
    assert (coo.layout, coo.dtype, tuple(coo.shape)) == (torch.sparse_coo, torch.float32, (64, 100))
    dense = np.zeros((64, 100), np.float32)
    for n in range(64):
        for index, value in list(zip([n, 5], [1.5, -n], strict=True))[: n % 3]:
            dense[n, index] += value
    assert np.array_equal(coo.to_dense().numpy(), dense)
    # The layout is given for each feature, or for all at once.
    for features, options in (
        (typed_features("ragged"), {}),
        (typed_features(), {"sparse": "bag"}),
        (typed_features("ragged"), {"sparse": "bag"}),
    ):
        bag = next(iter(atds.torch.Dataset(typed, 64, features, **options)))["s"]  # type: ignore[arg-type]
        assert isinstance(bag, atds.torch.Bag)
        assert (bag.ids.dtype, bag.offsets.dtype) == (torch.int64, torch.int64)
        assert (bag.ids.ndim, len(bag.offsets)) == (1, 64)
        assert bag.row_splits.tolist() == [*bag.offsets.tolist(), len(bag.ids)]
        table = torch.eye(100)
        embed = torch.nn.EmbeddingBag.from_pretrained(table, mode="sum")
        assert np.array_equal(embed(*bag).numpy(), dense)
    again = next(iter(atds.torch.Dataset(typed, 64, typed_features("ragged"), sparse="coo")))["s"]
    assert again.layout == torch.sparse_coo


def test_varlen_columns_are_values_and_offsets(typed: str) -> None:
    batch = next(iter(atds.torch.Dataset(typed, 10, typed_features())))
    for name in ("list", "any"):
        values, offsets = batch[name]
        assert isinstance(batch[name], atds.torch.Ragged)
        lists = [list(range(n % 4)) for n in range(10)]
        assert values.tolist() == flat(lists)
        assert offsets.tolist() == np.cumsum([0, *map(len, lists)])[:-1].tolist()
        (splits,) = batch[name].row_splits
        assert splits.tolist() == [*offsets.tolist(), len(values)]
        embed = torch.nn.EmbeddingBag(4, 3, mode="sum")
        assert embed(values, offsets).shape == (10, 3)
    values, (outer, inner) = batch["nested"]
    nested = [[[n] * k for k in range(n % 3)] for n in range(10)]
    assert values.tolist() == [n for row in nested for items in row for n in items]
    outer_splits, inner_splits = batch["nested"].row_splits
    assert np.diff(outer_splits).tolist() == [len(row) for row in nested]
    assert np.diff(inner_splits).tolist() == [len(items) for row in nested for items in row]
    assert (len(outer), len(inner)) == (10, len(inner_splits) - 1)


def test_strings_must_become_ids(typed: str, samples: Path) -> None:
    with pytest.raises(atds.FeatureError) as caught:
        atds.torch.Dataset(typed, 8, {"text": atds.DenseFeature([], "string")})
    assert str(caught.value) == (
        "feature 'text' is strings, which PyTorch does not have: ask for ids, such as "
        "atds.DenseFeature(shape=(), dtype='int64', hash_buckets=10000), or those of a "
        "vocabulary= of words; or leave the feature out"
    )
    features = {
        "hashed": atds.DenseFeature([], "int64", expression="text", hash_buckets=10_000),
        "known": atds.DenseFeature([], "int64", expression="text", vocabulary=["t3", "t1"]),
    }
    batch = next(iter(atds.torch.Dataset(typed, 8, features)))
    assert batch["known"].tolist() == [-1, 1, -1, 0, -1, -1, -1, -1]
    assert all(0 <= n < 10_000 for n in batch["hashed"].tolist())


def test_features_are_inferred(numbers: str, caplog: pytest.LogCaptureFixture) -> None:
    batch = next(iter(atds.torch.Dataset(numbers, 8)))
    assert {name: column.tolist() for name, column in batch.items()} == {"n": list(range(8))}
    assert caplog.messages == []


def test_features_are_inferred_without_strings(
    typed: str, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = atds.torch.Dataset(typed, 8)
    (said,) = caplog.messages
    assert said == (
        "features= was not given, and PyTorch cannot hold these inferred columns: 'text' (string). "
        "They are left out. To have them, give features=, and ask for ids of strings with "
        "hash_buckets= or vocabulary="
    )
    names = {*atds.infer_features(typed)} - {"text"}
    for each in (dataset, pickle.loads(pickle.dumps(dataset))):
        assert set(next(iter(each))) == names == set(each.dataset.features)
    assert len(caplog.messages) == 1


def test_strings_alone_are_no_tensors(write: Write) -> None:
    file = write([{"name": name, "type": kind} for name, kind in STRINGS.items()], [])
    with pytest.raises(atds.FeatureError) as caught:
        atds.torch.Dataset(file, 8)
    assert str(caught.value) == (
        "features= was not given, and PyTorch cannot hold these inferred columns: 'b' (bytes), "
        "'s' (string); there are no others: give features=, and ask for ids of strings with "
        "hash_buckets= or vocabulary="
    )


STRINGS = {"b": "bytes", "s": "string"}


def test_the_ids_that_are_proposed_can_be_asked_for(typed: str) -> None:
    for feature in (
        atds.DenseFeature([], "string", expression="text", default=""),
        atds.FixedLenFeature([], "string", "", expression="text"),
    ):
        with pytest.raises(atds.FeatureError) as caught:
            atds.torch.Dataset(typed, 8, {"id": feature})
        said = str(caught.value)
        proposed = said[said.index("atds.") : said.index(", or those of")]
        dataset = atds.torch.Dataset(typed, 8, {"id": eval(proposed)})
        assert next(iter(dataset))["id"].dtype == torch.int64


def test_files_may_come_from_an_iterator(numbers: str) -> None:
    assert len(atds.torch.Dataset(iter([numbers]), 8)) == 125


def test_a_bag_has_one_index_for_each_value(typed: str) -> None:
    two = {"s2": atds.SparseFeature([100, 7], "float32")}
    coo = next(iter(atds.torch.Dataset(typed, 8, two)))["s2"]
    assert coo.to_dense().sum(dim=(1, 2)).tolist() == list(map(float, range(8)))
    with pytest.raises(atds.FeatureError) as caught:
        atds.torch.Dataset(typed, 8, two, sparse="bag")
    assert str(caught.value) == (
        "feature 's2' has 2 indices for each value, and a bag has one: ask for layout='coo', or "
        "sparse=None or 'coo' for all"
    )


def test_all_forms_go_through_workers(typed: str) -> None:
    for layout in ("coo", "ragged"):
        dataset = atds.torch.Dataset(typed, 64, typed_features(layout))
        alone = list(dataset)
        for workers in (0, 1):
            loader = DataLoader(dataset, batch_size=None, num_workers=workers)
            for batch, expected in zip(loader, alone, strict=True):
                assert batch.keys() == expected.keys()
                for name, column in batch.items():
                    assert type(column) is type(expected[name])
                    same(column, expected[name])


def same(left: Any, right: Any) -> None:
    if isinstance(left, (tuple, list)):
        for one, other in zip(left, right, strict=True):
            same(one, other)
    elif left.layout == torch.sparse_coo:
        assert torch.equal(left.to_dense(), right.to_dense())
    else:
        assert torch.equal(left, right)


def test_it_can_be_pickled_and_copied(numbers: str) -> None:
    dataset = shuffled(numbers)
    first = [batch["n"].tolist() for batch in dataset]
    for again in (pickle.loads(pickle.dumps(dataset)), copy.deepcopy(dataset)):
        assert (again.epoch, len(again), again.share) == (1, len(dataset), dataset.share)
        again.set_epoch(0)
        assert [batch["n"].tolist() for batch in again] == first
        # The copy has its own count of epochs, which its workers share.
        load(again, num_workers=2)
        assert (again.epoch, dataset.epoch) == (2, 1)
    assert dataset.stats()["records"] == 1000


def test_what_it_says_of_itself(numbers: str) -> None:
    dataset = atds.torch.Dataset(numbers, 32, NUMBER)
    assert repr(dataset) == f"atds.torch.Dataset({numbers!r}, batch_size=32, 1 feature)"
    assert dataset.num_records == 1000
    assert dataset.stats()["steps"] == 0
    assert dataset.dataset.filenames == [numbers]


def test_two_threads_take_each_batch_once(numbers: str) -> None:
    iterator = iter(atds.torch.Dataset(numbers, 10, NUMBER))
    seen: list[int] = []
    threads = [
        threading.Thread(target=lambda: [seen.extend(b["n"].tolist()) for b in iterator])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(1000))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 0}, "rank and world_size must be given together, or neither"),
        ({"world_size": 2}, "rank and world_size must be given together, or neither"),
        (
            {"rank": 2, "world_size": 2},
            "rank must be a whole number, 0 to 1, below world_size, not 2",
        ),
        ({"rank": 0, "world_size": 0}, "world_size must be a whole number, 1 or more, not 0"),
        ({"uneven": "fill"}, "uneven must be 'drop', 'pad' or 'keep', not 'fill'"),
        ({"sparse": "csr"}, "sparse must be 'coo', 'bag' or None, not 'csr'"),
        (
            {"uneven": "pad", "mask": "n"},
            "mask is 'n', which is a column already: give another name",
        ),
        ({"pin_memory": 1.5}, "pin_memory must be True or False, not 1.5"),
        ({"batch_size": 0}, "batch_size must be a whole number, 1 or more, not 0"),
        (
            {"rank": 0, "world_size": 2, "shuffle_files": True},
            (
                "seed must be given where several ranks shuffle files or blocks, and be the same "
                "on all of them: in different orders, some records would be read twice and "
                "others never"
            ),
        ),
    ],
)
def test_options_out_of_range(numbers: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(atds.OptionError) as caught:
        atds.torch.Dataset(numbers, **{"batch_size": 32, "features": NUMBER, **options})
    assert str(caught.value) == message


def test_without_pytorch_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['torch'] = None\nimport atds\nimport atds.torch"
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.stderr.splitlines()[-1] == (
        "atds.errors.MissingPackageError: atds.torch needs torch, which is not installed: pip "
        "install torch"
    )
