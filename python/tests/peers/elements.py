"""The elements of data sets as plain values that can be compared and pickled."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def whole(dataset: Any, most: int = 1_000_000) -> Any:
    """The spec and the elements of a data set."""
    return spec(dataset.element_spec), [value(element) for element in dataset.take(most)]


def spec(element: Any) -> Any:
    """The type of each component by name."""
    if isinstance(element, dict):
        return {name: repr(one) for name, one in sorted(element.items())}
    return repr(element)


def value(element: Any) -> Any:
    """The values of an element with their dtypes and shapes."""
    if isinstance(element, dict):
        return {name: value(element[name]) for name in sorted(element)}
    if isinstance(element, tf.SparseTensor):
        return [value(element.indices), value(element.values), value(element.dense_shape)]
    array = element.numpy()
    if isinstance(array, bytes):
        return array
    # Bytes make NaN equal to NaN. Strings are objects, so they stay a list.
    values = array.tolist() if array.dtype == object else array.tobytes()
    return element.dtype.name, tuple(element.shape), values
