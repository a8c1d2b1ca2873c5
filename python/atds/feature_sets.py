"""Sets of features by name: checked, converted to JSON and filtered."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from atds._feature_values import text
from atds.errors import FeatureError
from atds.features import (
    DenseFeature,
    Feature,
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    VarlenFeature,
)

_LOG = logging.getLogger("atds")


def parse_features(features: Any, format: Callable[[], str] | None = None) -> dict[str, Feature]:
    """Features by name as features of this package; TensorFlow's are converted. ``format`` tells the
    format of the files, on which their meaning depends.

    Raises:
        FeatureError: The value is not a dict of features by name, or is empty.
    """
    if not isinstance(features, Mapping):
        raise FeatureError(
            f"features is {_kind(features)}: give a dict of names and features, such as "
            "{'label': atds.DenseFeature([], 'int32')}"
        )
    if not features:
        raise FeatureError(
            "features is empty: name at least one, or leave it out to have them inferred"
        )
    is_foreign = not all(isinstance(feature, Feature) for feature in features.values())
    of_examples = is_foreign and format is not None and format() == "tfrecord"
    foreign = _FOREIGN | _OF_EXAMPLES if of_examples else _FOREIGN
    return {_name(name): _feature(name, feature, foreign) for name, feature in features.items()}


def to_json(features: Mapping[str, Feature]) -> str:
    """Features as the text of a features file."""
    return json.dumps(entries(features))


def entries(features: Mapping[str, Feature]) -> dict[str, dict[str, Any]]:
    """Features as the entries of a features file."""
    return {name: feature._entry() for name, feature in features.items()}


def binary_names(features: Mapping[str, Feature]) -> set[str]:
    """The names of the features whose strings are bytes, and not text."""
    return {name for name, feature in features.items() if vars(feature)["dtype"] == "bytes"}


def mask_owners(features: Mapping[str, Feature]) -> dict[str, str]:
    """For each mask of entries, the name of the feature with these entries."""
    kinds = (SparseFeature, VarlenFeature, VarLenFeature)
    return {
        feature.mask: name
        for name, feature in features.items()
        if feature.mask is not None and isinstance(feature, kinds)
    }


def as_lists(features: Mapping[str, Feature]) -> dict[str, Feature]:
    """The same features; those of varying length with a dimension become ragged."""
    return {name: _as_lists(feature) for name, feature in features.items()}


def _as_lists(feature: Feature) -> Feature:
    match feature:
        case VarlenFeature() if feature.shape:
            return dataclasses.replace(feature, layout="ragged")
        case VarLenFeature() if feature.rank:
            return dataclasses.replace(feature, layout="ragged")
    return feature


def no_strings(name: str, feature: Feature, framework: str) -> FeatureError:
    """The error for a feature of strings that a framework cannot hold."""
    changes: dict[str, Any] = {"dtype": "int64", "hash_buckets": 10_000}
    # A string default would not be an id.
    for key in ("default", "default_value"):
        if getattr(feature, key, None) is not None:
            changes[key] = -1
    ids = dataclasses.replace(feature, **changes)
    return FeatureError(
        f"feature '{name}' is strings, which {framework} does not have: ask for ids, such as "
        f"atds.{ids!r}, or those of a vocabulary= of words; or leave the feature out"
    )


def without_strings(features: Mapping[str, Feature], framework: str) -> dict[str, Feature]:
    """Inferred features without string features, whose names are logged.

    Raises:
        FeatureError: All are strings.
    """
    kept = {name: feature for name, feature in features.items() if not is_string(feature)}
    if len(kept) == len(features):
        return kept
    strings = {name: vars(features[name])["dtype"] for name in features if name not in kept}
    leave_out(strings, not kept, framework, ASK_FOR_IDS)
    return kept


#: Advice for reading string columns in frameworks without strings.
ASK_FOR_IDS = "ask for ids of strings with hash_buckets= or vocabulary="


def is_string(feature: Feature) -> bool:
    """Whether the values of a feature are text or bytes."""
    return vars(feature)["dtype"] in ("string", "bytes")


def leave_out(dtypes: Mapping[str, str], is_all: bool, framework: str, remedy: str) -> None:
    """Logs which inferred columns are left out, and how to read them.

    Raises:
        FeatureError: No other columns are left.
    """
    names = ", ".join(f"{name!r} ({dtype})" for name, dtype in dtypes.items())
    said = f"features= was not given, and {framework} cannot hold these inferred columns: {names}"
    if is_all:
        raise FeatureError(f"{said}; there are no others: give features=, and {remedy}")
    _LOG.warning("%s. They are left out. To have them, give features=, and %s", said, remedy)


def from_json(features: str, binary: Iterable[str]) -> dict[str, Feature]:
    """Features from the text of a features file; strings named in `binary` are bytes."""
    found: dict[str, dict[str, Any]] = json.loads(features)
    for name in binary:
        found[name]["dtype"] = "bytes"
    return from_entries(found)


def from_entries(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Feature]:
    """Features from the entries of a features file that were checked already."""
    return {name: _of_entry(dict(entry)) for name, entry in found.items()}


def _of_entry(entry: dict[str, Any]) -> Feature:
    make = _KINDS[entry.pop("kind")]
    if make is DenseFeature:
        entry.setdefault("shape", [])
    elif make is VarlenFeature:
        entry.setdefault("shape", None)
    elif make is VarLenFeature:
        entry.setdefault("rank", None)
    return make(**entry)


_KINDS: dict[str, Callable[..., Feature]] = {
    "dense": DenseFeature,
    "sparse": SparseFeature,
    "varlen": VarlenFeature,
    "fixed_len": FixedLenFeature,
    "fixed_len_sequence": FixedLenSequenceFeature,
    "var_len": VarLenFeature,
}


def _name(name: Any) -> str:
    return text("a feature's name", name)


def _feature(name: str, feature: Any, foreign: _Foreign) -> Feature:
    if isinstance(feature, Feature):
        return feature
    # TensorFlow's features, and those of tensorflow-io, are known by their names and have the
    # same attributes in every version.
    make = foreign.get(type(feature).__name__)
    if make is None:
        raise FeatureError(
            f"feature '{name}' is {_kind(feature)}: give one such as atds.DenseFeature([], 'int32')"
        )
    try:
        return make(feature)
    except FeatureError as error:
        raise FeatureError(f"feature '{name}': {error}") from None


def _sparse(feature: Any) -> Feature:
    if hasattr(feature, "shape"):
        return SparseFeature(feature.shape, feature.dtype)
    return SparseFeature(
        index_key=feature.index_key,
        value_key=feature.value_key,
        dtype=feature.dtype,
        size=feature.size,
        already_sorted=feature.already_sorted,
    )


#: TensorFlow's partitions by the names of their types.
_PARTITIONS = {
    "RowSplits": "row_splits",
    "RowLengths": "row_lengths",
    "RowStarts": "row_starts",
    "RowLimits": "row_limits",
    "ValueRowIds": "value_rowids",
    "UniformRowLength": "uniform_row_length",
}


def _partition(partition: Any) -> tuple[str, Any]:
    name = _PARTITIONS[type(partition).__name__]
    return name, partition.length if name == "uniform_row_length" else partition.key


def _ragged(feature: Any) -> VarLenFeature:
    # Avro refuses partitions when it compiles the features.
    partitions = [_partition(partition) for partition in feature.partitions]
    return VarLenFeature(
        feature.dtype, layout="ragged", expression=feature.value_key, partitions=partitions
    )


def _sequence_of_example(feature: Any) -> Feature:
    # TensorFlow's shape is that of a step.
    shape = [None, *feature.shape]
    return FixedLenSequenceFeature(
        shape, feature.dtype, feature.allow_missing, feature.default_value
    )


def _sparse_of_example(feature: Any) -> Feature:
    if hasattr(feature, "shape"):
        return _sparse(feature)
    keys = feature.index_key
    keys = [keys] if isinstance(keys, str) else keys
    return SparseFeature(
        index_key=[f"@{_quoted(key)}" for key in keys],
        value_key=f"@{_quoted(feature.value_key)}",
        dtype=feature.dtype,
        size=feature.size,
        already_sorted=feature.already_sorted,
    )


def _ragged_of_example(feature: Any) -> Feature:
    expression = None if feature.value_key is None else _quoted(feature.value_key)
    # Of a feature list, the rank is 2.
    return dataclasses.replace(_ragged(feature), rank=None, expression=expression)


def _quoted(key: str) -> str:
    """A key as an expression."""
    return "'" + key.replace("\\", "\\\\").replace("'", "\\'") + "'"


_Foreign: TypeAlias = dict[str, Callable[[Any], Feature]]

_FOREIGN: _Foreign = {
    "FixedLenFeature": lambda f: FixedLenFeature(f.shape, f.dtype, f.default_value),
    "FixedLenSequenceFeature": lambda f: FixedLenSequenceFeature(
        f.shape, f.dtype, f.allow_missing, f.default_value
    ),
    "VarLenFeature": lambda f: VarLenFeature(f.dtype, rank=None),
    "VarLenFeatureWithRank": lambda f: VarLenFeature(f.dtype, rank=f.rank),
    "RaggedFeature": _ragged,
    "SparseFeature": _sparse,
    "DenseFeature": lambda f: DenseFeature(f.shape, f.dtype),
    "VarlenFeature": lambda f: VarlenFeature(f.shape, f.dtype),
}

#: Features whose names are keys, of `tf.io.parse_example`.
_OF_EXAMPLES: _Foreign = {
    "FixedLenSequenceFeature": _sequence_of_example,
    "RaggedFeature": _ragged_of_example,
    "SparseFeature": _sparse_of_example,
}


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"
