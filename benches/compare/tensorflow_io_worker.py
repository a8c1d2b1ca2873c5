"""Iterates over ATDSDataset: reads a line of settings, does an epoch, answers with a line.

Started by systems.py. The first line it writes is its versions.
"""

import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf
import tensorflow_io
from ads import FEATURES
from tensorflow_io.python.experimental.atds.dataset import ATDSDataset
from tensorflow_io.python.experimental.atds.features import DenseFeature, SparseFeature

KINDS = {"dense": DenseFeature, "sparse": SparseFeature}


def main() -> None:
    """Answers until the input ends."""
    answer({"tensorflow": tf.__version__, "tensorflow-io": tensorflow_io.__version__})
    for line in sys.stdin:
        answer(epoch(**json.loads(line)))


def epoch(codec: str, threads: int, batch_size: int, shuffle_buffer: int) -> dict:
    """Makes all batches and takes each, as a training loop would, but does nothing with it."""
    dataset = ATDSDataset(
        filenames=[str(path) for path in sorted(Path(codec).glob("*.avro"))],
        batch_size=batch_size,
        features={name: feature(**parts) for name, parts in FEATURES.items()},
        shuffle_buffer_size=shuffle_buffer,
        num_parallel_calls=threads,
    )
    records = 0
    start = time.perf_counter()
    for batch in dataset:
        records += batch["s_label"].shape[0]
    return {"records": records, "seconds": time.perf_counter() - start}


def feature(kind: str, shape: list[int], dtype: str) -> DenseFeature | SparseFeature:
    """The feature that a features file describes."""
    return KINDS[kind](shape=shape, dtype=tf.dtypes.as_dtype(dtype))


def answer(value: dict) -> None:
    """Writes one line."""
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    main()
