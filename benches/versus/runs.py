"""Runs the command: its time by its own clock, its peak memory by the operating system."""

import json
import os
import tempfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """The figures of one run."""

    # Of the epochs that count.
    seconds: float
    records: int
    # Of the whole process.
    peak_bytes: int


def bench(command: list[str]) -> Run:
    """Run `atds bench --json`. The first epoch does not count: it starts threads and fills memory."""
    text, peak_bytes = run(command)
    figures = json.loads(text)
    epochs = figures["epoch_seconds"]
    counted = len(epochs) - 1
    return Run(sum(epochs[1:]), figures["records"] // len(epochs) * counted, peak_bytes)


def run(command: list[str]) -> tuple[bytes, int]:
    """Run a command. Returns its output, and its peak resident memory in bytes.

    Linux counts the memory of the process that calls exec. A child by vfork, as of `subprocess`, is the
    parent until then, with all of its memory; a child by fork has a small part of it.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(errors.fileno(), 2)
                os.execv(command[0], command)
            finally:
                os._exit(127)
        _, status, usage = os.wait4(child, 0)
        out.seek(0)
        errors.seek(0)
        if status != 0:
            code = os.waitstatus_to_exitcode(status)
            said = errors.read().decode(errors="replace").strip()
            raise RuntimeError(f"{' '.join(command)} ended with {code}: {said}")
        return out.read(), usage.ru_maxrss * 1024


def floor_bytes() -> int:
    """The peak memory of a program that does nothing. Smaller peaks cannot be seen."""
    return run(["/bin/sh", "-c", ":"])[1]
