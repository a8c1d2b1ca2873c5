"""AvroRecordDataset: serialized records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from atds import _native
from atds.errors import Error
from atds.files import look_up, refuse
from atds.options import LenienceOptions, checked, spelled_out
from atds.schemas import Schema, schema_text
from atds.tensorflow import _arguments
from atds.tensorflow._framework import tf
from atds.tensorflow._iterations import Arrays, Wrapped, from_iterators

if TYPE_CHECKING:
    from typing_extensions import Unpack


@spelled_out(LenienceOptions)
class AvroRecordDataset(Wrapped):
    """A ``tf.data.Dataset`` of serialized records, each a scalar ``tf.string``.

    :func:`parse_avro` parses batches of these records. :class:`ATDSDataset` does both at once, and
    much faster.

    >>> from atds.tensorflow import AvroRecordDataset
    >>> dataset = AvroRecordDataset("clicks/part-00000.avro")
    >>> dataset.element_spec
    TensorSpec(shape=(), dtype=tf.string, name=None)
    >>> len(list(dataset))
    100

    Args:
        filenames: A ``tf.string`` tensor of one or several files, or a ``tf.data.Dataset`` of
            ``tf.string`` scalars.
        buffer_size: Bytes to read from a file at a time; None or 0 for 256 KiB.
        num_parallel_reads: Number of files that are read in parallel, with interleaved records;
            None to read one file after another.
        num_parallel_calls: Number of threads for this, at most ``num_parallel_reads``; None to read
            in the caller's thread.
        reader_schema: The schema that records are re-encoded by; None or empty for each file's own.
        deterministic: Whether interleaved records always come in the same order.
        block_length: Number of consecutive records from each file when records are interleaved.
        **options: The options of :class:`atds.options.LenienceOptions`.

    Raises:
        TypeError: Filenames are not strings.
        ValueError: ``num_parallel_calls`` is below 1 or above ``num_parallel_reads``.
        tf.errors.InvalidArgumentError: Iterating raises it for a damaged file, or if the schema
            cannot be read as the reader's; ``tf.errors.NotFoundError`` for a missing file.
    """

    def __init__(
        self,
        filenames: Any,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        num_parallel_calls: Any = None,
        reader_schema: Schema | None = None,
        deterministic: bool | None = True,
        block_length: int | None = 1,
        **options: Unpack[LenienceOptions],
    ) -> None:
        _check_parallel(num_parallel_reads, num_parallel_calls)
        lenience = checked(LenienceOptions, options)
        read_once: set[str] = set()

        def records(filename: bytes, size: Any, schema: bytes) -> Iterator[Arrays]:
            _once(os.fsdecode(filename), read_once)
            return _records(filename, size, schema, lenience)

        size = _arguments.integer("buffer_size", buffer_size, 0, least=0)
        schema = _schema(reader_schema)

        def of_file(filename: Any) -> Any:
            lists = from_iterators(records, [filename, size, schema], [_LIST])
            return lists.map(lambda records: records).unbatch()

        files = _files(filenames)
        if num_parallel_reads is None:
            super().__init__(files.flat_map(of_file))
            return
        super().__init__(
            files.interleave(
                of_file,
                cycle_length=num_parallel_reads,
                block_length=block_length,
                num_parallel_calls=num_parallel_calls,
                # Without threads, the order is always the same.
                deterministic=None if num_parallel_calls is None else deterministic,
            )
        )


_LIST = tf.TensorSpec([None], tf.string)

_DEFAULT_BUFFER_SIZE = 256 << 10


def _once(filename: str, read_before: set[str]) -> None:
    """Records that a pipe is read, and raises an error if an earlier iteration has read it."""
    try:
        found = look_up([filename], False)
    except Error:
        # Opening the file raises this error again.
        return
    once = set(found.read_once())
    if once & read_before:
        refuse(found, "an earlier iteration has read it")
    read_before |= once


def _records(
    filename: bytes, buffer_size: Any, schema: bytes, lenience: dict[str, Any]
) -> Iterator[Arrays]:
    """The records of a file, in lists."""
    text = schema.decode() or None
    size = int(buffer_size) or _DEFAULT_BUFFER_SIZE
    return _lists(_native.RecordReader(os.fsdecode(filename), size, text, **lenience))


def _lists(reader: _native.RecordReader) -> Iterator[Arrays]:
    for records in reader:
        array = np.empty(len(records), dtype=object)
        array[:] = records
        yield [array]


def _schema(schema: Any) -> Any:
    if schema is None:
        schema = ""
    return tf.convert_to_tensor(schema if tf.is_tensor(schema) else schema_text(schema), tf.string)


def _files(filenames: Any) -> Any:
    """A data set of file names."""
    if isinstance(filenames, tf.data.Dataset):
        spec = filenames.element_spec
        if not isinstance(spec, tf.TensorSpec) or spec.dtype != tf.string:
            raise TypeError(f"`filenames` must be a `tf.data.Dataset` of `tf.string`, not {spec}")
        if not spec.shape.is_compatible_with([]):
            raise TypeError(f"`filenames` must be a `tf.data.Dataset` of scalars, not {spec}")
        return filenames
    if isinstance(filenames, os.PathLike):
        filenames = os.fspath(filenames)
    tensor = tf.convert_to_tensor(filenames, dtype_hint=tf.string)
    if tensor.dtype != tf.string:
        raise TypeError(f"`filenames` must be of `tf.string`, not of {tensor.dtype}")
    return tf.data.Dataset.from_tensor_slices(tf.reshape(tensor, [-1]))


def _check_parallel(reads: Any, calls: Any) -> None:
    autotune = tf.data.AUTOTUNE
    if calls is None:
        return
    if calls != autotune and calls <= 0:
        raise ValueError(
            f"num_parallel_calls must be above 0, tf.data.AUTOTUNE or None, not {calls}"
        )
    if reads is None or (reads != autotune and reads < calls):
        raise ValueError(
            f"num_parallel_reads must be num_parallel_calls ({calls}) or more, or "
            f"tf.data.AUTOTUNE, not {reads}"
        )
