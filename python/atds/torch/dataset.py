"""Data sets of PyTorch."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch.utils.data import IterableDataset, get_worker_info

import atds
from atds import _native, _options
from atds._options import AUTOTUNE
from atds.errors import OptionError
from atds.feature_sets import parse_features
from atds.files import Files, Schema, paths
from atds.torch.batches import Batches
from atds.torch.shares import (
    Share,
    Uneven,
    check_uneven,
    rank_share,
    report,
    worker_share,
)
from atds.torch.tensors import Sparse, converters, torch_features

_LOG = logging.getLogger("atds")

#: The most workers of a rank.
_MAX_WORKERS = 4096


class Dataset(IterableDataset[dict[str, Any]]):
    """Avro files as batches of tensors, which workers and ranks share.

    Give it to a ``DataLoader`` with ``batch_size=None``, since what it yields are batches:

    >>> from torch.utils.data import DataLoader
    >>> dataset = atds.torch.Dataset(
    ...     "clicks/*.avro",
    ...     batch_size=64,
    ...     features={
    ...         "s_label": atds.DenseFeature([], "int32"),
    ...         "d0": atds.DenseFeature([8], "float32"),
    ...         "sp0": atds.SparseFeature([50_001], "float32"),
    ...     },
    ...     shuffle_buffer_size=100,
    ...     seed=7,
    ... )
    >>> len(dataset)
    4
    >>> for batch in DataLoader(dataset, batch_size=None, num_workers=0):
    ...     pass
    >>> batch["d0"].shape, batch["sp0"].layout
    (torch.Size([8, 8]), torch.sparse_coo)

    A batch is a dict of tensors over the memory that the pipeline wrote: dense columns as
    ``torch.Tensor``, sparse ones as ``torch.sparse_coo_tensor``, or with the layout ``ragged`` as
    :class:`Bag`, varlen ones as :class:`Ragged`.

    Ranks share the records of an epoch, and the workers of a rank its batches: each record is
    read by one worker of one rank. All ranks need the same files, options, and number of workers.
    Where files or blocks are shuffled, a rank reads other records in every epoch. Each iteration
    is an epoch, by workers too, be they persistent or started anew, and :meth:`set_epoch` reaches
    them all.

    The pipeline has threads of its own, so that a few workers are enough, and
    ``num_workers=0`` is often the fastest: batches then do not go from one process to another.

    Args:
        filenames: As for :class:`atds.Dataset`, as are all options not listed here.
        batch_size: Records of a batch at most, on each rank.
        features: Features by name; None for all that the first file's schema has.
        num_parallel_calls: Threads of each worker that inflate and decode; with
            :data:`atds.AUTOTUNE` as many as pay, up to the worker's part of the cores, which are
            shared among the workers and the ranks of this machine (``LOCAL_WORLD_SIZE``).
        rank: This process's rank; None for that of ``torch.distributed`` if it is initialised, as
            it is when the data set is first used, else 0.
        world_size: The number of ranks, given together with ``rank``.
        uneven: What is done where some ranks have records for a batch more than others, so that
            these do not wait for ever: ``drop`` it, or ``pad``: the others yield a batch of
            records repeated under a mask that is false; or ``keep`` it. It is logged as a
            warning, and :attr:`share` tells it.
        mask: The name of the bool column ``[B]`` that ``uneven="pad"`` adds to all batches: false
            for rows that are padding.
        sparse: What all sparse features become: ``coo`` tensors, or a ``bag`` for
            ``torch.nn.EmbeddingBag``; None for what the layout of each says.
        pin_memory: Whether batches are copied to pinned memory, where the data set is iterated
            over without a ``DataLoader``, which has an option of its own.

    Raises:
        FeatureError: A feature of strings, which PyTorch does not have, besides what
            :class:`atds.Dataset` raises.
        DataError: A damaged file: the records of all files are counted here.
    """

    def __init__(
        self,
        filenames: Files,
        batch_size: int,
        features: Mapping[str, Any] | None = None,
        drop_remainder: bool = False,
        reader_buffer_size: int | None = None,
        shuffle_buffer_size: int = 0,
        num_parallel_calls: int | None = AUTOTUNE,
        seed: int | None = None,
        shuffle_files: bool = False,
        prefetch: int = 2,
        *,
        rank: int | None = None,
        world_size: int | None = None,
        uneven: Uneven = "drop",
        mask: str = "mask",
        sparse: Sparse | None = None,
        pin_memory: bool = False,
        reader_schema: Schema | None = None,
        shuffle_blocks: bool = False,
        out_of_bounds: Literal["error", "drop"] = "error",
        memory_limit: int | None = None,
        mmap: bool = False,
    ) -> None:
        # Looked at more than once, which an iterator cannot be.
        files = paths(filenames)

        def dataset(features: Mapping[str, Any] | None) -> atds.Dataset:
            return atds.Dataset(
                files,
                batch_size,
                features,
                drop_remainder,
                reader_buffer_size,
                shuffle_buffer_size,
                num_parallel_calls,
                seed,
                shuffle_files,
                prefetch,
                reader_schema=reader_schema,
                shuffle_blocks=shuffle_blocks,
                out_of_bounds=out_of_bounds,
                memory_limit=memory_limit,
                mmap=mmap,
            )

        given = dataset(None).features if features is None else parse_features(features)
        self._dataset = dataset(torch_features(given, sparse))
        self._seed_is_given = seed is not None
        self._rank = _rank(rank, world_size)
        self._uneven = check_uneven(uneven)
        self._mask = self._checked_mask(mask)
        self._pin_memory = _options.flag("pin_memory", pin_memory)
        if self._pin_memory and not _has_accelerator():
            raise OptionError(
                "pin_memory=True is for copies to an accelerator, such as a CUDA device, and this "
                "PyTorch finds none: leave it out"
            )
        converters(self._dataset.element_spec)
        self._file_records = self._dataset._here.file_records()
        # The next epoch of each worker, where all of them and this process see it. With `n`
        # workers, worker `i` has the places i, i + n, i + 2n and so on, so that all places are
        # the same between two epochs.
        self._epochs = torch.zeros(_MAX_WORKERS, dtype=torch.int64).share_memory_()
        self._begin()
        if self._rank is not None or _distributed() is not None:
            _ = self.share

    def _begin(self) -> None:
        """Makes what is no configuration."""
        self._limited: _native.Dataset | None = None
        self._latest: _native.StatsHandle | None = None
        self._shares: dict[tuple[int, int], Share] = {}

    def _checked_mask(self, mask: str) -> str:
        if self._uneven == "pad" and mask in self._dataset.element_spec:
            raise OptionError(f"mask is '{mask}', which is a column already: give another name")
        return mask

    def __iter__(self) -> Batches:
        """The batches of this rank's next epoch, or of this worker's part of them, which are made
        ahead from now on."""
        worker, workers = self._worker()
        part = worker_share(self.share, self._dataset.batch_size, worker, workers)
        epoch = int(self._epochs[worker])
        self._epochs[worker::workers] = epoch + 1
        native = self._of_process(workers)
        batches = native.slice(*part.records, self._file_records).epoch(epoch)
        self._latest = batches.stats_handle()
        padding = None
        if part.padding:
            records = min(self._dataset.batch_size, self.num_records)
            padding = native.slice(0, records, self._file_records)
        mask = self._mask if self._uneven == "pad" else None
        make = converters(self._dataset.element_spec)
        return Batches(batches, part, make, padding, mask, self._pin_memory)

    def _worker(self) -> tuple[int, int]:
        """Which worker of how many this process is."""
        info = get_worker_info()
        if info is None:
            return 0, 1
        if self._pin_memory:
            raise OptionError(
                "pin_memory=True cannot be in a worker process, whose memory is not the one that "
                "is copied from: give pin_memory=True to the DataLoader instead"
            )
        if info.num_workers > _MAX_WORKERS:
            raise OptionError(f"num_workers must be at most {_MAX_WORKERS}")
        return info.id, info.num_workers

    def _of_process(self, workers: int) -> _native.Dataset:
        """The native data set for this process, which is one of so many workers."""
        processes = workers * _local_ranks()
        if processes == 1:
            return self._dataset._here
        if self._limited is None or not self._limited.is_here():
            threads = max(1, _cores() // processes)
            self._limited = self._dataset._make(self._dataset._features, threads)
        return self._limited

    def __len__(self) -> int:
        """The batches of an epoch of this rank, by all its workers together."""
        return self.share.batches

    @property
    def share(self) -> Share:
        """What this rank reads of each epoch, and what it leaves out or adds so that all ranks
        have the same number of batches.

        Raises:
            OptionError: Several ranks shuffle files or blocks, without a seed.
        """
        rank, world_size = self._rank or _distributed() or (0, 1)
        known = self._shares.get((rank, world_size))
        if known is None:
            known = self._new_share(rank, world_size)
            self._shares[rank, world_size] = known
        return known

    def _new_share(self, rank: int, world_size: int) -> Share:
        config = self._dataset._config
        shuffled = config["shuffle_files"] or config["shuffle_blocks"]
        if world_size > 1 and shuffled and not self._seed_is_given:
            raise OptionError(
                "seed must be given where several ranks shuffle files or blocks, and be the same "
                "on all of them: with orders of their own they would read some records twice and "
                "others never"
            )
        found = rank_share(
            self.num_records,
            self._dataset.batch_size,
            self._dataset.drop_remainder,
            rank,
            world_size,
            self._uneven,
        )
        said = report(found, self._uneven)
        info = get_worker_info()
        if said is not None and (info is None or info.id == 0):
            _LOG.warning("rank %d: %s", rank, said)
        return found

    @property
    def dataset(self) -> atds.Dataset:
        """The data set of arrays, of all ranks, that this one's tensors are of: its features,
        schema, files and more."""
        return self._dataset

    @property
    def num_records(self) -> int:
        """The records of all files, which all ranks share."""
        return sum(self._file_records)

    @property
    def epoch(self) -> int:
        """The number of the next epoch, from 0."""
        return int(self._epochs[0])

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration the epoch of this number, by this process and all workers,
        persistent ones among them: seed and epoch fix the order."""
        self._epochs[:] = _options.whole("epoch", epoch, 0)

    def stats(self) -> dict[str, Any]:
        """Figures of the latest iteration in this process, as :meth:`atds.Dataset.stats` has
        them. The iterations of workers have figures in the workers."""
        latest = self._latest
        return _native.no_stats() if latest is None or not latest.is_here() else latest.snapshot()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        del state["_limited"], state["_latest"]
        # In a process where PyTorch is not initialised, such as a worker, the rank is this one's.
        state["_rank"] = self._rank or _distributed()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        shares = state["_shares"]
        self.__dict__.update(state)
        self._begin()
        self._shares = shares
        # A copy's own; that of a worker process is shared already.
        self._epochs.share_memory_()

    def __repr__(self) -> str:
        inner = repr(self._dataset).partition("(")[2]
        rank, world_size = self._rank or _distributed() or (0, 1)
        of_world = f"rank={rank}, world_size={world_size}, " if world_size > 1 else ""
        return f"atds.torch.Dataset({of_world}{inner}"


def _rank(rank: int | None, world_size: int | None) -> tuple[int, int] | None:
    """The rank and the number of ranks that were given, if they were."""
    if rank is None and world_size is None:
        return None
    if rank is None or world_size is None:
        raise OptionError("rank and world_size must be given together, or neither")
    size = _options.whole("world_size", world_size, 1)
    return _options.whole("rank", rank, 0, size - 1, ", below world_size"), size


def _distributed() -> tuple[int, int] | None:
    """The rank and the number of ranks of ``torch.distributed``, if it is initialised."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return None


def _has_accelerator() -> bool:
    # Older versions know of CUDA alone.
    return bool(getattr(torch, "accelerator", torch.cuda).is_available())


def _local_ranks() -> int:
    """The ranks on this machine, as ``torchrun`` says it."""
    value = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, int(value)) if value.isdecimal() else 1


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
