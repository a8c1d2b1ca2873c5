"""Avro files as ``tf.data`` data sets, for any version of TensorFlow from 2.16 on.

This module has tensorflow-io's interfaces for Avro, with the same names, signatures, elements and
kinds of errors. ``atds`` is not compiled against TensorFlow, so it works with any version.

>>> import tensorflow as tf
>>> from atds.tensorflow import ATDSDataset, DenseFeature, SparseFeature
>>> dataset = ATDSDataset(
...     filenames=tf.io.gfile.glob("clicks/*.avro"),
...     batch_size=64,
...     features={
...         "s_label": DenseFeature([], tf.int32),
...         "sp0": SparseFeature([50_001], tf.float32),
...     },
...     shuffle_buffer_size=100,
...     num_parallel_calls=tf.data.AUTOTUNE,
... )
>>> for batch in dataset.prefetch(tf.data.AUTOTUNE):
...     pass
>>> batch["s_label"].dtype, batch["sp0"].shape
(tf.int32, TensorShape([8, 50001]))

:class:`ATDSDataset` reads, decodes, shuffles and batches in one pass; use it for new code.
:func:`make_avro_record_dataset`, :class:`AvroRecordDataset` and :func:`parse_avro` are for code
that uses tensorflow-io's older interface.
"""

from atds.tensorflow.batches import ATDSDataset
from atds.tensorflow.features import (
    DenseFeature,
    SparseFeature,
    VarlenFeature,
    VarLenFeatureWithRank,
)
from atds.tensorflow.make import make_avro_record_dataset
from atds.tensorflow.parse import parse_avro
from atds.tensorflow.records import AvroRecordDataset

__all__ = [
    "ATDSDataset",
    "AvroRecordDataset",
    "DenseFeature",
    "SparseFeature",
    "VarLenFeatureWithRank",
    "VarlenFeature",
    "make_avro_record_dataset",
    "parse_avro",
]
