"""Finds the loader that reads a data set by looking at the call stack.

Either the data set or its loader divides the records among ranks, never both. Hugging Face
Accelerate, which the ``Trainer`` of transformers also uses, splits the batches of iterable data
sets by one of two classes:

- ``DataLoaderDispatcher``, its default: rank 0 reads for all ranks. It joins one batch for each
  rank and sends the result to all ranks, and each rank takes a slice. The data set must then yield
  all
  records on rank 0.
- ``IterableDatasetShard``, with ``dispatch_batches=False``: each rank reads everything and keeps
  its part. It fails for ready-made batches. This module makes it pass all batches on, and the data
  set reads the records of its rank.

No argument or attribute tells a data set which class reads it. So this module looks at the frames
of the callers at the start of an iteration, in ``len()``, in ``set_epoch()``, and when a copy is
pickled for a worker.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from torch.utils.data import ChainDataset

#: Classes of Accelerate that pass batches on as they are.
_TRANSPARENT = {"DataLoaderShard", "SkipDataLoader", "MpDeviceLoaderWrapper"}

#: The attribute that keeps the original rank and number of ranks of an ``IterableDatasetShard``.
_RANK = "_atds_rank"


@dataclass(frozen=True)
class Dispatcher:
    """A ``DataLoaderDispatcher``, which reads on rank 0.

    Attributes:
        rank: This rank.
        world_size: The number of ranks.
        splits_each: Whether each batch is split among the ranks (``split_batches=True``). Otherwise
            one batch for each rank is joined and then split.
        in_order: Whether the batches of workers come in order, so that only the last batch can be
            smaller.
    """

    rank: int
    world_size: int
    splits_each: bool
    in_order: bool


@dataclass(frozen=True)
class Caller:
    """The loader that reads a data set.

    Attributes:
        dispatcher: A dispatcher, if there is one.
        rank: The rank and the number of ranks of an ``IterableDatasetShard``, which now passes all
            batches on.
        splitter: The name of a class that splits batches among ranks and cannot be made to pass
            them on.
        collates: Whether a ``DataLoader`` collates several batches, because it has a
            ``batch_size``.
        workers: The number of workers of a ``DataLoader``, at least 1.
    """

    dispatcher: Dispatcher | None = None
    rank: tuple[int, int] | None = None
    splitter: str | None = None
    collates: bool = False
    workers: int = 1


def find(dataset: object) -> Caller:
    """The loader that reads a data set. A method of the data set must call this function."""
    dispatcher, rank, splitter, collates, workers = None, None, None, False, 1
    for method, owner in _callers():
        names = {cls.__name__ for cls in type(owner).__mro__ if _package(cls) in _PACKAGES}
        if "DataLoader" in names and _yields_of(getattr(owner, "dataset", None), dataset):
            workers = max(getattr(owner, "num_workers", 0), 1)
        if "IterableDatasetShard" in names:
            if owner.dataset is dataset:
                rank = _let_through(owner, method)
            if rank is None:
                splitter = "IterableDatasetShard"
        elif "DataLoaderDispatcher" in names:
            dispatcher = _dispatcher(owner)
            collates |= owner.batch_size is not None and _yields_of(owner.dataset, dataset)
        elif names & _TRANSPARENT:
            collates |= owner.batch_size is not None and _yields_of(owner.dataset, dataset)
        elif "_IterableDatasetFetcher" in names:
            collates |= owner.auto_collation and _yields_of(owner.dataset, dataset)
        elif "ShardingFilterIterDataPipe" in names:
            if owner.num_of_instances > 1:
                splitter = "ShardingFilterIterDataPipe"
        elif _package(type(owner)) == "accelerate" and method == "__iter__":
            # An unknown class of a later version may split batches.
            splitter = type(owner).__name__
    return Caller(dispatcher, rank, splitter, collates, workers)


#: The packages whose classes are known here.
_PACKAGES = {"accelerate", "torch", "torchdata", "transformers"}


def _package(cls: type) -> str:
    # A class may define `__module__` as anything.
    return str(cls.__module__).partition(".")[0]


def _callers() -> Iterator[tuple[str, Any]]:
    """The name and the object of each method on the call stack, the innermost first."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_varnames[:1] == ("self",):
            yield code.co_name, frame.f_locals.get("self")
        frame = frame.f_back


def _let_through(shard: Any, method: str) -> tuple[int, int] | None:
    """Makes an ``IterableDatasetShard`` pass all batches on. Returns its original rank and number
    of ranks; None if it iterates already, because it has then read them."""
    rank: tuple[int, int] | None = vars(shard).get(_RANK)
    if rank is None and method != "__iter__":
        rank = (shard.process_index, shard.num_processes)
        setattr(shard, _RANK, rank)
        shard.process_index, shard.num_processes, shard.batch_size = 0, 1, 1
        # Otherwise a StatefulDataLoader would skip batches of the first epoch to go on in any.
        shard.state_dict = shard.dataset.state_dict
        shard.load_state_dict = shard.dataset.load_state_dict
    return rank


def _dispatcher(loader: Any) -> Dispatcher:
    # A loader of torchdata begins to read in its constructor, before these attributes are set.
    given = vars(loader)
    state = given.get("state") or sys.modules["accelerate.state"].PartialState()
    return Dispatcher(
        state.process_index,
        state.num_processes,
        given.get("split_batches", False),
        getattr(loader, "in_order", True),
    )


def _yields_of(outer: Any, dataset: object) -> bool:
    """Whether `outer` yields the unchanged batches of a data set."""
    if isinstance(outer, ChainDataset):
        return any(_yields_of(inner, dataset) for inner in outer.datasets)
    if type(outer).__name__ == "IterableDatasetShard":
        return _yields_of(outer.dataset, dataset)
    return outer is dataset
