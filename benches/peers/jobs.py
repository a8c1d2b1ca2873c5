"""Jobs for systems, and their results."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Job:
    """A job, alike for all systems. Paths are relative to the folder of the data."""

    # The folder with the files.
    files: str
    # A features file, as `atds bench --features` takes it; not for readers of whole records.
    features: str
    batch_size: int = 1_024
    threads: int = 1
    shuffle_buffer: int = 0
    # Number of times that an iteration reads all files.
    times: int = 1


@dataclass(frozen=True)
class Timing:
    """The times of some epochs of a job, or of parts of epochs."""

    # Records of each epoch.
    records: int
    seconds: list[float]
    # The seconds of waiting for batches among them, if measured.
    waited: list[float] = field(default_factory=list)
    # The processor time of the thread that takes batches, if measured.
    taking: list[float] = field(default_factory=list)
    # The processor time of the process, if measured.
    processor: list[float] = field(default_factory=list)
    # Bytes read from the device, if measured.
    device_bytes: list[int] = field(default_factory=list)


class UnableError(Exception):
    """A system cannot do a job, with the reason."""
