"""The package `tfrecord` of PyPI: a dictionary of arrays for each record."""

import importlib.metadata
import time

from tfrecord import tfrecord_loader

from .protocol import Measured, files_of, serve
from .table_files import KINDS


def epoch(job: dict) -> Measured:
    """Read all records of all files."""
    start, processor = time.perf_counter(), time.process_time()
    records = sum(1 for path in files_of(job) for _ in tfrecord_loader(path, None, KINDS))
    seconds = time.perf_counter() - start
    return Measured(records, seconds, processor=time.process_time() - processor)


if __name__ == "__main__":
    serve({"tfrecord (PyPI)": importlib.metadata.version("tfrecord")}, epoch)
