"""What reads a data set, as the call stack tells: loaders that join batches, or split them.

A data set and its loader must not both share the records among ranks. Hugging Face Accelerate,
which the ``Trainer`` of transformers uses too, splits what any iterable data set yields, by one of
two classes:

- ``DataLoaderDispatcher``, its default: rank 0 reads for all ranks. It joins a batch for each
  rank, sends the result to all ranks, and each takes a slice. The data set must then yield all
  records on rank 0.
- ``IterableDatasetShard``, with ``dispatch_batches=False``: each rank reads everything and keeps
  its part. It fails for batches that come ready. This module makes it let everything through, and
  the data set takes its rank.

No argument or attribute tells a data set which of them reads it. So this module looks at the
frames of the callers where an iteration begins, a length is asked for, an epoch is set, or a copy
is pickled for a worker.
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

#: The attribute of an ``IterableDatasetShard`` with the rank and the number of ranks that it had.
_RANK = "_atds_rank"


@dataclass(frozen=True)
class Dispatcher:
    """A ``DataLoaderDispatcher``, which reads on rank 0.

    Attributes:
        rank: This rank.
        world_size: The number of ranks.
        splits_each: Whether each batch is split among the ranks (``split_batches=True``), rather
            than a batch for each rank joined first.
        in_order: Whether the batches of workers come in their order, so that a smaller one is the
            last.
    """

    rank: int
    world_size: int
    splits_each: bool
    in_order: bool


@dataclass(frozen=True)
class Caller:
    """What reads a data set.

    Attributes:
        dispatcher: A dispatcher, if there is one.
        rank: The rank and the number of ranks of an ``IterableDatasetShard``, which now lets
            everything through.
        splitter: The name of a class that splits among ranks what is read, and cannot be made to
            let it through.
        collates: Whether a ``DataLoader`` puts several batches together, because of its
            ``batch_size``.
    """

    dispatcher: Dispatcher | None = None
    rank: tuple[int, int] | None = None
    splitter: str | None = None
    collates: bool = False


def find(dataset: object) -> Caller:
    """What reads a data set, which calls this from a method of its own."""
    dispatcher, rank, splitter, collates = None, None, None, False
    for method, owner in _callers():
        names = {cls.__name__ for cls in type(owner).__mro__ if _package(cls) in _PACKAGES}
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
            # A class of a later version, which may split or not.
            splitter = type(owner).__name__
    return Caller(dispatcher, rank, splitter, collates)


#: The packages whose classes are known here.
_PACKAGES = {"accelerate", "torch", "torchdata", "transformers"}


def _package(cls: type) -> str:
    # A class may define `__module__` as anything.
    return str(cls.__module__).partition(".")[0]


def _callers() -> Iterator[tuple[str, Any]]:
    """The name of each method that waits for this call, the latest first, and its object."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_varnames[:1] == ("self",):
            yield code.co_name, frame.f_locals.get("self")
        frame = frame.f_back


def _let_through(shard: Any, method: str) -> tuple[int, int] | None:
    """Makes an ``IterableDatasetShard`` let everything through. Returns the rank and the number of
    ranks that it had, or None where it iterates already, and has looked at them."""
    rank: tuple[int, int] | None = vars(shard).get(_RANK)
    if rank is None and method != "__iter__":
        rank = (shard.process_index, shard.num_processes)
        setattr(shard, _RANK, rank)
        shard.process_index, shard.num_processes, shard.batch_size = 0, 1, 1
    return rank


def _dispatcher(loader: Any) -> Dispatcher:
    # A loader of torchdata begins to read while it is made, before these are set.
    given = vars(loader)
    state = given.get("state") or sys.modules["accelerate.state"].PartialState()
    return Dispatcher(
        state.process_index,
        state.num_processes,
        given.get("split_batches", False),
        getattr(loader, "in_order", True),
    )


def _yields_of(outer: Any, dataset: object) -> bool:
    """Whether what `outer` yields are the batches of a data set, as they are."""
    if isinstance(outer, ChainDataset):
        return any(_yields_of(inner, dataset) for inner in outer.datasets)
    if type(outer).__name__ == "IterableDatasetShard":
        return _yields_of(outer.dataset, dataset)
    return outer is dataset
