"""Arguments of data sets as tensors, which may be tensors of a graph."""

from __future__ import annotations

import os
from typing import Any

from atds._options import AUTOTUNE
from atds.tensorflow._framework import tf


def integer(
    name: str, value: Any, default: int, least: int = -(1 << 63), autotune: bool = False
) -> Any:
    """A scalar ``tf.int64``, checked if its value is known.

    Raises:
        tf.errors.InvalidArgumentError: The number is below ``least``.
    """
    tensor = tf.convert_to_tensor(default if value is None else value, tf.int64, name=name)
    known = tf.get_static_value(tensor)
    if known is None or known >= least or (autotune and known == AUTOTUNE):
        return tf.ensure_shape(tensor, [])
    hint = ", or tf.data.AUTOTUNE" if autotune else ""
    raise invalid(f"`{name}` must be {least} or more{hint}, but is {known}")


def flag(name: str, value: Any, default: bool) -> Any:
    """A scalar ``tf.bool``."""
    tensor = tf.convert_to_tensor(default if value is None else value, tf.bool, name=name)
    return tf.ensure_shape(tensor, [])


def names(filenames: Any) -> Any:
    """One or several file names as a ``tf.string`` vector.

    Raises:
        tf.errors.InvalidArgumentError: The tensor has more than one dimension.
    """
    if isinstance(filenames, os.PathLike):
        filenames = os.fspath(filenames)
    elif isinstance(filenames, (list, tuple)):
        filenames = [os.fspath(f) if isinstance(f, os.PathLike) else f for f in filenames]
    tensor = tf.convert_to_tensor(filenames, tf.string, name="filenames")
    if tensor.shape.rank is not None and tensor.shape.rank > 1:
        raise invalid(
            f"`filenames` must be a name or a vector of names, not of the shape {tensor.shape}"
        )
    return tf.reshape(tensor, [-1])


def invalid(message: str) -> Exception:
    """TensorFlow's error for an invalid argument."""
    error: Exception = tf.errors.InvalidArgumentError(None, None, message)
    return error
