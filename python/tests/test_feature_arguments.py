"""Invalid features: the error names the argument and the reason, without any file."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import atds

ARGUMENTS: list[tuple[Any, str]] = [
    (
        lambda: atds.DenseFeature([], "flaot32"),
        (
            "dtype 'flaot32' is unknown (did you mean 'float32'?): it must be one of int8, int16, "
            "int32, int64, uint8, uint16, float16, bfloat16, float32, float64, bool, string, bytes"
        ),
    ),
    (lambda: atds.DenseFeature([], "uint32"), "dtype 'uint32' is unknown .*"),
    (lambda: atds.DenseFeature([], ">f4"), "dtype '>f4' is unknown.*"),
    (lambda: atds.DenseFeature([], None), "dtype 'None' is unknown.*"),
    (lambda: atds.DenseFeature([], np.complex64), "dtype .*complex64.* is unknown.*"),
    (
        lambda: atds.DenseFeature([0], "int32"),
        "shape [0]: a dimension is above 0, or None where it varies; the batch is not one of them",
    ),
    (
        lambda: atds.DenseFeature([-3], "int32"),
        "shape [-3]: a dimension is above 0, or None where it varies; the batch is not one of them",
    ),
    (
        lambda: atds.DenseFeature("8", "int32"),
        "shape is '8', which is not a list of dimensions such as [8] or []",
    ),
    (
        lambda: atds.DenseFeature([1.5], "int32"),
        "shape is [1.5], which is not a list of dimensions such as [8] or []",
    ),
    (
        lambda: atds.VarlenFeature([0], "int32"),
        "shape [0]: a dimension is above 0, or -1 where it is not known",
    ),
    (
        lambda: atds.SparseFeature([5], "int32", "csr"),  # type: ignore[arg-type]
        "layout is 'csr': it must be one of coo, ragged",
    ),
    (
        lambda: atds.SparseFeature(dtype="int32"),
        (
            "a SparseFeature needs a shape (of a record of indices0.. and values), or all of "
            "index_key, value_key and size"
        ),
    ),
    (
        lambda: atds.SparseFeature([5], "int32", value_key="v"),
        "a SparseFeature has a shape, or index_key, value_key and size, but not both",
    ),
    (
        lambda: atds.SparseFeature(index_key=3, value_key="v", dtype="int32", size=5),  # type: ignore[arg-type]
        "index_key is 3, which is neither a path nor a list of paths",
    ),
    (
        lambda: atds.VarLenFeature("int32", rank=-1),
        "rank is the levels of lists, 0 or more, not -1",
    ),
    (lambda: atds.VarLenFeature("int32", rank=1.5), "rank is 1.5, which is not a whole number"),  # type: ignore[arg-type]
    (
        lambda: atds.DenseFeature([], "int32", expression=b"x"),  # type: ignore[arg-type]
        "expression is b'x', which is not a str",
    ),
    (
        lambda: atds.DenseFeature([], "int32", mask=3),  # type: ignore[arg-type]
        "mask is 3, which is not a str",
    ),
    (
        lambda: atds.DenseFeature([], "int32", cast="yes"),  # type: ignore[arg-type]
        "cast is 'yes', which is neither True nor False",
    ),
    (
        lambda: atds.SparseFeature(index_key="i", value_key=3, dtype="int32", size=5),  # type: ignore[arg-type]
        "value_key is 3, which is not a str",
    ),
    (
        lambda: atds.SparseFeature(
            index_key="i",
            value_key="v",
            dtype="int32",
            size=5,
            already_sorted=1,  # type: ignore[arg-type]
        ),
        "already_sorted is 1, which is neither True nor False",
    ),
    (
        lambda: atds.FixedLenSequenceFeature([None], "int32", allow_missing="x"),  # type: ignore[arg-type]
        "allow_missing is 'x', which is neither True nor False",
    ),
    (
        lambda: atds.DenseFeature([], "string", default="\udcff"),
        r"default is '\udcff', which cannot be UTF-8",
    ),
    (
        lambda: atds.DenseFeature([], "int64", unit="milis"),  # type: ignore[arg-type]
        (
            "unit is 'milis' (did you mean 'millis'?): it must be one of days, hours, minutes, seconds, "
            "millis, micros, nanos"
        ),
    ),
    (
        lambda: atds.DenseFeature([], "int64", hash_buckets="many"),  # type: ignore[arg-type]
        "hash_buckets is 'many', which is not a whole number",
    ),
    (
        lambda: atds.DenseFeature([], "int64", vocabulary="words.txt"),
        (
            "vocabulary is a list of words, or the path of a file with a word a line (as a "
            "pathlib.Path), not 'words.txt'"
        ),
    ),
    (
        lambda: atds.DenseFeature([], "int64", default=object),
        "default is <class 'object'>, which is neither a value nor lists of values",
    ),
    (
        lambda: atds.FixedLenFeature([], "int64", 1, default=2),
        "default and default_value are the same: give one of them",
    ),
]


@pytest.mark.parametrize(("make", "said"), ARGUMENTS, ids=[s[:50] for _, s in ARGUMENTS])
def test_arguments_of_features(make: Any, said: str) -> None:
    with pytest.raises(atds.FeatureError) as caught:
        make()
    found = str(caught.value)
    assert found == said or re.fullmatch(said, found), found
