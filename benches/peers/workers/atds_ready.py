"""The time that a training loop needs to take a ready batch of `atds.Dataset`."""

import json
import statistics
import time

import atds

from .atds_python import dataset
from .protocol import Measured, serve

STEPS = 64

# Seconds between two batches. The next is ready long before.
STEP = 0.02


def epoch(job: dict) -> Measured:
    """Take batches one by one, each after it is ready, and measure `next` alone."""
    iterator = iter(dataset(json.dumps(job)))
    taken, records = [], 0
    for _ in range(STEPS):
        compute()
        start = time.perf_counter()
        batch = next(iterator)
        taken.append(time.perf_counter() - start)
        records += batch.num_records
    return Measured(records, STEPS * statistics.median(taken))


def compute() -> None:
    """Keep the processor busy, as a training step does. A sleeping one is slow to wake."""
    end = time.perf_counter() + STEP
    while time.perf_counter() < end:
        pass


if __name__ == "__main__":
    serve({"atds (Python)": atds.__version__}, epoch)
