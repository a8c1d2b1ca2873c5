"""Python iterators as ``tf.data`` data sets, with one call of Python for each element.

``Dataset.from_generator`` runs three functions of a graph and enters Python three times for each
element, and it packs and unpacks the structure in Python. Here each element takes one entry into
Python, which returns a flat list of arrays. The arrays are not copied, and ``Dataset.map`` makes
the structure in the graph.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from atds.errors import MissingFileError
from atds.tensorflow._entries import entry, is_closed
from atds.tensorflow._framework import graph_function, tf

#: An element, with one array for each tensor.
Arrays: TypeAlias = "Sequence[np.ndarray[Any, Any]]"


def from_iterators(
    begin: Callable[..., Iterator[Arrays]], arguments: Sequence[Any], specs: Sequence[Any]
) -> Any:
    """A ``tf.data.Dataset`` of tuples of tensors.

    Args:
        begin: A function that begins an iteration. It gets the arguments as NumPy arrays, scalars
            and bytes.
        arguments: Tensors, perhaps of a graph.
        specs: The ``tf.TensorSpec`` of each tensor of an element.
    """

    def following(number: Any) -> Any:
        return _pull(number, specs)

    return _generator(begin, arguments, following, specs)


def from_counted_iterators(
    begin: Callable[..., Iterator[Arrays]],
    arguments: Sequence[Any],
    specs: Sequence[Any],
    count: int,
) -> Any:
    """A ``tf.data.Dataset`` of tuples of tensors with a known cardinality.

    ``assert_cardinality`` does not work: after an early failure it fails forever, so
    ``ignore_errors`` never returns. A ``map`` has the cardinality of its input. So this is a map
    over the numbers below ``count``, each zipped with the same iteration.

    Args:
        count: The number of elements of each iteration, above 0. An iteration with fewer or more
            fails.
    """
    number_spec = tf.TensorSpec([], tf.int64)

    def begin_counted(*values: Any) -> Iterator[Arrays]:
        return _Counted(begin(*values), count)

    def following(number: Any) -> Any:
        return [tf.identity(number)]

    # `repeat` makes the cardinality infinite, so that of the zip is `count`.
    iteration = _generator(begin_counted, arguments, following, [number_spec]).repeat()
    steps = tf.data.Dataset.zip((tf.data.Dataset.range(count), iteration))
    return steps.map(lambda _, number: tuple(_pull(number[0], specs)))


class _Counted(Iterator[Arrays]):
    """An iteration that must have ``count`` elements. After a failure each further call fails
    too."""

    def __init__(self, elements: Iterator[Arrays], count: int) -> None:
        self._elements = elements
        self._count = count
        self._left = count
        self._error: Exception | None = None

    def __next__(self) -> Arrays:
        if self._error is not None:
            raise self._error
        try:
            return self._next()
        except Exception as error:
            self._error = error
            raise

    def _next(self) -> Arrays:
        element = next(self._elements, None)
        if element is None:
            raise self._changed("fewer")
        self._left -= 1
        if self._left == 0 and next(self._elements, None) is not None:
            raise self._changed("more")
        return element

    def _changed(self, word: str) -> Exception:
        return ValueError(
            f"the files have {word} than the {self._count} batches that were counted when the data "
            "set was made: make it again, or give check_files=False so that none are counted"
        )

    def close(self) -> None:
        close = getattr(self._elements, "close", None)
        if close is not None:
            close()


def _pull(number: Any, specs: Sequence[Any]) -> list[Any]:
    """The tensors of the next element of an iteration."""
    tensors = tf.numpy_function(_next, [number], [spec.dtype for spec in specs])
    return [tf.ensure_shape(t, spec.shape) for t, spec in zip(tensors, specs, strict=True)]


def _generator(
    begin: Callable[..., Iterator[Arrays]],
    arguments: Sequence[Any],
    following: Callable[[Any], Any],
    specs: Sequence[Any],
) -> Any:
    """A ``tf.data.Dataset`` whose elements ``following`` makes from the number of an iteration."""

    @graph_function(*(tf.TensorSpec(value.shape, value.dtype) for value in arguments))
    def init(*arguments: Any) -> Any:
        @entry
        def register(*values: Any) -> tuple[np.int64, bytes]:
            try:
                return _register(iter(()) if is_closed() else begin(*values)), b""
            except MissingFileError as error:
                return np.int64(-1), str(error.file).encode()

        number, missing = tf.numpy_function(register, arguments, (tf.int64, tf.string))
        with tf.control_dependencies([_check_found(tf.ensure_shape(missing, []))]):
            return tf.ensure_shape(tf.identity(number), [])

    @graph_function(tf.TensorSpec([], tf.int64))
    def finalize(number: Any) -> Any:
        return tf.numpy_function(_end, [number], tf.int64)

    next_function = graph_function(tf.TensorSpec([], tf.int64))(following)
    functions = [f.get_concrete_function() for f in (init, next_function, finalize)]
    variant = tf.raw_ops.GeneratorDataset(
        init_func_other_args=list(arguments),
        next_func_other_args=[],
        finalize_func_other_args=[],
        init_func=functions[0],
        next_func=functions[1],
        finalize_func=functions[2],
        output_types=[spec.dtype for spec in specs],
        output_shapes=[spec.shape for spec in specs],
    )
    dataset = tf.data.experimental.from_variant(variant, tuple(specs))
    # The variant refers to functions by name; these objects keep the functions alive.
    dataset._atds_functions = functions
    return dataset


class Wrapped(tf.data.Dataset):
    """A data set of its own class that has the elements of another data set."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        super().__init__(tf.data.experimental.to_variant(dataset))

    def _inputs(self) -> list[Any]:
        return [self._dataset]

    @property
    def element_spec(self) -> Any:
        """The ``tf.TypeSpec`` of an element."""
        return self._dataset.element_spec


def _check_found(missing: Any) -> Any:
    """Fails with TensorFlow's own error for a missing file, which Python cannot raise."""
    return tf.cond(missing == "", lambda: missing, lambda: tf.io.read_file(missing))


# The running iterations by number, because tensors cannot hold them.
_ITERATIONS: dict[int, Iterator[Arrays]] = {}
_NUMBERS = itertools.count()


def _register(iteration: Iterator[Arrays]) -> np.int64:
    number = next(_NUMBERS)
    _ITERATIONS[number] = iteration
    return np.int64(number)


@entry
def _next(number: Any) -> Any:
    # StopIteration ends the data set.
    return next(iter(()) if is_closed() else _ITERATIONS[int(number)])


@entry
def _end(number: Any) -> np.int64:
    iteration = _ITERATIONS.pop(int(number), None)
    close = getattr(iteration, "close", None)
    if close is not None:
        close()
    return np.int64(0)
