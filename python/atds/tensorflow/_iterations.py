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
    def following(number: Any) -> Any:
        tensors = tf.numpy_function(_next, [number], [spec.dtype for spec in specs])
        return [tf.ensure_shape(t, spec.shape) for t, spec in zip(tensors, specs, strict=True)]

    @graph_function(tf.TensorSpec([], tf.int64))
    def finalize(number: Any) -> Any:
        return tf.numpy_function(_end, [number], tf.int64)

    functions = [f.get_concrete_function() for f in (init, following, finalize)]
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
