"""The number of the next epoch, in memory shared with the workers of loaders."""

from __future__ import annotations

from typing import Any

import torch

#: The maximum number of workers of a rank.
MAX_WORKERS = 512

#: The maximum number of ranks of a machine.
_MAX_RANKS = 256

#: What there is for each worker of each rank: the next epoch; the epoch that was set since the last
#: iteration began, or -1; what is added to epochs that are set, as long as each is the one after the
#: last; the last that was set.
_NEXT, _SET, _MORE, _LAST = range(4)


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
        # One tensor, since each that is shared is a file handle.
        shape = (4, _MAX_RANKS, MAX_WORKERS)
        self._numbers = torch.zeros(shape, dtype=torch.int64).share_memory_()
        self._numbers[_SET] = self._numbers[_LAST] = -1

    def begin(self, rank: tuple[int, int], worker: int, workers: int, epochs: int) -> int:
        """Begins an iteration of some epochs in a worker of a rank: returns the number of the first,
        and adds theirs to the counter."""
        epoch = int(self._numbers[_NEXT, rank[0] % _MAX_RANKS, worker])
        self.put(rank, worker, workers, epoch + epochs)
        return epoch

    def put(self, rank: tuple[int, int], worker: int, workers: int, epoch: int) -> None:
        """Has the next iteration of a worker of a rank be of an epoch."""
        self._numbers[_NEXT, _rows(rank), worker::workers] = epoch
        self._numbers[_SET, _rows(rank), worker::workers] = -1

    def load(self, rank: tuple[int, int], worker: int, workers: int, epoch: int) -> None:
        """Has a worker of a rank go on in an epoch. A loop that has set another epoch before counts from
        there: what it sets later is moved as far."""
        was_set = int(self._numbers[_SET, rank[0] % _MAX_RANKS, worker])
        if was_set >= 0:
            self._numbers[_MORE, _rows(rank), worker::workers] = max(epoch - was_set, 0)
        self.put(rank, worker, workers, epoch)

    def next(self, rank: tuple[int, int], worker: int = 0) -> int:
        """The next epoch of a worker of a rank."""
        return int(self._numbers[_NEXT, rank[0] % _MAX_RANKS, worker])

    def set_next(self, rank: tuple[int, int], epoch: int) -> None:
        """Sets the next epoch of a rank and of all its workers."""
        rows = _rows(rank)
        last = self._numbers[_LAST, rows]
        self._numbers[_MORE, rows] *= (last == epoch) | (last + 1 == epoch)
        self._numbers[_NEXT, rows] = self._numbers[_MORE, rows] + epoch
        self._numbers[_SET, rows] = self._numbers[_LAST, rows] = epoch

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # A pickled copy gets its own memory; a worker process shares it already.
        self._numbers.share_memory_()


def _rows(rank: tuple[int, int]) -> int | slice:
    """The row of a rank; all rows if there is one rank, because the others may not have started
    yet."""
    return slice(None) if rank[1] == 1 else rank[0] % _MAX_RANKS
