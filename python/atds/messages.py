"""Records without a container, such as the messages of a queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from atds import _native, _options
from atds._options import Tolerate
from atds.batch import Batch
from atds.errors import OptionError
from atds.feature_sets import binary_names, mask_owners, parse_features, to_json
from atds.schemas import Schema, schema_text
from atds.specs import TensorSpec, element_spec


def decode(
    records: Iterable[bytes],
    schema: Schema,
    features: Mapping[str, Any],
    *,
    reader_schema: Schema | None = None,
) -> Batch:
    """A batch of encoded records, with one row for each.

    >>> schema = {"type": "record", "name": "Click", "fields": [
    ...     {"name": "label", "type": "int"}, {"name": "page", "type": "string"}]}
    >>> features = {"label": atds.DenseFeature([], "int32")}
    >>> atds.decode([b"\\x02\\x02a", b"\\x01\\x00"], schema, features)["label"]
    array([ 1, -1], dtype=int32)

    For many batches use a :class:`MessageDecoder`, which compiles schema and features once.

    Args:
        records: The bytes of each record.
        schema: The writer's schema of the records.
        features: Features by name.
        reader_schema: The reader schema, if it is another.

    Raises:
        SchemaError: A schema is invalid.
        FeatureError: A feature is invalid or does not fit the schema.
        DataError: The bytes are no record of the schema; ``error.record`` is the index.
    """
    return MessageDecoder(schema, features, reader_schema=reader_schema).decode(records)


class MessageDecoder:
    """Makes batches of encoded records, with schemas and features that are compiled once.

    Args:
        schema: The writer's schema of the records, or a list of schemas for single objects.
        features: Features by name.
        reader_schema: The reader schema; None to read each record by its writer's schema.
        single_objects: Whether each record has the header of Avro's single-object encoding, which
            identifies its schema.
        out_of_bounds: The treatment of sparse entries with an index outside their dimension:
            ``error`` or ``drop``.
        memory_limit: Maximum number of bytes of a batch; None for a quarter of the memory that the
            process may use, at most 4 GiB.
        tolerate: Faults of records that are tolerated, one name or several:
            ``trailing-block-bytes`` (bytes after a record), ``utf8`` (text that is not UTF-8;
            invalid bytes become U+FFFD). :meth:`tolerated` counts them.
        max_depth: Maximum nesting depth of a value, up to 300; None for 100.

    Raises:
        SchemaError: A schema is invalid, or cannot be read as the reader's.
        FeatureError: A feature is invalid or does not fit a schema.
    """

    def __init__(
        self,
        schema: Schema | Sequence[Schema],
        features: Mapping[str, Any],
        *,
        reader_schema: Schema | None = None,
        single_objects: bool = False,
        out_of_bounds: Literal["error", "drop"] = "error",
        memory_limit: int | None = None,
        tolerate: Tolerate = (),
        max_depth: int | None = None,
    ) -> None:
        self._schemas = _schemas(schema, single_objects)
        self._features = parse_features(features)
        self._config: dict[str, Any] = {
            "reader_schema": None if reader_schema is None else schema_text(reader_schema),
            "single_objects": _options.flag("single_objects", single_objects),
            "out_of_bounds": _options.out_of_bounds("out_of_bounds", out_of_bounds),
            "memory_limit": _options.optional("memory_limit", memory_limit, 1),
            "tolerate": _options.tolerated("tolerate", tolerate),
            "max_depth": _options.optional("max_depth", max_depth, 1, _options.MAX_DEPTH),
        }
        self._made = self._make()

    def _make(self) -> _native.MessageDecoder:
        binary = binary_names(self._features)
        return _native.MessageDecoder(
            self._schemas,
            to_json(self._features),
            binary,
            mask_owners(self._features),
            **self._config,
        )

    @property
    def _here(self) -> _native.MessageDecoder:
        """The native decoder. A forked child makes its own."""
        if not self._made.is_here():
            self._made = self._make()
        return self._made

    def decode(self, records: Iterable[bytes]) -> Batch:
        """A batch with a row for each record, in order.

        Raises:
            OptionError: An item is not bytes.
            DataError: The bytes are no record of their schema, or do not fit the features.
            MemoryLimitError: The batch is above the memory limit.
        """
        given = _listed(records)
        try:
            return self._here.decode(given)
        except TypeError:
            _check_bytes(given)
            raise

    def tolerated(self) -> dict[str, int]:
        """The numbers of tolerated faults so far: ``trailing_block_bytes`` and
        ``replaced_texts``."""
        trailing, replaced = self._here.tolerated()
        return {"trailing_block_bytes": trailing, "replaced_texts": replaced}

    @property
    def element_spec(self) -> dict[str, TensorSpec]:
        """The specs of a batch's columns by name."""
        return element_spec(self._here.spec(), binary_names(self._features), None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._schemas, self._features, self._config)


def _restored(
    schemas: list[str], features: dict[str, Any], config: dict[str, Any]
) -> MessageDecoder:
    decoder = MessageDecoder.__new__(MessageDecoder)
    decoder._schemas, decoder._features, decoder._config = schemas, features, config
    decoder._made = decoder._make()
    return decoder


class Reencoder:
    """Re-encodes records by another schema, following Avro's schema resolution. Fields that the
    writer lacks get the reader's defaults; other fields are renamed, reordered and promoted.

    >>> schema = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]}
    >>> newer = {"type": "record", "name": "R", "fields": [
    ...     {"name": "n", "type": "long"}, {"name": "new", "type": "boolean", "default": True}]}
    >>> atds.Reencoder(schema, newer).reencode([b"\\x06"])
    [b'\\x06\\x01']

    Args:
        schema: The writer's schema of the records, or a list of schemas for single objects.
        reader_schema: The schema of the re-encoded records.
        single_objects: Whether each input record has the header of Avro's single-object encoding.
        to_single_objects: Whether each re-encoded record gets that header.

    Raises:
        SchemaError: A schema is invalid, or cannot be read as the reader's.
    """

    def __init__(
        self,
        schema: Schema | Sequence[Schema],
        reader_schema: Schema,
        *,
        single_objects: bool = False,
        to_single_objects: bool = False,
    ) -> None:
        self._made = _native.Reencoder(
            _schemas(schema, single_objects),
            schema_text(reader_schema),
            single_objects=_options.flag("single_objects", single_objects),
            to_single_objects=_options.flag("to_single_objects", to_single_objects),
        )

    def reencode(self, records: Iterable[bytes]) -> list[bytes]:
        """The records re-encoded by the reader's schema, in order.

        Raises:
            DataError: The bytes are no record of their schema; ``error.record`` is the index.
        """
        given = _listed(records)
        try:
            return self._made.reencode(given)
        except TypeError:
            _check_bytes(given)
            raise


def _listed(records: Any) -> list[bytes]:
    if isinstance(records, (str, bytes, bytearray, memoryview)) or not isinstance(
        records, Iterable
    ):
        raise OptionError(
            f"records is a list with the bytes of each record, not a {type(records).__name__}"
        )
    return list(records)


def _check_bytes(records: list[Any]) -> None:
    for i, record in enumerate(records):
        if not isinstance(record, (bytes, bytearray)):
            raise OptionError(f"record {i} is {record!r}, which is not bytes") from None


def _schemas(schema: Any, several: bool) -> list[str]:
    """The schemas as texts. A list is several schemas for single objects, otherwise a union."""
    if several and isinstance(schema, (list, tuple)):
        return [schema_text(one) for one in schema]
    return [schema_text(schema)]
