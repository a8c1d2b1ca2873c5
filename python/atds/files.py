"""What files hold."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from atds import _native, _options
from atds._reprs import counted, html, listed
from atds.errors import OptionError, ReadOnceError
from atds.feature_sets import from_json
from atds.features import Feature
from atds.options import DatasetOptions, LenienceOptions, checked, spelled_out
from atds.schemas import Schema

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: A file, a pattern, a folder, or several.
Files: TypeAlias = "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]"


def paths(filenames: Any) -> list[str]:
    """Files, patterns and folders as they are given, one or several.

    Raises:
        OptionError: None at all, or something that is none.
    """
    given = [filenames] if isinstance(filenames, (str, bytes, os.PathLike)) else filenames
    if not isinstance(given, Iterable):
        raise OptionError(
            "filenames is a path, a pattern, a folder, or a list of them, not "
            f"{type(filenames).__name__}"
        )
    found = [_path(path) for path in given]
    if not found:
        raise OptionError("filenames is empty: give at least one file, pattern or folder")
    return found


def _path(path: Any) -> str:
    try:
        said = os.fsdecode(path)
    except TypeError:
        raise OptionError(
            f"filenames has {path!r}, which is no path, pattern or folder: give a str or a Path"
        ) from None
    if not said or "\0" in said:
        raise OptionError(f"filenames has {said!r}, which no file can have as its path")
    return said


def read_schema(file: str | os.PathLike[str]) -> Any:
    """The schema in a file's header, as ``json.loads`` makes it of its text.

    >>> atds.read_schema("clicks/part-00000.avro")["name"]
    'ads'

    Raises:
        FileError: A file that cannot be read.
        DataError: A file that is not Avro.
        SchemaError: A schema that is none.
    """
    return json.loads(_native.read_schema(file))


def infer_features(
    filenames: Files,
    *,
    reader_schema: Schema | None = None,
    sample_records: int = 1000,
    recursive: bool = False,
) -> dict[str, Feature]:
    """The features that a data set reads where none are given: those of the first file's schema,
    with a mask where a value may be null, or another file's schema lacks the field; numbers are as
    wide as any file needs.

    Values become dense scalars; arrays :class:`DenseFeature` if they all have one length in the
    first records of the first file, which the log says, or else :class:`VarlenFeature`; records of the ATDS form
    :class:`SparseFeature` with unknown dimensions, the fields of nested records features of their
    own by dotted names. A map ``m`` becomes its values, ``m[*]``, and its keys, ``m.keys()``. A
    union of numbers is the widest of them, one of text and numbers is text, and of any other union
    each type is a feature with a mask, ``field:type``. A value whose type allows a null has a mask.
    A data set logs a warning of what is left out, with the expression that reads it. An array of
    another length than those of the sample is an error when it is read, which says so. What all
    records of a file say is in ``atds.inspect(file).features``.

    >>> atds.infer_features("clicks/*.avro")["s_label"]
    DenseFeature(shape=(), dtype='int32')
    >>> atds.infer_features("clicks/*.avro")["d0"]
    DenseFeature(shape=(8,), dtype='float32')
    >>> atds.infer_features("clicks/*.avro", sample_records=0)["d0"]
    VarlenFeature(shape=(-1,), dtype='float32')

    Args:
        filenames: A file, a pattern, a folder, or a list of them.
        reader_schema: The schema that records are read as, in place of the file's.
        sample_records: Maximum number of records at the start of the first file that are looked
            at; 0 infers from the schemas alone.
        recursive: Whether folders are searched with all folders below them.

    Raises:
        FeatureError: A schema from which nothing can be inferred.
    """
    files = look_up(filenames, recursive)
    given = {"reader_schema": reader_schema, "sample_records": sample_records}
    options = checked(DatasetOptions, given)
    schemas = _native.FileSchemas.read(files, reader_schema is None)
    return inferred(files, options, schemas)[0]


def look_up(filenames: Any, recursive: Any) -> _native.Files:
    """The files that files, patterns and folders stand for."""
    return _native.Files(paths(filenames), _options.flag("recursive", recursive))


def refuse(files: _native.Files, reason: str) -> None:
    """Raises an error where one of the files can be read once.

    Raises:
        ReadOnceError: One that can, with the reason why that is not enough.
    """
    for path in files.read_once():
        raise ReadOnceError(
            f"{path}: this is a pipe, a socket or a device, which can be read once: {reason}",
            file=path,
        )


def inferred(
    files: _native.Files, options: dict[str, Any], schemas: _native.FileSchemas
) -> tuple[dict[str, Feature], list[str], list[tuple[str, str, int]]]:
    """The features of files; sentences on what is left out or rounded; the features that are dense
    by a sample, each with its expression and the number of records."""
    options = {name: value for name, value in options.items() if name != "recursive"}
    features, binary, _, warnings, sampled = _native.infer_features(files, options, schemas)
    return from_json(features, binary), warnings, sampled


@dataclass(frozen=True)
class InspectedPath:
    """A path of a schema, and what is there in a sample of the records.

    Attributes:
        expression: The path expression.
        schema_type: The type in a few words, without the null where it is nullable.
        nullable: Whether the value may be null, or, of a branch of a union, another's.
        values: Values met in the sample, nulls among them.
        nulls: Nulls among them.
    """

    expression: str
    schema_type: str
    nullable: bool
    values: int
    nulls: int


@dataclass(frozen=True, repr=False)
class Inspection:
    """What a file holds, from reading all of it.

    Attributes:
        path: The file.
        packing: What the whole file is packed by, ``gzip`` or ``zstandard``, or None.
        codec: The name of its codec.
        schema: The schema as ``json.loads`` makes it.
        metadata: The header's metadata without Avro's own.
        blocks: Number of blocks.
        records: Number of records.
        file_bytes: Bytes of the file.
        raw_bytes: Bytes of the blocks' payloads as they lie in the file.
        decompressed_bytes: Bytes of the blocks' payloads, decompressed.
        features: The features as all records agree: dense where all arrays of a field have the
            same length, sparse with dimensions one above the largest index.
        left_out: The types of the values that no feature reads.
        paths: Every path of the schema.
        paths_truncated: Whether there are more paths than are listed.
        sampled: Records in which values and nulls were counted, from the first on.
        notes: What in the schema is not by Avro's specification, each as its place (a JSON
            pointer) and what it is.
    """

    path: str
    packing: str | None
    codec: str
    schema: Any
    metadata: dict[str, bytes]
    blocks: int
    records: int
    file_bytes: int
    raw_bytes: int
    decompressed_bytes: int
    features: dict[str, Feature]
    left_out: dict[str, str]
    paths: tuple[InspectedPath, ...]
    paths_truncated: bool
    sampled: int
    notes: tuple[tuple[str, str], ...]

    @property
    def compression_ratio(self) -> float:
        """Decompressed bytes over raw ones; 1 for a file without blocks."""
        return self.decompressed_bytes / self.raw_bytes if self.raw_bytes else 1.0

    def __repr__(self) -> str:
        blocks = f"{counted(self.records, 'record')} in {counted(self.blocks, 'block')}"
        title = f"Inspection of {self.path}: {blocks}, {self.codec}, {self.file_bytes:,} bytes"
        return listed(title, [(name, repr(feature)) for name, feature in self.features.items()])

    def _repr_html_(self) -> str:
        rows = [
            ("records", f"{self.records:,}"),
            ("blocks", f"{self.blocks:,}"),
            ("codec", self.codec if self.packing is None else f"{self.codec} in {self.packing}"),
            ("bytes of the file", f"{self.file_bytes:,}"),
            ("bytes decompressed", f"{self.decompressed_bytes:,}"),
        ]
        features = [(name, repr(feature)) for name, feature in self.features.items()]
        paths = [
            (path.expression, path.schema_type, f"{path.nulls:,} of {path.values:,}")
            for path in self.paths
        ]
        nulls = (("path", "type", f"nulls in {counted(self.sampled, 'record')}"), paths)
        left_out = (("no feature reads", "type"), list(self.left_out.items()))
        return html(self.path, rows, (("name", "feature"), features), nulls, left_out)


@spelled_out(LenienceOptions)
def inspect(
    file: str | os.PathLike[str],
    *,
    sample: int | None = None,
    memory_limit: int | None = None,
    **options: Unpack[LenienceOptions],
) -> Inspection:
    """Reads all of a file, and says what it holds.

    >>> found = atds.inspect("clicks/part-00000.avro")
    >>> found.codec, found.records, found.features["d0"]
    ('deflate', 100, DenseFeature(shape=(8,), dtype='float32'))

    Args:
        file: The file.
        sample: Records from the first on in which nulls are counted, 1,000 if not given.
        memory_limit: Bytes of blocks and records to hold at most, 4 GiB if not given.
        **options: The options of :class:`atds.options.LenienceOptions`.

    Raises:
        MemoryLimitError: A file of which even a few records need more than that.
        Error: Whatever is wrong with the file, anywhere in it.
    """
    found = _native.inspect(
        file,
        _options.optional("sample", sample, 0),
        _options.optional("memory_limit", memory_limit, 1),
        **checked(LenienceOptions, options),
    )
    found["schema"] = json.loads(found["schema"])
    found["features"] = from_json(found["features"], found.pop("binary"))
    found["left_out"] = dict(found["left_out"])
    found["notes"] = tuple(found["notes"])
    found["paths"] = tuple(InspectedPath(*path) for path in found["paths"])
    return Inspection(**found)
