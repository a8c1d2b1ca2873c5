"""Writes rows and batches to files."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal

from atds import _batch_rows, _native, _options, _row_schemas, btable
from atds.batch import Batch
from atds.dataset import Dataset
from atds.errors import DataError, OptionError, SchemaError
from atds.features import SparseFeature, VarLenFeature, VarlenFeature
from atds.ragged import RaggedTensor
from atds.schemas import Schema, schema_text
from atds.sparse import SparseTensor

__all__ = ["write"]

Format = Literal["avro", "tfrecord", "btable"]

#: As Avro's own writers.
_BLOCK_BYTES = 16_000

_KINDS = {
    "int64": "int64",
    "float": "float32",
    "float32": "float32",
    "bytes": "bytes",
    "string": "bytes",
}


def write(
    path: str | os.PathLike[str],
    rows: Iterable[Any],
    schema: Schema | Mapping[str, Any] | Iterable[str] | None = None,
    *,
    format: Format | None = None,
    codec: str | None = None,
    level: int | None = None,
    block_bytes: int | None = None,
    metadata: Mapping[str, str | bytes] | None = None,
    masks: Mapping[str, str] | None = None,
) -> int:
    """Writes rows, or the rows of batches, to a file of Avro, TFRecord or BTable, and returns their
    number.

    Rows are written as they come, so that they need not fit the memory. The file gets its name when
    it is complete: until then a file that was there stays as it is, also if an error occurs.

    >>> rows = ({"id": n, "name": f"n{n}", "scores": [n / 2, n / 4]} for n in range(3))
    >>> atds.write("people.avro", rows, codec="zstandard")
    3
    >>> batch = next(iter(atds.Dataset("people.avro", 3)))
    >>> batch["id"].tolist(), batch["scores"].tolist()
    ([0, 1, 2], [[0.0, 0.0], [0.5, 0.25], [1.0, 0.5]])
    >>> atds.write("people.tfrecord", atds.Dataset("people.avro", 3))
    3

    Args:
        path: The file.
        rows: An iterable of rows, or of batches: an :class:`atds.Dataset`, or any iterable of
            :class:`atds.Batch`. A row is a dict by the names of fields. For Avro it may be any value
            of the schema, for TFRecord also ``bytes``, which are a record as they are. For TFRecord,
            a dict of the dicts ``context`` and ``feature_lists`` is a ``SequenceExample``. Columns of
            your own become a batch by ``atds.Batch(columns)``, and so does a frame of pandas. A null of a
            column of pandas, polars or pyarrow is None; NaN stays a number.
        schema: For Avro the schema, as JSON text or as the value that ``json.loads`` returns; if it
            is None, it is that of the first row or batch. For TFRecord the kind of each key, of
            ``int64``, ``float32`` and ``bytes``, for a ``SequenceExample`` in ``context`` and
            ``feature_lists`` as in a row; if it is None, the first row that has a key gives its
            kind. For BTable the labels; if it is None, the keys of the first row.
        format: ``avro``, ``tfrecord`` or ``btable``; None for what the name says.
        codec: For Avro ``null``, ``deflate``, ``snappy``, ``zstandard``, ``bzip2`` or ``xz``; None for
            ``null``. For the other formats the compression of the whole file: ``none``, for TFRecord
            ``gzip`` or ``zlib``, for BTable ``gzip`` or ``zstandard``; None for what the name says.
        level: The level of the codec; None for its default. BTable has none.
        block_bytes: For Avro, the size in bytes from which a block is written, before compression;
            None for 16,000.
        metadata: For Avro, values for the header. Keys must not begin with ``avro.``.
        masks: For columns that are masks, the column whose values they say to be there: True where
            there is a value, False where the row has None. The masks of an :class:`atds.Dataset` and
            those of entries in a :class:`atds.Batch` are known; those given must be in the first batch.

    Raises:
        OptionError: An option that is invalid, or that the format does not have; a name that tells no
            format.
        SchemaError: The schema is invalid, or the first row or batch does not tell it.
        DataError: A row does not fit the schema; ``error.record`` is its number, from 0, and
            ``error.field`` the field.
        FileError: The file cannot be written.
    """
    format = _format(path, format)
    given = {"level": level, "block_bytes": block_bytes, "metadata": metadata}
    for name, value in given.items():
        if value is not None and name not in _OPTIONS_OF[format]:
            raise OptionError(f"{name} is no option of {format}: leave it out")
    if isinstance(rows, Batch):
        rows = [rows]
    # A frame of pandas iterates over the names of its columns.
    elif (
        isinstance(rows, (Mapping, str, bytes))
        or not isinstance(rows, Iterable)
        or hasattr(rows, "iloc")
    ):
        raise DataError(
            f"rows cannot be a {type(rows).__name__}: give an iterable of dicts, or columns as "
            "atds.Batch(columns)"
        )
    source = _Source(rows, masks)
    source.check_masks(masks or {})
    if format == "avro":
        return _write_avro(path, source, schema, codec, level, block_bytes, metadata)
    if format == "tfrecord":
        return _write_tfrecord(path, source, schema, codec, level)
    return _write_btable(path, source, schema, codec)


_OPTIONS_OF = {"avro": ("level", "block_bytes", "metadata"), "tfrecord": ("level",), "btable": ()}


class _Source:
    """Rows, or batches with what is known of their columns."""

    def __init__(self, items: Iterable[Any], masks: Mapping[str, str] | None) -> None:
        self._items = iter(items)
        self._row_masks = dict(masks or {})
        #: The sparse columns that are lists, if the data set tells.
        self.lists: Collection[str] | None = None
        if isinstance(items, Dataset):
            features = items.features
            lists = (VarlenFeature, VarLenFeature)
            self.lists = {name for name, feature in features.items() if isinstance(feature, lists)}
            for name, feature in features.items():
                of_entries = isinstance(feature, (*lists, SparseFeature))
                for mask in (feature.row_mask, None if of_entries else feature.mask):
                    if mask is not None:
                        self._row_masks.setdefault(mask, name)

    def first(self) -> Any:
        """The first row or batch, which stays; None if there is none."""
        first = list(itertools.islice(self._items, 1))
        self._items = itertools.chain(first, self._items)
        return first[0] if first else None

    def check_masks(self, masks: Mapping[str, str]) -> None:
        """Checks that the first batch has the columns that the caller gave."""
        first = self.first() if masks else None
        if first is None:
            return
        if not isinstance(first, Batch):
            raise OptionError(
                "masks are columns of batches: leave masks out, and give None where a row has no value"
            )
        for name in itertools.chain.from_iterable(masks.items()):
            if name not in first:
                raise OptionError(
                    f"masks: the first batch has no column {name!r}, but {', '.join(first)}"
                )

    def masks(self, batch: Batch) -> _batch_rows.Masks:
        """The columns of a batch that are masks."""
        # A batch of the caller's own may have no masks.
        entries = getattr(batch, "masks", {})
        rows = {mask: name for mask, name in self._row_masks.items() if mask not in entries}
        return _batch_rows.Masks(entries, rows).of(batch)

    def rows(self, lists: Collection[str] | None, *, flat: bool = False) -> Iterator[Any]:
        """All rows. ``lists`` are the sparse columns that are lists; if ``flat``, the records of the
        other sparse columns are keys of their own."""
        for item in self._items:
            if not isinstance(item, Batch):
                yield item
                continue
            rows = _batch_rows.rows(item, self.masks(item), lists or (), arrays=flat)
            yield from map(_flattened, rows) if flat else rows


def _format(path: str | os.PathLike[str], format: Any) -> Format:
    if format is None:
        format = _native.format_of_name(path)
        if format is None:
            raise OptionError(
                f"the name {os.fspath(path)!r} tells no format: let it end in '.avro', '.tfrecord' "
                "or '.btable', or give format="
            )
    if format not in _OPTIONS_OF:
        raise OptionError(f"format must be 'avro', 'tfrecord' or 'btable', not {format!r}")
    known: Format = format
    return known


def _write_avro(
    path: str | os.PathLike[str],
    source: _Source,
    schema: Any,
    codec: str | None,
    level: int | None,
    block_bytes: int | None,
    metadata: Mapping[str, str | bytes] | None,
) -> int:
    codec = codec or "null"
    try:
        levels = _native.codec_levels(codec)
    except (TypeError, ValueError) as error:
        raise OptionError(f"codec must be {error}, not {codec!r}") from None
    if level is not None:
        if levels is None:
            raise OptionError(f"the codec {codec} has no levels: leave level out")
        level = _options.whole("level", level, *levels)
    block_bytes = _options.optional("block_bytes", block_bytes, 1, _options.MAX_BLOCK_BYTES)
    pairs = _metadata(metadata or {})
    lists = source.lists
    is_inferred = schema is None
    if is_inferred:
        schema = _inferred(source)
    text = schema_text(schema)
    if lists is None:
        lists = _array_fields(text)
    writer = _native.RowWriter.avro(path, text, codec, level, block_bytes or _BLOCK_BYTES, pairs)
    try:
        return _written(writer, source.rows(lists))
    except DataError as error:
        if is_inferred and error.record is not None:
            error.args = (f"{error}; its type is that of the first row or batch: give a schema",)
        raise


def _inferred(source: _Source) -> dict[str, Any]:
    first = source.first()
    if first is None:
        raise SchemaError("there is no row that tells the schema: give one")
    if isinstance(first, Batch):
        return _row_schemas.of_batch(first, source.masks(first), source.lists)
    return _row_schemas.of_row(first)


def _array_fields(schema: str) -> set[str]:
    """The fields of a schema that are arrays, or a union with one."""
    try:
        parsed = json.loads(schema)
    except ValueError:
        # The writer says what is wrong.
        return set()
    fields = parsed.get("fields") if isinstance(parsed, dict) else None
    found: set[str] = set()
    for field in fields if isinstance(fields, list) else ():
        if not isinstance(field, dict):
            continue
        type_ = field.get("type")
        branches = type_ if isinstance(type_, list) else [type_]
        if any(isinstance(branch, dict) and branch.get("type") == "array" for branch in branches):
            found.add(str(field.get("name")))
    return found


def _metadata(metadata: Mapping[str, str | bytes]) -> list[tuple[str, bytes]]:
    for key in metadata:
        if not isinstance(key, str) or key.startswith("avro."):
            raise OptionError(
                f"a key of metadata is text that does not begin with 'avro.', not {key!r}"
            )
        _utf8(f"the key {key!r} of metadata", key)
    found = []
    for key, value in metadata.items():
        # ``bytes`` of an int would be as many zeros.
        if not isinstance(value, (str, bytes, bytearray, memoryview)):
            raise OptionError(f"metadata[{key!r}] must be text or bytes, not {value!r}")
        name = f"metadata[{key!r}]"
        found.append((key, _utf8(name, value) if isinstance(value, str) else bytes(value)))
    return found


def _utf8(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise OptionError(
            f"{name} has lone surrogates, which UTF-8 does not have: decode the text without "
            "errors='surrogateescape', or give a value as bytes"
        ) from None


def _write_tfrecord(
    path: str | os.PathLike[str],
    source: _Source,
    schema: Any,
    codec: str | None,
    level: int | None,
) -> int:
    if codec is None:
        codec = {".gz": "gzip", ".zlib": "zlib"}.get(_ending(path), "none")
    if codec not in ("none", "gzip", "zlib"):
        raise OptionError(
            f"codec of a TFRecord file must be 'none', 'gzip' or 'zlib', not {codec!r}"
        )
    level = 6 if level is None else _options.whole("level", level, 0, 9)
    first = source.first()
    if isinstance(first, Batch):
        _check_flat(first, source.lists)
    writer = _native.RowWriter.tfrecord(path, *_kinds(schema), codec, level)
    return _written(writer, source.rows(source.lists, flat=True))


def _check_flat(batch: Batch, lists: Collection[str] | None) -> None:
    """Checks that the columns of a batch have one list in a row, and that it is known which are lists."""
    for name, column in batch.items():
        if isinstance(column, SparseTensor) and lists is None:
            raise SchemaError(
                f"column '{name}' is a SparseTensor, which may have been lists or entries at "
                "indices: give the data set itself in place of its batches, or ask for "
                "layout='ragged'",
                field=name,
            )
        if isinstance(column, RaggedTensor) and len(column.row_splits) > 1:
            raise SchemaError(
                f"column '{name}' has lists in lists, and a key of an Example has one list: write "
                "the values and the lengths as two columns",
                field=name,
            )


def _flattened(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a batch, in which the records of a sparse column are keys of their own."""
    if not any(isinstance(value, dict) for value in row.values()):
        return row
    flat: dict[str, Any] = {}
    for name, value in row.items():
        parts = (
            {f"{name}.{part}": values for part, values in value.items()}
            if isinstance(value, dict)
            else {name: value}
        )
        for key in parts:
            if key in flat:
                raise DataError(f"two columns have the key '{key}': rename one", field=key)
        flat.update(parts)
    return flat


