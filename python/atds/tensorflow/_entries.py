"""TensorFlow's threads in Python, which must have left it before the interpreter goes.

A thread that wants into Python once the interpreter is being taken down never comes back, and the
end of an iterator waits for its threads: a program that ends with a prefetching iterator would
hang. So at exit iterations end, and the threads are waited for; with nothing more to ask for,
they have no way back in.
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
    """Calls from TensorFlow's threads: how many there were, and how many are under way."""

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
        """Lets iterations end, and waits until no call has come for a while."""
        self.is_closed = True
        if not self._total:
            return
        deadline = time.monotonic() + _LONGEST
        while time.monotonic() < deadline:
            before = self._total
            time.sleep(_QUIET)
            if self._total == before and not self._inside:
                return


#: How long no call comes before none is expected any more, and how long that is waited for.
_QUIET = 0.1
_LONGEST = 5.0

_ENTRIES = _Entries()
atexit.register(_ENTRIES.close)


def entry(function: Callable[..., _Result]) -> Callable[..., _Result]:
    """The function as one that TensorFlow's threads call."""

    @functools.wraps(function)
    def called(*arguments: Any) -> _Result:
        with _ENTRIES:
            return function(*arguments)

    return called


def is_closed() -> bool:
    """Whether the program ends, and with it all iterations."""
    return _ENTRIES.is_closed
