"""Data sets of PyTorch."""

from __future__ import annotations

import dataclasses
import logging
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch.utils.data import IterableDataset, get_worker_info

import atds
from atds import _native, _options
from atds.errors import FeatureError, OptionError
from atds.feature_sets import parse_features, without_strings
from atds.files import Files, look_up, refuse
from atds.options import DatasetOptions, checked, spelled_out
from atds.specs import ArraySpec
from atds.torch import callers, ranks
from atds.torch.batch import Batch
from atds.torch.batches import Batches
from atds.torch.callers import Caller, Dispatcher
from atds.torch.epochs import MAX_WORKERS, Epochs
from atds.torch.packing import is_pinning_possible
from atds.torch.shares import (
    Share,
    Uneven,
    WorkerShare,
    check_uneven,
    dispatched_share,
    rank_share,
    report,
    worker_share,
)
from atds.torch.tensors import Sparse, converters, torch_features

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

_LOG = logging.getLogger("atds")

#: Advice for switching off Accelerate's dispatcher.
_NO_DISPATCH = (
    "give Accelerator dataloader_config=DataLoaderConfiguration(dispatch_batches=False), or "
    "TrainingArguments accelerator_config={'dispatch_batches': False}"
)


class _Arrays(atds.Dataset):
    """The data set of arrays, which reuses the threads of an epoch for the next."""

    _keeps_threads = True


