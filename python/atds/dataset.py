"""Data sets."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from atds import _native, _options
from atds._options import AUTOTUNE, Shard
from atds._reprs import counted, html
from atds.errors import OptionError
from atds.feature_sets import as_lists, binary_names, mask_owners, parse_features, to_json
from atds.features import Feature
from atds.files import Files, inferred, look_up, refuse
from atds.options import DatasetOptions, checked, not_default, spelled_out
from atds.specs import TensorSpec, element_spec

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["AUTOTUNE", "Dataset"]

_LOG = logging.getLogger("atds")


@spelled_out(DatasetOptions)
class Dataset:
    """A data set: Avro files, read as batches.

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

    A data set is a description: each iteration is an epoch, or several with ``epochs``, and reads
    the files with its own threads. Several iterations can run at the same time. A data set can be pickled, and used in
    forked processes: its configuration and epoch are copied, open iterations are not.

    With ``epochs=n`` an iteration goes through ``n`` epochs. Its batches are those of ``n``
    iterations of one epoch each, one after another, and it does not wait between them:

    >>> dataset = atds.Dataset("clicks/*.avro", 64, shuffle_buffer_size=100, seed=7, epochs=3)
    >>> len(dataset), dataset.num_records
    (12, 200)
    >>> [batch.num_records for batch in dataset][:5], dataset.epoch
    ([64, 64, 64, 8, 64], 3)

    Several processes share the records with ``shard=(index, count)``: each record of an epoch is in
    exactly one shard. Seed, epoch and index fix what a shard draws from its shuffle buffer, and
    shards draw independently. Shards differ by at most one record, and so by at most one batch.
    Processes that wait for each other at each batch must all stop after the same number of batches.
    Of ``n`` records, each shard has at least ``n // count // batch_size`` whole batches.
    :class:`atds.torch.Dataset` makes the numbers equal, see its ``uneven``.

    >>> shards = [atds.Dataset("clicks/*.avro", 64, shard=(index, 3)) for index in range(3)]
    >>> [shard.num_records for shard in shards]
    [66, 67, 67]

    Args:
        filenames: A file, a pattern such as ``data/*.avro``, a folder (for its ``*.avro``), a
            ``file://`` URL of these, or a list of these. They are looked up once, by the
            constructor. Names that begin with ``.`` or ``_`` are hidden and skipped with a warning,
            unless that part of the pattern begins with ``.`` or ``_`` too. Partitions of the form
            ``_name=value`` are not hidden. Files that are packed as a whole by gzip or zstandard
            are unpacked while they are read. A pipe, such as ``/dev/stdin``, can be iterated over
            once, and has no length.
        batch_size: Maximum number of records in a batch.
        features: Features by name, of this package or of TensorFlow; None for all fields of the
            first file's schema, see :func:`atds.infer_features`. Other fields are skipped. A field
            that a file lacks is missing in its records, which is an error without ``default=`` or
            ``mask=``.
        shard: The index of the shard of each epoch that is read, and the number of shards; None for
            all records. The constructor counts the records of all files; an iteration reads only
            files and blocks with records of the shard. All processes must give the same files and
            options, and the same ``seed`` if they shuffle files or blocks.
        **options: The options of :class:`atds.DatasetOptions`.

    Raises:
        MissingFileError: A missing file, or a pattern or folder without files.
        OptionError: An option out of its range.
        FeatureError: An invalid feature, or a feature that does not fit the schema of a file.
        DataError: A file that is not Avro.
        SchemaError: A file whose schema is invalid, or with ``strict`` breaks the specification.
        ReadOnceError: A pipe with an option that reads in another order or maps the file.
    """

    #: Whether the threads of an iteration are kept for the next iteration.
    _keeps_threads = False

    def __init__(
        self,
        filenames: Files,
        batch_size: int,
        features: Mapping[str, Any] | None = None,
        *,
        shard: Shard | None = None,
        **options: Unpack[DatasetOptions],
    ) -> None:
        self._batch_size = _options.whole("batch_size", batch_size, 1)
        self._config = checked(DatasetOptions, options)
        recursive = self._config.pop("recursive")
        self._seed_is_given = options.get("seed") is not None
        self._shard = self._checked_shard(shard)
        self._file_records: list[int] | None = None
        given = None if features is None else parse_features(features)
        self._is_inferred = given is None
        self._inputs = look_up(filenames, recursive)
        self._files = self._inputs.paths()
        schemas = self._file_schemas()
        #: The features that were inferred from a sample: name, expression, records.
        self._sampled: list[tuple[str, str, int]] = []
        self._features = self._inferred(schemas) if given is None else given
        self._epoch = 0
        self._begin(schemas)

    def _checked_shard(self, shard: Shard | None) -> Shard | None:
        """The shard, checked: shards fit together only if all processes have the same order."""
        found = _options.shard(shard)
        is_shuffled = self._config["shuffle_files"] or self._config["shuffle_blocks"]
        if found is not None and found[1] > 1 and is_shuffled and not self._seed_is_given:
            raise OptionError(
                "seed must be given where several shards shuffle files or blocks, and be the same "
                "for all of them: in different orders, some records would be read twice and "
                "others never"
            )
        return found

    def _file_schemas(self) -> _native.FileSchemas:
        """The schemas of the files, or of the first alone."""
        return _native.FileSchemas.read(self._inputs, self._config["check_files"])

    def _inferred(self, schemas: _native.FileSchemas) -> dict[str, Feature]:
        features, warnings, self._sampled = inferred(self._inputs, self._config, schemas)
        for warning in warnings:
            _LOG.warning("%s", warning)
        return features

    def _begin(self, schemas: _native.FileSchemas) -> None:
        """Initialises the state that is not configuration."""
        self._lock = threading.Lock()
        self._latest: _native.StatsHandle | None = None
        self._less: tuple[frozenset[str], Dataset] | None = None
        self._made = self._make(self._features, schemas=schemas)
        # A copy in another process gets these, so that it need not read the files.
        self._schemas = self._made.schemas()

    def _make(
        self,
        features: Mapping[str, Feature],
        max_threads: int | None = None,
        processes: int | None = None,
        schemas: _native.FileSchemas | None = None,
    ) -> _native.Dataset:
        """The native data set, with a limit for an automatic number of threads. ``processes`` (by
        default the ranks of this machine) share the memory that there is by default."""
        if not self._inputs.is_here():
            refuse(
                self._inputs,
                "an iteration belongs to the process that began it, not to a forked process",
            )
            self._inputs = _native.Files(self._files, False)
        native = _native.Dataset(
            self._inputs,
            self._batch_size,
            to_json(features),
            binary_names(features),
            mask_owners(features),
            self._config,
            schemas or _native.FileSchemas.of(self._schemas),
            self._sampled,
            max_threads=max_threads,
            processes=processes or _options.ranks_of_machine(),
            keep_threads=self._keeps_threads,
        )
        if self._shard is None:
            return native
        return self._slice(
            native, sum(self._records_of_files(native)), self._shard, rank=self._shard[0], worker=0
        )

    def _part(self, native: _native.Dataset, shard: Shard) -> _native.Dataset:
        """A shard of the native data set of this data set. It draws as the rank of its index, or, if
        this data set is a shard itself, as a worker of this shard's rank."""
        index, _ = shard
        rank, worker = (index, 0) if self._shard is None else (self._shard[0], index)
        return self._slice(native, self.num_records, shard, rank=rank, worker=worker)

    def _slice(
        self, native: _native.Dataset, records: int, shard: Shard, *, rank: int, worker: int
    ) -> _native.Dataset:
        """A shard of a native data set with ``records`` records."""
        index, count = shard
        bounds = (records * index // count, records * (index + 1) // count)
        counts = self._records_of_files(native)
        return native.slice(*bounds, counts, rank=rank, worker=worker)

    def _records_of_files(self, native: _native.Dataset) -> list[int]:
        """The number of records of each file, counted once."""
        if self._file_records is None:
            self._file_records = native.file_records()
        return self._file_records

    def _with_features(self, features: dict[str, Feature]) -> Dataset:
        """A copy with other features of the same fields. The files are not checked again."""
        other = Dataset.__new__(type(self))
        other.__setstate__({**self.__getstate__(), "_features": features})
        return other

    @property
    def _here(self) -> _native.Dataset:
        """The native data set. A forked child makes its own."""
        if not self._made.is_here():
            self._lock = threading.Lock()
            self._made = self._make(self._features)
        return self._made

    def __iter__(self) -> _native.Batches:
        """Starts the next epoch, or the next epochs, and returns their batches. Prefetching begins
        now."""
        return self._next_epoch(self._here)

    def _without(self, names: frozenset[str]) -> Dataset:
        """A copy without the features ``names``. The latest copy is cached."""
        if self._less is None or self._less[0] != names:
            kept = {name: f for name, f in self._features.items() if name not in names}
            self._less = names, self._with_features(kept)
        return self._less[1]

    def _next_epoch(self, native: _native.Dataset) -> _native.Batches:
        with self._lock:
            first = self._epoch
            self._epoch += self.epochs
        batches = native.epochs(first, self.epochs)
        self._latest = batches.stats_handle()
        return batches

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """The batches of the next iteration as a stream of Arrow record batches, for consumers of such
        streams: ``pyarrow.RecordBatchReader.from_stream(dataset)``, ``polars.DataFrame(dataset)``,
        DuckDB.

        Columns are as in :meth:`Batch.to_arrow`, with two exceptions: varlen features are nested
        lists in any layout, and dimensions that vary from batch to batch are large lists.
        """
        from atds import _arrow

        features = as_lists(self._features)
        native = self._here if features == self._features else self._make(features)
        always = self._batch_size if self.drop_remainder else None
        specs = element_spec(native.spec(), binary_names(features), always)
        return _arrow.batches_stream(self._next_epoch(native), specs, mask_owners(features))

    def __len__(self) -> int:
        """The number of batches of an iteration, in all its epochs together."""
        whole, rest = divmod(self.num_records, self._batch_size)
        batches = whole if not rest or self._config["drop_remainder"] else whole + 1
        return batches * self.epochs

    @property
    def num_records(self) -> int:
        """The number of records of an epoch: of the shard, or of all files. It is counted once from
        the heads of the blocks."""
        if self._shard is None:
            return sum(self._records_of_files(self._here))
        return self._here.num_records()

    @property
    def filenames(self) -> list[str]:
        """The files, in the order in which an unshuffled iteration reads them."""
        return list(self._files)

    @property
    def batch_size(self) -> int:
        """The maximum number of records in a batch."""
        return self._batch_size

    @property
    def drop_remainder(self) -> bool:
        """Whether a last batch of fewer records is dropped."""
        return bool(self._config["drop_remainder"])

    @property
    def features(self) -> dict[str, Feature]:
        """The features by name, as given or inferred."""
        return dict(self._features)

    @property
    def element_spec(self) -> dict[str, TensorSpec]:
        """The specs of a batch's columns by name."""
        always = self._batch_size if self.drop_remainder else None
        return element_spec(self._here.spec(), binary_names(self._features), always)

    @property
    def schema(self) -> Any:
        """The reader schema, or the schema of the first file, as ``json.loads`` returns it."""
        text = self._config["reader_schema"]
        return json.loads(self._schemas[0][1] if text is None else text)

    @property
    def seed(self) -> int:
        """The seed. Seed and epoch together fix all shuffling."""
        return int(self._config["seed"])

    @property
    def epochs(self) -> int:
        """The number of epochs of an iteration."""
        return int(self._config["epochs"])

    @property
    def epoch(self) -> int:
        """The number of the next epoch, from 0."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Sets the number of the next epoch. Seed and epoch fix the order.

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
        """Figures of the latest iteration up to now: numbers of records and batches yielded, bytes,
        times in seconds, numbers of dropped records and tolerated faults, memory.

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

    def describe_waits(self) -> str:
        """What each thread of the latest iteration does now, or waits for, and what holds how much
        memory: some lines of text for people. It waits for none of these threads, so another thread
        can call it while an iteration is stuck.

        >>> dataset = atds.Dataset("clicks/*.avro", 64)
        >>> dataset.describe_waits()
        'no iteration has begun'
        >>> batches = iter(dataset)
        >>> batch = next(batches)
        >>> print(dataset.describe_waits())  # doctest: +ELLIPSIS
        consumer: ...
        planning thread: ...
        """
        latest = self._latest
        if latest is None or not latest.is_here():
            return "no iteration has begun"
        return latest.describe_waits()

    def __getstate__(self) -> dict[str, Any]:
        refuse(
            self._inputs, "an iteration belongs to the process that began it, and cannot be pickled"
        )
        made_here = ("_inputs", "_lock", "_latest", "_less", "_made")
        return {key: value for key, value in vars(self).items() if key not in made_here}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._inputs = _native.Files(self._files, False)
        self._begin(_native.FileSchemas.of(self._schemas))

    def __repr__(self) -> str:
        features = len(self._features)
        plural = "" if features == 1 else "s"
        files = f"{len(self._files)} files" if len(self._files) > 1 else repr(self._files[0])
        parts = [files, f"batch_size={self._batch_size}", f"{features} feature{plural}"]
        if self._config["shuffle_buffer_size"]:
            parts.append(f"shuffle_buffer_size={self._config['shuffle_buffer_size']}")
            parts.append(f"seed={self.seed}")
        if self.epochs > 1:
            parts.append(f"epochs={self.epochs}")
        if self._shard is not None:
            parts.append(f"shard={self._shard}")
        return f"atds.Dataset({', '.join(parts)})"

    def _repr_html_(self) -> str:
        return self._html("atds.Dataset", [])

    def _html(self, title: str, more: list[tuple[str, str]]) -> str:
        """HTML with a table of the files and options, and one of the features."""
        files = counted(len(self._files), "file") + f", the first {self._files[0]}"
        if len(self._files) == 1:
            files = self._files[0]
        rows = [("files", files), ("batch_size", f"{self._batch_size:,}")]
        if self._shard is not None:
            rows.append(("shard", "{} of {}".format(*self._shard)))
        rows += [("next epoch", str(self._epoch)), *more]
        rows += [(name, str(value)) for name, value in not_default(self._config)]
        features = [(name, repr(feature)) for name, feature in self._features.items()]
        return html(title, rows, (("name", "feature"), features))
