"""Batches of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from atds._reprs import html, listed
from atds.batch import summary
from atds.torch import packing

if TYPE_CHECKING:
    from typing_extensions import Self


class Batch(dict[str, Any]):
    """A batch: a dict of tensors, :class:`Bag` and :class:`Ragged`, sorted by name.

    >>> dataset = atds.torch.Dataset(
    ...     "clicks/*.avro", batch_size=64, features={"d0": atds.DenseFeature([8], "float32")}
    ... )
    >>> batch = next(iter(dataset)).to("cpu", non_blocking=True)
    >>> batch["d0"].shape
    torch.Size([64, 8])
    """

    #: The pinned memory of all tensors, uint8 ``[n]``; None if each tensor has its own memory.
    _packed: Tensor | None = None

    def to(self, device: str | int | torch.device, non_blocking: bool = False) -> Self:
        """The batch on a device; the same batch if all tensors are there already. A batch in pinned
        memory is copied by one copy.

        Args:
            device: The device.
            non_blocking: Whether the host does not wait for the copy of a batch in pinned memory,
                see :meth:`pin_memory`. The copy then runs on a side stream, in parallel with the
                current stream. Later work of the current stream waits for the copy.
        """
        device = torch.device(device)
        if device.type != "cpu":
            # A device without a number is the current one.
            device = torch.empty(0, device=device).device
        if all(tensor.device == device for tensor in _tensors(self)):
            return self
        if self._packed is not None:
            return self._like(packing.copy_to(dict(self), self._packed, device, non_blocking))

        def moved(tensor: Tensor) -> Tensor:
            return tensor.to(device, non_blocking=non_blocking)

        return self._like(packing.map_tensors(dict(self), moved))

    def pin_memory(self) -> Self:
        """The batch in pinned memory, from which it can be copied to an accelerator without
        blocking the host. All tensors are copied to one allocation, at multiples of 128 bytes,
        outside Python's lock. Each tensor keeps the whole allocation alive. A batch in pinned
        memory is returned unchanged; without an accelerator any batch is, with a warning.
        """
        if self._packed is not None:
            memory = self._packed.untyped_storage().data_ptr()
            if all(packing.is_within(tensor, memory) for tensor in _tensors(self)):
                return self
        if not packing.is_pinning_possible(stacklevel=2):
            return self
        tensors, packed = packing.pack(dict(self))
        batch = self._like(tensors)
        batch._packed = packed
        return batch

    def __repr__(self) -> str:
        return listed("Batch of tensors", self._summaries())

    def _repr_html_(self) -> str:
        return html("Batch of tensors", [], (("column", "dtype and shape"), self._summaries()))

    def _summaries(self) -> list[tuple[str, str]]:
        return [(name, summary(column)) for name, column in self.items()]

    def _like(self, tensors: dict[str, Any]) -> Self:
        return type(self)(tensors)

    def __copy__(self) -> Self:
        other = self._like(self)
        other._packed = self._packed
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process has other memory.
        return type(self), (dict(self),)


def _register(tree: Any) -> None:
    """Registers batches as pytree nodes of PyTorch, as dicts are."""
    register = getattr(tree, "register_pytree_node", None)
    if register is not None:
        register(
            Batch,
            lambda batch: (list(batch.values()), list(batch)),
            lambda values, names: Batch(zip(names, values, strict=True)),
        )


_register(torch.utils._pytree)


def _tensors(value: Any) -> list[Tensor]:
    """All tensors of a structure; for sparse tensors, their indices and values."""
    found: list[Tensor] = []

    def add(tensor: Tensor) -> Tensor:
        found.extend([tensor._indices(), tensor._values()] if tensor.is_sparse else [tensor])
        return tensor

    packing.map_tensors(value, add)
    return found
