"""The number of the next epoch, in memory that a process shares with the workers of its loaders."""

from __future__ import annotations

from typing import Any

import torch

#: The most workers of a rank.
MAX_WORKERS = 512

#: The most ranks of a machine.
_MAX_RANKS = 256


class Epochs:
    """The number of the next epoch of each worker of each rank.

    Workers are processes of their own, often new ones in each epoch, and a data set that was made
    before the ranks were started is in the memory of all of them. Each rank has a row, since it
    may begin an epoch while others are in the one before, and all must count alike: where files or
    blocks are shuffled, ranks in different epochs would read records twice, and others never.

    With ``n`` workers, worker ``i`` has the columns i, i + n, i + 2n and so on, so that all
    columns are the same between two epochs, whatever the number of workers.
    """

    def __init__(self) -> None:
        self._next = torch.zeros((_MAX_RANKS, MAX_WORKERS), dtype=torch.int64).share_memory_()

    def begin(self, rank: tuple[int, int], worker: int, workers: int) -> int:
        """The epoch that one of a rank's workers begins now, which counts it."""
        epoch = int(self._next[rank[0] % _MAX_RANKS, worker])
        self._next[_rows(rank), worker::workers] = epoch + 1
        return epoch

    def next(self, rank: tuple[int, int]) -> int:
        """The next epoch of a rank."""
        return int(self._next[rank[0] % _MAX_RANKS, 0])

    def set_next(self, rank: tuple[int, int], epoch: int) -> None:
        """Makes the next epoch of a rank, and of all its workers, the one of this number."""
        self._next[_rows(rank)] = epoch

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # A copy's own memory; that of a worker process is shared already.
        self._next.share_memory_()


def _rows(rank: tuple[int, int]) -> int | slice:
    """The row of a rank; all rows where there is one rank, as before the others are started."""
    return slice(None) if rank[1] == 1 else rank[0] % _MAX_RANKS
