"""Iteration over batches of tensors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch

import atds
from atds import _native
from atds.errors import Error, StateError
from atds.torch.batch import Batch
from atds.torch.places import Place, Resume, Start
from atds.torch.tensors import Convert

if TYPE_CHECKING:
    from typing_extensions import Self


class Batches(Iterator[Batch]):
    """The batches of an iteration, prefetched by its threads.

    Several threads may take batches from one iterator: each batch is yielded once. Its threads end
    when it is dropped or closed, or at the end of a ``with`` block.

    Args:
        start: Where it begins.
        resume: Called with a state from which the iterator goes on: where it begins.
        moved: Called with the epoch that follows if the iterator goes on from a state.
        padding: The data set whose first batch is the padding.
        mask: The name of the column that marks padding, if there is one.
    """

    def __init__(
        self,
        start: Start,
        resume: Resume,
        moved: Callable[[int], None],
        converters: Mapping[str, Convert],
        padding: _native.Dataset | None,
        mask: str | None,
        pin_memory: bool,
    ) -> None:
        # A signal handler may save the state while a batch is waited for.
        self._lock = threading.RLock()
        self._resume = resume
        self._moved = moved
        self._padding = padding
        self._converters = list(converters.items())
        self._mask = mask
        self._pin_memory = pin_memory
        self.place = Place()
        self._begin(start)

    def _begin(self, start: Start) -> None:
        """Begins after some batches of an epoch."""
        self._part, self._later = start.part, start.later
        is_counted = self._part.is_counted
        real = min(start.given, self._part.taken) if is_counted else start.given
        if start.given > real + self._part.padding:
            raise StateError(
                f"the data set cannot go on from this state: the epoch has fewer than the {start.given} "
                "batches that were given out"
            )
        epochs = start.until - start.epoch
        self._batches = start.own.epochs(start.epoch, epochs, real)
        self.place.begin(self._batches.stats_handle(), start, real)
        # Epochs without batches are not worth a look.
        has_batches = self._later.taken or self._later.padding
        self._epochs_left = epochs if has_batches else min(epochs, 1)
        self._left: int | None = 0
        self._padding_left = 0
        self._has_failed = self._is_cut = self._is_closed = False
        if epochs:
            self._begin_epoch()

    def __next__(self) -> Batch:
        with self._lock:
            try:
                arrays, is_real = self._next()
            except Error:
                self._has_failed = True
                raise
        batch = Batch({name: convert(arrays[name]) for name, convert in self._converters})
        if self._mask is not None and not (is_real and self._mask in batch):
            batch[self._mask] = torch.full((arrays.num_records,), is_real)
        return batch.pin_memory() if self._pin_memory else batch

    def _next(self) -> tuple[atds.Batch, bool]:
        """The next batch, and whether it has real records instead of padding."""
        if self._has_failed or self._is_closed:
            raise StopIteration
        if self._is_cut:
            # The error that has cut the last batch short.
            next(self._batches)
        if not self._part.is_counted:
            batch = next(self._batches, None)
            self.place.is_ended = batch is None
            if batch is None:
                raise StopIteration
            self.place.at = (*self.place.native.position()[:2], 0)
            return batch, True
        while True:
            if self._left != 0:
                batch = next(self._batches, None)
                if batch is not None:
                    if self._left is not None:
                        self._left -= 1
                    epoch, real, _ = self.place.at
                    self._is_cut = self.place.native.position()[:2] == (epoch, real)
                    self.place.took(real=int(not self._is_cut), padded=0)
                    return batch, True
                # The end, also after an error.
                self._left = self._epochs_left = 0
            if self._padding_left > 0 and self._padding is not None:
                batch = next(self._padding.epochs(0, 1))
                self._padding_left -= 1
                self.place.took(real=0, padded=1)
                return batch, False
            if self._epochs_left == 0:
                self.place.is_ended = True
                raise StopIteration
            for _ in range(self._part.made - self._part.taken):
                # A batch of the epoch that ended, which other ranks do not have.
                next(self._batches, None)
            self.place.at = (self.place.at[0] + 1, 0, 0)
            self._part = self._later
            self._begin_epoch()

    def _begin_epoch(self) -> None:
        """Begins with the rest of the epoch in which the iteration is."""
        self._epochs_left -= 1
        # After the last batch an error of the files may follow, unless the epoch is cut before.
        is_to_the_end = self._epochs_left == 0 and self._part.taken == self._part.made
        self._left = None if is_to_the_end else self._part.taken - self.place.at[1]
        self._padding_left = self._part.padding - self.place.at[2]

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
        self._is_closed = True
        self._batches.close()

    def state_dict(self) -> dict[str, Any]:
        """Where the iterator is, after the last batch that it has yielded; see
        :meth:`Dataset.state_dict`."""
        with self._lock:
            return self.place.state_dict()

    def get_state(self) -> dict[str, Any]:
        """As :meth:`state_dict`."""
        return self.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state of the same data set and worker, whatever was yielded before. The next
        iteration of the data set is the one that follows.

        Raises:
            StateError: As for :meth:`Dataset.load_state_dict`.
        """
        start = self._resume(state)
        with self._lock:
            self._batches.close()
            self._begin(start)
            self._moved(start.until)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """As :meth:`load_state_dict`."""
        self.load_state_dict(state)

    def stats(self) -> dict[str, Any]:
        """Figures of the iteration up to now; see :meth:`atds.Dataset.stats`."""
        return self._batches.stats()

    def describe_waits(self) -> str:
        """What each thread does now, or waits for; see :meth:`atds.Dataset.describe_waits`."""
        return self._batches.describe_waits()
