"""Readers of Avro into data frames, a file at a time."""

import importlib.metadata
import sys
import time

import jetliner
import polars
import polars_avro

from .protocol import files_of, serve

READERS = {
    "polars": polars.read_avro,
    "polars-avro": polars_avro.read_avro,
    "jetliner": jetliner.read_avro,
}


def main() -> None:
    """Serves the reader that the command line names."""
    (name,) = sys.argv[1:]
    read = READERS[name]

    def epoch(job: dict) -> tuple[int, float]:
        start = time.perf_counter()
        records = sum(read(path).height for path in files_of(job))
        return records, time.perf_counter() - start

    serve({name: importlib.metadata.version(name)}, epoch)


if __name__ == "__main__":
    main()
