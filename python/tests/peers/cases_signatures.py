"""Cases for the signatures of classes and functions."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from alike import Case

NAMES = [
    "ATDSDataset",
    "AvroRecordDataset",
    "DenseFeature",
    "SparseFeature",
    "VarLenFeatureWithRank",
    "VarlenFeature",
    "make_avro_record_dataset",
    "parse_avro",
]


def signatures_cases() -> Iterator[Case]:
    """The order, names and defaults of arguments, and the attributes of features."""
    for name in NAMES:
        yield Case(f"the signature of {name}", lambda tfio, name=name: signature(tfio, name))
    yield Case("the attributes of features", attributes)


def signature(tfio: Any, name: str) -> Any:
    """The positional arguments. Keyword-only ones are additions to tensorflow-io."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = inspect.signature(getattr(tfio, name)).parameters.values()
    return [
        (parameter.name, "needed" if parameter.default is parameter.empty else parameter.default)
        for parameter in parameters
        if parameter.kind is kind
    ]


def attributes(tfio: Any) -> Any:
    """A feature as a tuple, by attribute, and as text."""
    shaped = [
        tfio.DenseFeature([3], tf.int32),
        tfio.SparseFeature(shape=(3, -1), dtype=tf.string),
        tfio.VarlenFeature([-1, 2], dtype=tf.bool),
    ]
    ranked = [tfio.VarLenFeatureWithRank(tf.int32), tfio.VarLenFeatureWithRank(tf.int64, rank=2)]
    return (
        [(tuple(one), one._fields, one._asdict(), str(one)) for one in shaped],
        [one == type(one)(one.shape, one.dtype) for one in shaped],
        [(one.dtype, one.rank) for one in ranked],
    )
