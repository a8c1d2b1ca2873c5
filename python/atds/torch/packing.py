"""Batches in one allocation of pinned memory, and their one copy to a device.

PyTorch's own pinning makes an allocation and a copy to the device for each tensor, and a batch has
dozens of tensors. Here one allocation holds all tensors of a batch at aligned offsets. Its copy on
the device has the same tensors at the same offsets.

The allocation is PyTorch's own, from the caching allocator of pinned memory. That allocator knows
which copies still read a block. It reuses a block when no tensor and no copy uses it. So a loop
that drops its batches uses the same few blocks for all batches.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from atds import _native

_Value = TypeVar("_Value")

#: Alignment of each tensor's offset: a cache line of GPUs, and two of CPUs.
ALIGNMENT = 128

#: The warning of PyTorch's `DataLoader` without an accelerator.
NO_ACCELERATOR = (
    "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory "
    "won't be used."
)


def has_accelerator() -> bool:
    """Whether there is a device to pin memory for."""
    # Older versions support only CUDA.
    return bool(getattr(torch, "accelerator", torch.cuda).is_available())


def pinned_bytes(size: int) -> Tensor:
    """An uninitialised tensor uint8 ``[size]`` in pinned memory."""
    return torch.empty(size, dtype=torch.uint8, pin_memory=True)


def map_tensors(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """The same structure of mappings, tuples and lists, with ``function`` applied to each tensor."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, (tuple, list)):
        items = [map_tensors(item, function) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, Mapping):
        return {key: map_tensors(item, function) for key, item in value.items()}
    return value


def pinned(value: _Value) -> _Value:
    """The same structure in one allocation of pinned memory. Without an accelerator, warns and
    returns the structure itself."""
    if not is_pinning_possible(stacklevel=3):
        return value
    packed_value: _Value = pack(value)[0]
    return packed_value


def is_pinning_possible(stacklevel: int) -> bool:
    """Whether there is an accelerator. If not, warns at the caller that is ``stacklevel`` frames
    up."""
    is_possible = has_accelerator()
    if not is_possible:
        warnings.warn(NO_ACCELERATOR, stacklevel=stacklevel + 1)
    return is_possible


def pack(value: Any) -> tuple[Any, Tensor]:
    """The same structure with all tensors in one allocation of pinned memory, and the
    allocation."""
    # Offsets come first, because the allocation needs the total size.
    layout = _Layout()
    map_tensors(value, layout.add)
    packed = pinned_bytes(layout.size)
    _native.copy_into(packed.numpy(), layout.sources)
    tensors = layout.tensors(packed)
    return map_tensors(value, lambda _: next(tensors)), packed


class _Layout:
    """The offsets of a structure's tensors in an allocation, in the order of the structure."""

    def __init__(self) -> None:
        self.size = 0
        #: The bytes of each tensor and their offset.
        self.sources: list[tuple[int, Any]] = []
        self._makers: list[Callable[[Tensor], Tensor]] = []

    def add(self, tensor: Tensor) -> Tensor:
        is_known = tensor.layout in (torch.strided, torch.sparse_coo)
        if tensor.requires_grad or tensor.device.type != "cpu" or not is_known:
            # A tensor of another kind, not from the pipeline: PyTorch pins it, or raises an error.
            self._makers.append(lambda _: tensor.pin_memory())
        elif tensor.is_sparse:
            self._makers.append(self._sparse(tensor))
        else:
            self._makers.append(self._dense(tensor))
        return tensor

    def tensors(self, packed: Tensor) -> Iterator[Tensor]:
        """The tensors in an allocation."""
        return (make(packed) for make in self._makers)

    def _dense(self, tensor: Tensor) -> Callable[[Tensor], Tensor]:
        tensor = tensor.resolve_conj().resolve_neg().contiguous()
        offset = self.size
        self.sources.append((offset, _bytes(tensor)))
        self.size = offset + math.ceil(tensor.nbytes / ALIGNMENT) * ALIGNMENT
        dtype, shape, stride = tensor.dtype, tensor.shape, tensor.stride()
        first = offset // tensor.itemsize
        return lambda packed: _tensor_in(packed, dtype, shape, stride, first)

    def _sparse(self, tensor: Tensor) -> Callable[[Tensor], Tensor]:
        # The indices of each value are contiguous.
        indices, values = self._dense(tensor._indices().t()), self._dense(tensor._values())
        shape, is_coalesced = tensor.shape, tensor.is_coalesced()
        return lambda packed: sparse_tensor(
            indices(packed).t(), values(packed), shape, is_coalesced
        )


