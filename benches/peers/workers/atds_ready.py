"""What it takes a training loop to take a batch of `atds.Dataset` that is ready."""

import json
import statistics
import time

import atds

from .atds_python import dataset
from .protocol import Measured, serve

STEPS = 64

# Seconds between two batches: the next is ready long before.
STEP = 0.02


def epoch(job: dict) -> Measured:
    """Batches taken one by one, each when it is ready: the seconds of `next` alone."""
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
    """Keeps the processor busy, as a step of training does: one that sleeps is slow to wake."""
    end = time.perf_counter() + STEP
    while time.perf_counter() < end:
        pass


if __name__ == "__main__":
    serve({"atds (Python)": atds.__version__}, epoch)
