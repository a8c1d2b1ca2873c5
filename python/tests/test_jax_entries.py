"""`atds.jax` with a fixed number of entries, so that all batches have one shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import atds
from frameworks import need

jax = need("jax")
import atds.jax

DIM = 50


@pytest.fixture
def sparse(write: Any) -> str:
    """64 records with up to 6 entries each."""
    arrays = {"indices0": "long", "values": "float"}
    cells = [{"name": n, "type": {"type": "array", "items": t}} for n, t in arrays.items()]
    fields: list[dict[str, Any]] = [
        {"name": "s", "type": {"type": "record", "name": "S", "fields": cells}},
        {"name": "list", "type": {"type": "array", "items": "int"}},
    ]
    records = [
        {
            "s": {
                "indices0": [(7 * n + k) % DIM for k in range(n % 7)],
                "values": [float(n + k) for k in range(n % 7)],
            },
            "list": list(range(n % 3)),
        }
        for n in range(64)
    ]
    path: str = write(fields, records, sync_interval=200)
    return path


S = {"s": atds.SparseFeature([DIM], "float32")}


def test_a_function_is_traced_once_in_an_epoch(sparse: str) -> None:
    traces = []

    @jax.jit
    def step(batch: Any) -> Any:
        traces.append(batch["s"].nse)
        return batch["s"] @ jax.numpy.arange(DIM, dtype="float32"), batch["s"].todense()

    def run(**options: Any) -> list[Any]:
        dataset = atds.Dataset(sparse, 8, S, drop_remainder=True)
        return [step(batch) for batch in atds.jax.iterate(dataset, **options)]

    plain = run()
    assert len(plain) == 8
    assert len(traces) > 1
    traces.clear()
    for nse in (40, {"s": 40}):
        for (product, dense), (expected, expected_dense) in zip(run(nse=nse), plain, strict=True):
            assert np.allclose(product, expected)
            assert np.array_equal(dense, expected_dense)
    assert traces == [40]


def test_what_is_added_counts_nowhere(sparse: str) -> None:
    (batch,) = atds.jax.iterate(atds.Dataset(sparse, 64, S), nse=1000)
    (plain,) = atds.jax.iterate(atds.Dataset(sparse, 64, S))
    s, expected = batch["s"], plain["s"]
    assert (s.nse, s.shape, s.dtype, s.indices.dtype) == (1000, (64, DIM), "float32", "int32")
    assert np.array_equal(s.todense(), expected.todense())
    # JAX pads in the same way.
    of_jax = type(s).fromdense(expected.todense(), nse=1000)
    found = len(expected.data)
    assert found < 1000
    assert np.array_equal(s.indices[found:], of_jax.indices[of_jax.nse - (1000 - found) :])
    assert set(map(tuple, s.indices[found:].tolist())) == {(64, DIM)}
    assert not s.data[found:].any()
    assert np.allclose(s.sum(), expected.sum())
    assert np.array_equal(s.T.todense(), expected.T.todense())
    assert np.array_equal(s.sum_duplicates(nse=1000).todense(), expected.todense())
    assert np.array_equal((s * 2.0).todense(), 2 * np.asarray(expected.todense()))


def test_masks_are_as_long_as_their_columns(sparse: str) -> None:
    features: dict[str, atds.Feature] = {
        "s": atds.SparseFeature([DIM], "float32", mask="has_s"),
        "other": atds.SparseFeature([DIM], "float32", expression="s", mask="has_other"),
    }
    dataset = atds.Dataset(sparse, 16, features)
    plain = list(atds.jax.iterate(dataset))
    for batch, expected in zip(atds.jax.iterate(dataset, nse={"s": 90}), plain, strict=True):
        found = len(expected["s"].data)
        assert batch["has_s"].shape == (90,)
        assert batch["has_s"][:found].all()
        assert not batch["has_s"][found:].any()
        assert np.array_equal(batch["has_other"], expected["has_other"])


def test_of_some_columns_by_name(sparse: str) -> None:
    features = {
        **S,
        "brain": atds.SparseFeature([DIM], "bfloat16", expression="s", cast=True),
        "ragged": atds.SparseFeature([DIM], "float32", expression="s", layout="ragged"),
        "varying": atds.VarlenFeature([-1], "int32", expression="list"),
    }
    dataset = atds.Dataset(sparse, 64, features)
    (plain,) = atds.jax.iterate(dataset)
    (batch,) = atds.jax.iterate(dataset, nse={"brain": 300})
    assert (batch["s"].nse, batch["brain"].nse) == (plain["s"].nse, 300)
    for name in ("s", "brain", "varying"):
        assert batch[name].dtype == plain[name].dtype
        assert np.array_equal(batch[name].todense(), plain[name].todense()), name
    assert np.array_equal(batch["ragged"][1], plain["ragged"][1])


def test_more_entries_than_there_is_room_for(sparse: str) -> None:
    dataset = atds.Dataset(sparse, 16, S)
    lengths = [sum(n % 7 for n in range(first, first + 16)) for first in range(0, 64, 16)]
    batches = atds.jax.iterate(dataset, nse=lengths[0])
    more = next(k for k, length in enumerate(lengths) if length > lengths[0])
    for _ in range(more):
        next(batches)
    with pytest.raises(atds.OptionError) as caught:
        next(batches)
    assert str(caught.value) == (
        f"feature 's' has {lengths[more]} entries in a batch, more than nse={lengths[0]}: give "
        f"nse={lengths[more]} or more, or a smaller batch_size"
    )
    # The iteration has ended, so no batch was left out.
    assert list(batches) == []
    assert len(list(atds.jax.iterate(dataset, nse=max(lengths)))) == 4


@pytest.mark.parametrize(
    ("nse", "said"),
    [
        (-1, r"^nse must be a whole number, 0 to 2,147,483,647, or None, not -1$"),
        ("x", "^nse must be a whole number"),
        ({"s": 1.5}, r"^nse of 's' must be a whole number, 0 to .*, not 1.5$"),
        (
            {"t": 5},
            r"^nse is given for 't', which is not a BCOO column; the BCOO columns are 's', 'v'",
        ),
        (100, r"^feature 'v' has a dimension that varies from batch to batch, \(None,\), so that"),
    ],
)
def test_what_is_no_number_of_entries(sparse: str, nse: Any, said: str) -> None:
    features = {**S, "v": atds.VarlenFeature([-1], "int32", expression="list")}
    dataset = atds.Dataset(sparse, 16, features)
    with pytest.raises(atds.OptionError, match=said):
        atds.jax.iterate(dataset, nse=nse)
    assert dataset.epoch == 0


def test_no_sparse_column(numbers: str) -> None:
    dataset = atds.Dataset(numbers, 16, {"n": atds.DenseFeature([], "int32", cast=True)})
    with pytest.raises(atds.OptionError, match="no column is a BCOO: leave it out"):
        atds.jax.iterate(dataset, nse=10)
