"""Asks two libraries the same cases, each in a process of its own, and compares their answers.

tensorflow-io crashes on some cases, and the others must be compared nevertheless.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

#: A question to a library, which is given as an object with its names.
Ask: TypeAlias = Callable[[Any], Any]

#: Seconds to wait for an answer.
_SECONDS = 300

#: How often a perilous case is asked. Before the other library crashes, it can answer with foreign
#: memory, which differs each time.
_ATTEMPTS = 5


@dataclass(frozen=True)
class Case:
    """A question to both libraries."""

    name: str
    ask: Ask
    # Whether the other library can crash.
    perilous: bool = False
    # Whether the other library fails although its documentation promises a value.
    lifted: bool = False
    # Whether the other library's answer contradicts its documentation.
    garbled: bool = False


def compare(cases: Iterator[Case], theirs: Any, ours: Any) -> bool:
    """Asks both libraries every case, prints differences, and returns whether there are none."""
    alike: list[str] = []
    perished: list[str] = []
    lifted: list[str] = []
    garbled: list[str] = []
    wrong: list[str] = []
    for case in cases:
        for _ in range(_ATTEMPTS if case.perilous else 1):
            # Both processes run at the same time.
            asked = begin(case.ask, theirs), begin(case.ask, ours)
            expected, found = map(answer, asked)
            if found == "died" or expected == "died" or _agree(expected, found):
                break
        gives = found != "died" and not _is_error(found)
        if case.lifted and _is_error(expected) and gives:
            lifted.append(case.name)
        elif case.garbled and expected != found and "died" not in (expected, found):
            garbled.append(case.name)
        elif case.perilous and expected == "died" and found != "died":
            perished.append(case.name)
        elif _agree(expected, found):
            alike.append(case.name)
        else:
            wrong.append(case.name)
            print(f"{case.name}\n  theirs: {said(expected)}\n  ours:   {said(found)}", flush=True)
    print(f"{len(alike)} alike")
    for what, names in (
        ("given, where they fail against their documentation", lifted),
        ("answered by them against their documentation", garbled),
        ("that they do not survive", perished),
        ("different", wrong),
    ):
        print(f"{len(names)} {what}: {'; '.join(names) or 'none'}")
    return not wrong


def begin(ask: Ask, library: Any) -> tuple[int, int]:
    """Asks a library in a forked process. Returns the process, and the pipe of the answer."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(_SECONDS)
        with os.fdopen(writing, "wb") as out:
            pickle.dump(_asked(ask, library), out)
        # The process skips the interpreter's shutdown, which some threads of TensorFlow do not
        # survive.
        os._exit(0)
    os.close(writing)
    return child, reading


def answer(asked: tuple[int, int]) -> Any:
    """The answer of a library: a value, the kind of an error, or ``died``."""
    child, reading = asked
    with os.fdopen(reading, "rb") as answered:
        content = answered.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(content) if status == 0 else "died"


def _is_error(answer: Any) -> bool:
    return isinstance(answer, tuple) and answer[:1] == ("raises",)


def _agree(expected: Any, found: Any) -> bool:
    if _is_error(expected) and _is_error(found):
        # An error may have additional kinds.
        return set(expected[1:]) <= set(found[1:])
    return bool(expected == found != "died")


def _asked(ask: Ask, library: Any) -> Any:
    try:
        return ask(library)
    except Exception as error:  # noqa: BLE001 - every kind is an answer
        if os.environ.get("ATDS_TRACE"):
            traceback.print_exc()
        # The names by which an error can be caught: those of TensorFlow and of Python.
        bases = [base for base in type(error).__mro__ if _is_caught_by(base)]
        return "raises", *[base.__name__ for base in bases or [type(error)]]


def _is_caught_by(kind: type) -> bool:
    own = kind.__module__.startswith("tensorflow.python.framework.errors")
    return own or kind in (TypeError, ValueError)


def said(value: Any) -> str:
    """An answer, shortened."""
    text = repr(value)
    return text if len(text) <= 600 else f"{text[:600]}.."