def _tensor_in(
    memory: Tensor, dtype: torch.dtype, shape: Sequence[int], stride: Sequence[int], first: int
) -> Tensor:
    """A tensor in the memory of another tensor, from the item ``first`` on.

    The tensor is no view: views share a version counter, so autograd would take a change of one
    column for a change of all.
    """
    tensor = torch.empty(0, dtype=dtype, device=memory.device)
    return tensor.set_(memory.untyped_storage(), first, shape, stride)


def sparse_tensor(indices: Tensor, values: Tensor, shape: Any, is_coalesced: bool) -> Tensor:
    """A COO tensor of these parts, which are not checked again."""
    return torch.sparse_coo_tensor(
        indices, values, shape, is_coalesced=is_coalesced, check_invariants=False
    )


def _bytes(tensor: Tensor) -> Any:
    """The memory of a contiguous tensor as an array of uint8 ``[n]``."""
    try:
        # NumPy's views are faster to make than PyTorch's.
        array = tensor.numpy()
    except TypeError:
        # NumPy lacks some dtypes.
        return tensor.reshape(-1).view(torch.uint8).numpy()
    return array.reshape(-1).view(np.uint8)


def copy_to(value: Any, packed: Tensor, device: torch.device, non_blocking: bool) -> Any:
    """The same structure on a device. One copy of the allocation ``packed`` covers all tensors in
    it; other tensors are copied one by one. With ``non_blocking`` the host does not wait for the
    copies."""
    copied = _copied_beside(packed, device) if non_blocking else packed.to(device)
    memory = packed.untyped_storage().data_ptr()

    def moved(tensor: Tensor) -> Tensor:
        if tensor.is_sparse:
            indices, values = moved(tensor._indices()), moved(tensor._values())
            return sparse_tensor(indices, values, tensor.shape, tensor.is_coalesced())
        if not is_within(tensor, memory):
            return tensor.to(device, non_blocking=non_blocking)
        return _tensor_in(
            copied, tensor.dtype, tensor.size(), tensor.stride(), int(tensor.storage_offset())
        )

    return map_tensors(value, moved)


def is_within(tensor: Tensor, memory: int) -> bool:
    """Whether a tensor is in the allocation that begins at the address ``memory``."""
    if tensor.requires_grad or tensor.layout is not torch.strided:
        return False
    return bool(tensor.untyped_storage().data_ptr() == memory)


def _copied_beside(packed: Tensor, device: torch.device) -> Tensor:
    """A copy on a device, made on a side stream. The copy does not wait for earlier work of the
    current stream. Later work of the current stream waits for the copy."""
    streams = stream_module(device)
    if streams is None:
        return packed.to(device, non_blocking=True)
    current = streams.current_stream(device)
    side = _side_stream(streams, current.device)
    # The host's allocator records that the side stream reads the block. The device's allocator
    # records that the memory belongs to the side stream.
    with streams.stream(side):
        copied = packed.to(device, non_blocking=True)
    current.wait_stream(side)
    # Otherwise the memory could be reused while the current stream still reads it.
    copied.record_stream(current)
    return copied


def stream_module(device: torch.device) -> Any:
    """The module of PyTorch with the streams of a device; None if a side stream has no use."""
    return getattr(torch, device.type) if device.type in ("cuda", "xpu") else None


_SIDE_STREAMS: dict[torch.device, Any] = {}


def _side_stream(streams: Any, device: torch.device) -> Any:
    """The stream for copies to a device."""
    if device not in _SIDE_STREAMS:
        _SIDE_STREAMS[device] = streams.Stream(device=device)
    return _SIDE_STREAMS[device]
