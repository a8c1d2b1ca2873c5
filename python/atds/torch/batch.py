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

    #: The pinned memory that its tensors lie in, uint8 ``[n]``; None if each has its own.
    _packed: Tensor | None = None

    def to(self, device: str | int | torch.device, non_blocking: bool = False) -> Self:
        """The batch on a device; itself if all its tensors are there. A batch in pinned memory is
        copied as a whole.

        Args:
            device: The device.
            non_blocking: Whether the host does not wait for the copy, which has an effect for a
                batch in pinned memory, see :meth:`pin_memory`. The copy is then made on a stream of
                its own, beside the work of the current stream, and later work of the current
                stream waits for it.
        """
        device = torch.device(device)
        if device.type != "cpu":
            # With its number where that is the current one's.
            device = torch.empty(0, device=device).device
        if all(tensor.device == device for tensor in _tensors(self)):
            return self
        if self._packed is not None:
            return self._like(packing.copy_to(dict(self), self._packed, device, non_blocking))

        def moved(tensor: Tensor) -> Tensor:
            return tensor.to(device, non_blocking=non_blocking)

        return self._like(packing.map_tensors(dict(self), moved))

    def pin_memory(self) -> Self:
        """The batch in pinned memory, from which copies to an accelerator are made without the
        host waiting for them. It is copied to one allocation, in which each tensor begins at a
        multiple of 128 bytes, while other threads of Python go on; each of the tensors keeps the
        whole allocation. A batch that is there is returned itself, and so is any, with a warning,
        where there is no accelerator.
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
        # In another process it is in other memory.
        return type(self), (dict(self),)


def _register(tree: Any) -> None:
    """Makes batches trees of tensors for transformations of PyTorch, as dicts are, and no leaves."""
    register = getattr(tree, "register_pytree_node", None)
    if register is not None:
        register(
            Batch,
            lambda batch: (list(batch.values()), list(batch)),
            lambda values, names: Batch(zip(names, values, strict=True)),
        )


_register(torch.utils._pytree)


def _tensors(value: Any) -> list[Tensor]:
    """All tensors of a structure, of sparse ones their parts."""
    found: list[Tensor] = []

    def add(tensor: Tensor) -> Tensor:
        found.extend([tensor._indices(), tensor._values()] if tensor.is_sparse else [tensor])
        return tensor

    packing.map_tensors(value, add)
    return found