@spelled_out(DatasetOptions)
class Dataset(IterableDataset[Batch]):
    """A data set of Avro files as batches of tensors. Workers and ranks share the records.

    Pass it to :func:`loader`, which makes a suitable ``DataLoader``, or iterate over it:

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
    >>> for batch in atds.torch.loader(dataset, num_workers=0):
    ...     pass
    >>> batch["d0"].shape, batch["sp0"].layout
    (torch.Size([8, 8]), torch.sparse_coo)

    If you make a ``DataLoader`` yourself, give it ``batch_size=None``, because the data set yields
    batches; another ``batch_size`` is an error.

    A :class:`Batch` is a dict of tensors over the memory that the pipeline wrote: dense columns as
    ``torch.Tensor``, sparse ones as ``torch.sparse_coo_tensor``, or with the layout ``ragged`` as
    :class:`Bag`, varlen ones as :class:`Ragged`.

    Ranks share the records of an epoch, and the workers of a rank its batches: each record is
    read by one worker of one rank. All ranks need the same files, options, and number of workers.
    If files or blocks are shuffled, a rank reads other records in every epoch. Ranks and workers draw
    from their shuffle buffers independently; seed, epoch, rank and worker fix the draws. Each
    iteration is an epoch, or ``epochs`` of them, in persistent and in new workers alike, and
    :meth:`set_epoch` affects all workers.

    With ``epochs=n`` all ranks have the same number of batches in each of the epochs, and
    ``uneven`` applies to each. Workers go on to the next epoch without waiting for each other. A
    ``DataLoader`` takes batches from its workers in turn, so a worker with fewer batches in an
    epoch is ahead of the others by one more batch after each epoch. Without workers, or with one,
    the batches are those of ``n`` iterations of one epoch each, in the same order.

    The ranks are those of ``torch.distributed``, or of ``torchrun`` if that is not initialised.
    Hugging Face Accelerate, which the ``Trainer`` of transformers uses, splits batches among the
    ranks too. The data set detects this, and each record is still read once. With
    ``dispatch_batches=False`` each rank reads its share. Otherwise rank 0 reads for all ranks. This
    is slower and works only for dense features of a fixed shape. It drops the records that the
    ranks cannot share evenly, at most ``world_size - 1`` unless ``drop_remainder`` is true.

    The pipeline has its own threads. They wait between epochs for the next one, and end with the
    data set, with the worker, or in :meth:`close`. So a few workers are enough, and
    ``num_workers=0`` is often the fastest, because batches then do not move between processes.
    ``num_parallel_calls`` is the number of threads of each worker. With :data:`atds.AUTOTUNE` each
    worker chooses it by load, up to its part of the cores, which the workers and ranks of this
    machine (``LOCAL_WORLD_SIZE``) share. They share the default ``memory_limit`` in the same way.

    Args:
        filenames: As for :class:`atds.Dataset`.
        batch_size: Maximum number of records in a batch, on each rank.
        features: Features by name; None for all fields of the first file's schema except for
            strings, which PyTorch does not have. A warning in the log names the strings.
        rank: The rank of this process; None for the rank of ``torch.distributed``. If that is not
            initialised at the start of an iteration, None stands for ``torchrun``'s variable
            ``RANK``, or for 0.
        world_size: The number of ranks, given together with ``rank``. Give ``rank=0, world_size=1``
            to read all records in this process, for example if other code splits them.
        uneven: The treatment of a batch that only some ranks have, for which the other ranks could
            wait forever. ``drop`` drops it. ``pad`` makes the other ranks yield a batch of repeated
            records whose mask is false. ``keep`` keeps it. A warning in the log has the number of
            records; :attr:`share` has it too.
        mask: The name of the bool column ``[B]`` that ``uneven="pad"`` adds to all batches: false
            for rows that are padding.
        sparse: The form of all sparse features: ``coo`` tensors, or a ``bag`` for
            ``torch.nn.EmbeddingBag``; None to follow the layout of each feature.
        pin_memory: Whether batches are copied to pinned memory, each in one allocation, see
            :meth:`Batch.pin_memory`. :func:`loader` supports it with and without workers; a
            ``DataLoader`` with workers has its own option. Without an accelerator it only warns.
        **options: The options of :class:`atds.DatasetOptions`.

    Raises:
        FeatureError: A feature has strings, which PyTorch does not have, or all inferred features
            are strings. The errors of :class:`atds.Dataset` are raised too.
        DataError: A file is damaged. The constructor counts the records of all files.
    """

    def __init__(
        self,
        filenames: Files,
        batch_size: int,
        features: Mapping[str, Any] | None = None,
        *,
        rank: int | None = None,
        world_size: int | None = None,
        uneven: Uneven = "drop",
        mask: str = "mask",
        sparse: Sparse | None = None,
        pin_memory: bool = False,
        **options: Unpack[DatasetOptions],
    ) -> None:
        self._seed_is_given = options.get("seed") is not None
        options = checked(DatasetOptions, options)
        found = look_up(filenames, options.pop("recursive"))
        refuse(found, "ranks and workers share records that are counted first; use atds.Dataset")
        files = found.paths()

        def dataset(features: Mapping[str, Any] | None) -> _Arrays:
            return _Arrays(files, batch_size, features, **options)

        if features is None:
            inferred = dataset(None)
            kept = without_strings(inferred.features, "PyTorch")
            self._dataset = inferred._with_features(torch_features(kept, sparse))
        else:
            self._dataset = dataset(torch_features(parse_features(features), sparse))
        self._rank = ranks.given(rank, world_size)
        self._uneven = check_uneven(uneven)
        self._mask = self._checked_mask(mask)
        self._pin_memory = _options.flag("pin_memory", pin_memory) and is_pinning_possible(2)
        converters(self._dataset.element_spec)
        self._file_records = self._dataset._here.file_records()
        self._epochs = Epochs()
        # The rank and the caller in the process that pickled this data set.
        self._pickled_rank: tuple[int, int] | None = None
        self._pickled_dispatcher: Dispatcher | None = None
        self._shares: dict[tuple[int, int] | Dispatcher, Share] = {}
        self._is_launcher_told = False
        self._begin()
        if self._rank is not None or ranks.distributed() is not None:
            _ = self.share

    def _begin(self) -> None:
        """Initialises the state that is not configuration."""
        self._limited: _native.Dataset | None = None
        self._latest: _native.StatsHandle | None = None

    def _checked_mask(self, mask: str) -> str:
        if self._uneven == "pad" and mask in self._dataset.element_spec:
            raise OptionError(f"mask is '{mask}', which is a column already: give another name")
        return mask

    def __iter__(self) -> Batches:
        """Starts the next epoch, or the next ``epochs``, and returns the batches of this rank, or of
        this worker. Prefetching begins now.

        Raises:
            OptionError: A ``DataLoader`` has another ``batch_size`` than None, or other code splits
                the batches among the ranks so that some would be lost.
            FeatureError: A dispatcher cannot split a feature.
        """
        caller = self._caller()
        self._check(caller)
        share = self._share_of(caller)
        worker, workers = self._worker()
        if caller.dispatcher is not None and caller.dispatcher.rank > 0:
            part = WorkerShare((0, 0), 0, 0, 0)
        else:
            part = worker_share(share, self._dataset.batch_size, worker, workers)
        self._tell_launcher(caller, worker)
        epochs = self._dataset.epochs
        first = self._epochs.begin(self._rank_of_process(), worker, workers, epochs)
        readers = 1 if caller.dispatcher is not None else _options.ranks_of_machine()
        native = self._of_process(workers * readers)
        own = native.slice(*part.records, self._file_records, rank=share.rank, worker=worker)
        batches = own.epochs(first, epochs)
        self._latest = batches.stats_handle()
        padding = None
        if part.padding:
            records = min(self._dataset.batch_size, self.num_records)
            padding = native.slice(0, records, self._file_records, rank=0, worker=0)
        mask = self._mask if self._uneven == "pad" else None
        make = converters(self._dataset.element_spec)
        return Batches(batches, part, epochs, make, padding, mask, self._pin_memory)

    def _caller(self) -> Caller:
        """The loader that reads this data set. A method of the data set must call this."""
        found = callers.find(self)
        if found.dispatcher is None and self._pickled_dispatcher is not None:
            return dataclasses.replace(found, dispatcher=self._pickled_dispatcher)
        return found

    def _check(self, caller: Caller) -> None:
        """Raises an error for a caller that joins batches, or would read records twice or not at
        all."""
        if caller.collates:
            raise OptionError(_collates())
        if caller.splitter is not None and self._rank is None:
            raise OptionError(
                f"{caller.splitter} splits the batches among ranks, but the data set has already "
                "split the records among them, so that some would be lost: give the data set "
                "itself to a DataLoader; or give it rank=0, world_size=1, so that each rank reads all "
                "records"
            )
        if caller.dispatcher is None:
            return
        if self._rank is not None and self._rank[1] > 1:
            raise OptionError(
                f"rank={self._rank[0]}, world_size={self._rank[1]} would lose records, because "
                f"Accelerate's dispatcher reads on rank 0 alone: leave both out, or {_NO_DISPATCH}"
            )
        if self._dataset.epochs > 1:
            raise OptionError(
                f"epochs={self._dataset.epochs} is not possible with Accelerate's dispatcher, which "
                f"joins batches and would join those of two epochs: leave it out, or {_NO_DISPATCH}"
            )
        if self._uneven != "drop":
            raise OptionError(
                f"uneven={self._uneven!r} is not possible with Accelerate's dispatcher, which "
                f"gives all ranks the same number of records: leave it out, or {_NO_DISPATCH}"
            )
        for name, spec in self._dataset.element_spec.items():
            if not isinstance(spec, ArraySpec) or None in spec.shape[1:]:
                raise FeatureError(
                    f"feature '{name}' cannot be split by Accelerate's dispatcher, which takes "
                    f"dense features of a fixed shape alone: {_NO_DISPATCH}, so that each rank "
                    "reads its own records"
                )

    def _tell_launcher(self, caller: Caller, worker: int) -> None:
        """Warns once if the rank comes from environment variables alone."""
        if self._is_launcher_told or worker > 0 or self._rank or self._pickled_rank or caller.rank:
            return
        known = ranks.launched()
        if known is not None and caller.dispatcher is None and ranks.distributed() is None:
            self._is_launcher_told = True
            _LOG.warning(
                "rank %d reads its share of %d: torch.distributed is not initialised, and RANK and "
                "WORLD_SIZE are in the environment; give rank=0, world_size=1 to read all records",
                *known,
            )

    def _worker(self) -> tuple[int, int]:
        """The number of this worker process, and the number of workers."""
        info = get_worker_info()
        if info is None:
            return 0, 1
        if self._pin_memory:
            raise OptionError(
                "pin_memory=True is not possible in a worker process, which cannot pin memory of the "
                "training process: use atds.torch.loader, or give pin_memory=True to the DataLoader "
                "instead"
            )
        if info.num_workers > MAX_WORKERS:
            raise OptionError(f"num_workers must be at most {MAX_WORKERS}")
        return info.id, info.num_workers

    def _of_process(self, processes: int) -> _native.Dataset:
        """The native data set for this process, if ``processes`` processes share the cores."""
        if processes == 1:
            return self._dataset._here
        if self._limited is None or not self._limited.is_here():
            threads = max(1, _cores() // processes)
            self._limited = self._dataset._make(self._dataset._features, threads, processes)
        return self._limited

    def __len__(self) -> int:
        """The number of batches of an iteration on this rank, in all its epochs, by all its workers
        together. For Accelerate's dispatcher it is the number of batches of all ranks."""
        return self._share_of(self._caller()).batches * self._dataset.epochs

    @property
    def share(self) -> Share:
        """The share of this rank in each epoch, with the records and batches that are dropped or
        added so that all ranks have the same number of batches. Records that Accelerate's
        dispatcher drops are only logged.

        Raises:
            OptionError: Several ranks shuffle files or blocks without a seed.
        """
        return self._share_of(Caller())

    def _share_of(self, caller: Caller) -> Share:
        key = caller.dispatcher or self._rank_of(caller)
        known = self._shares.get(key)
        if known is None:
            known = self._dispatched(key) if isinstance(key, Dispatcher) else self._of_rank(*key)
            self._shares[key] = known
        return known

    def _rank_of(self, caller: Caller) -> tuple[int, int]:
        """This rank and the number of ranks."""
        if self._rank is not None and (self._rank[1] > 1 or caller.rank is None):
            return self._rank
        return caller.rank or self._rank_of_process()

    def _rank_of_process(self) -> tuple[int, int]:
        """The real rank of this process, which may differ from the rank it reads as, and the number
        of ranks."""
        return self._pickled_rank or ranks.distributed() or ranks.launched() or (0, 1)

    def _of_rank(self, rank: int, world_size: int) -> Share:
        config = self._dataset._config
        shuffled = config["shuffle_files"] or config["shuffle_blocks"]
        if world_size > 1 and shuffled and not self._seed_is_given:
            raise OptionError(
                "seed must be given where several ranks shuffle files or blocks, and be the same "
                "on all of them: in different orders, some records would be read twice and "
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
        if said is not None and _is_first_worker():
            _LOG.warning("rank %d: %s", rank, said)
        return found

    def _dispatched(self, dispatcher: Dispatcher) -> Share:
        found = dispatched_share(
            self.num_records,
            self._dataset.batch_size,
            self._dataset.drop_remainder,
            dispatcher,
        )
        if found.dropped_records and dispatcher.rank == 0 and _is_first_worker():
            _LOG.warning(
                "%d of %d records are dropped, so that Accelerate's dispatcher gives %d ranks the "
                "same number",
                found.dropped_records,
                self.num_records,
                dispatcher.world_size,
            )
        return found

    @property
    def dataset(self) -> atds.Dataset:
        """The underlying data set of arrays, with the records of all ranks. It has the features,
        the schema, the files and more."""
        return self._dataset

    @property
    def pin_memory(self) -> bool:
        """Whether batches are copied to pinned memory: the option, and whether there is an
        accelerator."""
        return self._pin_memory

    @property
    def num_records(self) -> int:
        """The number of records of all files, which all ranks share."""
        return sum(self._file_records)

    @property
    def epochs(self) -> int:
        """The number of epochs of an iteration."""
        return self._dataset.epochs

    @property
    def epoch(self) -> int:
        """The number of the next epoch, from 0."""
        return self._epochs.next(self._rank_of_process())

    def set_epoch(self, epoch: int) -> None:
        """Sets the number of the next epoch, in this process and all its workers, including
        persistent ones. Seed and epoch fix the order.

        Accelerate's loaders call it before each epoch, with the number of the epoch.
        """
        # All ranks call this before an epoch. If only rank 0 failed, the others would wait forever.
        self._check(self._caller())
        self._epochs.set_next(self._rank_of_process(), _options.whole("epoch", epoch, 0))

    def stats(self) -> dict[str, Any]:
        """Figures of the latest iteration in this process, as in :meth:`atds.Dataset.stats`.
        Figures of a worker's iterations are only in the worker."""
        latest = self._latest
        return _native.no_stats() if latest is None or not latest.is_here() else latest.snapshot()

    def describe_waits(self) -> str:
        """What each thread of the latest iteration in this process does now, or waits for; see
        :meth:`atds.Dataset.describe_waits`."""
        latest = self._latest
        if latest is None or not latest.is_here():
            return "no iteration has begun"
        return latest.describe_waits()

    def close(self) -> None:
        """Ends the threads of this process that wait for the next epoch, as the end of a ``with``
        block does. Running iterations continue, and the next epoch starts new threads."""
        for native in (self._dataset._made, self._limited):
            if native is not None and native.is_here():
                native.end_threads()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        del state["_limited"], state["_latest"]
        # A process without torch.distributed, such as a worker, gets the rank of this process.
        state["_pickled_rank"] = self._pickled_rank or ranks.distributed()
        state["_pickled_dispatcher"] = self._caller().dispatcher
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def __repr__(self) -> str:
        inner = repr(self._dataset).partition("(")[2]
        rank, world_size = self._rank_of(Caller())
        of_world = f"rank={rank}, world_size={world_size}, " if world_size > 1 else ""
        return f"atds.torch.Dataset({of_world}{inner}"

    def _repr_html_(self) -> str:
        rank, world_size = self._rank_of(Caller())
        return self._dataset._html(
            "atds.torch.Dataset",
            [("records", f"{self.num_records:,}"), ("rank", f"{rank} of {world_size}")],
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
            "get_train_dataloader to return DataLoader(self.train_dataset, batch_size=None), and "
            "get_eval_dataloader likewise"
        )
    return said


def _is_first_worker() -> bool:
    info = get_worker_info()
    return info is None or info.id == 0


def _cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
