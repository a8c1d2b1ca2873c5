"""Measures all cells with each number of threads: a trial, then three rounds."""

import statistics
import sys
import time
from collections.abc import Callable, Sequence
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


# Runs a side of a row with a number of epochs that count, within some seconds: (side, row, epochs, seconds).
Run = Callable[[str, Row, int, float], Together]

# A run of the trial that takes longer hangs. It must not cost the other cells their time.
LONGEST_TRIAL_S = 60.0

# Nor must a run of a round, of this many times what the trial said; other work may have come up.
PATIENCE = 10


def measure(rows: list[Row], run: Run, deadline: float, rounds: int = ROUNDS) -> None:
    """Fill in the rows. If the deadline cuts a round off, the rows before it have that round."""
    for row in rows:
        _try(row, run, deadline)
    sound = [row for row in rows if row.fault is None]
    for turn in range(1, 1 + rounds):
        left = deadline - time.monotonic()
        progress(f"round {turn} of {rounds}: {left:.0f} s are left")
        costs = [cost for row in sound for cost in row.costs.values()]
        filled = seconds_a_run(costs, left / (1 + rounds - turn))
        for number, row in enumerate(sound):
            epochs = {side: cost.epochs(filled) for side, cost in row.costs.items()}
            cost = sum(row.costs[side].of(epochs[side]) for side in SIDES)
            if time.monotonic() + cost > deadline:
                progress("the rest of this round does not fit any more")
                return
            sides = SIDES if (turn + number) % 2 else SIDES[::-1]
            try:
                _run_sides(sides, row, epochs, run, deadline, LONGEST_TRIAL_S + PATIENCE * cost)
            except (RuntimeError, TimeoutError) as error:
                if time.monotonic() >= deadline:
                    progress("the time is over")
                    return
                row.fault = str(error)
        sound = [row for row in sound if row.fault is None]


def _try(row: Row, run: Run, deadline: float) -> None:
    """Run both sides with one epoch, and learn what they cost."""
    if time.monotonic() >= deadline:
        row.fault = "there was no time left for it"
        return
    progress(f"trial: {row.cell.name}, {row.threads}")
    try:
        _run_sides(SIDES, row, dict.fromkeys(SIDES, 1), run, deadline, LONGEST_TRIAL_S)
    except (RuntimeError, TimeoutError) as error:
        row.fault = str(error)
        progress(f"  failed: {error}")
        return
    row.costs = {
        side: Cost(found.epoch_seconds, found.first_epoch_seconds + found.other_seconds)
        for side, found in row.rounds[0].items()
    }


def _run_sides(
    sides: Sequence[str],
    row: Row,
    epochs: dict[str, int],
    run: Run,
    deadline: float,
    longest: float,
) -> None:
    """Run the sides one after the other, each for `longest` seconds at most, and note the round."""
    found = {}
    for side in sides:
        seconds = max(0.0, min(longest, deadline - time.monotonic()))
        found[side] = run(side, row, epochs[side], seconds)
    row.rounds.append(found)
    row.epochs = epochs


def progress(text: str) -> None:
    """Print a line to standard error."""
    print(f"scaling: {text}", file=sys.stderr, flush=True)
