"""parse_avro: serialized records to tensors."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from atds.batch import Batch
from atds.errors import DataError, FeatureError
from atds.feature_sets import parse_features, to_json
from atds.features import Feature
from atds.messages import MessageDecoder
from atds.schemas import Schema, schema_text
from atds.tensorflow import _arguments
from atds.tensorflow._columns import Columns, splits_dtypes
from atds.tensorflow._entries import entry
from atds.tensorflow._framework import tf, unconverted
from atds.tensorflow.features import VarLenFeatureWithRank


@unconverted
def parse_avro(
    serialized: Any,
    reader_schema: Schema | Any,
    features: Mapping[str, Any],
    avro_names: Any = None,
    name: str | None = None,
) -> dict[str, Any]:
    """Parses a batch of serialized records into a dict of tensors.

    The names of features are path expressions into a record, such as ``user.age``,
    ``cars[*].model`` or ``friends[gender='f'].name``. The function works in eager code, in
    ``Dataset.map`` and in other graphs.

    >>> import tensorflow as tf
    >>> from atds.tensorflow import VarLenFeatureWithRank, parse_avro
    >>> schema = {"type": "record", "name": "R", "fields": [
    ...     {"name": "id", "type": "int"},
    ...     {"name": "tags", "type": {"type": "array", "items": "string"}}]}
    >>> features = {
    ...     "id": tf.io.FixedLenFeature([], tf.int32),
    ...     "tags[*]": VarLenFeatureWithRank(tf.string),
    ... }
    >>> parsed = parse_avro([b"\\x02\\x02\\x02a\\x00", b"\\x04\\x00"], schema, features)
    >>> parsed["id"].numpy().tolist(), parsed["tags[*]"].values.numpy().tolist()
    ([1, 2], [b'a'])

    Args:
        serialized: A ``tf.string`` vector of records, encoded by the reader's schema, such as a
            batch of an :class:`AvroRecordDataset`.
        reader_schema: The schema, as JSON text, parsed JSON, or a ``tf.string``.
        features: Features by expression. ``tf.io.FixedLenFeature`` and ``FixedLenSequenceFeature``
            become a ``tf.Tensor``. :class:`VarLenFeatureWithRank`, ``tf.io.VarLenFeature`` and
            ``tf.io.SparseFeature`` become a ``tf.SparseTensor``. Features of :mod:`atds` are
            accepted too.
        avro_names: Ignored; for compatibility with tensorflow-io.
        name: The name of the operation.

    Raises:
        ValueError: There are no features, or features are invalid. An invalid expression or default
            is a ``tf.errors.InvalidArgumentError`` as well.
        tf.errors.InvalidArgumentError: Records or features do not fit the schema or each other, or
            the schema is invalid.
    """
    given, features = features, _checked(features)
    columns, text = _columns(features, splits_dtypes(given)), to_json(features)
    with tf.name_scope(name or "ParseAvro"):
        serialized = _vector("serialized", serialized)
        if avro_names is not None:
            _vector("avro_names", avro_names)

        def parse(serialized: Any, schema: bytes) -> Any:
            return columns.arrays(_parsed(_Asked(text, schema.decode(), features), serialized))

        inputs, specs = [serialized, _text(reader_schema)], columns.flat(serialized.shape[0])
        if tf.executing_eagerly():
            flat = _eagerly(parse, inputs)
        else:
            flat = tf.numpy_function(entry(parse), inputs, [spec.dtype for spec in specs])
        for tensor, spec in zip(flat, specs, strict=True):
            tensor.set_shape(spec.shape)
        # tensorflow-io leaves the number of rows of sparse tensors unknown.
        return columns.tensors(flat)


def _checked(features: Mapping[str, Any]) -> dict[str, Feature]:
    if not features:
        raise FeatureError(f"features is {features!r}: name at least one")
    for name, feature in features.items():
        if isinstance(feature, VarLenFeatureWithRank) and not feature.rank:
            raise FeatureError(
                f"feature '{name}' has the rank {feature.rank!r}: it is 1 or more; of a single "
                "value make a tf.io.FixedLenFeature"
            )
    return parse_features({name: _reshaped(feature) for name, feature in features.items()})


def _reshaped(feature: Any) -> Any:
    """The feature, with its default reshaped to the feature's shape."""
    if not isinstance(feature, tf.io.FixedLenFeature) or feature.shape is None:
        return feature
    default, shape = feature.default_value, tf.TensorShape(feature.shape)
    if not isinstance(default, (list, tuple, np.ndarray)) or not shape.is_fully_defined():
        return feature
    values = np.array(default, dtype=object)
    if values.size != shape.num_elements():
        return feature
    default = values.reshape(shape.as_list()).tolist()
    return tf.io.FixedLenFeature(feature.shape, feature.dtype, default)


class _InvalidFeatureError(tf.errors.InvalidArgumentError, ValueError):
    """An invalid feature, with the error class of TensorFlow's operations."""


def _columns(features: Mapping[str, Feature], dtypes: Mapping[str, Any]) -> Columns:
    try:
        return Columns(features, splits_dtypes=dtypes)
    except FeatureError as error:
        raise _InvalidFeatureError(None, None, str(error)) from error


def _vector(name: str, value: Any) -> Any:
    tensor = tf.convert_to_tensor(value, tf.string, name=name)
    if tensor.shape.rank in (None, 1):
        return tensor
    message = f"`{name}` must be a vector, a batch of records, not of the shape {tensor.shape}"
    # TensorFlow's own operations do this too.
    raise _arguments.invalid(message) if tf.executing_eagerly() else ValueError(message)


def _text(schema: Any) -> Any:
    return tf.convert_to_tensor(schema if tf.is_tensor(schema) else schema_text(schema), tf.string)


def _eagerly(parse: Callable[..., Any], inputs: list[Any]) -> list[Any]:
    """Calls ``parse`` eagerly, with the errors that a graph would raise."""
    try:
        arrays = parse(*(tensor.numpy() for tensor in inputs))
    except MemoryError as error:
        raise tf.errors.ResourceExhaustedError(None, None, str(error)) from error
    except ValueError as error:
        raise _arguments.invalid(str(error)) from error
    return [tf.convert_to_tensor(array) for array in arrays]


@dataclass(frozen=True)
class _Asked:
    """A schema and features; the key of a cache of decoders."""

    # The JSON of the features, which is hashable.
    text: str
    schema: str
    features: dict[str, Feature] = field(compare=False)


def _parsed(asked: _Asked, serialized: Any) -> Batch:
    if serialized.ndim != 1:
        raise DataError(f"`serialized` must be a vector, not of the shape {serialized.shape}")
    return _decoders(asked).decode(serialized.tolist())


class _Decoders:
    """A pool of equal decoders, one for each concurrent call."""

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked
        self._free: list[MessageDecoder] = []

    def decode(self, records: list[bytes]) -> Batch:
        """A batch of records."""
        decoder = self._take()
        batch = decoder.decode(records)
        self._free.append(decoder)
        return batch

    def _take(self) -> MessageDecoder:
        with contextlib.suppress(IndexError):
            return self._free.pop()
        return MessageDecoder(self._asked.schema, self._asked.features)


#: The decoders of recently used schemas and features.
_decoders = functools.lru_cache(maxsize=32)(_Decoders)
