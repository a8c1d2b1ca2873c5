"""TensorFlow itself, or an error that says that it is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from atds._packages import need

#: The module ``tensorflow``, which has no types.
tf: Any = need("tensorflow", "atds.tensorflow")

_Function = TypeVar("_Function", bound="Callable[..., Any]")


def unconverted(function: _Function) -> _Function:
    """The function as it is where TensorFlow's AutoGraph would translate it."""
    wrapped: _Function = tf.autograph.experimental.do_not_convert(function)
    return wrapped


def graph_function(*signature: Any) -> Callable[[_Function], Any]:
    """Makes a ``tf.function`` of a function of tensors with these specs."""
    made: Callable[[_Function], Any] = tf.function(input_signature=signature, autograph=False)
    return made
