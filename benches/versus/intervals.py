"""Medians with intervals of confidence."""

import math
import statistics
from dataclasses import dataclass

CONFIDENCE = 0.95

# With fewer values no two of them are an interval of this confidence.
FEWEST = 6


@dataclass(frozen=True)
class Estimate:
    """A median, and the interval that holds the true one with a confidence of 95 %."""

    median: float
    low: float
    high: float


def estimate(values: list[float]) -> Estimate:
    """The median with its interval between two of the values.

    The number of values below the true median is binomial, whatever the distribution of the values. So
    no assumption about the noise is made: on a shared machine it is far from normal.
    """
    ranked = sorted(values)
    skipped = _skipped(len(ranked))
    return Estimate(statistics.median(ranked), ranked[skipped], ranked[-1 - skipped])


def _skipped(count: int) -> int:
    """The number of values at each end that the interval leaves out."""
    skipped, outside = -1, 0.0
    while True:
        # The true median lies below the value of this rank, or above its mirror image.
        outside += 2 * math.comb(count, skipped + 1) / 2**count
        if outside > 1 - CONFIDENCE:
            break
        skipped += 1
    if skipped < 0:
        raise ValueError(f"{count} values are too few for an interval; {FEWEST} are enough")
    return skipped


def geometric_mean(ratios: list[float]) -> float:
    """The mean of ratios: of 2 and 1/2 it is 1."""
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