def _ending(path: str | os.PathLike[str]) -> str:
    """The ending of a name without the number of a shard."""
    return os.path.splitext(re.sub(r"-\d+-of-\d+$", "", os.fspath(path)))[1]


#: The names of the kinds of keys; None if the first row that has a key gives its kind.
_Kinds = list[tuple[str, str]] | None


def _kinds(schema: Any) -> tuple[_Kinds, _Kinds]:
    """The kinds of the keys of an ``Example`` or a context, and those of feature lists."""
    if schema is None:
        return None, None
    if not isinstance(schema, Mapping):
        raise SchemaError(
            "the schema of a TFRecord file is a dict of the kind of each key, such as "
            f"{{'age': 'int64'}}, not {schema!r}"
        )
    parts = ("context", "feature_lists")
    if not any(isinstance(schema.get(part), Mapping) for part in parts):
        return _kinds_of_keys(schema), []
    for part, keys in schema.items():
        if part not in parts or not isinstance(keys, Mapping):
            raise SchemaError(
                "the schema of a SequenceExample has the kinds of keys in 'context' and in "
                f"'feature_lists', each a dict, not {part!r}: {keys!r}"
            )
    context, lists = (_kinds_of_keys(schema.get(part, {})) for part in parts)
    return context, lists


def _kinds_of_keys(keys: Mapping[Any, Any]) -> list[tuple[str, str]]:
    kinds = []
    for key, kind in keys.items():
        if not isinstance(key, str) or not isinstance(kind, str) or kind not in _KINDS:
            raise SchemaError(
                f"the kind of the key {key!r} must be 'int64', 'float32' or 'bytes', not {kind!r}"
            )
        kinds.append((key, _KINDS[kind]))
    return kinds


