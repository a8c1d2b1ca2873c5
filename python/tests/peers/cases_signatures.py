"""How the names are called."""

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
    """Arguments with their order, names and defaults; what features have."""
    for name in NAMES:
        yield Case(f"the signature of {name}", lambda tfio, name=name: signature(tfio, name))
    yield Case("the attributes of features", attributes)


def signature(tfio: Any, name: str) -> Any:
    """What can be given by position; what is keyword-only is more than tensorflow-io has."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = inspect.signature(getattr(tfio, name)).parameters.values()
    return [
        (parameter.name, "needed" if parameter.default is parameter.empty else parameter.default)
        for parameter in parameters
        if parameter.kind is kind
    ]


def attributes(tfio: Any) -> Any:
    """As tuples, by name, and as text."""
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
