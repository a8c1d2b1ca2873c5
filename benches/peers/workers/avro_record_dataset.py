"""tensorflow-io's AvroRecordDataset.

It is so slow that whole epochs would take most of the time of a comparison. So some batches in the
middle of an epoch are measured.
"""

import json
import re
from collections.abc import Iterator

import fastavro
import tensorflow as tf
import tensorflow_io

from .protocol import features_of, files_of, serve
from .tensorflow import iterate_steps, versions

VarLenFeatureWithRank = tensorflow_io.experimental.columnar.VarLenFeatureWithRank
make_avro_record_dataset = tensorflow_io.experimental.columnar.make_avro_record_dataset

# Batches of each measured part of an epoch.
RECORDS = 8_192
WARM_UP_RECORDS = 3_072

# The steps of an expression that give a list: `[*]` or a filter.
LISTS = re.compile(r"\[\*\]|\[[^\]]*=[^\]]*\]")


def epoch(job: dict) -> tuple[int, float]:
    """Take and drop some batches."""
    dataset = make_avro_record_dataset(
        file_pattern=files_of(job),
        features=dict(features(features_of(job))),
        batch_size=job["batch_size"],
        reader_schema=writer_schema(files_of(job)[0]),
        num_epochs=1,
        shuffle=job["shuffle_buffer"] > 0,
        shuffle_buffer_size=job["shuffle_buffer"],
        num_parallel_reads=job["threads"],
    )
    warm_up, steps = (-(-records // job["batch_size"]) for records in (WARM_UP_RECORDS, RECORDS))
    return iterate_steps(dataset, warm_up, steps)


def features(entries: dict[str, dict]) -> Iterator[tuple[str, object]]:
    """The features of a features file, by expression; a sparse feature becomes two."""
    for name, entry in entries.items():
        path = entry.get("expression", name)
        dtype, shape = tf.dtypes.as_dtype(entry["dtype"]), entry.get("shape", [])
        match entry["kind"]:
            case "dense":
                yield path + "[*]" * len(shape), tf.io.FixedLenFeature(shape, dtype)
            case "sparse":
                for axis in range(len(shape)):
                    yield f"{path}.indices{axis}[*]", VarLenFeatureWithRank(tf.int64)
                yield f"{path}.values[*]", VarLenFeatureWithRank(dtype)
            case "fixed_len":
                yield path, tf.io.FixedLenFeature(shape, dtype, entry.get("default"))
            case "var_len":
                yield path, VarLenFeatureWithRank(dtype, len(LISTS.findall(path)))
            case kind:
                raise ValueError(f"features of kind {kind} are not translated")


def writer_schema(path: str) -> str:
    """The schema in a file's header."""
    with open(path, "rb") as file:
        return json.dumps(fastavro.reader(file).writer_schema)


if __name__ == "__main__":
    serve(versions(), epoch)
