"""Files: looking them up, inspecting them and inferring features."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

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
    """The given files, patterns and folders as a list of strings.

    Raises:
        OptionError: The list is empty, or an item is no path.
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
            f"filenames has {path!r}, which is not a path, pattern or folder: give a str or a Path"
        ) from None
    if not said or "\0" in said:
        raise OptionError(f"filenames has {said!r}, which no file can have as its path")
    return said


def read_schema(file: str | os.PathLike[str]) -> Any:
    """The schema in a file's header, as ``json.loads`` returns it.

    >>> atds.read_schema("clicks/part-00000.avro")["name"]
    'ads'

    Raises:
        FileError: A file that cannot be read.
        DataError: A file that is not Avro.
        SchemaError: The schema is invalid.
    """
    return json.loads(_native.read_schema(file))


def infer_features(
    filenames: Files,
    *,
    reader_schema: Schema | None = None,
    sample_records: int = 1000,
    recursive: bool = False,
    format: Literal["avro", "btable", "tfrecord"] | None = None,
) -> dict[str, Feature]:
    """The features that a data set reads by default: those of the first file's schema. A feature
    has a mask if a value may be null or another file's schema lacks the field. Numbers are as wide
    as any file needs.

    Values become dense scalars. Arrays become :class:`DenseFeature` if all have one length in the
    first records of the first file, which is logged, otherwise :class:`VarlenFeature`. Records of
    the ATDS form become :class:`SparseFeature` with unknown dimensions. The fields of nested
    records become features with dotted names. A map ``m`` becomes its values, ``m[*]``, and its
    keys, ``m.keys()``. A union of numbers becomes the widest of them, and a union of text and
    numbers becomes text. Each type of any other union becomes a feature with a mask,
    ``field:type``. A value whose type allows a null has a mask. A data set logs a warning about
    fields that are left out, with the expression that reads them. Reading an array of another
    length than in the sample is an error. ``atds.inspect(file).features`` has features that fit all
    records of a file.

    >>> atds.infer_features("clicks/*.avro")["s_label"]
    DenseFeature(shape=(), dtype='int32')
    >>> atds.infer_features("clicks/*.avro")["d0"]
    DenseFeature(shape=(8,), dtype='float32')
    >>> atds.infer_features("clicks/*.avro", sample_records=0)["d0"]
    VarlenFeature(shape=(-1,), dtype='float32')

    Args:
        filenames: A file, a pattern, a folder, or a list of them.
        reader_schema: The reader schema; None for the file's schema.
        sample_records: Maximum number of records at the start of the first file that are looked
            at; 0 infers from the schemas alone.
        recursive: Whether the folders inside a folder are searched too.
        format: The format that the files have; None to tell it by their names, or else by their
            first bytes.

    Raises:
        FeatureError: A schema from which nothing can be inferred.
    """
    files = look_up(filenames, recursive, format)
    given = {"reader_schema": reader_schema, "sample_records": sample_records}
    options = checked(DatasetOptions, given)
    schemas = _native.FileSchemas.read(files, reader_schema is None)
    return inferred(files, options, schemas)[0]


def look_up(filenames: Any, recursive: Any, format: Any = None) -> _native.Files:
    """The files that paths, patterns and folders stand for."""
    recursive = _options.flag("recursive", recursive)
    return _native.Files(paths(filenames), recursive, _options.file_format("format", format))


def refuse(files: _native.Files, reason: str) -> None:
    """Raises an error if one of the files can be read only once.

    Raises:
        ReadOnceError: A file can be read only once. The message has ``reason``.
    """
    for path in files.read_once():
        raise ReadOnceError(
            f"{path}: this is a pipe, a socket or a device, which can be read only once: {reason}",
            file=path,
        )


def inferred(
    files: _native.Files, options: dict[str, Any], schemas: _native.FileSchemas
) -> tuple[dict[str, Feature], list[str], list[tuple[str, str, int]]]:
    """The features of files; messages about fields that are left out or rounded; and the features
    that are dense by a sample, with their expressions and the number of records."""
    options = {name: value for name, value in options.items() if name != "recursive"}
    features, binary, _, warnings, sampled = _native.infer_features(files, options, schemas)
    return from_json(features, binary), warnings, sampled


@dataclass(frozen=True)
class InspectedPath:
    """A path of a schema, with counts of its values in a sample of the records.

    Attributes:
        expression: The path expression.
        schema_type: A short description of the type, without the null of a nullable type.
        nullable: Whether the value may be null, or, for a branch of a union, of another branch.
        values: Number of values in the sample, including nulls.
        nulls: Number of nulls in the sample.
    """

    expression: str
    schema_type: str
    nullable: bool
    values: int
    nulls: int


@dataclass(frozen=True, repr=False)
class Inspection:
    """The contents of a file, from reading all of it.

    Attributes:
        path: The file.
        packing: The format that the whole file is packed with, ``gzip`` or ``zstandard``, or None.
        codec: The name of its codec.
        schema: The schema as ``json.loads`` returns it.
        metadata: The header's metadata, except for Avro's own keys.
        blocks: Number of blocks.
        records: Number of records.
        file_bytes: Size of the file in bytes.
        raw_bytes: Bytes of the blocks' payloads as stored in the file.
        decompressed_bytes: Bytes of the blocks' payloads, decompressed.
        features: The features that fit all records. A list is dense if it has the same length in
            every record. A sparse dimension is one above the largest index.
        left_out: The types of the values that no feature reads.
        paths: Every path of the schema.
        paths_truncated: Whether there are more paths than are listed.
        sampled: Number of records, from the first on, in which values and nulls were counted.
        notes: The places where the schema breaks Avro's specification, each as a JSON pointer and a
            message.
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
        """Decompressed bytes divided by raw bytes; 1 for a file without blocks."""
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
    """Inspects a file by reading all of it.

    >>> found = atds.inspect("clicks/part-00000.avro")
    >>> found.codec, found.records, found.features["d0"]
    ('deflate', 100, DenseFeature(shape=(8,), dtype='float32'))

    Args:
        file: The file.
        sample: Number of records, from the first on, in which nulls are counted, 1,000 if not
            given.
        memory_limit: Maximum number of bytes of blocks and records; by default a quarter of the
            memory that the process may use, at most 4 GiB.
        **options: The options of :class:`atds.options.LenienceOptions`.

    Raises:
        MemoryLimitError: Even a few records need more memory than the limit.
        Error: Any fault of the file.
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
