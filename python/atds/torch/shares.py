"""Shares: the records of an epoch are divided among ranks, and those of a rank among its
workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from atds import _native
from atds.errors import OptionError
from atds.torch.callers import Dispatcher

#: The treatment of batches that only some ranks have.
Uneven: TypeAlias = Literal["drop", "pad", "keep"]


@dataclass(frozen=True)
class Share:
    """The part of each epoch that a rank reads.

    Each rank has consecutive records in the epoch's order of files and blocks. The numbers of
    records differ by at most one, and so the numbers of batches by at most one. ``uneven`` says how
    the numbers of batches are made equal. With ``shard_by="file"`` each rank has whole files, and the
    numbers differ as these do. They also depend on the number of workers, each of which has a last
    batch: they are those of the ``DataLoader`` that asks, or else of one without workers.

    Attributes:
        rank: This rank.
        world_size: The number of ranks.
        records: The first record of the rank in the epoch, and the end of its records; with
            ``shard_by="file"`` 0 and their number.
        batches: The number of batches that the rank yields.
        padding: The number of these batches that are padding, whose mask is false.
        rank_batches: The number of batches of each rank's records.
        dropped_records: The number of this rank's records that are in no batch.
        total_dropped_records: The number of dropped records of all ranks.
        even: Whether all ranks yield the same number of batches.
    """

    rank: int
    world_size: int
    records: tuple[int, int]
    batches: int
    padding: int
    rank_batches: tuple[int, ...]
    dropped_records: int
    total_dropped_records: int
    even: bool


@dataclass(frozen=True)
class WorkerShare:
    """The part of its rank's share that a worker reads.

    Attributes:
        records: The first record of the worker in the epoch, and the end of its records.
        made: The number of batches of its records.
        taken: The number of these batches that it yields, the first ones.
        padding: The number of padding batches that it adds.
        is_counted: Whether these numbers are known. Otherwise it yields all batches of its files.
    """

    records: tuple[int, int]
    made: int
    taken: int
    padding: int
    is_counted: bool = True


#: The part of a worker that yields all batches of its files.
UNCOUNTED = WorkerShare((0, 0), 0, 0, 0, is_counted=False)


def rank_share(
    records: int, batch_size: int, drop_remainder: bool, rank: int, world_size: int, uneven: Uneven
) -> Share:
    """The share of a rank in ``records`` records."""
    world = (world_size, 1, uneven)
    shares = [
        _native.rank_share(records, batch_size, drop_remainder, world, of_rank)
        for of_rank in range(world_size)
    ]
    dropped = [
        max(end - start - (batches - padding) * batch_size, 0)
        for (start, end), _, batches, padding in shares
    ]
    made = tuple(of_rank[1] for of_rank in shares)
    bounds, _, batches, padding = shares[rank]
    return Share(
        rank=rank,
        world_size=world_size,
        records=bounds,
        batches=batches,
        padding=padding,
        rank_batches=made,
        dropped_records=dropped[rank],
        total_dropped_records=sum(dropped),
        even=uneven != "keep" or min(made) == max(made),
    )


def worker_share(share: Share, batch_size: int, worker: int, workers: int) -> WorkerShare:
    """The share of one of a rank's workers. Workers have whole batches, so that the number of
    batches does not depend on the number of workers. The last worker has the remaining records."""
    made = share.rank_batches[share.rank]
    of_rank = (share.records, made, share.batches, share.padding)
    return WorkerShare(*_native.worker_share(of_rank, batch_size, worker, workers))


def files_share(
    file_records: list[int],
    batch_size: int,
    drop_remainder: bool,
    rank: int,
    world: tuple[int, int, Uneven],
) -> tuple[Share, list[WorkerShare]]:
    """The share of a rank in whole files of ``file_records`` records, and those of its workers. The world
    is the number of ranks, that of the workers of each, and ``uneven``."""
    world_size, _, uneven = world
    ranks = _native.shares_of_files(file_records, batch_size, drop_remainder, world)
    dropped = [
        sum(max(records - taken * batch_size, 0) for records, _, taken, _ in workers)
        for workers in ranks
    ]
    rank_batches = tuple(sum(of_worker[1] for of_worker in workers) for workers in ranks)
    workers = [
        WorkerShare((0, records), made, taken, padding)
        for records, made, taken, padding in ranks[rank]
    ]
    padding = sum(part.padding for part in workers)
    share = Share(
        rank=rank,
        world_size=world_size,
        records=(0, sum(part.records[1] for part in workers)),
        batches=sum(part.taken for part in workers) + padding,
        padding=padding,
        rank_batches=rank_batches,
        dropped_records=dropped[rank],
        total_dropped_records=sum(dropped),
        even=uneven != "keep" or min(rank_batches) == max(rank_batches),
    )
    return share, workers


def dispatched_share(
    records: int, batch_size: int, drop_remainder: bool, dispatcher: Dispatcher
) -> Share:
    """The share of rank 0 if it reads for all ranks and a dispatcher splits the batches.

    The number of records is a multiple of the number of ranks. Otherwise the dispatcher would fill
    up its last batch with records of the first batch.

    Raises:
        OptionError: Batches cannot be split evenly.
    """
    ranks = dispatcher.world_size
    if dispatcher.splits_each and batch_size % ranks:
        raise OptionError(
            f"batch_size must be a multiple of {ranks}, not {batch_size}, because Accelerate "
            f"splits each batch among {ranks} ranks (split_batches=True)"
        )
    step = batch_size if dispatcher.splits_each else batch_size * ranks
    multiple = step if drop_remainder or not dispatcher.in_order else ranks
    read = records - records % multiple
    batches = -(-read // batch_size)
    return Share(
        rank=0,
        world_size=1,
        records=(0, read),
        batches=batches,
        padding=0,
        rank_batches=(batches,),
        dropped_records=records - read,
        total_dropped_records=records - read,
        even=True,
    )


def report(share: Share, uneven: Uneven) -> str | None:
    """The message about ranks with different numbers of batches; None if all have the same
    number."""
    fewest, most = min(share.rank_batches), max(share.rank_batches)
    if fewest == most:
        return None
    said = (
        f"the records of {share.world_size} ranks make {fewest} batches on some and {most} on "
        "others"
    )
    is_last = most == fewest + 1
    if uneven == "keep":
        return f"{said}: uneven='keep' leaves it so, and collective operations may wait for ever"
    if uneven == "pad":
        repeated = "a last batch" if is_last else "last batches"
        return f"{said}: ranks with fewer repeat records in {repeated} whose mask is false"
    dropped = "the last is" if is_last else f"those beyond {fewest} are"
    return (
        f"{said}: {dropped} dropped on these, here {share.dropped_records} records, on all "
        f"ranks {share.total_dropped_records}"
    )


def check_uneven(uneven: object) -> Uneven:
    """Checks the option ``uneven``."""
    if uneven == "drop" or uneven == "pad" or uneven == "keep":
        return uneven
    raise OptionError(f"uneven must be 'drop', 'pad' or 'keep', not {uneven!r}")
