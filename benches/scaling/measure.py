"""Measures all cells with each number of threads: a trial, then three rounds."""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .budget import Cost, seconds_a_run
from .cells import Cell
from .together import Together

ROUNDS = 3

SIDES = ("pipeline", "processes")


@dataclass
class Row:
    """A cell with a number of threads, and of processes."""

    cell: Cell
    threads: int
    costs: dict[str, Cost] = field(default_factory=dict)
    # The trial is the first. It counts only if no round followed.
    rounds: list[dict[str, Together]] = field(default_factory=list)
    epochs: dict[str, int] = field(default_factory=dict)
    fault: str | None = None

    def counted(self) -> list[dict[str, Together]]:
        """The rounds that count."""
        return self.rounds[1:] or self.rounds

    def rate(self, side: str) -> float:
        """The median of records a second."""
        return statistics.median(found[side].records_per_s for found in self.counted())

    def ratio(self) -> float:
        """The median over the rounds of the pipeline's rate over that of the processes."""
        return statistics.median(
            found["pipeline"].records_per_s / found["processes"].records_per_s
            for found in self.counted()
        )


# Runs a side of a row with a number of epochs that count: (side, row, epochs).
Run = Callable[[str, Row, int], Together]


def measure(rows: list[Row], run: Run, deadline: float, rounds: int = ROUNDS) -> None:
    """Fill in the rows. A round that the deadline cuts off is kept for the rows that have it."""
    for row in rows:
        if time.monotonic() < deadline:
            _try(row, run)
        else:
            row.fault = "there was no time left for it"
    sound = [row for row in rows if row.fault is None]
    for turn in range(1, 1 + rounds):
        left = deadline - time.monotonic()
        filled = seconds_a_run(
            [cost for row in sound for cost in row.costs.values()], left / (1 + rounds - turn)
        )
        progress(f"round {turn} of {rounds}: {left:.0f} s are left")
        for number, row in enumerate(sound):
            row.epochs = {side: cost.epochs(filled) for side, cost in row.costs.items()}
            cost = sum(row.costs[side].of(row.epochs[side]) for side in SIDES)
            if time.monotonic() + cost > deadline:
                progress("the rest of this round does not fit any more")
                return
            sides = SIDES if (turn + number) % 2 else SIDES[::-1]
            try:
                row.rounds.append({side: run(side, row, row.epochs[side]) for side in sides})
            except RuntimeError as error:
                row.fault = str(error)
        sound = [row for row in sound if row.fault is None]


def _try(row: Row, run: Run) -> None:
    """Run both sides with one epoch, and learn what they cost."""
    progress(f"trial: {row.cell.name}, {row.threads}")
    try:
        found = {side: run(side, row, 1) for side in SIDES}
    except RuntimeError as error:
        row.fault = str(error)
        progress(f"  failed: {error}")
        return
    row.rounds.append(found)
    row.epochs = dict.fromkeys(SIDES, 1)
    row.costs = {
        side: Cost(each.epoch_seconds, each.first_epoch_seconds + each.other_seconds)
        for side, each in found.items()
    }


def progress(text: str) -> None:
    """Print a line to standard error."""
    print(f"scaling: {text}", file=sys.stderr, flush=True)
