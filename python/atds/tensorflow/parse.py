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
from atds.tensorflow._columns import Columns
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
    ``cars[*].model`` or ``friends[gender='f'].name``. It works in eager code, in ``Dataset.map``
    and in other graphs.

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
        serialized: A vector ``tf.string`` of records, encoded by the reader's schema: those of an
            :class:`AvroRecordDataset` in batches.
        reader_schema: The schema; text, what ``json.loads`` makes of it, or a ``tf.string``.
        features: By expression ``tf.io.FixedLenFeature`` and ``FixedLenSequenceFeature``, which
            become a ``tf.Tensor``, and :class:`VarLenFeatureWithRank`, ``tf.io.VarLenFeature`` and
            ``tf.io.SparseFeature``, which become a ``tf.SparseTensor``; or those of :mod:`atds`.
        avro_names: A vector of names of the records, which have no effect.
        name: The name of the operation.

    Raises:
        ValueError: No features, or features that cannot be. What is wrong with an expression or a
            default is a ``tf.errors.InvalidArgumentError`` as well.
        tf.errors.InvalidArgumentError: Records or features that do not fit the schema, or each
            other; a schema that is none.
    """
    features = _checked(features)
    columns, text = _columns(features), to_json(features)
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
        # Of sparse tensors tensorflow-io leaves the rows open.
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
    """The feature; a list for its default may have the values of its shape in any other one."""
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
    """What TensorFlow's operations find wrong with a feature, before any of them runs."""


def _columns(features: Mapping[str, Feature]) -> Columns:
    try:
        return Columns(features)
    except FeatureError as error:
        raise _InvalidFeatureError(None, None, str(error)) from error


def _vector(name: str, value: Any) -> Any:
    tensor = tf.convert_to_tensor(value, tf.string, name=name)
    if tensor.shape.rank in (None, 1):
        return tensor
    message = f"`{name}` must be a vector, a batch of records, not of the shape {tensor.shape}"
    # As TensorFlow's own operations do.
    raise _arguments.invalid(message) if tf.executing_eagerly() else ValueError(message)


def _text(schema: Any) -> Any:
    return tf.convert_to_tensor(schema if tf.is_tensor(schema) else schema_text(schema), tf.string)


def _eagerly(parse: Callable[..., Any], inputs: list[Any]) -> list[Any]:
    """Calls it at once, with the errors that a graph would raise."""
    try:
        arrays = parse(*(tensor.numpy() for tensor in inputs))
    except MemoryError as error:
        raise tf.errors.ResourceExhaustedError(None, None, str(error)) from error
    except ValueError as error:
        raise _arguments.invalid(str(error)) from error
    return [tf.convert_to_tensor(array) for array in arrays]


@dataclass(frozen=True)
class _Asked:
    """Features and the schema that they are asked of."""

    # The features' JSON, which stands for them.
    text: str
    schema: str
    features: dict[str, Feature] = field(compare=False)


def _parsed(asked: _Asked, serialized: Any) -> Batch:
    if serialized.ndim != 1:
        raise DataError(f"`serialized` must be a vector, not of the shape {serialized.shape}")
    return _decoders(asked).decode(serialized.tolist())


class _Decoders:
    """Decoders that are alike, as many as are used at the same time."""

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


#: Those of the schemas and features that were used last.
_decoders = functools.lru_cache(maxsize=32)(_Decoders)
