"""Shared parts of the workers that run TensorFlow."""

import time
from collections.abc import Callable

import tensorflow as tf

from .protocol import features_of, files_of


def versions() -> dict[str, str]:
    """The versions of the packages."""
    # Imported here, because atds does not need it.
    import tensorflow_io

    return {"tensorflow": tf.__version__, "tensorflow-io": tensorflow_io.__version__}


def epoch_of(dataset: type, **kinds: type) -> Callable[[dict], tuple[int, float]]:
    """Run an epoch of an `ATDSDataset` of either package, as a training loop does.

    `kinds` maps names of kinds in a features file to classes of features.
    """

    def feature(kind: str, shape: list[int], dtype: str) -> object:
        return kinds[kind](shape=shape, dtype=tf.dtypes.as_dtype(dtype))

    def epoch(job: dict) -> tuple[int, float]:
        features = {name: feature(**parts) for name, parts in features_of(job).items()}
        return iterate(
            dataset(
                filenames=files_of(job),
                batch_size=job["batch_size"],
                features=features,
                shuffle_buffer_size=job["shuffle_buffer"],
                num_parallel_calls=job["threads"],
            )
        )

    return epoch


def iterate(dataset: tf.data.Dataset) -> tuple[int, float]:
    """Take all batches. Return their records, and the seconds from `iter` to the last batch."""
    records = 0
    start = time.perf_counter()
    iterator = iter(dataset)
    for batch in iterator:
        records += rows(batch)
    seconds = time.perf_counter() - start
    # After the clock: a thread of tf.data can delay the end of an iterator by a second.
    del iterator
    return records, seconds


def iterate_steps(dataset: tf.data.Dataset, warm_up: int, steps: int) -> tuple[int, float]:
    """As `iterate`, for `steps` batches after `warm_up` batches that do not count."""
    iterator = iter(dataset)
    for _ in range(warm_up):
        next(iterator)
    start = time.perf_counter()
    records = sum(rows(next(iterator)) for _ in range(steps))
    seconds = time.perf_counter() - start
    del iterator
    return records, seconds


def rows(batch: dict) -> int:
    """Number of records in a batch, from any of its tensors."""
    return next(iter(batch.values())).shape[0]
