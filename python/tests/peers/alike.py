"""Cases that two libraries are asked, each in a process of its own, and whether they answer alike.

tensorflow-io brings its process down in places; the others are to be compared all the same.
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

#: What is asked of a library, given as an object with its names.
Ask: TypeAlias = Callable[[Any], Any]

#: After which an answer does not come any more.
_SECONDS = 300


@dataclass(frozen=True)
class Case:
    """Something that both libraries are asked."""

    name: str
    ask: Ask
    # Whether the other library may go down over it.
    perilous: bool = False


def compare(cases: Iterator[Case], theirs: Any, ours: Any) -> bool:
    """Asks both libraries every case, prints what differs, and says whether nothing does."""
    alike, perished, wrong = 0, [], []
    for case in cases:
        expected = answer(case.ask, theirs)
        found = answer(case.ask, ours)
        if expected == "died" and case.perilous and found != "died":
            perished.append(case.name)
        elif expected == found != "died":
            alike += 1
        else:
            wrong.append(case.name)
            print(f"{case.name}\n  theirs: {said(expected)}\n  ours:   {said(found)}")
    print(f"{alike} alike, {len(wrong)} different: {', '.join(wrong) or 'none'}")
    print(f"{len(perished)} that they do not survive: {', '.join(perished) or 'none'}")
    return not wrong


def answer(ask: Ask, library: Any) -> Any:
    """What a library answers in a forked process: a value, an error's kind, or ``died``."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(_SECONDS)
        with os.fdopen(writing, "wb") as out:
            pickle.dump(_asked(ask, library), out)
        # Without the end of the interpreter, which some of their threads do not survive.
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answered:
        content = answered.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(content) if status == 0 else "died"


def _asked(ask: Ask, library: Any) -> Any:
    try:
        return ask(library)
    except Exception as error:  # noqa: BLE001 - every kind is an answer
        if os.environ.get("ATDS_TRACE"):
            traceback.print_exc()
        # Whether it is one that is caught by this name: subclasses are.
        kinds = ("OpError", "TypeError", "ValueError")
        bases = [base.__name__ for base in type(error).__mro__]
        kind = next((kind for kind in kinds if kind in bases), bases[0])
        return "raises", bases[0] if kind == "OpError" else kind


def said(value: Any) -> str:
    """An answer, not too long."""
    text = repr(value)
    return text if len(text) <= 600 else f"{text[:600]}.."
