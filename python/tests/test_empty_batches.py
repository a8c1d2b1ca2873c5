"""Batches without rows or without columns, and functions that take them."""

from __future__ import annotations

import numpy as np
import pytest

import atds
from frameworks import need


@pytest.fixture(params=[0, 2])
def empty(request: pytest.FixtureRequest) -> atds.Batch:
    """Batches without rows, and without columns."""
    array = {"type": "array", "items": {"type": "array", "items": "int"}}
    longs = {"type": "array", "items": "long"}
    cells = {
        "type": "record",
        "name": "Cells",
        "fields": [
            {"name": "indices0", "type": longs},
            {"name": "indices1", "type": longs},
            {"name": "values", "type": {"type": "array", "items": "float"}},
        ],
    }
    fields = [
        {"name": "deep", "type": array},
        {"name": "cells", "type": cells},
        {"name": "list", "type": {"type": "array", "items": "boolean"}},
        {"name": "words", "type": {"type": "array", "items": "string"}},
    ]
    features = {
        "deep": atds.VarlenFeature([-1, -1], "int32"),
        "nested": atds.VarlenFeature([-1, -1], "int32", "ragged", expression="deep"),
        "cells": atds.SparseFeature([5, 6], "float32"),
        "rows": atds.SparseFeature([5, 6], "float32", "ragged", expression="cells"),
        "list": atds.VarlenFeature([-1], "bool", "ragged"),
        "padded": atds.DenseFeature([None], "bool", default=False, expression="list"),
        "brain": atds.DenseFeature(
            [None], "bfloat16", default=0, expression="cells.values", cast=True
        ),
        "words": atds.DenseFeature([None], "string", default=""),
    }
    schema = {"type": "record", "name": "R", "fields": fields}
    # The ends of six arrays.
    return atds.decode([bytes(6)] * request.param, schema, features)


def test_nothing_is_taken_too(empty: atds.Batch) -> None:
    rows = empty.num_records
    assert np.from_dlpack(empty["padded"]).shape == (rows, 0)
    assert empty["words"].to_numpy().shape == (rows, 0)
    assert empty["words"].to_pylist() == [[]] * rows
    assert empty["cells"].to_scipy().shape == empty["rows"].to_scipy().shape == (rows, 5, 6)
    assert empty["deep"].to_scipy().shape == (rows, 0, 0)
    assert empty["list"].to_scipy().shape == (rows, 0)


def test_arrow_takes_nothing(empty: atds.Batch) -> None:
    need("pyarrow")
    polars = need("polars")
    arrow = empty.to_arrow()
    arrow.validate(full=True)
    names = ["padded", "brain", "words", "list", "nested", "rows"]
    want = [{name: [] for name in names}] * empty.num_records
    assert arrow.select(names).to_pylist() == want
    assert polars.DataFrame(arrow).select(names).rows(named=True) == want


def test_jax_takes_nothing(empty: atds.Batch) -> None:
    jax = need("jax")
    rows = empty.num_records
    for name in ("padded", "brain"):
        assert jax.numpy.from_dlpack(empty[name]).shape == (rows, 0)
    assert empty["cells"].to_jax().shape == empty["rows"].to_jax().shape == (rows, 5, 6)
    values, splits = empty["list"].to_jax()
    assert (values.shape, splits.tolist()) == ((0,), [0] * (rows + 1))


def test_torch_takes_nothing(empty: atds.Batch) -> None:
    torch = need("torch")
    rows = empty.num_records
    for name in ("padded", "brain"):
        assert torch.from_dlpack(empty[name]).shape == (rows, 0)
    assert empty["cells"].to_torch().shape == empty["rows"].to_torch().shape == (rows, 5, 6)
    assert empty["list"].to_torch().shape[0] == rows


def test_tensorflow_takes_nothing(empty: atds.Batch) -> None:
    need("tensorflow")
    rows = empty.num_records
    assert empty["cells"].to_tf().shape == empty["rows"].to_tf().shape == (rows, 5, 6)
    assert empty["nested"].to_tf().to_list() == empty["list"].to_tf().to_list() == [[]] * rows
