"""Avro, TFRecord and BTable files to shuffled batches of training tensors, in one fused pass.

>>> import atds
>>> dataset = atds.Dataset("clicks/*.avro", batch_size=64)
>>> for batch in dataset:
...     labels = batch["s_label"]
>>> labels.dtype, labels.shape
(dtype('int32'), (8,))

A :class:`Dataset` is a description that can be iterated over any number of times. Each iteration is
an epoch and yields batches; a :class:`Batch` is a dict of arrays. Features select what is read, and
into which tensors: :class:`DenseFeature`, :class:`SparseFeature`, :class:`VarlenFeature` as in
ATDS, :class:`FixedLenFeature`, :class:`FixedLenSequenceFeature`, :class:`VarLenFeature` as in
TensorFlow.

Surprises, such as hidden files that are skipped, are logged as warnings to
``logging.getLogger("atds")``.
"""

import atexit as _atexit
import os as _os

from atds import _native
from atds import btable as btable
from atds._native import Batches, __version__
from atds.dataset import AUTOTUNE, Dataset
from atds.dtypes import DType
from atds.errors import (
    DataError,
    Error,
    FeatureError,
    FileError,
    ForkError,
    MemoryLimitError,
    MissingFileError,
    MissingPackageError,
    OptionError,
    ReadOnceError,
    SchemaError,
    StateError,
    ThreadError,
)
from atds.features import (
    DenseFeature,
    Feature,
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    VarlenFeature,
)
from atds.features_file import read_features, write_features
from atds.files import InspectedPath, Inspection, infer_features, inspect, read_schema
from atds.messages import MessageDecoder, Reencoder, decode
from atds.options import DatasetOptions
from atds.specs import (
    ArraySpec,
    RaggedSparseTensorSpec,
    RaggedTensorSpec,
    SparseTensorSpec,
    TensorSpec,
)
from atds.states import merge_states
from atds.tensors import (
    Batch,
    BFloat16Array,
    RaggedSparseTensor,
    RaggedTensor,
    SparseTensor,
    StringArray,
)
from atds.writing import write

# A forked child cannot use the threads of its parent, so the module must know of the fork.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_native.forked)

# Log records of threads wait for the next call into the package; this is the last one.
_atexit.register(_native.forward_logs)

__all__ = [
    "AUTOTUNE",
    "ArraySpec",
    "BFloat16Array",
    "Batch",
    "Batches",
    "DType",
    "DataError",
    "Dataset",
    "DatasetOptions",
    "DenseFeature",
    "Error",
    "Feature",
    "FeatureError",
    "FileError",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "ForkError",
    "InspectedPath",
    "Inspection",
    "MemoryLimitError",
    "MessageDecoder",
    "MissingFileError",
    "MissingPackageError",
    "OptionError",
    "RaggedSparseTensor",
    "RaggedSparseTensorSpec",
    "RaggedTensor",
    "RaggedTensorSpec",
    "ReadOnceError",
    "Reencoder",
    "SchemaError",
    "SparseFeature",
    "SparseTensor",
    "SparseTensorSpec",
    "StateError",
    "StringArray",
    "TensorSpec",
    "ThreadError",
    "VarLenFeature",
    "VarlenFeature",
    "__version__",
    "decode",
    "infer_features",
    "inspect",
    "merge_states",
    "read_features",
    "read_schema",
    "write",
    "write_features",
]
