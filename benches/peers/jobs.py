"""What a system is asked to do, and what it answers."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Job:
    """What is read, in the same words for every system; paths are from the data's folder."""

    # The folder of the *.avro files.
    files: str
    # A features file, as `atds bench --features` takes it; not for readers of whole records.
    features: str
    batch_size: int = 1_024
    threads: int = 1
    shuffle_buffer: int = 0
    # How often all files are read in one iteration, for those that are asked for more than once.
    times: int = 1


@dataclass(frozen=True)
class Timing:
    """Some epochs of a job, or parts of epochs."""

    # In each of them.
    records: int
    seconds: list[float]
    # Of them, those in which something waited for batches, where that was measured.
    waited: list[float] = field(default_factory=list)
    # Of the processor's time, that of the thread that takes batches, where that was measured.
    taking: list[float] = field(default_factory=list)


class UnableError(Exception):
    """A system that cannot do a job, and why."""
