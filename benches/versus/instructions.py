"""Counts the instructions of an epoch with valgrind."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .cells import Cell

# Small, because valgrind is slow, but two batches of the largest size and twice the shuffle buffer.
RECORDS, FILES = 16_384, 4

# Epochs that are counted after the first. How many buffers a run allocates depends on its threads, and
# zeroing one costs as much as some hundred records: so more epochs where an epoch is cheap.
EPOCHS = {"null": 8, "deflate": 2, "zstandard": 3}

# Threads that wait for each other spin for a while; the smallest of some counts has the least of that.
COUNTS = 2


def version() -> str:
    """The version of valgrind."""
    if shutil.which("valgrind") is None:
        raise ValueError(
            "valgrind is missing: install the package 'valgrind', or --no-instructions"
        )
    done = subprocess.run(["valgrind", "--version"], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip().removeprefix("valgrind-")


def a_record(binary: Path, cell: Cell, files: Path, options: list[str]) -> float:
    """Instructions a record of the epochs after the first: what they add to a run of one epoch."""
    more = EPOCHS[cell.codec]
    first, all_of_them = (
        min(_count([str(binary), *cell.arguments(files, epochs, options)]) for _ in range(COUNTS))
        for epochs in (1, 1 + more)
    )
    return (all_of_them - first) / (more * RECORDS)


def a_record_of_all(
    cells: list[Cell], builds: dict[str, Path], data: dict[str, Path], options: list[str]
) -> dict[Cell, dict[str, float]]:
    """Instructions a record of each cell with one thread, by build."""
    counted = {}
    for cell in (cell for cell in cells if cell.threads == 1):
        print(f"versus: instructions of {cell.name}", file=sys.stderr, flush=True)
        counted[cell] = {
            build: a_record(binary, cell, data[cell.codec], options)
            for build, binary in builds.items()
        }
    return counted


def _count(command: list[str]) -> int:
    """All instructions of a command."""
    with tempfile.NamedTemporaryFile() as out:
        # Without a simulated cache it counts the same as callgrind, in a third of the time.
        valgrind = [
            *["valgrind", "--tool=cachegrind", "--cache-sim=no"],
            f"--cachegrind-out-file={out.name}",
        ]
        done = subprocess.run(
            [*valgrind, *command],
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} under valgrind: {done.stderr.strip()}")
    return total(done.stderr)


def total(text: str) -> int:
    """The count in what cachegrind prints."""
    found = re.search(r"I\s+refs:\s+([\d,]+)", text)
    if found is None:
        raise ValueError(f"no count in what valgrind printed: {text.strip()}")
    return int(found[1].replace(",", ""))
