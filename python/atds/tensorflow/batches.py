"""ATDSDataset: batches of tensors."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from atds import _native
from atds._options import AUTOTUNE
from atds.dataset import Dataset
from atds.errors import Error, OptionError
from atds.feature_sets import parse_features
from atds.files import look_up, refuse
from atds.options import PipelineOptions, checked, spelled_out
from atds.tensorflow import _arguments
from atds.tensorflow._columns import Columns, splits_dtypes
from atds.tensorflow._framework import tf
from atds.tensorflow._iterations import (
    Arrays,
    Wrapped,
    from_counted_iterators,
    from_iterators,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack


@spelled_out(PipelineOptions)
class ATDSDataset(Wrapped):
    """A ``tf.data.Dataset`` of batches: dicts of a tensor for each feature, sorted by name.

    Dense features are a ``tf.Tensor`` ``[batch, *shape]``, sparse and varlen ones a
    ``tf.SparseTensor`` of that dense shape; strings are ``tf.string``. Ragged ones are a
    ``tf.RaggedTensor``, whose row splits have the ``row_splits_dtype`` of a ``tf.io.RaggedFeature``, and
    are int64 for others. An :class:`atds.Dataset` reads the files; its threads prefetch batches.

    >>> import tensorflow as tf
    >>> from atds.tensorflow import ATDSDataset, DenseFeature
    >>> dataset = ATDSDataset("clicks", 64, {"d0": DenseFeature([8], tf.float32)})
    >>> dataset.element_spec
    {'d0': TensorSpec(shape=(None, 8), dtype=tf.float32, name=None)}
    >>> [int(tf.shape(batch["d0"])[0]) for batch in dataset]
    [64, 64, 64, 8]

    The data set knows its cardinality, so Keras knows when an epoch ends. The constructor looks up
    the files and counts the batches of an epoch from the heads of the blocks.

    >>> int(dataset.cardinality())
    4

    All arguments but ``features`` may be tensors of a graph, as in ``Dataset.interleave``. The
    cardinality is then unknown. It is also unknown with ``check_files=False`` and for pipes. For files of
    other formats than Avro, and for those that are packed as a whole by gzip or zstandard, it is known
    with an ``index`` of them.

    Args:
        filenames: One or several files, patterns or folders, as a ``tf.string`` tensor or a value
            that can become one.
        batch_size: Maximum number of records in a batch.
        features: Features by name: features of this module, of :mod:`atds`, of ``tf.io`` or of
            tensorflow-io. For TFRecord files those of ``tf.io`` mean what they mean in
            ``tf.io.parse_example``; where ``filenames`` is a tensor of a graph, that needs
            ``format="tfrecord"``.
        drop_remainder: Whether to leave out a last batch of fewer records.
        reader_buffer_size: Bytes to read from a file at a time; None for 128 KiB.
        shuffle_buffer_size: Number of records in the shuffle buffer, besides those of the batch;
            None or 0 keeps the order of the files.
        num_parallel_calls: Number of threads that decompress and decode, at most the number of
            cores; ``tf.data.AUTOTUNE`` to let the pipeline choose; None for one. The batches do not
            depend on it.
        seed: The seed of the shuffled order, which also depends on the number of the iteration.
            None for the seed of ``tf.random.set_seed``, or for a random one.
        **options: The options of :class:`atds.options.PipelineOptions`.

    Raises:
        ValueError: Features that contradict themselves or each other.
        TypeError: An argument that does not become a tensor of its type.
        tf.errors.InvalidArgumentError: A number out of its range. Iterating raises it for files
            that are damaged or lack the features, and ``tf.errors.NotFoundError`` for missing
            files.
    """

    def __init__(
        self,
        filenames: Any,
        batch_size: Any,
        features: Mapping[str, Any],
        drop_remainder: Any = False,
        reader_buffer_size: Any = None,
        shuffle_buffer_size: Any = None,
        num_parallel_calls: Any = None,
        *,
        seed: int | None = None,
        **options: Unpack[PipelineOptions],
    ) -> None:
        config = checked(PipelineOptions, options)
        arguments = [
            _arguments.names(filenames),
            _arguments.integer("batch_size", batch_size, 1, least=1),
            _arguments.flag("drop_remainder", drop_remainder, False),
            _arguments.integer("reader_buffer_size", reader_buffer_size, 128 << 10, least=1),
            _arguments.integer("shuffle_buffer_size", shuffle_buffer_size, 0, least=0),
            _arguments.integer("num_parallel_calls", num_parallel_calls, 1, 1, autotune=True),
            tf.constant(_seed(seed), tf.int64),
        ]
        # The number of rows is known only if no batch is smaller.
        always = tf.get_static_value(arguments[2])
        mask = _mask(config, always)
        known = [tf.get_static_value(argument) for argument in arguments]
        format = _format(known[0], config)
        parsed = parse_features(features, lambda: format)
        if mask in parsed:
            raise OptionError(f"skip_mask is '{mask}', which is a feature: give another name")
        columns = Columns(parsed, mask, format, splits_dtypes(features))
        epochs = _Epochs(parsed, config, columns)
        self._epochs = epochs
        count = epochs.count(known)
        specs = epochs.columns.flat()
        if count:
            flat = from_counted_iterators(epochs.begin, arguments, specs, count)
        else:
            flat = from_iterators(epochs.begin, arguments, specs)
        rows = tf.get_static_value(arguments[1]) if always else None
        rows = None if rows is None else int(rows)
        self._element_spec = epochs.columns.element_spec(rows)
        super().__init__(flat.map(lambda *tensors: epochs.columns.tensors(tensors, rows)))

    @property
    def element_spec(self) -> dict[str, Any]:
        """The ``tf.TypeSpec`` of each feature by name."""
        return self._element_spec

    def skipped(self) -> list[dict[str, Any]]:
        """The damage that the iteration begun last has left out until now, after the files that were
        left out as a whole, as in :meth:`atds.Dataset.skipped`. Data sets that ``prefetch``, ``map``
        and others make of this one have no such method: ask this one.

        >>> from atds.tensorflow import ATDSDataset, DenseFeature
        >>> features = {"d0": DenseFeature([8], "float32")}
        >>> dataset = ATDSDataset("clicks", 64, features, on_error="skip_block")
        >>> for batch in dataset.prefetch(1):
        ...     pass
        >>> dataset.skipped()
        []
        """
        return self._epochs.skipped()


def _format(names: Any, config: dict[str, Any]) -> str:
    """The format of the files, on which the meaning of features depends: Avro where the names are not
    known yet, or no format can be told."""
    if config["format"] is not None or names is None:
        return str(config["format"] or "avro")
    try:
        found = look_up([os.fsdecode(name) for name in names], config["recursive"])
        if once := found.read_once():
            # The first bytes of a pipe are left to the iteration.
            return _native.format_of_name(once[0]) or "avro"
        return found.format()
    except (Error, OSError):
        # The first iteration raises this error.
        return "avro"


def _mask(config: dict[str, Any], drop_remainder: Any) -> str | None:
    """The column that is false for rows that damage has cost, if batches keep their shape."""
    if config["on_error"] != "skip_block":
        return None
    if drop_remainder is None:
        raise _arguments.invalid(
            "drop_remainder is a tensor of a graph, and on_error='skip_block' needs its value: with it "
            "batches have another column"
        )
    return str(config["skip_mask"]) if drop_remainder else None


class _Checked(NamedTuple):
    """What a data set has found of its files, for the next epoch."""

    #: The files before any were left out.
    given: list[str]
    files: list[str]
    schemas: list[tuple[int, str]]
    skipped_files: list[str]


class _Epochs:
    """Begins an epoch for each iterator."""

    def __init__(
        self,
        features: Mapping[str, Any],
        options: dict[str, Any],
        columns: Columns,
    ) -> None:
        self.columns = columns
        self._latest: Dataset | None = None
        self._recursive = options.pop("recursive")
        # The files whose records were counted.
        self._counted: list[str] | None = None
        # Pipes that an iteration has read.
        self._read_once: set[str] = set()
        self._features = features
        self._checked: _Checked | None = None
        # The latest data set with an index, and what it was made of.
        self._kept: tuple[Any, _Epoch] | None = None
        self._options = options
        self._numbers = itertools.count()

    def count(self, arguments: list[Any]) -> int | None:
        """The number of batches of each epoch; None if it is unknown without reading all of the
        files.

        Args:
            arguments: The arguments of :meth:`begin`; None for a tensor of a graph.
        """
        if any(argument is None for argument in arguments) or not self._options["check_files"]:
            return None
        try:
            found = self._look_up(arguments[0])
            paths = found.paths()
            if found.read_once():
                return None
            # These look at all files, of which some may be left out, or none read to count.
            looks = self._options["on_error"] == "skip_file" or self._options["index"] is not None
            if not looks and not all(map(_is_container, paths)):
                return None
            dataset = self._dataset(paths, *arguments[1:])
            if looks and not dataset.counts_quickly():
                return None
            number = len(dataset)
        except (Error, OSError):
            # The first iteration raises this error.
            return None
        self._counted = paths
        return number

    def begin(
        self,
        filenames: np.ndarray[Any, Any],
        batch_size: Any,
        drop_remainder: Any,
        reader_buffer_size: Any,
        shuffle_buffer_size: Any,
        num_parallel_calls: Any,
        seed: Any,
    ) -> Iterator[Arrays]:
        """Begins the next epoch."""
        dataset = self._dataset(
            self._counted or self._found(filenames),
            batch_size,
            drop_remainder,
            reader_buffer_size,
            shuffle_buffer_size,
            num_parallel_calls,
            seed,
        )
        dataset.set_epoch(next(self._numbers))
        self._latest = dataset
        return self._arrays(dataset)

    def skipped(self) -> list[dict[str, Any]]:
        """What the iteration begun last has left out."""
        return [] if self._latest is None else self._latest.skipped()

    def _look_up(self, filenames: np.ndarray[Any, Any]) -> _native.Files:
        return look_up(
            [os.fsdecode(name) for name in filenames], self._recursive, self._options["format"]
        )

    def _found(self, filenames: np.ndarray[Any, Any]) -> list[str]:
        """The files of an iteration."""
        found = self._look_up(filenames)
        once = set(found.read_once())
        if once & self._read_once:
            refuse(found, "an earlier iteration has read it")
        self._read_once |= once
        return found.paths()

    def _dataset(
        self,
        paths: list[str],
        batch_size: Any,
        drop_remainder: Any,
        reader_buffer_size: Any,
        shuffle_buffer_size: Any,
        num_parallel_calls: Any,
        seed: Any,
    ) -> _Epoch:
        """The data set of arrays of an epoch. An index is read again only if it has changed."""
        threads = int(num_parallel_calls)
        arguments = {
            "batch_size": int(batch_size),
            "drop_remainder": bool(drop_remainder),
            "reader_buffer_size": int(reader_buffer_size),
            "shuffle_buffer_size": int(shuffle_buffer_size),
            "num_parallel_calls": threads
            if threads == AUTOTUNE
            else min(threads, os.cpu_count() or 1),
            "seed": int(seed) if seed >= 0 else None,
        }
        stamp = _stamp(self._options["index"])
        made_of = paths, arguments, stamp
        if stamp is not None and self._kept is not None and self._kept[0] == made_of:
            return self._kept[1]._copy()
        dataset = _Epoch(
            self._checked, paths, features=self._features, **arguments, **self._options
        )
        self._checked = dataset.found()
        self._kept = None if stamp is None else (made_of, dataset)
        return dataset

    def _arrays(self, dataset: Dataset) -> Iterator[Arrays]:
        batches = iter(dataset)
        try:
            for batch in batches:
                yield self.columns.arrays(batch)
        finally:
            batches.close()


class _Epoch(Dataset):
    """A data set that does not check the files again if they are those of the previous epoch."""

    def __init__(
        self, checked: _Checked | None, filenames: list[str], *args: Any, **kwargs: Any
    ) -> None:
        self._given = filenames
        self._checked = checked if checked is not None and checked.given == filenames else None
        super().__init__(filenames, *args, **kwargs)

    def found(self) -> _Checked:
        return _Checked(self._given, self._files, self._schemas, self._skipped_files)

    def counts_quickly(self) -> bool:
        """Whether an index has the counts of records, or the heads of blocks."""
        return self._here.is_counted() or all(map(_is_container, self._files))

    def _leave_out_files(self, features: str | None) -> None:
        if self._checked is None:
            super()._leave_out_files(features)
            return
        self._inputs = self._look_up(self._checked.files)
        self._skipped_files = self._checked.skipped_files
        self._config["on_error"] = "raise"

    def _file_schemas(self) -> _native.FileSchemas:
        if self._checked is None:
            return super()._file_schemas()
        return _native.FileSchemas.of(self._checked.schemas)


def _stamp(index: str | None) -> tuple[int, ...] | None:
    """What differs if an index is another; None without an index, or one that is not there."""
    try:
        found = None if index is None else os.stat(index)
    except OSError:
        found = None
    return None if found is None else (found.st_ino, found.st_size, found.st_mtime_ns)


def _is_container(path: str) -> bool:
    """Whether a file is a container of Avro that is not packed as a whole. To count the records of others
    takes reading all of them."""
    with open(path, "rb") as file:
        return file.read(4) == b"Obj\x01"


def _seed(seed: int | None) -> int:
    """The seed from the argument and from TensorFlow; -1 if neither is set."""
    of_graph, of_op = tf.compat.v1.get_seed(seed)
    if of_graph is None and of_op is None:
        return -1
    return (int(of_graph or 0) * 0x9E3779B1 + int(of_op or 0)) & ((1 << 63) - 1)
