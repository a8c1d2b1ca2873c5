"""The options of data sets, checked."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from atds.errors import OptionError

#: As many threads as pay; the value is that of ``tf.data.AUTOTUNE``.
AUTOTUNE = -1

#: What the largest whole numbers of the pipeline are.
_MAX = (1 << 63) - 1


def whole(name: str, value: Any, least: int, most: int = _MAX, hint: str = "") -> int:
    """A whole number in a range.

    Raises:
        OptionError: Another number, or something else.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        bounds = f"{least} or more" if most == _MAX else f"{least} to {most:,}"
        raise OptionError(f"{name} must be a whole number, {bounds}{hint}, not {value!r}")
    return number


def optional(name: str, value: Any, least: int, most: int = _MAX) -> int | None:
    """A whole number in a range, or None."""
    return None if value is None else whole(name, value, least, most, ", or None")


def flag(name: str, value: Any) -> bool:
    """True or False, of Python's or NumPy's."""
    if isinstance(value, (int, np.bool_)) and value in (0, 1):
        return bool(value)
    raise OptionError(f"{name} must be True or False, not {value!r}")


def threads(value: Any) -> int:
    """A number of threads; 0 for :data:`AUTOTUNE`."""
    if value is None or (isinstance(value, (int, np.integer)) and value == AUTOTUNE):
        return 0
    return whole("num_parallel_calls", value, 1, 1024, ", or atds.AUTOTUNE")


def drops(name: str, value: Any) -> bool:
    """Whether ``error`` or ``drop`` is asked for."""
    if value not in ("error", "drop"):
        raise OptionError(f"{name} must be 'error' or 'drop', not {value!r}")
    return bool(value == "drop")
