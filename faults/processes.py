"""Runs the command and functions in processes of their own, which may not crash or hang."""

import multiprocessing
import os
import signal
import subprocess
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .checks import Tally

# Far more than any case takes on a busy machine.
SECONDS = 120

# What a program that gave up prints. An error is one sentence.
CRASHES = ("panicked at", "RUST_BACKTRACE", "stack overflow", "AddressSanitizer", "core dumped")

FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Ran:
    """A run of the command."""

    code: int
    out: str
    err: str
    # Why the run is a failure whatever it was for: a signal, a panic, no end.
    crash: str | None


def run(
    arguments: list[str],
    environment: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
    seconds: float = SECONDS,
) -> Ran:
    """Run the command to its end. `before` runs in the new process."""
    child = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
        preexec_fn=before,  # noqa: PLW1509 - the harness has no threads
    )
    try:
        out, err = (part.decode(errors="replace") for part in child.communicate(timeout=seconds))
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = (part.decode(errors="replace") for part in child.communicate())
        return Ran(-signal.SIGKILL, out, err, f"no end after {seconds} s")
    crash = None
    if child.returncode < 0:
        crash = f"ended by {signal.Signals(-child.returncode).name}: {err[-300:]}"
    elif any(word in err for word in CRASHES) or child.returncode not in (0, 1, 2):
        crash = f"exit code {child.returncode}: {err[-300:]}"
    return Ran(child.returncode, out, err, crash)


def isolated(function: Callable[[], Any], seconds: float = SECONDS) -> tuple[Any, str | None]:
    """Run a function in a forked process. Returns its value, and why there is none."""
    receiver, sender = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_answer, args=(function, sender))
    child.start()
    sender.close()
    value, failure = None, None
    try:
        if receiver.poll(seconds):
            value, failure = receiver.recv()
        else:
            failure = f"no end after {seconds} s"
    except EOFError:
        child.join()
        failure = died(child.exitcode)
    child.kill()
    child.join()
    receiver.close()
    return value, failure


def _answer(function: Callable[[], Any], sender: Any) -> None:
    try:
        sender.send((function(), None))
    except BaseException:  # noqa: BLE001 - a panic, too, is a failure
        sender.send((None, traceback.format_exc()[-1500:]))


def died(code: int | None) -> str:
    """How a process ended that should have answered."""
    if code is not None and code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def side_by_side(
    cases: list[Any],
    examine: Callable[[Any], Tally],
    jobs: int,
    seconds: float = SECONDS,
) -> Tally:
    """Examine cases in some forked processes. A case that ends its process, or does not end, is a
    failure, and the others go on."""
    tally = Tally()
    workers = [_Worker(cases[first::jobs], examine) for first in range(jobs)]
    while workers:
        for worker in list(workers):
            if worker.poll(seconds, tally):
                workers.remove(worker)
        time.sleep(0.02)
    return tally


class _Worker:
    """A process that examines cases in turn, and is started again if one ends it."""

    def __init__(self, cases: list[Any], examine: Callable[[Any], Any]) -> None:
        self.cases, self.examine = cases, examine
        # The case being examined, and since when.
        self.current = FORK.Value("q", 0, lock=False)
        self.since = FORK.Value("d", 0.0, lock=False)
        self._start(0)

    def _start(self, first: int) -> None:
        self.receiver, sender = FORK.Pipe(duplex=False)
        self.since.value = time.monotonic()
        self.current.value = first
        arguments = {"target": self._work, "args": (first, sender), "daemon": True}
        self.process = FORK.Process(**arguments)
        self.process.start()
        sender.close()

    def _work(self, first: int, sender: Any) -> None:
        for number in range(first, len(self.cases)):
            self.current.value = number
            self.since.value = time.monotonic()
            case = self.cases[number]
            try:
                sender.send(self.examine(case))
            except BaseException:  # noqa: BLE001 - a panic, too, is a failure
                failed = Tally(part="no crash")
                failed.fail(f"{case}: {traceback.format_exc()[-1500:]}")
                sender.send(failed)
        sender.send(None)

    def poll(self, seconds: float, tally: Tally) -> bool:
        """Add what came since the last call. Returns whether all cases are done."""
        try:
            while self.receiver.poll():
                answer = self.receiver.recv()
                if answer is None:
                    self.process.join()
                    return True
                tally.add(answer)
        except EOFError:
            self.process.join()
            how = died(self.process.exitcode)
            tally.begin("no crash").fail(f"{self.cases[self.current.value]}: {how}")
            return self._go_on()
        if time.monotonic() - self.since.value > seconds:
            self.process.kill()
            self.process.join()
            what = f"{self.cases[self.current.value]}: no end after {seconds} s"
            tally.begin("no hang").fail(what)
            return self._go_on()
        return False

    def _go_on(self) -> bool:
        following = self.current.value + 1
        if following < len(self.cases):
            self._start(following)
        return following >= len(self.cases)
