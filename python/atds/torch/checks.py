"""Who may read a data set, and what to do otherwise."""

from __future__ import annotations

import os
import sys

from torch.utils.data import get_worker_info

import atds
from atds.errors import FeatureError, OptionError
from atds.specs import ArraySpec
from atds.torch.callers import Caller
from atds.torch.epochs import MAX_WORKERS
from atds.torch.shares import Uneven

#: Advice for switching off Accelerate's dispatcher.
_NO_DISPATCH = (
    "give Accelerator dataloader_config=DataLoaderConfiguration(dispatch_batches=False), or "
    "TrainingArguments accelerator_config={'dispatch_batches': False}"
)


def check_caller(
    caller: Caller, rank: tuple[int, int] | None, uneven: Uneven, dataset: atds.Dataset
) -> None:
    """Checks a caller of a data set of a rank, if one was given.

    Raises:
        OptionError: The caller joins batches, or would read records twice or not at all.
        FeatureError: A dispatcher cannot split a feature.
    """
    if caller.collates:
        raise OptionError(_collates())
    if caller.splitter is not None and rank is None:
        raise OptionError(
            f"{caller.splitter} splits the batches among ranks, but the data set has already "
            "split the records among them, so that some would be lost: give the data set "
            "itself to a DataLoader; or give it rank=0, world_size=1, so that each rank reads all "
            "records"
        )
    if caller.dispatcher is None:
        return
    if rank is not None and rank[1] > 1:
        raise OptionError(
            f"rank={rank[0]}, world_size={rank[1]} would lose records, because "
            f"Accelerate's dispatcher reads on rank 0 alone: leave both out, or {_NO_DISPATCH}"
        )
    if dataset._is_by_file:
        raise OptionError(
            "shard_by='file' is not possible with Accelerate's dispatcher, which reads on rank 0 alone: "
            f"leave it out, or {_NO_DISPATCH}"
        )
    if dataset.epochs > 1:
        raise OptionError(
            f"epochs={dataset.epochs} is not possible with Accelerate's dispatcher, which "
            f"joins batches and would join those of two epochs: leave it out, or {_NO_DISPATCH}"
        )
    if uneven != "drop":
        raise OptionError(
            f"uneven={uneven!r} is not possible with Accelerate's dispatcher, which "
            f"gives all ranks the same number of records: leave it out, or {_NO_DISPATCH}"
        )
    for name, spec in dataset.element_spec.items():
        if not isinstance(spec, ArraySpec) or None in spec.shape[1:]:
            raise FeatureError(
                f"feature '{name}' cannot be split by Accelerate's dispatcher, which takes "
                f"dense features of a fixed shape alone: {_NO_DISPATCH}, so that each rank "
                "reads its own records"
            )


def _collates() -> str:
    """The error message for a ``DataLoader`` that would stack batches."""
    said = (
        "the data set yields whole batches, and this DataLoader's batch_size would stack "
        "several of them: give it batch_size=None"
    )
    if "accelerate" in sys.modules:
        said += ", and Accelerate no split_batches=True"
    if "transformers" in sys.modules:
        said += (
            ". A Trainer of transformers makes its DataLoader with a batch_size: override its "
            "get_train_dataloader to return "
            "self.accelerator.prepare(DataLoader(self.train_dataset, batch_size=None)), and "
            "get_eval_dataloader likewise"
        )
    return said


def worker(pins_memory: bool) -> tuple[int, int]:
    """The number of this worker process, and the number of workers.

    Raises:
        OptionError: It cannot pin memory, or there are too many workers.
    """
    info = get_worker_info()
    if info is None:
        return 0, 1
    if pins_memory:
        raise OptionError(
            "pin_memory=True is not possible in a worker process, which cannot pin memory of the "
            "training process: use atds.torch.loader, or give pin_memory=True to the DataLoader "
            "instead"
        )
    if info.num_workers > MAX_WORKERS:
        raise OptionError(f"num_workers must be at most {MAX_WORKERS}")
    return info.id, info.num_workers


def workers(caller: Caller) -> int:
    """The number of workers of the loader that reads, at least 1."""
    info = get_worker_info()
    return caller.workers if info is None else info.num_workers


def is_first_worker() -> bool:
    """Whether this is the first worker, or there are none."""
    info = get_worker_info()
    return info is None or info.id == 0


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
