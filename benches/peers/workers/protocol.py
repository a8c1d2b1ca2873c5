"""The protocol of workers: a line of JSON in, a line of JSON out."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Measured(NamedTuple):
    """The result of one run of a job."""

    records: int
    seconds: float
    # The seconds of waiting for batches among them.
    waited: float = 0.0
    # The processor time of the thread that takes batches.
    taking: float = 0.0
    # The processor time of all threads of the process.
    processor: float = 0.0


# Of the files of a job.
SUFFIXES = (".avro", ".tfrecord")

# Runs a job once.
Epoch = Callable[[dict], Measured | tuple[int, float]]


def serve(versions: dict[str, str], epoch: Epoch) -> None:
    """Print the versions, and run jobs until the input ends."""
    answer(versions)
    for line in sys.stdin:
        try:
            answer(do(json.loads(line), epoch))
        except Exception as error:
            reason = str(error).strip().splitlines()[0]
            answer({"unable": f"{type(error).__name__}: {reason}"})


def do(job: dict, epoch: Epoch) -> dict:
    """Run some epochs, and return their times."""
    memory = Memory()
    for _ in range(job["warm_up"]):
        epoch(job)
    measured = [Measured(*epoch(job)) for _ in range(job["epochs"])]
    (records,) = {each.records for each in measured}
    return {
        "records": records,
        "seconds": [each.seconds for each in measured],
        "waited": [each.waited for each in measured],
        "taking": [each.taking for each in measured],
        "processor": [each.processor for each in measured],
        "memory_before": memory.before,
        "memory_peak": memory.peak(),
    }


class Memory:
    """The resident memory of this process from now on, in bytes."""

    def __init__(self) -> None:
        # Resets the peak to the memory that is resident now.
        Path("/proc/self/clear_refs").write_text("5")
        self.before = self.peak()

    def peak(self) -> int:
        """The peak."""
        with open("/proc/self/status") as status:
            mark = next(line for line in status if line.startswith("VmHWM:"))
        return 1024 * int(mark.split()[1])


def files_of(job: dict) -> list[str]:
    """The files of the job in order, repeated `times` times."""
    paths = (path for path in Path(job["files"]).iterdir() if path.suffix in SUFFIXES)
    return [str(path) for path in sorted(paths)] * job["times"]


def features_of(job: dict) -> dict[str, dict]:
    """The entries of the job's features file, by name."""
    return json.loads(Path(job["features"]).read_text())


def answer(value: dict) -> None:
    """Write one line."""
    print(json.dumps(value), flush=True)
