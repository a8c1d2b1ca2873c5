"""The shares of ranks in a data set, with what the log says of them."""

from __future__ import annotations

import logging

import atds
from atds.errors import OptionError
from atds.options import orders_files
from atds.torch import checks
from atds.torch.callers import Dispatcher
from atds.torch.shares import (
    Share,
    Uneven,
    WorkerShare,
    dispatched_share,
    files_share,
    rank_share,
    report,
)

_LOG = logging.getLogger("atds")


def of_rank(
    dataset: atds.Dataset, rank: int, world_size: int, workers: int, uneven: Uneven
) -> Share:
    """The share of a rank of which each has some workers. A warning says what ``uneven`` costs.

    Raises:
        OptionError: Several ranks shuffle files or blocks of which they share the records, without a
            seed.
    """
    is_shuffled = orders_files(dataset._config) and not dataset._is_by_file
    if world_size > 1 and is_shuffled and not dataset._seed_is_given:
        raise OptionError(
            "seed must be given where several ranks shuffle files or blocks, and be the same "
            "on all of them: in different orders, some records would be read twice and "
            "others never"
        )
    if dataset._is_by_file:
        found, _ = of_files(dataset, rank, (world_size, workers, uneven))
    else:
        found = of_records(dataset, _num_records(dataset), rank, world_size, uneven)
    said = report(found, uneven)
    if said is not None and checks.is_first_worker():
        _LOG.warning("rank %d: %s", rank, said)
    return found


def of_files(
    dataset: atds.Dataset, rank: int, world: tuple[int, int, Uneven]
) -> tuple[Share, list[WorkerShare]]:
    """The share of a rank in whole files, and those of its workers."""
    file_records = dataset._records_of_files(dataset._here)
    return files_share(file_records, dataset.batch_size, dataset.drop_remainder, rank, world)


def of_records(
    dataset: atds.Dataset, records: int, rank: int, world_size: int, uneven: Uneven
) -> Share:
    """The share of a rank in some records."""
    batch_size, drop_remainder = dataset.batch_size, dataset.drop_remainder
    return rank_share(records, batch_size, drop_remainder, rank, world_size, uneven)


def dispatched(dataset: atds.Dataset, dispatcher: Dispatcher) -> Share:
    """The share of rank 0 if it reads for all ranks. A warning says what that costs."""
    records = _num_records(dataset)
    found = dispatched_share(records, dataset.batch_size, dataset.drop_remainder, dispatcher)
    if found.dropped_records and dispatcher.rank == 0 and checks.is_first_worker():
        _LOG.warning(
            "%d of %d records are dropped, so that Accelerate's dispatcher gives %d ranks the "
            "same number",
            found.dropped_records,
            records,
            dispatcher.world_size,
        )
    return found


def _num_records(dataset: atds.Dataset) -> int:
    return sum(dataset._records_of_files(dataset._here))
