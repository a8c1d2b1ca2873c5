"""Fits the runs into the time that there is: with fewer epochs rather than fewer cells."""

from dataclasses import dataclass

# A run gains nothing from more: there are three of each.
LONGEST_RUN_S = 1.0
MOST_EPOCHS = 60


@dataclass(frozen=True)
class Cost:
    """What a run takes, by its trial."""

    epoch_seconds: float
    # The start of its processes, and the first epoch.
    fixed_seconds: float

    def epochs(self, seconds: float) -> int:
        """The number of epochs that fill this time, at least one."""
        return min(max(1, int(seconds / self.epoch_seconds)), MOST_EPOCHS)

    def of(self, epochs: int) -> float:
        """The seconds of a run with so many epochs that count."""
        return self.fixed_seconds + epochs * self.epoch_seconds


def seconds_a_run(costs: list[Cost], seconds: float) -> float:
    """The time to fill with epochs in each run, so that one run of each takes at most `seconds`.

    0 if not even one epoch of each fits; then a run is one epoch.
    """
    least, most = 0.0, LONGEST_RUN_S
    if _total(costs, most) <= seconds:
        return most
    for _ in range(20):
        middle = (least + most) / 2
        if _total(costs, middle) <= seconds:
            least = middle
        else:
            most = middle
    return least


def _total(costs: list[Cost], filled: float) -> float:
    return sum(cost.of(cost.epochs(filled)) for cost in costs)
