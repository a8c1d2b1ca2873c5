"""What the workers that run TensorFlow share."""

import time

import tensorflow as tf


def versions() -> dict[str, str]:
    """Of the packages."""
    # Here, since ours does without.
    import tensorflow_io

    return {"tensorflow": tf.__version__, "tensorflow-io": tensorflow_io.__version__}


def iterate(dataset: tf.data.Dataset) -> tuple[int, float]:
    """All batches: their records, and the seconds from asking for an iterator to its last batch."""
    records = 0
    start = time.perf_counter()
    iterator = iter(dataset)
    for batch in iterator:
        records += rows(batch)
    seconds = time.perf_counter() - start
    # Only now: a thread of tf.data's can hold up the end of an iterator for a second.
    del iterator
    return records, seconds


def iterate_steps(dataset: tf.data.Dataset, warm_up: int, steps: int) -> tuple[int, float]:
    """As `iterate`, but only `steps` batches, after `warm_up` that are not measured."""
    iterator = iter(dataset)
    for _ in range(warm_up):
        next(iterator)
    start = time.perf_counter()
    records = sum(rows(next(iterator)) for _ in range(steps))
    seconds = time.perf_counter() - start
    del iterator
    return records, seconds


def rows(batch: dict) -> int:
    """Records in a batch, from any of its tensors."""
    return next(iter(batch.values())).shape[0]
