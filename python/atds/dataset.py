"""Data sets."""

from __future__ import annotations

import copy
import json
import logging
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from atds import _native, _options, states
from atds._options import AUTOTUNE, Shard
from atds._reprs import dataset_html, dataset_text
from atds.errors import OptionError, StateError
from atds.feature_sets import as_lists, binary_names, mask_owners, parse_features, to_json
from atds.features import Feature
from atds.files import Files, inferred, look_up, refuse
from atds.options import DatasetOptions, checked, not_default, orders_files, spelled_out
from atds.specs import TensorSpec, element_spec

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

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
    the files with its own threads. Several iterations can run at the same time. A data set can be pickled,
    and used in forked processes: its configuration and epoch are copied, open iterations are not.

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
            all records. The constructor counts the records of all files, unless ``shard_by="file"``.
            All processes must give the same files and options, ``seed`` among them if records are shared.
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
        self._is_by_file = self._config["shard_by"] == "file"
        self._shard = self._checked_shard(shard)
        self._file_records: list[int] | None = None
        given = None if features is None else parse_features(features)
        self._is_inferred = given is None
        self._inputs = look_up(filenames, recursive, self._config["format"])
        if features is not None:
            given = parse_features(features, self._inputs.format)
        self._skipped_files: list[str] = []
        if self._config["on_error"] == "skip_file":
            self._leave_out_files(None if given is None else to_json(given))
        self._files = self._inputs.paths()
        schemas = self._file_schemas()
        #: The features that were inferred from a sample: name, expression, records.
        self._sampled: list[tuple[str, str, int]] = []
        self._features = self._inferred(schemas) if given is None else given
        self._epoch = 0
        #: The state that the next iteration goes on from.
        self._loaded: dict[str, Any] | None = None
        self._begin(schemas)

    def _leave_out_files(self, features: str | None) -> None:
        """Leaves out the files that have damage. Damage that comes later is an error."""
        config = {**self._config, "shuffle_files": False, "shuffle_blocks": False}
        found = _native.without_damaged(self._inputs, features, config)
        healthy, self._skipped_files = found
        self._inputs = self._look_up([str(path) for path in healthy])
        self._config["on_error"] = "raise"

    def _look_up(self, files: list[str]) -> _native.Files:
        """The files, which were looked up before."""
        return _native.Files(files, False, self._config["format"])

    def _checked_shard(self, shard: Shard | None) -> Shard | None:
        """The shard, checked: shards fit together only if all processes have the same order."""
        found = _options.shard(shard)
        is_shuffled = orders_files(self._config) and not self._is_by_file
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
        self._forget()
        self._made = self._make(self._features, schemas=schemas)
        # A copy in another process gets these, so that it need not read the files.
        self._schemas = self._made.schemas()

    def _forget(self) -> None:
        """Forgets all iterations."""
        # A signal handler may save the state while another state is taken.
        self._lock = threading.RLock()
        self._latest: _native.StatsHandle | None = None
        self._running: list[_native.StatsHandle] = []
        #: The part of the records that the latest iteration reads, and the epoch after its last.
        self._begun: _native.Dataset | None = None
        self._begun_until = 0
        self._less: tuple[frozenset[str], Dataset] | None = None

    def _copy(self) -> Self:
        """A copy for iterations of its own, which shares what was found of the files."""
        other = type(self).__new__(type(self))
        other.__dict__.update(vars(self))
        other._forget()
        return other

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
            self._inputs = self._look_up(self._files)
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
        return self._share(native, self._shard)

    def _part(self, native: _native.Dataset, shard: Shard) -> _native.Dataset:
        """A shard of the native data set of this data set. It draws as the rank of its index, or, if
        this data set is a shard itself, as a worker of this shard's rank."""
        if self._shard is None:
            return self._share(native, shard)
        index, count = shard
        if self._is_by_file:
            return native.shard(index, count, rank=self._shard[0], worker=index)
        records, counts = self.num_records, self._records_of_files(native)
        bounds = (records * index // count, records * (index + 1) // count)
        return native.slice(*bounds, counts, rank=self._shard[0], worker=index)

    def _share(self, native: _native.Dataset, shard: Shard) -> _native.Dataset:
        """A shard of a native data set that has all records."""
        counts = [] if self._is_by_file else self._records_of_files(native)
        return native.share((shard[1], 1, "keep"), shard[0], 0, counts)

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
            self._lock = threading.RLock()
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
            less = self._with_features(kept)
            less._made = less._made.with_states_of(self._here)
            self._less = names, less
        return self._less[1]

    def _follow(self) -> None:
        """An iterator that has gone on from a state sets the epoch that comes after it."""
        latest = self._latest
        if latest is not None and latest.is_here():
            until = latest.position()[2]
            if until != self._begun_until:
                self._epoch = self._begun_until = until

    def _next_epoch(self, native: _native.Dataset, is_part: bool = False) -> _native.Batches:
        """Starts the next iteration of a native data set: this one's, with the same features or others,
        or a part of its records."""
        with self._lock:
            self._follow()
            first, given, count = self._epoch, 0, self.epochs
            loaded = self._loaded
            if loaded is not None:
                native, (first, given, until) = native.rest(loaded)
                count = until - first
            self._loaded = None
            self._epoch = first + count
            any_seed = not self._seed_is_given
            batches = native.epochs(first, count, given, any_seed=any_seed)
            self._latest, self._begun_until = batches.stats_handle(), self._epoch
            self._begun = native if is_part else None
            self._running = [other for other in self._running if states.is_running(other)]
            self._running.append(self._latest)
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
        native = self._here
        if features != self._features:
            native = self._make(features).with_states_of(native)
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
        """The number of records of an epoch, of the shard or all, counted from the heads of the blocks."""
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
    def skip_mask(self) -> str | None:
        """The column that is false for rows that damage has cost; None if batches have none."""
        config = self._config
        has_mask = config["on_error"] == "skip_block" and config["drop_remainder"]
        return str(config["skip_mask"]) if has_mask else None

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
        with self._lock:
            self._follow()
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
        epoch = _options.whole("epoch", epoch, 0)
        with self._lock:
            self._follow()
            loaded, self._epoch = self._loaded, epoch
            if loaded is None or loaded["epoch"] == epoch:
                return
            self._loaded = None
        states.give_up(loaded, epoch, len(self) // self.epochs)

    def state_dict(self) -> dict[str, Any]:
        """Where the latest iteration is, after the last batch that it has yielded. Save it with a
        checkpoint, and :meth:`load_state_dict` goes on with the very next batch, in another process
        too, and with another number of threads.

        >>> dataset = atds.Dataset("clicks/*.avro", 64, shuffle_buffer_size=100, seed=7)
        >>> batches = iter(dataset)
        >>> first = next(batches)
        >>> state = dataset.state_dict()
        >>> state["epoch"], state["batches"], len(str(state)) < 1000
        (0, 1, True)
        >>> rest = [batch["s_label"].tolist() for batch in batches]

        >>> dataset = atds.Dataset("clicks/*.avro", 64, shuffle_buffer_size=100, seed=7)
        >>> dataset.load_state_dict(state)
        >>> [batch["s_label"].tolist() for batch in dataset] == rest
        True

        A state is a small dict of numbers and texts. It does not grow, and has no records. What was
        prefetched and not yielded does not count. After the last batch of an epoch the iteration
        that goes on yields nothing, and the one after it is the next epoch. Batches before an error
        that are cut short do not count as yielded.

        The first state of a data set frames its files, which reads a few bytes of each block; later
        ones take microseconds.

        Raises:
            StateError: Several iterators are in use: ask the iterator, which has this method, too.
            ReadOnceError: A pipe is read.
        """
        with self._lock:
            if self._loaded is not None:
                return copy.deepcopy(self._loaded)
            self._follow()
            latest, first, begun = self._latest, self._epoch, self._begun
            if sum(map(states.is_running, self._running)) > 1:
                raise StateError(
                    "several iterators of this data set are in use, and each is somewhere else: call "
                    "state_dict() of the iterator"
                )
        if latest is not None and latest.is_here():
            epoch, _, until = latest.position()
            if epoch < until:
                return latest.state_dict()
        if begun is None or not begun.is_here():
            begun = self._here
        return begun.state_at(first, 0, first + self.epochs)

    def get_state(self) -> dict[str, Any]:
        """As :meth:`state_dict`."""
        return self.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Has the next iteration go on from a state of :meth:`state_dict`. Iterations after it begin at
        the start of an epoch, as ever. Running iterators are left as they are. If no ``seed`` was given,
        the data set takes that of the state.

        Raises:
            StateError: Files, or options that fix the order or the values, are others than when the
                state was taken; the message says which. Files may have been copied elsewhere. The
                numbers of threads, ``prefetch`` and ``memory_limit`` may be others. Another ``shard``
                or ``batch_size`` goes on with the states of all shards, see :func:`merge_states`.
        """
        before = self._seeded(state)
        try:
            _, (epoch, _, until) = self._here.rest(state)
        except BaseException:
            self._unseeded(before)
            raise
        with self._lock:
            self._epoch, self._latest = epoch, None
            self._loaded = copy.deepcopy(dict(state)) if epoch < until else None

    def _seeded(self, state: Mapping[str, Any]) -> tuple[dict[str, Any], _native.Dataset] | None:
        """Takes the seed of a state if none was given. Returns what :meth:`_unseeded` needs, if so."""
        seed = states.seed_of(state)
        if self._seed_is_given or seed in (None, self.seed):
            return None
        before = self._config, self._here
        self._config = {**self._config, "seed": seed}
        self._made, self._less = self._here.with_seed(seed), None
        return before

    def _unseeded(self, before: tuple[dict[str, Any], _native.Dataset] | None) -> None:
        """Gives a seed back that was taken."""
        if before is not None:
            self._config, self._made = before
            self._less = None

    def set_state(self, state: Mapping[str, Any]) -> None:
        """As :meth:`load_state_dict`."""
        self.load_state_dict(state)

    def stats(self) -> dict[str, Any]:
        """Figures of the latest iteration up to now: numbers of records and batches yielded, bytes,
        times in seconds, numbers of dropped records and tolerated faults, memory. While an
        iteration goes on from a state, ``replayed_steps`` of ``steps_to_replay`` batches are drawn
        again, without being read.

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

    def skipped(self) -> list[dict[str, Any]]:
        """The damage that the latest iteration has left out of the batches yielded until now, in the
        order in which it was met, after the files that were left out as a whole: see ``on_error``.

        Each place of damage is listed once, at most 65,536 of them. It has ``file``, ``offset`` (of
        the block, or of the damage), ``block``, ``record`` (in its block), ``records`` (how many it
        costs), ``bytes`` (of the file), and ``reason``; what is not known is None. ``stats()`` has
        ``skipped_records``, and ``skipped_bytes`` for bytes whose records are not known.

        >>> dataset = atds.Dataset("clicks/*.avro", 64, on_error="skip_block")
        >>> for batch in dataset:
        ...     pass
        >>> dataset.skipped()
        []
        """
        latest = self._latest
        is_here = latest is not None and latest.is_here()
        of_batches = latest.skipped() if latest is not None and is_here else []
        return [*map(json.loads, self._skipped_files), *of_batches]

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
        made_here = ("_begun", "_inputs", "_lock", "_latest", "_less", "_made", "_running")
        return {key: value for key, value in vars(self).items() if key not in made_here}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._inputs = self._look_up(self._files)
        self._begin(_native.FileSchemas.of(self._schemas))

    def __repr__(self) -> str:
        size, shown = self._config["shuffle_buffer_size"], list[tuple[str, object]]()
        shown += [("shuffle_buffer_size", size), ("seed", self.seed)] if size else []
        shown += [("epochs", self.epochs)] if self.epochs > 1 else []
        shown += [("shard", self._shard)] if self._shard is not None else []
        return dataset_text(self._files, self._batch_size, len(self._features), shown)

    def _repr_html_(self) -> str:
        return self._html("atds.Dataset", [])

    def _html(self, title: str, more: list[tuple[str, str]]) -> str:
        """HTML with a table of the files and options, and one of the features."""
        rows = [("batch_size", f"{self._batch_size:,}")]
        if self._shard is not None:
            rows.append(("shard", "{} of {}".format(*self._shard)))
        rows += [("next epoch", str(self._epoch)), *more]
        rows += [(name, str(value)) for name, value in not_default(self._config)]
        return dataset_html(title, self._files, rows, self._features)
