"""Python iterators as ``tf.data`` data sets, by the shortest way over.

``Dataset.from_generator`` takes three functions of a graph and as many entries into Python for
each element, and packs and unpacks its structure in Python. Here an element is one entry, which
gives a flat list of arrays; those are taken over without a copy, and a structure is made of them
in the graph, by ``Dataset.map``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from atds.errors import MissingFileError
from atds.tensorflow._entries import entry, is_closed
from atds.tensorflow._framework import graph_function, tf

#: An element: an array for each of its tensors.
Arrays: TypeAlias = "Sequence[np.ndarray[Any, Any]]"


def from_iterators(
    begin: Callable[..., Iterator[Arrays]], arguments: Sequence[Any], specs: Sequence[Any]
) -> Any:
    """A ``tf.data.Dataset`` of tuples of tensors.

    Args:
        begin: Begins an iteration, with the arguments as NumPy arrays, scalars and bytes.
        arguments: Tensors, of a graph perhaps.
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
    """The same with a known cardinality.

    ``assert_cardinality`` would do, were it not that it fails without end where an iteration fails
    early, so that ``ignore_errors`` never comes back. A ``map`` has the cardinality of what it is
    a map of. So here it is one of numbers below ``count``, zipped with the iteration, which is the
    same for all of them.

    Args:
        count: How many elements each iteration has, above 0. One that has fewer or more fails.
    """
    number_spec = tf.TensorSpec([], tf.int64)

    def begin_counted(*values: Any) -> Iterator[Arrays]:
        return _Counted(begin(*values), count)

    def following(number: Any) -> Any:
        return [tf.identity(number)]

    # It has no end, and `repeat` says so.
    iteration = _generator(begin_counted, arguments, following, [number_spec]).repeat()
    steps = tf.data.Dataset.zip((tf.data.Dataset.range(count), iteration))
    return steps.map(lambda _, number: tuple(_pull(number[0], specs)))


class _Counted(Iterator[Arrays]):
    """An iteration that has a number of elements, or fails; what has failed fails again."""

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
            "set was made: make it again, or with check_files=False, by which it counts none"
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
    """A ``tf.data.Dataset`` whose elements ``following`` makes of the number of an iteration."""

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
    # The variant refers to functions by name, and they are gone with these objects.
    dataset._atds_functions = functions
    return dataset


class Wrapped(tf.data.Dataset):
    """A data set of a class of its own, that another one makes the elements of."""

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
    """Fails with TensorFlow's own error, which Python has no way to raise, of a missing file."""
    return tf.cond(missing == "", lambda: missing, lambda: tf.io.read_file(missing))


# The iterations that are under way, by number: tensors cannot hold them.
_ITERATIONS: dict[int, Iterator[Arrays]] = {}
_NUMBERS = itertools.count()


def _register(iteration: Iterator[Arrays]) -> np.int64:
    number = next(_NUMBERS)
    _ITERATIONS[number] = iteration
    return np.int64(number)


@entry
def _next(number: Any) -> Any:
    # The end, StopIteration, is that of the data set.
    return next(iter(()) if is_closed() else _ITERATIONS[int(number)])


@entry
def _end(number: Any) -> np.int64:
    iteration = _ITERATIONS.pop(int(number), None)
    close = getattr(iteration, "close", None)
    if close is not None:
        close()
    return np.int64(0)
