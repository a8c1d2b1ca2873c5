"""The number of the next epoch, in memory shared with the workers of loaders."""

from __future__ import annotations

from typing import Any

import torch

#: The maximum number of workers of a rank.
MAX_WORKERS = 512

#: The maximum number of ranks of a machine.
_MAX_RANKS = 256


class Epochs:
    """The number of the next epoch of each worker of each rank.

    Workers are processes, often new ones in each epoch. If a data set is made before the ranks are
    started, all ranks share this memory. Each rank has its own row, because it may begin an epoch
    while other ranks are still in the previous one. All must count alike: if files or blocks are
    shuffled, ranks in different epochs would read some records twice and others never.

    With ``n`` workers, worker ``i`` has the columns i, i + n, i + 2n and so on, so that all
    columns are the same between two epochs, whatever the number of workers.
    """

    def __init__(self) -> None:
        self._next = torch.zeros((_MAX_RANKS, MAX_WORKERS), dtype=torch.int64).share_memory_()

    def begin(self, rank: tuple[int, int], worker: int, workers: int, epochs: int) -> int:
        """Begins an iteration of some epochs in a worker of a rank: returns the number of the first,
        and adds theirs to the counter."""
        epoch = int(self._next[rank[0] % _MAX_RANKS, worker])
        self._next[_rows(rank), worker::workers] = epoch + epochs
        return epoch

    def next(self, rank: tuple[int, int]) -> int:
        """The next epoch of a rank."""
        return int(self._next[rank[0] % _MAX_RANKS, 0])

    def set_next(self, rank: tuple[int, int], epoch: int) -> None:
        """Sets the next epoch of a rank and of all its workers."""
        self._next[_rows(rank)] = epoch

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # A pickled copy gets its own memory; a worker process shares it already.
        self._next.share_memory_()


def _rows(rank: tuple[int, int]) -> int | slice:
    """The row of a rank; all rows if there is one rank, because the others may not have started
    yet."""
    return slice(None) if rank[1] == 1 else rank[0] % _MAX_RANKS
