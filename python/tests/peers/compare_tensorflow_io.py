"""Compares atds.tensorflow with tensorflow-io, value by value; `make test-peers` runs it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
import tensorflow_io
from alike import Case, compare
from cases_batches import batches_cases
from cases_evolution import evolution_cases
from cases_expressions import expressions_cases
from cases_pipelines import pipelines_cases
from cases_records import records_cases
from cases_signatures import signatures_cases
from tensorflow_io.python.experimental.atds import features as atds_features
from tensorflow_io.python.experimental.atds.dataset import ATDSDataset

import atds.tensorflow

COLUMNAR = tensorflow_io.experimental.columnar
THEIRS = SimpleNamespace(
    ATDSDataset=ATDSDataset,
    DenseFeature=atds_features.DenseFeature,
    SparseFeature=atds_features.SparseFeature,
    VarlenFeature=atds_features.VarlenFeature,
    AvroRecordDataset=COLUMNAR.AvroRecordDataset,
    VarLenFeatureWithRank=COLUMNAR.VarLenFeatureWithRank,
    make_avro_record_dataset=COLUMNAR.make_avro_record_dataset,
    parse_avro=COLUMNAR.parse_avro,
)


def main() -> int:
    """Compares all cases, or those whose names contain one of the arguments."""
    tf.get_logger().setLevel("ERROR")
    print(f"TensorFlow {tf.__version__}, tensorflow-io {tensorflow_io.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        parts = sys.argv[1:] or [""]
        asked = (case for case in cases(Path(folder)) if any(part in case.name for part in parts))
        alike = compare(asked, THEIRS, atds.tensorflow)
    return 0 if alike else 1


def cases(folder: Path) -> Iterator[Case]:
    """All cases; their files are in the folder."""
    yield from signatures_cases()
    yield from batches_cases(folder)
    yield from pipelines_cases(folder)
    yield from records_cases(folder)
    yield from expressions_cases()
    yield from evolution_cases(folder)


if __name__ == "__main__":
    sys.exit(main())
