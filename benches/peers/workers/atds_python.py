"""This repository's Python package, without a framework.

An epoch is all files several times over, since the command's epochs too are one iteration.
"""

import functools
import time

import atds

from .protocol import features_of, files_of, serve

KINDS = {"dense": atds.DenseFeature, "sparse": atds.SparseFeature, "varlen": atds.VarlenFeature}
TIMES = 10
# Of a job.
NAMES = ["files", "features", "batch_size", "threads", "shuffle_buffer"]


def epoch(job: dict) -> tuple[int, float]:
    """All batches, each taken and dropped."""
    kept = dataset(*(job[name] for name in NAMES))
    records = 0
    start = time.perf_counter()
    for batch in kept:
        records += batch.num_records
    return records, time.perf_counter() - start


@functools.cache
def dataset(
    files: str, features: str, batch_size: int, threads: int, shuffle_buffer: int
) -> atds.Dataset:
    """A data set, whose epochs are measured."""
    return atds.Dataset(
        files_of({"files": files}) * TIMES,
        batch_size,
        {name: feature(**parts) for name, parts in features_of({"features": features}).items()},
        shuffle_buffer_size=shuffle_buffer,
        num_parallel_calls=threads,
    )


def feature(kind: str, shape: list[int], dtype: str) -> atds.Feature:
    """The feature that an entry of a features file describes."""
    return KINDS[kind](shape, dtype)


if __name__ == "__main__":
    serve({"atds (Python)": atds.__version__}, epoch)
