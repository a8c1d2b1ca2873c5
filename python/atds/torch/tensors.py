"""Columns of batches as PyTorch tensors over the same memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

from atds.bfloat16 import BFloat16Array
from atds.errors import FeatureError, OptionError
from atds.feature_sets import is_string, no_strings
from atds.features import Feature, SparseFeature, VarLenFeature, VarlenFeature
from atds.specs import RaggedSparseTensorSpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec
from atds.torch import packing

#: The form of sparse features.
Sparse: TypeAlias = Literal["coo", "bag"]

#: A function that makes a tensor, a :class:`Bag` or a :class:`Ragged` from a column.
Convert: TypeAlias = Callable[[Any], Any]


class Bag(NamedTuple):
    """A sparse column of rank 1, in the form of ``torch.nn.EmbeddingBag``: ``embed(*bag)``.

    Attributes:
        ids: int64 ``[nnz]``: the indices of all rows end to end.
        offsets: int64 ``[B]``: the start of each row in ``ids``.
        per_sample_weights: ``[nnz]``, of the feature's dtype: the value of each id.
    """

    ids: Tensor
    offsets: Tensor
    per_sample_weights: Tensor

    @property
    def row_splits(self) -> Tensor:
        """A copy, int64 ``[B + 1]``: the offsets and the end of the last row."""
        return _row_splits(self.offsets, len(self.ids))

    def to(self, device: str | int | torch.device, non_blocking: bool = False) -> Bag:
        """The column on a device; ``non_blocking`` is as for ``torch.Tensor.to``."""
        return _to(self, device, non_blocking)

    def pin_memory(self) -> Bag:
        """The column in one allocation of pinned memory. Without an accelerator, warns and returns
        the column itself."""
        return packing.pinned(self)


class Ragged(NamedTuple):
    """A varlen column. With one level of lists of ids, it fits ``torch.nn.EmbeddingBag``:
    ``embed(*ragged)``.

    Attributes:
        values: The values of all rows end to end.
        offsets: int64 ``[B]``: the start of each row in ``values``. With several levels of lists, a
            list of such tensors, the outermost first: the starts of each level's lists in the next
            level.
    """

    values: Tensor
    offsets: Tensor | list[Tensor]

    @property
    def row_splits(self) -> tuple[Tensor, ...]:
        """Copies, int64 ``[lists + 1]`` for each level: the offsets and the end of the last list."""
        levels = self.offsets if isinstance(self.offsets, list) else [self.offsets]
        ends = [*(len(level) for level in levels[1:]), len(self.values)]
        return tuple(map(_row_splits, levels, ends))

    def to(self, device: str | int | torch.device, non_blocking: bool = False) -> Ragged:
        """The column on a device; ``non_blocking`` is as for ``torch.Tensor.to``."""
        return _to(self, device, non_blocking)

    def pin_memory(self) -> Ragged:
        """The column in one allocation of pinned memory. Without an accelerator, warns and returns
        the column itself."""
        return packing.pinned(self)


_Column = TypeVar("_Column", Bag, Ragged)


def _to(column: _Column, device: str | int | torch.device, non_blocking: bool) -> _Column:
    def moved(tensor: Tensor) -> Tensor:
        return tensor.to(device, non_blocking=non_blocking)

    moved_column: _Column = packing.map_tensors(column, moved)
    return moved_column


def _row_splits(offsets: Tensor, end: int) -> Tensor:
    return torch.cat([offsets, offsets.new_tensor([end])])


def torch_features(features: Mapping[str, Feature], sparse: Sparse | None) -> dict[str, Feature]:
    """Features in the layouts from which tensors are made.

    Raises:
        FeatureError: A feature has strings, which PyTorch does not have, or uint16 before PyTorch
            2.3.
        OptionError: ``sparse`` is invalid.
    """
    if sparse not in (None, "coo", "bag"):
        raise OptionError(f"sparse must be 'coo', 'bag' or None, not {sparse!r}")
    return {name: _feature(name, feature, sparse) for name, feature in features.items()}


def _feature(name: str, feature: Feature, sparse: Sparse | None) -> Feature:
    if is_string(feature):
        raise no_strings(name, feature, "PyTorch")
    dtype = vars(feature)["dtype"]
    if not hasattr(torch, dtype):
        raise FeatureError(
            f"feature '{name}' is {dtype}, which PyTorch has from 2.3 on: this is {torch.__version__}"
        )
    if isinstance(feature, (VarlenFeature, VarLenFeature)):
        return dataclasses.replace(feature, layout="ragged")
    if isinstance(feature, SparseFeature) and sparse is not None:
        return dataclasses.replace(feature, layout="coo" if sparse == "coo" else "ragged")
    return feature


def converters(spec: Mapping[str, TensorSpec]) -> dict[str, Convert]:
    """The functions that make tensors from the columns of a batch, by name.

    Raises:
        FeatureError: A bag is asked for a sparse feature of several dimensions.
    """
    return {name: _converter(name, column) for name, column in spec.items()}


def _converter(name: str, spec: TensorSpec) -> Convert:
    if isinstance(spec, SparseTensorSpec):
        return _coo
    if isinstance(spec, RaggedTensorSpec):
        return _ragged
    if isinstance(spec, RaggedSparseTensorSpec):
        if len(spec.shape) > 2:
            raise FeatureError(
                f"feature '{name}' has {len(spec.shape) - 1} indices for each value, and a bag has "
                "one: ask for layout='coo', or sparse=None or 'coo' for all"
            )
        return _bag
    return _tensor


def _tensor(values: Any) -> Tensor:
    """A tensor over the memory of an array."""
    if isinstance(values, BFloat16Array):
        # The bits, viewed as another dtype of the same size.
        return torch.from_numpy(values.bits.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(values)


def _coo(column: Any) -> Tensor:
    indices, values, dense_shape = column
    return torch.sparse_coo_tensor(
        torch.from_numpy(indices).t(), _tensor(values), dense_shape, check_invariants=False
    )


def _bag(column: Any) -> Bag:
    indices, values, row_splits = column
    ids, splits = torch.from_numpy(indices), torch.from_numpy(row_splits)
    return Bag(ids.view(-1), splits[:-1], _tensor(values))


def _ragged(column: Any) -> Ragged:
    values, *row_splits = column
    offsets = [torch.from_numpy(splits)[:-1] for splits in row_splits]
    return Ragged(_tensor(values), offsets[0] if len(offsets) == 1 else offsets)
