"""Iteration over batches of tensors."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch

import atds
from atds import _native
from atds.torch.batch import Batch
from atds.torch.shares import WorkerShare
from atds.torch.tensors import Convert

if TYPE_CHECKING:
    from typing_extensions import Self


class Batches(Iterator[Batch]):
    """The batches of an iteration, prefetched by its threads.

    Several threads may take batches from one iterator: each batch is yielded once. Its threads end
    when it is dropped or closed, or at the end of a ``with`` block.

    Args:
        batches: The batches of arrays.
        part: The number of batches that are taken in each epoch, and of padding batches after them.
        epochs: The number of epochs.
        padding: The data set whose first batch is the padding.
        mask: The name of the column that marks padding, if there is one.
    """

    def __init__(
        self,
        batches: _native.Batches,
        part: WorkerShare,
        epochs: int,
        converters: Mapping[str, Convert],
        padding: _native.Dataset | None,
        mask: str | None,
        pin_memory: bool,
    ) -> None:
        self._lock = threading.Lock()
        self._batches = batches
        self._part = part
        self._taken = part.made if part.batches is None else part.batches
        # Epochs that have not begun. Epochs without batches are not worth a look.
        self._epochs_left = epochs if self._taken or part.padding else 1
        self._left: int | None = 0
        self._padding_left = 0
        self._begin_epoch()
        self._padding = padding
        self._converters = list(converters.items())
        self._mask = mask
        self._pin_memory = pin_memory

    def __next__(self) -> Batch:
        with self._lock:
            arrays, is_real = self._next()
        batch = Batch({name: convert(arrays[name]) for name, convert in self._converters})
        if self._mask is not None:
            batch[self._mask] = torch.full((arrays.num_records,), is_real)
        return batch.pin_memory() if self._pin_memory else batch

    def _next(self) -> tuple[atds.Batch, bool]:
        """The next batch, and whether it has real records instead of padding."""
        while True:
            if self._left != 0:
                batch = next(self._batches, None)
                if batch is not None:
                    if self._left is not None:
                        self._left -= 1
                    return batch, True
                # The end, also after an error.
                self._left = self._epochs_left = 0
            if self._padding_left > 0 and self._padding is not None:
                batch = next(self._padding.epochs(0, 1))
                self._padding_left -= 1
                return batch, False
            if self._epochs_left == 0:
                raise StopIteration
            for _ in range(self._part.made - self._taken):
                # A batch of the epoch that ended, which other ranks do not have.
                next(self._batches, None)
            self._begin_epoch()

    def _begin_epoch(self) -> None:
        self._epochs_left -= 1
        # After the last batch an error of the files may follow, unless the epoch is cut before.
        is_to_the_end = self._epochs_left == 0 and self._part.batches is None
        self._left = None if is_to_the_end else self._taken
        self._padding_left = self._part.padding

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._batches).replace("atds.Batches", "atds.torch.Batches", 1)

    def _repr_html_(self) -> str:
        return self._batches._repr_html_().replace("atds.Batches", "atds.torch.Batches", 1)

    def close(self) -> None:
        """Ends the iteration: stops its threads and waits for them."""
        self._epochs_left = self._padding_left = 0
        self._batches.close()

    def stats(self) -> dict[str, Any]:
        """Figures of the iteration up to now; see :meth:`atds.Dataset.stats`."""
        return self._batches.stats()

    def describe_waits(self) -> str:
        """What each thread does now, or waits for; see :meth:`atds.Dataset.describe_waits`."""
        return self._batches.describe_waits()
