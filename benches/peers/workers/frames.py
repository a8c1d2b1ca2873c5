"""Readers of Avro into data frames, each in its fastest way."""

import importlib.metadata
import sys
import time
from collections.abc import Callable

import jetliner
import polars
import polars_avro

from .protocol import files_of, serve


def file_by_file(read: Callable) -> Callable[[list[str]], int]:
    """Read the files one by one, and drop each data frame."""
    return lambda files: sum(read(path).height for path in files)


def all_at_once(read: Callable) -> Callable[[list[str]], int]:
    """Read all files into one data frame."""
    return lambda files: read(files).height


READERS = {
    "polars": file_by_file(polars.read_avro),
    "polars-avro": file_by_file(polars_avro.read_avro),
    "jetliner": all_at_once(jetliner.read_avro),
}


def main() -> None:
    """Serve the reader that the command line names."""
    (name,) = sys.argv[1:]
    read = READERS[name]

    def epoch(job: dict) -> tuple[int, float]:
        start = time.perf_counter()
        records = read(files_of(job))
        return records, time.perf_counter() - start

    serve({name: importlib.metadata.version(name)}, epoch)


if __name__ == "__main__":
    main()
