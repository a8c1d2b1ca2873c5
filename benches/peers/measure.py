"""Measures systems in turn, so that a slow minute of the machine slows all of them."""

import statistics
import sys
from dataclasses import dataclass, field

from .jobs import Job, Timing, UnableError
from .systems import System


@dataclass
class Contender:
    """A system with a job and its measurements."""

    system: System
    job: Job
    epochs: int = 0
    timings: list[Timing] = field(default_factory=list)
    unable: str | None = None

    def run(self, epochs: int) -> None:
        """Run some more epochs."""
        self.epochs = epochs
        if self.unable is not None:
            return
        try:
            self.timings.append(self.system.run(self.job, epochs))
        except UnableError as error:
            self.unable = str(error)

    def result(self) -> dict:
        """The entry of the record."""
        about = {
            "system": self.system.name,
            "threads": self.job.threads,
            "batch_size": self.job.batch_size,
            "command": self.system.describe(self.job, self.epochs),
        }
        if self.unable is not None:
            return about | {"unable": self.unable}
        seconds = [seconds for timing in self.timings for seconds in timing.seconds]
        (records,) = {timing.records for timing in self.timings}
        for name in ("waited", "taking", "processor"):
            measured = [time for timing in self.timings for time in getattr(timing, name)]
            if any(measured):
                about[f"{name}_seconds"] = [round(time, 6) for time in measured]
        device_bytes = [size for timing in self.timings for size in timing.device_bytes]
        if any(device_bytes):
            about["device_bytes"] = device_bytes
        rates = [records / time for time in seconds]
        return about | {
            "records": records,
            "seconds": [round(time, 6) for time in seconds],
            "records_per_s": {
                "median": statistics.median(rates),
                "min": min(rates),
                "max": max(rates),
            },
        }


@dataclass(frozen=True)
class Effort:
    """The effort of a comparison."""

    # Number of turns of each system.
    rounds: int
    # Maximum number of epochs in a turn. A system can need fewer.
    epochs: int

    def in_turn(self, title: str, contenders: list[Contender]) -> list[dict]:
        """Run all contenders in turn, and return a result for each."""
        for turn in range(1, 1 + self.rounds):
            progress(f"{title}: round {turn} of {self.rounds}")
            for contender in contenders:
                contender.run(min(self.epochs, contender.system.epochs))
        results = [contender.result() for contender in contenders]
        for result in results:
            progress(f"  {result['system']}, threads {result['threads']}: {summary(result)}")
        return results


def rate(result: dict) -> float | None:
    """The median of records a second, if there are any."""
    return None if "unable" in result else result["records_per_s"]["median"]


def processor_seconds(result: dict) -> float | None:
    """The median of the processor time of an epoch, if it was measured."""
    measured = result.get("processor_seconds")
    return statistics.median(measured) if measured else None


def ms_per_step(result: dict) -> float:
    """Milliseconds for a full batch."""
    return 1e3 * result["batch_size"] / result["records_per_s"]["median"]


def summary(result: dict) -> str:
    """A result as one line."""
    if "unable" in result:
        return result["unable"]
    return f"{rate(result):,.0f} records/s, {ms_per_step(result):.2f} ms a step"


def progress(text: str) -> None:
    """Print a line to standard error."""
    print(text, file=sys.stderr, flush=True)
