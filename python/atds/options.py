"""The options of data sets.

Each option is defined only here in Python: a ``TypedDict`` has its type and its meaning, and
:data:`OPTIONS` has its default and its check. Functions and classes take the options as keywords,
``**options: Unpack[DatasetOptions]``, which type checkers and editors understand.
:func:`spelled_out` names them for ``help`` and ``inspect.signature`` too.
"""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar

from atds import _options
from atds._options import AUTOTUNE, Tolerate
from atds.schemas import Schema, schema_text

__all__ = ["DatasetOptions", "LenienceOptions", "PipelineOptions"]


class LenienceOptions(TypedDict, total=False):
    """Options for tolerated faults of files, and limits of their values.

    Attributes:
        tolerate: Faults of files that are tolerated, one name or several: ``trailing-block-bytes``
            (bytes left in a block after its records), ``trailing-file-bytes`` (bytes after the last
            block that are no part of the file: padding, a newline, another file; damage stays an
            error), ``checksum`` (wrong checksums of snappy, zstandard and xz, and missing ones of
            snappy), ``utf8`` (text that is not UTF-8; each run of invalid bytes becomes U+FFFD). A
            data set counts the faults in its statistics and logs them.
        max_block_bytes: Maximum size of a block in bytes, compressed and decompressed; None for 1
            GiB.
        max_depth: Maximum nesting depth of a value, up to 300; None for 100.
    """

    tolerate: Tolerate
    max_block_bytes: int | None
    max_depth: int | None


class PipelineOptions(LenienceOptions, total=False):
    """The options that :class:`atds.Dataset`, ``atds.torch.Dataset`` and
    ``atds.tensorflow.ATDSDataset`` all take.

    Attributes:
        shuffle_files: Whether the order of the files is shuffled each epoch.
        prefetch: Maximum number of batches that are ready before they are asked for. Batches that
            are being made then come on top, within ``memory_limit``.
        reader_schema: The schema that records are read as, by Avro's schema resolution; None for
            each file's own. With None, the first file that has a column defines its meaning: the
            unit of times, the scale of decimals read as integers, the numbers of an enum's symbols.
            Other files are converted to this meaning, or are an error.
        shuffle_blocks: Whether the order of the blocks in each file is shuffled each epoch.
        shuffle: ``"blocks"`` shuffles the blocks of all files together each epoch, before the
            shuffle buffer, in runs of 1 MiB or more that are read in one go; None does not. It takes the
            place of ``shuffle_files`` and ``shuffle_blocks``. The blocks of all files are listed
            before the first batch, once for a data set.
        interleave: Files take turns: ``(cycle_length, block_length)`` has so many files open at once, each
            of which gives so many records in its turn, in the order of ``tf.data.Dataset.interleave``
            with these numbers; None to read one file after another. A file that has ended leaves its turn to
            the next. The shuffle buffer draws from records in this order. Not beside ``shuffle_blocks`` and
            ``shuffle``.
        out_of_bounds: The treatment of sparse entries with an index outside their dimension:
            ``error``, or ``drop``, which counts them in the statistics.
        memory_limit: Maximum number of bytes of blocks and batches in each iteration, without the
            batches that were given out, and of the list of a file's blocks where they are shuffled;
            None for a quarter of the memory that the process may use
            (a container's limit counts), divided among the ranks of this machine
            (``LOCAL_WORLD_SIZE``), at least 64 MiB and at most 4 GiB.
        mmap: Whether files are mapped into memory rather than read; they must not be written to
            meanwhile.
        strict: Whether the schemas of files must follow Avro's specification: names of letters,
            digits and underscores, defaults that match their types. Otherwise any names are
            accepted.
        check_files: Whether the headers of all files are read at the start, and their schemas
            checked against the features. Processes that the data set is pickled for or forked into
            do not check again. If false, the header of each file is read when the file is opened,
            and errors are raised then.
        sample_records: Maximum number of records at the start of the first file that are sampled to
            infer features. A list that has one length in the sample becomes dense, which is logged,
            and a list of another length is an error. 0 infers from the schemas alone.
        recursive: Whether the folders inside a folder are searched too.
        root: A folder that all files are in, in whatever folders below it. A state or a split then knows
            the files by their paths below it, so that all can be moved together; with None it knows them
            by their names alone, which may be the same in several folders.
        index: An index of the files' record counts, written by the command ``atds index``, so that this
            process does not count them for lengths, shards and states; None to count. Files that it
            lacks, or that have changed since, are counted, with a warning in the log. It also says where
            blocks begin: a split by block of TFRecord files or BTables reads no other blocks.
        split: The name of the split whose records are read, of ``splits``; None for all records.
            Lengths, shards and states count its records alone. Whether a record is in it depends on
            the path of its file below ``root``, or without that on the file's name, and on its number
            in the file.
        splits: All splits by name, each with its part of the records: ``{"train": 0.98, "valid": 0.01,
            "test": 0.01}``. The parts sum to at most 1; their order does not matter.
        split_by: What splits are made of. ``record`` decides for each record; ``block`` for each block
            of a file, so that blocks of other splits are not decompressed. Any other name is a field:
            all records with the same value are in one split, in whatever file, which needs ``index``
            with the hashes that ``atds index --split-by`` writes. ``field:record`` is a field named so.
        format: The format that the files have, ``avro``, ``btable`` or ``tfrecord``; None to tell it by
            their names, or else by their first bytes.
        on_error: What becomes of damage. ``raise`` is an error. ``skip_block`` leaves out a block
            that cannot be read, a record that cannot be decoded, and the rest of its block if the
            next record cannot be found: batches that lose rows are shorter, and may have none, so
            that the order and the number of batches stay what they were. ``skip_file`` leaves out
            files with any damage as a whole: the constructor reads all files once for this.
        max_skipped: How much ``skip_block`` may leave out of an epoch, or of this rank's part of it,
            before it is an error after all: a number of records, or a part of them as a float from
            0.0 to 1.0; None for all.
        skip_log: The file to which each place of damage that ``skip_block`` leaves out is added, as
            a line of JSON with the keys of :meth:`atds.Dataset.skipped`; None for no file. Several
            processes may write to the same file.
        skip_mask: The name of the bool column ``[B]`` that ``skip_block`` adds with
            ``drop_remainder``: batches then keep their shape, and the rows that damage has cost are
            zeros, for which it is false.
    """

    shuffle_files: bool
    prefetch: int
    reader_schema: Schema | None
    shuffle_blocks: bool
    shuffle: Literal["blocks"] | None
    interleave: tuple[int, int] | None
    out_of_bounds: Literal["error", "drop"]
    memory_limit: int | None
    mmap: bool
    strict: bool
    check_files: bool
    sample_records: int
    recursive: bool
    root: str | os.PathLike[str] | None
    index: str | os.PathLike[str] | None
    split: str | None
    splits: Mapping[str, float] | None
    split_by: str
    format: Literal["avro", "btable", "tfrecord"] | None
    on_error: Literal["raise", "skip_block", "skip_file"]
    max_skipped: int | float | None
    skip_log: str | os.PathLike[str] | None
    skip_mask: str