def _written(writer: _native.RowWriter, rows: Iterator[Any]) -> int:
    try:
        writer.write(rows)
        return writer.finish()
    finally:
        writer.abort()


def _write_btable(
    path: str | os.PathLike[str], source: _Source, schema: Any, codec: str | None
) -> int:
    if schema is None:
        first = source.first()
        if not isinstance(first, Mapping):
            raise SchemaError("there is no row of labels and values: give the labels as schema")
        schema = list(first)
    labels: dict[str, int] = {}
    for label in map(str, schema):
        if label in labels:
            raise SchemaError(f"the label {label!r} is there twice: rename one")
        labels[label] = len(labels)
    count = 0

    def numbered() -> Iterator[dict[int, Any]]:
        nonlocal count
        for row in source.rows(()):
            yield _table_row(row, labels, count)
            count += 1

    # A mistaken codec is named as it is here.
    if codec not in (None, "none", "gzip", "zstandard"):
        raise OptionError(f"codec of a BTable must be 'none', 'gzip' or 'zstandard', not {codec!r}")
    endings = {".gz": "gzip", ".zst": "zstandard"}
    compression: Any = endings.get(_ending(path), "none") if codec is None else codec
    btable.write(path, list(labels), numbered(), compression=compression)
    return count


def _table_row(row: Any, labels: Mapping[str, int], number: int) -> dict[int, Any]:
    if not isinstance(row, Mapping):
        raise DataError(
            f"row {number} is a {type(row).__name__}, not a dict of labels and numbers: "
            "atds.btable.write takes other rows",
            record=number,
        )
    cells: dict[int, Any] = {}
    for label, value in row.items():
        column = labels.get(str(label))
        if column is None or column in cells:
            said = "is no label of the table" if column is None else "is there twice as text"
            raise DataError(f"row {number}: the key {label!r} {said}", record=number)
        if value is not None:
            cells[column] = value
    return cells
