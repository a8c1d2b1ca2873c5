"""The classes of columns that are not plain NumPy arrays."""

from atds.batch import Batch
from atds.bfloat16 import BFloat16Array
from atds.ragged import RaggedSparseTensor, RaggedTensor
from atds.sparse import SparseTensor
from atds.strings import StringArray

__all__ = [
    "BFloat16Array",
    "Batch",
    "RaggedSparseTensor",
    "RaggedTensor",
    "SparseTensor",
    "StringArray",
]
