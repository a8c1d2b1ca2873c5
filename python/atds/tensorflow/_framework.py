"""Imports TensorFlow. If it is missing, the import fails with a helpful error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from atds._packages import need

#: The module ``tensorflow``, which has no type annotations.
tf: Any = need("tensorflow", "atds.tensorflow")

_Function = TypeVar("_Function", bound="Callable[..., Any]")


def unconverted(function: _Function) -> _Function:
    """Marks a function so that TensorFlow's AutoGraph does not translate it."""
    wrapped: _Function = tf.autograph.experimental.do_not_convert(function)
    return wrapped


def graph_function(*signature: Any) -> Callable[[_Function], Any]:
    """A decorator that makes a ``tf.function`` for tensors of these specs."""
    made: Callable[[_Function], Any] = tf.function(input_signature=signature, autograph=False)
    return made
