"""tf.data on TFRecord files: `batch` parses batches, `each` parses records."""

import sys
import time

import tensorflow as tf

from .protocol import Measured, features_of, files_of, serve
from .tensorflow import iterate

AUTOTUNE = tf.data.AUTOTUNE


def feature(kind: str, shape: list[int], dtype: str) -> object:
    """TensorFlow's feature of an entry of a features file."""
    if kind == "varlen":
        return tf.io.VarLenFeature(tf.dtypes.as_dtype(dtype))
    return tf.io.FixedLenFeature(shape, tf.dtypes.as_dtype(dtype))


def by_batch(job: dict, features: dict) -> tf.data.Dataset:
    """The fastest form: one call of `parse_example` a batch."""
    records = tf.data.TFRecordDataset(files_of(job))
    if job["shuffle_buffer"]:
        records = records.shuffle(job["shuffle_buffer"])
    batches = records.batch(job["batch_size"])
    parsed = batches.map(lambda batch: tf.io.parse_example(batch, features), AUTOTUNE)
    return parsed.prefetch(AUTOTUNE)


def by_record(job: dict, features: dict) -> tf.data.Dataset:
    """The last form of Reverie's text: each record is parsed, then shuffled."""
    records = tf.data.TFRecordDataset(files_of(job), num_parallel_reads=4)
    parsed = records.map(lambda record: tf.io.parse_single_example(record, features))
    return parsed.shuffle(job["shuffle_buffer"]).batch(job["batch_size"]).prefetch(AUTOTUNE)


FORMS = {"batch": by_batch, "each": by_record}


def main() -> None:
    """Serve the form of the command line."""
    (form,) = sys.argv[1:]

    def epoch(job: dict) -> Measured:
        features = {name: feature(**parts) for name, parts in features_of(job).items()}
        dataset = FORMS[form](job, features)
        processor = time.process_time()
        records, seconds = iterate(dataset)
        return Measured(records, seconds, processor=time.process_time() - processor)

    serve({"tensorflow (TFRecord)": tf.__version__}, epoch)


if __name__ == "__main__":
    main()
