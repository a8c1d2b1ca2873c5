"""Batches for PyTorch: an ``IterableDataset`` whose workers and ranks share the records.

>>> import atds.torch
>>> dataset = atds.torch.Dataset(
...     "clicks/*.avro",
...     batch_size=64,
...     features={
...         "s_label": atds.DenseFeature([], "int32"),
...         "sp0": atds.SparseFeature([50_001], "float32", layout="ragged"),
...     },
... )
>>> loader = atds.torch.loader(dataset, num_workers=0)
>>> len(loader)
4
>>> batch = next(iter(loader))
>>> batch["s_label"].shape, batch["s_label"].dtype
(torch.Size([64]), torch.int32)
>>> import torch
>>> embed = torch.nn.EmbeddingBag(50_001, 16, mode="sum")
>>> embed(*batch["sp0"]).shape
torch.Size([64, 16])
"""

from __future__ import annotations

from importlib.util import find_spec as _find_spec

from atds.errors import MissingPackageError as _MissingPackageError

if _find_spec("torch") is None:
    raise _MissingPackageError("atds.torch needs torch, which is not installed: pip install torch")

from atds.torch.batch import Batch
from atds.torch.batches import Batches
from atds.torch.dataset import Dataset
from atds.torch.loading import loader
from atds.torch.shares import Share
from atds.torch.tensors import Bag, Ragged

__all__ = ["Bag", "Batch", "Batches", "Dataset", "Ragged", "Share", "loader"]
