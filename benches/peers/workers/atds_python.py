"""The Python package of atds, without a framework."""

import functools
import json
import time

import atds

from .protocol import Measured, features_of, files_of, serve

KINDS = {"dense": atds.DenseFeature, "sparse": atds.SparseFeature, "varlen": atds.VarlenFeature}


def epoch(job: dict) -> Measured:
    """Take and drop all batches."""
    kept = dataset(json.dumps(job))
    records = 0
    start, start_of_thread = time.perf_counter(), time.thread_time()
    processor = time.process_time()
    for batch in kept:
        records += batch.num_records
    seconds, taking = time.perf_counter() - start, time.thread_time() - start_of_thread
    processor = time.process_time() - processor
    return Measured(records, seconds, taking=taking, processor=processor)


@functools.cache
def dataset(asked: str) -> atds.Dataset:
    """The data set of a job."""
    job = json.loads(asked)
    return atds.Dataset(
        files_of(job),
        job["batch_size"],
        {name: feature(**parts) for name, parts in features_of(job).items()},
        shuffle_buffer_size=job["shuffle_buffer"],
        num_parallel_calls=job["threads"],
    )


def feature(kind: str, shape: list[int], dtype: str) -> atds.Feature:
    """The feature that an entry of a features file describes."""
    return KINDS[kind](shape, dtype)


if __name__ == "__main__":
    serve({"atds (Python)": atds.__version__}, epoch)
