"""Where iterations are, to be saved with a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from atds import _native
from atds.errors import StateError
from atds.torch.shares import WorkerShare


@dataclass(frozen=True)
class Start:
    """Where an iteration of a worker begins.

    Attributes:
        own: The data set of the worker's records.
        epoch: The epoch.
        given: The number of its batches that were yielded before.
        until: The epoch after the last of the iteration.
        part: The worker's part of this epoch, of which others may have read some before.
        later: The worker's part of the epochs after it.
    """

    own: _native.Dataset
    epoch: int
    given: int
    until: int
    part: WorkerShare
    later: WorkerShare


#: Where an iteration goes on from a state.
Resume: TypeAlias = Callable[[Mapping[str, Any]], Start]


class Place:
    """Where an iteration of a worker is. It outlives the iteration.

    Attributes:
        native: The figures of the batches of arrays.
        until: The epoch after the last of the iteration.
        at: The epoch of the next batch, or of the last one, the number of its batches that were yielded
            of the worker's records, and that of padding batches. Other threads and signal handlers read
            it at any time.
        is_ended: Whether all batches were yielded, and the end was seen.
    """

    native: _native.StatsHandle
    until: int
    at: tuple[int, int, int]
    is_ended: bool
    _own: _native.Dataset

    def begin(self, native: _native.StatsHandle, start: Start, real: int) -> None:
        """Begins in an epoch of which some batches were yielded before, ``real`` of them with records."""
        self._own, self.native, self.until = start.own, native, start.until
        self.at, self.is_ended = (start.epoch, real, start.given - real), False

    def took(self, real: int, padded: int) -> None:
        """Counts batches that are yielded."""
        epoch, before_real, before_padded = self.at
        self.at = (epoch, before_real + real, before_padded + padded)

    def is_running(self) -> bool:
        """Whether the iteration may yield more."""
        return not self.is_ended and self.native.is_here() and self.native.is_running()

    def state_dict(self) -> dict[str, Any]:
        """The state of :meth:`atds.torch.Dataset.state_dict`."""
        if self.is_ended:
            return self._own.state_at(self.until, 0, self.until)
        epoch, real, padded = self.at
        # After the last batch of an epoch, the figures are still of that epoch.
        skipped = self.native.epoch_skipped() if real else (0, 0)
        return self._own.state_at(epoch, real + padded, self.until, skipped)


def rest(
    own: _native.Dataset, state: Mapping[str, Any]
) -> tuple[_native.Dataset, tuple[int, int, int]]:
    """The data set that goes on from a state; the epoch, the number of batches that were yielded of it,
    and the epoch after the last of the iteration.

    Raises:
        StateError: As for :class:`atds.Dataset`.
    """
    found, position = own.rest(state)
    if max(position) >= 1 << 62:
        raise StateError("this is no state of an iteration: its epoch is too large")
    return found, position
