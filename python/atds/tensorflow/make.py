"""make_avro_record_dataset: batches of parsed records."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from atds.errors import FeatureError, MissingFileError, OptionError
from atds.files import look_up
from atds.options import LenienceOptions, spelled_out
from atds.schemas import Schema
from atds.tensorflow import _arguments
from atds.tensorflow._framework import tf, unconverted
from atds.tensorflow.parse import parse_avro
from atds.tensorflow.records import AvroRecordDataset

if TYPE_CHECKING:
    from typing_extensions import Unpack

_DEFAULT_READER_BUFFER_SIZE = 1 << 20

_DEFAULT_SHUFFLE_BUFFER_SIZE = 10_000


@spelled_out(LenienceOptions)
def make_avro_record_dataset(
    file_pattern: Any,
    features: Mapping[str, Any],
    batch_size: Any,
    reader_schema: Schema,
    reader_buffer_size: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int | None = None,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int = tf.data.AUTOTUNE,
    num_parallel_reads: int | None = None,
    drop_final_batch: bool = False,
    **options: Unpack[LenienceOptions],
) -> Any:
    """A ``tf.data.Dataset`` of batches of parsed records, as from :func:`parse_avro`.

    Records are shuffled and repeated before they are batched, so that a batch may have records of
    two epochs. Text of features must be UTF-8, even with ``tolerate``. :class:`ATDSDataset` takes
    the same features, and is much faster.

    >>> import tensorflow as tf
    >>> import atds
    >>> from atds.tensorflow import make_avro_record_dataset
    >>> dataset = make_avro_record_dataset(
    ...     "clicks/*.avro",
    ...     features={"s_label": tf.io.FixedLenFeature([], tf.int32)},
    ...     batch_size=64,
    ...     reader_schema=atds.read_schema("clicks/part-00000.avro"),
    ...     num_epochs=1,
    ... )
    >>> sum(len(batch["s_label"]) for batch in dataset)
    200

    Args:
        file_pattern: A file, a pattern or a folder, or a list of these, as for
            :class:`atds.Dataset`: hidden files are skipped. All files together are sorted.
        features: Features by path expression; see :func:`parse_avro`.
        batch_size: Maximum number of records in a batch.
        reader_schema: The schema that records are read as.
        reader_buffer_size: Bytes to read from a file at a time; None for 1 MiB.
        num_epochs: Number of epochs; None to repeat forever, with full batches only.
        shuffle: Whether the files and the records are shuffled.
        shuffle_buffer_size: Number of records in the shuffle buffer; None for 10,000.
        shuffle_seed: Seed of the shuffled order; None for a random one.
        prefetch_buffer_size: Maximum number of prefetched batches.
        num_parallel_reads: Number of files that are read, and of batches that are parsed, in
            parallel; None for one.
        drop_final_batch: Whether a last batch of fewer records is dropped.
        **options: The options of :class:`atds.options.LenienceOptions`.

    Raises:
        ValueError: There are no features, or features are invalid.
        tf.errors.InvalidArgumentError: There are no files. Iterating raises it as
            :class:`AvroRecordDataset` and :func:`parse_avro` do.
    """
    if not features:
        raise FeatureError(f"features is {features!r}: name at least one")
    several = num_parallel_reads is not None and num_parallel_reads > 0
    records = AvroRecordDataset(
        _files(file_pattern, shuffle, shuffle_seed),
        buffer_size=_DEFAULT_READER_BUFFER_SIZE
        if reader_buffer_size is None
        else reader_buffer_size,
        num_parallel_reads=num_parallel_reads,
        num_parallel_calls=num_parallel_reads,
        reader_schema=reader_schema,
        block_length=num_parallel_reads if several else 1,
        **options,
    )
    if shuffle:
        size = _DEFAULT_SHUFFLE_BUFFER_SIZE if shuffle_buffer_size is None else shuffle_buffer_size
        records = records.shuffle(size, shuffle_seed)
    if num_epochs != 1:
        records = records.repeat(num_epochs)
    # Records that repeat forever fill all batches.
    batches = records.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)

    @unconverted
    def parse(serialized: Any) -> dict[str, Any]:
        return parse_avro(serialized, reader_schema, features)

    parsed = batches.map(parse, num_parallel_calls=num_parallel_reads)
    return parsed if prefetch_buffer_size == 0 else parsed.prefetch(prefetch_buffer_size)


def _files(file_pattern: Any, shuffle: bool, seed: int | None) -> Any:
    """A data set of the files' names, in the order of ``tf.data.Dataset.list_files``."""
    patterns = _arguments.names(file_pattern)
    known = tf.get_static_value(patterns)
    if known is None:
        names = tf.ensure_shape(tf.numpy_function(_found, [patterns], tf.string), [None])
    else:
        try:
            names = tf.constant(_found(known), tf.string)
        except (MissingFileError, OptionError) as error:
            raise _arguments.invalid(str(error)) from None
    files = tf.data.Dataset.from_tensor_slices(names)
    return files.shuffle(tf.size(names, tf.int64), seed=seed) if shuffle else files


def _found(patterns: Any) -> Any:
    """The files that paths, patterns and folders stand for."""
    given = [os.fsdecode(pattern) for pattern in patterns.tolist()]
    found = [os.fsencode(path) for path in look_up(given, False).paths()]
    return np.array(sorted(found), dtype=object)