class DatasetOptions(PipelineOptions, total=False):
    """The options of :class:`atds.Dataset` and ``atds.torch.Dataset``.

    A function that passes options on can declare them as
    ``**options: Unpack[atds.DatasetOptions]``.

    Attributes:
        drop_remainder: Whether a last batch of fewer records is dropped.
        reader_buffer_size: Bytes to read from a file at a time; None for 128 KiB.
        shuffle_buffer_size: Number of records in the shuffle buffer, besides those of the batch; 0
            keeps the order of the files.
        num_parallel_calls: Number of threads that read local files, decompress and decode, besides
            the one that plans the batches; :data:`atds.AUTOTUNE` to choose by load. The batches do
            not depend on it.
        seed: The seed of all shuffling, together with the epoch; None for a random seed, which
            :attr:`atds.Dataset.seed` returns.
        epochs: Number of epochs of an iteration, one after another. The threads begin an epoch
            while the batches of the one before are still made and taken. No batch has records of
            two epochs. A large number, such as ``1_000_000``, goes on for as long as you take
            batches.
        provenance: The name of an int64 column ``[B, 2]`` that says where each row is from: the
            index of its file in :attr:`atds.Dataset.filenames`, and the number of the record in
            the file, from 0; None for no such column. Rows of zeros under a false ``skip_mask`` have
            zeros here, too: they are no record's.
        shard_by: What shards, ranks and workers share. ``record`` gives each as many consecutive records
            of an epoch, which are counted first: a pass over the lengths of the records of all files,
            unless there is an ``index``. ``file`` gives each every nth file instead, of
            :attr:`atds.Dataset.filenames`: ranks first, then the workers of a rank. It counts nothing and
            opens no file of others in an iteration, so that it suits files that are packed as a whole.
            Lengths are counted when they are asked for. Readers beyond the number of files have no
            batches.
    """

    drop_remainder: bool
    reader_buffer_size: int | None
    shuffle_buffer_size: int
    num_parallel_calls: int | None
    seed: int | None
    epochs: int
    provenance: str | None
    shard_by: Literal["record", "file"]


class Option(NamedTuple):
    """An option's default, and the function that checks a value. Checking a checked value again
    does not change it."""

    default: Any
    check: Callable[[str, Any], Any]


