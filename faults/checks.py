"""What all checks share: what they are given, and what they count."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

# Failures that are printed of each check; all are counted.
PRINTED = 10


@dataclass(frozen=True)
class Context:
    """What a check is given."""

    # The command `atds`.
    command: str
    # An empty folder for this check.
    folder: Path
    # Whether the check takes a sample of its cases that is done in seconds.
    quick: bool
    # The seed of all samples.
    seed: int
    # Whether the check plants its own fault: then it must fail.
    plant: bool
    # The number of processes side by side.
    jobs: int
    # The number of kills; None for the default.
    kills: int | None = None
    # Whether bytes are changed to every other value.
    every_value: bool = False

    def random(self, name: str) -> random.Random:
        """Random numbers that depend on the seed and `name` only."""
        return random.Random(f"{self.seed} {name}")


@dataclass
class Tally:
    """What a check did, and what it found."""

    counts: Counter = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    # Failures of each part. With the check's own faults, each part must fail.
    parts: Counter = field(default_factory=Counter)
    # The part that runs now.
    part: str = "all"

    def begin(self, part: str) -> "Tally":
        """Begin a part: failures are its own from now on."""
        self.part = part
        self.parts[part] += 0
        return self

    def count(self, what: str, number: int = 1) -> None:
        """Count cases of a kind."""
        self.counts[what] += number

    def fail(self, what: str) -> None:
        """Note a failure."""
        self.failures.append(what)
        self.parts[self.part] += 1

    def expect(self, holds: bool, what: str) -> None:
        """Note a failure unless `holds`."""
        if not holds:
            self.fail(what)

    def add(self, other: "Tally") -> None:
        """Add the figures of a part of the check."""
        self.counts.update(other.counts)
        self.failures += other.failures
        self.parts.update(other.parts)

    def summary(self) -> str:
        """The counts in one line."""
        return ", ".join(f"{number:,} {what}" for what, number in self.counts.items())


@dataclass(frozen=True)
class Check:
    """A kind of fault, and what must hold under it."""

    run: Callable[[Context], Tally]
    # What the check's own faults are.
    fault: str
