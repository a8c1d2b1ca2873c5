"""TensorFlow's threads that run Python, which must stop before the interpreter is finalized.

A thread that enters Python while the interpreter is finalized never returns, and the end of an
iterator waits for its threads. So a program that ends with a prefetching iterator would hang. To
avoid this, iterations end at exit, and the program waits until their threads have left Python.
Ended iterations do not call Python again.
"""

from __future__ import annotations

import atexit
import functools
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class _Entries:
    """Counts calls from TensorFlow's threads: all calls so far, and running ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._total = 0
        self.is_closed = False

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            self._total += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1

    def close(self) -> None:
        """Ends iterations, and waits until no call has come for a while."""
        self.is_closed = True
        if not self._total:
            return
        deadline = time.monotonic() + _LONGEST
        while time.monotonic() < deadline:
            before = self._total
            time.sleep(_QUIET)
            if self._total == before and not self._inside:
                return


#: Seconds without a call after which no more calls are expected, and the maximum wait.
_QUIET = 0.1
_LONGEST = 5.0

_ENTRIES = _Entries()
atexit.register(_ENTRIES.close)


def entry(function: Callable[..., _Result]) -> Callable[..., _Result]:
    """Wraps a function that TensorFlow's threads call."""

    @functools.wraps(function)
    def called(*arguments: Any) -> _Result:
        with _ENTRIES:
            return function(*arguments)

    return called


def is_closed() -> bool:
    """Whether the program, and so every iteration, is ending."""
    return _ENTRIES.is_closed
