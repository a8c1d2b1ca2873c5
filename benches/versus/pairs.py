"""Measures all cells in pairs: one run of each build, right after each other."""

import random
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from .cells import Cell
from .intervals import Estimate, estimate
from .runs import Run


@dataclass
class Pairs:
    """The runs of a cell by both builds, pair by pair."""

    new: list[Run] = field(default_factory=list)
    old: list[Run] = field(default_factory=list)

    def time_ratio(self) -> Estimate:
        """The new time over the old one: the median of the pairs' ratios."""
        ratios = [new.seconds / old.seconds for new, old in zip(self.new, self.old, strict=True)]
        return estimate(ratios)


def measure(
    cells: list[Cell], pairs: int, run: Callable[[str, Cell], Run], seed: int = 0
) -> dict[Cell, Pairs]:
    """Run each cell `pairs` times with both builds, after a pair that does not count.

    Each round takes all cells once, in random order, so that a slow minute slows all of them. Within
    a cell the two builds take turns in coming first.
    """
    measured = {cell: Pairs() for cell in cells}
    order = random.Random(seed)
    for turn in range(1 + pairs):
        print(f"versus: round {turn} of {pairs}", file=sys.stderr, flush=True)
        for cell in order.sample(cells, len(cells)):
            builds = ["new", "old"] if (turn + cells.index(cell)) % 2 else ["old", "new"]
            pair = {build: run(build, cell) for build in builds}
            if pair["new"].records != pair["old"].records:
                raise RuntimeError(f"{cell.name}: the builds read different numbers of records")
            if turn > 0:
                measured[cell].new.append(pair["new"])
                measured[cell].old.append(pair["old"])
    return measured


def rate(runs: list[Run]) -> float:
    """The median of records a second."""
    return statistics.median(run.records / run.seconds for run in runs)


def peak_bytes(runs: list[Run]) -> float:
    """The median of peak memory."""
    return statistics.median(run.peak_bytes for run in runs)