#: All options, in the order of signatures.
OPTIONS: dict[str, Option] = {
    "drop_remainder": Option(False, _options.flag),
    "reader_buffer_size": Option(None, partial(_options.optional, least=1, most=1 << 30)),
    "shuffle_buffer_size": Option(0, partial(_options.whole, least=0)),
    "num_parallel_calls": Option(AUTOTUNE, _options.threads),
    "seed": Option(None, _options.seed),
    "epochs": Option(1, partial(_options.whole, least=1, most=_options.MAX_EPOCHS)),
    "provenance": Option(None, _options.column),
    "shard_by": Option("record", _options.shard_by),
    "root": Option(None, _options.path),
    "index": Option(None, _options.path),
    "split": Option(None, _options.split),
    "splits": Option(None, _options.splits),
    "split_by": Option("record", _options.split_by),
    "on_error": Option("raise", _options.on_error),
    "max_skipped": Option(None, _options.max_skipped),
    "skip_log": Option(None, _options.path),
    "skip_mask": Option("mask", _options.name),
    "shuffle_files": Option(False, _options.flag),
    "prefetch": Option(2, partial(_options.whole, least=0, most=1024)),
    "reader_schema": Option(None, lambda _, given: None if given is None else schema_text(given)),
    "shuffle_blocks": Option(False, _options.flag),
    "shuffle": Option(None, _options.shuffle),
    "interleave": Option(None, _options.interleave),
    "out_of_bounds": Option("error", _options.out_of_bounds),
    "memory_limit": Option(None, partial(_options.optional, least=1)),
    "mmap": Option(False, _options.flag),
    "strict": Option(False, _options.flag),
    "check_files": Option(True, _options.flag),
    "sample_records": Option(1000, partial(_options.whole, least=0)),
    "recursive": Option(False, _options.flag),
    "format": Option(None, _options.file_format),
    "tolerate": Option((), _options.tolerated),
    "max_block_bytes": Option(
        None, partial(_options.optional, least=1, most=_options.MAX_BLOCK_BYTES)
    ),
    "max_depth": Option(None, partial(_options.optional, least=1, most=_options.MAX_DEPTH)),
}


def checked(kind: Any, given: Mapping[str, Any]) -> Any:
    """The options of the type ``kind``, checked; missing options get their defaults.

    Raises:
        TypeError: A keyword is no option.
        OptionError: A value is out of range.
    """
    names = kind.__annotations__
    for name in given:
        if name not in names:
            nearest = difflib.get_close_matches(name, names, n=1)
            meant = f" (did you mean {nearest[0]!r}?)" if nearest else ""
            raise TypeError(f"unexpected keyword argument {name!r}{meant}")
    options = {
        name: option.check(name, given.get(name, option.default))
        for name, option in OPTIONS.items()
        if name in names
    }
    if "split" in options:
        _options.check_split(options)
    return options


def not_default(options: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The options, as returned by :func:`checked`, that differ from their defaults."""
    defaults = ((name, option.check(name, option.default)) for name, option in OPTIONS.items())
    return [
        (name, options[name])
        for name, default in defaults
        if name in options and options[name] != default
    ]


def orders_files(options: Mapping[str, Any]) -> bool:
    """Whether the order of files or blocks is a random one. States of older versions have no
    ``shuffle``."""
    one_by_one = options["shuffle_files"] or options["shuffle_blocks"]
    return bool(one_by_one or options.get("shuffle"))


_T = TypeVar("_T", bound=Callable[..., Any])


def spelled_out(kind: Any) -> Callable[[_T], _T]:
    """Decorates a class or a function that takes ``**options``: its signature then has each option
    of ``kind`` by name, and its docstring the options' meanings in place of the line
    ``**options: …``."""

    def decorated(of: _T) -> _T:
        names = [name for name in OPTIONS if name in kind.__annotations__]
        function: Any = of.__init__ if isinstance(of, type) else of  # type: ignore[misc]
        function.__signature__ = _signature(function, kind, names)
        if of.__doc__ is not None:
            of.__doc__ = _documented(inspect.cleandoc(of.__doc__), names)
        return of

    return decorated


def _signature(function: Any, kind: Any, names: list[str]) -> inspect.Signature:
    signature = inspect.signature(function)
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter(
            name, keyword, default=OPTIONS[name].default, annotation=_type(kind, name)
        )
        for name in names
    ]
    others = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    return signature.replace(parameters=[*others, *options])


def _type(kind: Any, name: str) -> Any:
    reference = kind.__annotations__[name]
    return getattr(reference, "__forward_arg__", reference)


def _documented(doc: str, names: list[str]) -> str:
    lines = []
    for line in doc.splitlines():
        margin, marked, _ = line.partition("**options:")
        if marked and not margin.strip():
            lines += [margin + said for name in names for said in _DOCS.get(name, ())]
        else:
            lines.append(line)
    return "\n".join(lines)


def _docs(kind: Any) -> dict[str, list[str]]:
    """The lines of each attribute's description in a docstring."""
    found: dict[str, list[str]] = {}
    section = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")[2]
    for line in inspect.cleandoc(section).splitlines():
        if not line.startswith(" "):
            lines = found.setdefault(line.partition(":")[0], [])
        lines.append(line)
    return found


_DOCS = {**_docs(LenienceOptions), **_docs(PipelineOptions), **_docs(DatasetOptions)}
