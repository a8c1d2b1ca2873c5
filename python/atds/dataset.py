"""Data sets."""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections.abc import Mapping
from typing import Any, Literal

from atds import _native, _options
from atds._options import AUTOTUNE, Tolerate
from atds.feature_sets import as_lists, binary_names, mask_owners, parse_features, to_json
from atds.features import Feature
from atds.files import Files, Schema, inferred, look_up, refuse, schema_text
from atds.specs import TensorSpec, element_spec

__all__ = ["AUTOTUNE", "Dataset"]

_LOG = logging.getLogger("atds")


class Dataset:
    """Avro files, and how to make batches of them.

    >>> dataset = atds.Dataset(
    ...     "clicks/*.avro",
    ...     batch_size=64,
    ...     features={
    ...         "s_label": atds.DenseFeature([], "int32"),
    ...         "d0": atds.DenseFeature([8], "float32"),
    ...         "sp0": atds.SparseFeature([50_001], "float32"),
    ...     },
    ...     shuffle_buffer_size=100,
    ...     seed=7,
    ... )
    >>> len(dataset), dataset.num_records
    (4, 200)
    >>> dataset.element_spec["d0"]
    ArraySpec(shape=(None, 8), dtype='float32')
    >>> [batch["d0"].shape for batch in dataset]
    [(64, 8), (64, 8), (64, 8), (8, 8)]

    A data set is a description: each iteration is an epoch, which reads the files anew with
    threads of its own, and several can go on at the same time. It can be pickled, and used in
    forked processes; it takes its configuration along and its epoch, and no open iteration.

    Args:
        filenames: A file, a pattern such as ``data/*.avro``, a folder (for its ``*.avro``), a
            ``file://`` URL of these, or a list of them. They are looked up once, here. Names that
            begin with ``.`` or ``_`` are hidden, and skipped with a warning, unless that part of
            the pattern begins so too; partitions of the form ``_name=value`` are not. Files that
            are packed as a whole by gzip or zstandard are unpacked while they are read. A pipe, such
            as ``/dev/stdin``, can be iterated over once, and has no length.
        batch_size: Records of a batch at most.
        features: Features by name, ours or TensorFlow's; None for all that the first file's
            schema has, see :func:`atds.infer_features`. Fields not among them are skipped. A field
            that some of the files lack is missing in their records: ``default=`` and ``mask=``
            cover it, without them it is an error.
        drop_remainder: Whether a last batch of fewer records is left out.
        reader_buffer_size: Bytes to read from a file at a time; None for 128 KiB.
        shuffle_buffer_size: Records to shuffle among, besides those of the batch; 0 keeps the
            order of the files.
        num_parallel_calls: Threads that inflate and decode, besides the one that reads;
            :data:`atds.AUTOTUNE` for as many as pay. The batches do not depend on it.
        seed: Fixes, with the epoch, all shuffling; None for one drawn now, which is then
            :attr:`seed`.
        shuffle_files: Whether the order of the files is shuffled each epoch.
        prefetch: Batches that wait ready at most.
        reader_schema: The schema that records are read as, by Avro's schema resolution; None for
            each file's own. Then the first file that has a column says what it means (the unit of
            times, the scale of decimals read as integers, the numbers of an enum's symbols), and
            each other file is converted to that, or is an error.
        shuffle_blocks: Whether the order of the blocks in each file is shuffled each epoch.
        out_of_bounds: What becomes of sparse entries with an index outside their dimension:
            ``error`` or ``drop``, which counts them in the statistics.
        memory_limit: Bytes of blocks and ready batches to hold at most; None for 4 GiB.
        mmap: Whether files are mapped into memory rather than read; nobody may write to them
            meanwhile.
        strict: Whether the schemas of files must be by Avro's specification: names of letters,
            digits and underscores, defaults that match their types. Otherwise files are read
            whatever their names are.
        check_files: Whether the headers of all files are read here, and their schemas held against
            the features: once for all processes that the data set is pickled for or forked into.
            If false, each file's header is read when the file is opened, and errors come then.
        recursive: Whether folders are searched with all folders below them.
        tolerate: What is wrong with files and read nevertheless, by name, one or several:
            ``trailing-block-bytes`` (bytes left in a block after its records),
            ``trailing-file-bytes`` (bytes after the last block that are no part of the file:
            padding, a newline, another file; damage stays an error), ``checksum`` (wrong
            checksums of snappy, zstandard and xz, and snappy without one), ``utf8`` (text that is
            not UTF-8, in which U+FFFD then stands for what is not). What is passed over is
            counted in :meth:`stats` and logged.
        max_block_bytes: Bytes that a block may have at most, compressed and inflated; None for
            1 GiB.
        max_depth: Values that may be nested in one another at most, 300 or fewer; None for 100.

    Raises:
        MissingFileError: A file that is not there, a pattern or folder without files.
        OptionError: An option out of its range.
        FeatureError: A feature that cannot be, or that the schema of a file does not have, or has
            with another meaning than the files before it.
        DataError: A file that is not Avro.
        SchemaError: A file whose schema is none, or with ``strict`` not by the specification.
        ReadOnceError: A pipe that would have to be read in another order, or be mapped.
    """

    def __init__(
        self,
        filenames: Files,
        batch_size: int,
        features: Mapping[str, Any] | None = None,
        drop_remainder: bool = False,
        reader_buffer_size: int | None = None,
        shuffle_buffer_size: int = 0,
        num_parallel_calls: int | None = AUTOTUNE,
        seed: int | None = None,
        shuffle_files: bool = False,
        prefetch: int = 2,
        *,
        reader_schema: Schema | None = None,
        shuffle_blocks: bool = False,
        out_of_bounds: Literal["error", "drop"] = "error",
        memory_limit: int | None = None,
        mmap: bool = False,
        strict: bool = False,
        check_files: bool = True,
        recursive: bool = False,
        tolerate: Tolerate = (),
        max_block_bytes: int | None = None,
        max_depth: int | None = None,
    ) -> None:
        self._batch_size = _options.whole("batch_size", batch_size, 1)
        most = 1 << 30
        self._config: dict[str, Any] = {
            "drop_remainder": _options.flag("drop_remainder", drop_remainder),
            "reader_buffer_size": _options.optional(
                "reader_buffer_size", reader_buffer_size, 1, most
            ),
            "shuffle_buffer_size": _options.whole("shuffle_buffer_size", shuffle_buffer_size, 0),
            "threads": _options.threads(num_parallel_calls),
            "seed": _seed(seed),
            "shuffle_files": _options.flag("shuffle_files", shuffle_files),
            "shuffle_blocks": _options.flag("shuffle_blocks", shuffle_blocks),
            "prefetch": _options.whole("prefetch", prefetch, 0, 1024),
            "reader_schema": None if reader_schema is None else schema_text(reader_schema),
            "drop_out_of_bounds": _options.drops("out_of_bounds", out_of_bounds),
            "memory_limit": _options.optional("memory_limit", memory_limit, 1),
            "mmap": _options.flag("mmap", mmap),
            "strict": _options.flag("strict", strict),
            "check_files": _options.flag("check_files", check_files),
            "tolerate": _options.tolerated(tolerate),
            "max_block_bytes": _options.block_bytes(max_block_bytes),
            "max_depth": _options.depth(max_depth),
        }
        given = None if features is None else parse_features(features)
        self._inputs = look_up(filenames, recursive)
        self._files = self._inputs.paths()
        schemas = self._file_schemas()
        self._features = self._inferred(schemas) if given is None else given
        self._epoch = 0
        self._num_records: int | None = None
        self._begin(schemas)

    def _file_schemas(self) -> _native.FileSchemas:
        """The schemas of the files, or of the first alone."""
        return _native.FileSchemas.read(self._inputs, self._config["check_files"])

    def _inferred(self, schemas: _native.FileSchemas) -> dict[str, Feature]:
        features, warnings = inferred(self._config["reader_schema"] or schemas)
        for warning in warnings:
            _LOG.warning("%s", warning)
        return features

    def _begin(self, schemas: _native.FileSchemas) -> None:
        """Makes what is no configuration."""
        self._lock = threading.Lock()
        self._latest: _native.StatsHandle | None = None
        self._made = self._make(self._features, schemas=schemas)
        # What a copy in another process must know of the files, so that it need not read them.
        self._schemas = self._made.schemas()

    def _make(
        self,
        features: Mapping[str, Feature],
        max_threads: int | None = None,
        schemas: _native.FileSchemas | None = None,
    ) -> _native.Dataset:
        """The native data set; threads are at most so many where they are automatic."""
        if not self._inputs.is_here():
            refuse(self._inputs, "it is read by the process that opened it, not by one it forks")
            self._inputs = _native.Files(self._files, False)
        return _native.Dataset(
            self._inputs,
            self._batch_size,
            to_json(features),
            binary_names(features),
            mask_owners(features),
            max_threads=max_threads,
            schemas=schemas or _native.FileSchemas.of(self._schemas),
            **self._config,
        )

    def _with_features(self, features: dict[str, Feature]) -> Dataset:
        """The same with other features of the same fields. The files are not checked again."""
        other = Dataset.__new__(type(self))
        other.__setstate__({**self.__getstate__(), "_features": features})
        return other

    @property
    def _here(self) -> _native.Dataset:
        """The native data set; in a forked child one of its own."""
        if not self._made.is_here():
            self._lock = threading.Lock()
            self._made = self._make(self._features)
        return self._made

    def __iter__(self) -> _native.Batches:
        """The batches of the next epoch, which are made ahead from now on."""
        return self._next_epoch(self._here)

    def _next_epoch(self, native: _native.Dataset) -> _native.Batches:
        with self._lock:
            epoch = self._epoch
            self._epoch += 1
        batches = native.epoch(epoch)
        self._latest = batches.stats_handle()
        return batches

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """The batches of the next epoch as a stream of Arrow's record batches, for everything that
        takes one: ``pyarrow.RecordBatchReader.from_stream(dataset)``, ``polars.DataFrame(dataset)``,
        DuckDB.

        Columns are as in :meth:`Batch.to_arrow`, except that varlen features are nested lists
        whatever their layout, and dimensions that vary from batch to batch large lists.
        """
        from atds import _arrow

        features = as_lists(self._features)
        native = self._here if features == self._features else self._make(features)
        always = self._batch_size if self.drop_remainder else None
        specs = element_spec(native.spec(), binary_names(features), always)
        return _arrow.batches_stream(self._next_epoch(native), specs, mask_owners(features))

    def __len__(self) -> int:
        """The batches of an epoch."""
        whole, rest = divmod(self.num_records, self._batch_size)
        return whole if not rest or self._config["drop_remainder"] else whole + 1

    @property
    def num_records(self) -> int:
        """The records of all files, counted once from the heads of their blocks."""
        if self._num_records is None:
            self._num_records = self._here.num_records()
        return self._num_records

    @property
    def filenames(self) -> list[str]:
        """The files, in the order they are read in unless it is shuffled."""
        return list(self._files)

    @property
    def batch_size(self) -> int:
        """Records of a batch at most."""
        return self._batch_size

    @property
    def drop_remainder(self) -> bool:
        """Whether a last batch of fewer records is left out."""
        return bool(self._config["drop_remainder"])

    @property
    def features(self) -> dict[str, Feature]:
        """The features by name, as given or inferred."""
        return dict(self._features)

    @property
    def element_spec(self) -> dict[str, TensorSpec]:
        """What the columns of a batch are, by name."""
        always = self._batch_size if self.drop_remainder else None
        return element_spec(self._here.spec(), binary_names(self._features), always)

    @property
    def schema(self) -> Any:
        """The reader's schema, or that of the first file, as ``json.loads`` makes it."""
        text = self._config["reader_schema"]
        return json.loads(self._schemas[0][1] if text is None else text)

    @property
    def seed(self) -> int:
        """What fixes all shuffling, with the epoch."""
        return int(self._config["seed"])

    @property
    def epoch(self) -> int:
        """The number of the next epoch, from 0."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration the epoch of this number: seed and epoch fix the order.

        >>> dataset = atds.Dataset("clicks/*.avro", 64, shuffle_buffer_size=100, seed=7)
        >>> first = [batch["s_label"].tolist() for batch in dataset]
        >>> second = [batch["s_label"].tolist() for batch in dataset]
        >>> dataset.set_epoch(0)
        >>> again = [batch["s_label"].tolist() for batch in dataset]
        >>> first == again, first == second
        (True, False)
        """
        self._epoch = _options.whole("epoch", epoch, 0)

    def stats(self) -> dict[str, Any]:
        """Figures of the latest iteration up to now: records and batches handed out, bytes, where
        time was spent (in seconds), what was dropped or passed over, memory held.

        >>> dataset = atds.Dataset("clicks/*.avro", 64)
        >>> for batch in dataset:
        ...     pass
        >>> stats = dataset.stats()
        >>> stats["records"], stats["steps"], stats["dropped_records"]
        (200, 4, 0)
        """
        latest = self._latest
        if latest is None or not latest.is_here():
            return _native.no_stats()
        return latest.snapshot()

    def __getstate__(self) -> dict[str, Any]:
        refuse(self._inputs, "it is read by the process that opened it, so that it is not pickled")
        kept = ("_batch_size", "_config", "_files", "_features", "_epoch", "_schemas")
        return {key: self.__dict__[key] for key in (*kept, "_num_records")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._inputs = _native.Files(self._files, False)
        self._begin(_native.FileSchemas.of(self._schemas))

    def __repr__(self) -> str:
        files = f"{len(self._files)} files" if len(self._files) > 1 else repr(self._files[0])
        parts = [files, f"batch_size={self._batch_size}", f"{len(self._features)} features"]
        if self._config["shuffle_buffer_size"]:
            parts.append(f"shuffle_buffer_size={self._config['shuffle_buffer_size']}")
            parts.append(f"seed={self.seed}")
        return f"atds.Dataset({', '.join(parts)})"


def _seed(seed: Any) -> int:
    if seed is None:
        return secrets.randbits(63)
    return _options.whole("seed", seed, 0, hint=", or None")
