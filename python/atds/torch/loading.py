"""A `DataLoader` with suitable options for a data set."""

from __future__ import annotations

import copy
import multiprocessing
import sys
from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader

from atds import _options
from atds.errors import OptionError
from atds.torch.dataset import Dataset
from atds.torch.epochs import MAX_WORKERS

#: Options of a `DataLoader` that cannot be given, each with the alternative.
_OF_THE_DATASET = {
    "batch_size": "the data set makes batches: give it batch_size=",
    "shuffle": "the data set shuffles: give it shuffle_buffer_size=, shuffle='blocks', "
    "shuffle_files= or shuffle_blocks=",
    "sampler": "the data set chooses the order: give it shuffle_buffer_size=, shuffle_files= or "
    "shuffle_blocks=, and rank= and world_size= for a part of the records",
    "batch_sampler": "the data set makes batches: give it batch_size=, and "
    "shuffle_buffer_size=, shuffle_files= or shuffle_blocks= for their order",
    "drop_last": "the data set knows its last batch: give it drop_remainder=True",
}

#: Options that a `DataLoader` without workers refuses or ignores, with their defaults.
_OF_WORKERS: dict[str, tuple[object, ...]] = {
    "multiprocessing_context": (None,),
    "persistent_workers": (None, False),
    "prefetch_factor": (None,),
    "timeout": (0,),
    "worker_init_fn": (None,),
}


def loader(
    dataset: Dataset,
    num_workers: int = 0,
    *,
    collate_fn: Callable[[Any], Any] | None = None,
    pin_memory: bool | None = None,
    persistent_workers: bool | None = None,
    multiprocessing_context: Any = None,
    **options: Any,
) -> DataLoader[Any]:
    """A ``DataLoader`` for a data set. It passes the batches on unchanged.

    >>> dataset = atds.torch.Dataset(
    ...     "clicks/*.avro", batch_size=64, features={"s_label": atds.DenseFeature([], "int32")}
    ... )
    >>> loader = atds.torch.loader(dataset, num_workers=0)
    >>> len(loader), next(iter(loader))["s_label"].shape
    (4, torch.Size([64]))

    Workers share the batches of this rank, and live as long as the loader: their threads are
    started once and used for all epochs. All other options of ``DataLoader`` can be given, except
    for those that make batches or an order.

    Args:
        dataset: The data set.
        num_workers: Number of worker processes, at most 512; 0 to read in this process, which is
            often the fastest, because the data set has its own threads.
        collate_fn: A function that maps each whole batch; None to yield the batch.
        pin_memory: Whether batches are copied to pinned memory, each in one allocation; None for
            the data set's option. Without an accelerator it only warns.
        persistent_workers: Whether workers are kept for the next epoch; None for true if there are
            workers.
        multiprocessing_context: The start method of workers: a context of :mod:`multiprocessing` or
            the name of a method. None for the method that was set by
            ``multiprocessing.set_start_method``. If none was set, None stands for ``fork`` on
            Linux, which needs no ``if __name__ == "__main__"``, and for the default on other
            platforms.
        **options: Any other option of ``torch.utils.data.DataLoader``.

    Raises:
        OptionError: ``dataset`` is no data set of this module, or an option contradicts it or
            ``num_workers``.
    """
    if not isinstance(dataset, Dataset):
        raise OptionError(
            f"dataset must be an atds.torch.Dataset, not {type(dataset).__name__}: for a data set "
            "made from one, use a torch.utils.data.DataLoader with batch_size=None"
        )
    num_workers = _options.whole("num_workers", num_workers, 0, MAX_WORKERS)
    for name, instead in _OF_THE_DATASET.items():
        given = options.pop(name, None)
        # The values of a loader with batch_size=None.
        is_nothing = not given if name in ("shuffle", "drop_last") else given is None
        if not is_nothing:
            raise OptionError(f"{name}= cannot be given, because {instead}")
    if pin_memory is None:
        pin_memory = dataset.pin_memory
    if num_workers == 0:
        of_workers = {
            **options,
            "multiprocessing_context": multiprocessing_context,
            "persistent_workers": persistent_workers,
        }
        for name, nothing in _OF_WORKERS.items():
            if of_workers.get(name, nothing[0]) not in nothing:
                raise OptionError(
                    f"{name}= is for worker processes, and num_workers is 0: give num_workers=1 "
                    "or more, or leave it out"
                )
    elif persistent_workers is None:
        persistent_workers = True
    if multiprocessing_context is None and num_workers:
        multiprocessing_context = _start_method()
    return DataLoader(
        _unpinned(dataset) if num_workers or not pin_memory else dataset,
        batch_size=None,
        num_workers=num_workers,
        collate_fn=collate_fn,
        pin_memory=bool(pin_memory),
        persistent_workers=bool(persistent_workers),
        multiprocessing_context=multiprocessing_context,
        **options,
    )


def _start_method() -> str | None:
    """The start method of worker processes if none is given; None for the method that was set or is
    the default."""
    is_set = multiprocessing.get_start_method(allow_none=True) is not None
    return "fork" if sys.platform == "linux" and not is_set else None


def _unpinned(dataset: Dataset) -> Dataset:
    """A data set that leaves pinning to the loader. It shares the epochs of ``dataset``."""
    if not dataset.pin_memory:
        return dataset
    other = copy.copy(dataset)
    other._pin_memory = False
    return other
