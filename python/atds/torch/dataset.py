"""Data sets of PyTorch."""

from __future__ import annotations

import copy
import dataclasses
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch.utils.data import IterableDataset, get_worker_info

import atds
from atds import _native, _options, states
from atds.errors import OptionError, StateError
from atds.feature_sets import parse_features, without_strings
from atds.files import Files, look_up, refuse
from atds.options import DatasetOptions, checked, spelled_out
from atds.torch import callers, checks, places, ranks, sharing
from atds.torch.batch import Batch
from atds.torch.batches import Batches
from atds.torch.callers import Caller, Dispatcher
from atds.torch.epochs import Epochs
from atds.torch.packing import is_pinning_possible
from atds.torch.places import Place, Start
from atds.torch.shares import (
    UNCOUNTED,
    Share,
    Uneven,
    WorkerShare,
    check_uneven,
    report,
    worker_share,
)
from atds.torch.tensors import Sparse, converters, torch_features

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

_LOG = logging.getLogger("atds")


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
        DataError: A file is damaged. The constructor counts the records of all files, unless with
            ``shard_by="file"`` and ``uneven="keep"``.
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
        found = look_up(filenames, options.pop("recursive"), options["format"])
        self._uneven = check_uneven(uneven)
        by_file = options["shard_by"] == "file"
        #: Whether ranks and workers share files that are not counted.
        self._is_uncounted = by_file and self._uneven == "keep"
        if not self._is_uncounted:
            refuse(
                found, "ranks and workers share records that are counted first; use atds.Dataset"
            )
        files = found.paths()

        def dataset(features: Mapping[str, Any] | None) -> _Arrays:
            return _Arrays(files, batch_size, features, **options)

        if features is None:
            inferred = dataset(None)
            kept = without_strings(inferred.features, "PyTorch")
            self._dataset = inferred._with_features(torch_features(kept, sparse))
        else:
            self._dataset = dataset(torch_features(parse_features(features, found.format), sparse))
        self._dataset._seed_is_given = self._seed_is_given
        self._rank = ranks.given(rank, world_size)
        self._mask = self._checked_mask(mask)
        self._pin_memory = _options.flag("pin_memory", pin_memory) and is_pinning_possible(2)
        converters(self._dataset.element_spec)
        if not self._is_uncounted:
            _ = self._file_records
        self._epochs = Epochs()
        #: The next epoch, as far as this process knows: workers go on, too.
        self._known_epoch = 0
        #: The state that the next iteration goes on from.
        self._loaded: dict[str, Any] | None = None
        # The rank and the caller in the process that pickled this data set.
        self._pickled_rank: tuple[int, int] | None = None
        self._pickled_dispatcher: Dispatcher | None = None
        self._shares: dict[tuple[int, int, int] | Dispatcher, Share] = {}
        #: The latest share in what others have left, by rank, number of ranks, epoch and records.
        self._rests: dict[tuple[int, int, int, int], Share] = {}
        self._is_launcher_told = False
        self._begin()
        if not by_file and (self._rank is not None or ranks.distributed() is not None):
            _ = self.share

    def _begin(self) -> None:
        """Initialises the state that is not configuration."""
        self._limited: _native.Dataset | None = None
        self._latest: Place | None = None
        self._running: list[Place] = []

    def _checked_mask(self, mask: str) -> str:
        is_skip_mask = mask == self._dataset.skip_mask
        if self._uneven == "pad" and mask in self._dataset.element_spec and not is_skip_mask:
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
        checks.check_caller(caller, self._rank, self._uneven, self._dataset)
        worker, workers = checks.worker(self._pin_memory)
        self._tell_launcher(caller, worker)
        own, part = self._own(caller)
        start = self._start(own, part)
        padding = None
        if self._uneven == "pad":
            records = min(self._dataset.batch_size, self.num_records)
            native = self._native_of(caller)
            padding = native.slice(0, records, self._file_records, rank=0, worker=0)
        mask = self._mask if self._uneven == "pad" else None
        make = converters(self._dataset.element_spec)
        rank = self._rank_of_process()

        def moved(epoch: int) -> None:
            self._epochs.put(rank, worker, workers, epoch)
            self._known_epoch = epoch

        def resume(state: Mapping[str, Any]) -> Start:
            seed = None if self._seed_is_given else states.seed_of(state)
            return self._resume(own if seed is None else own.with_seed(seed), part, state)

        batches = Batches(start, resume, moved, make, padding, mask, self._pin_memory)
        self._latest = batches.place
        self._running = [place for place in self._running if place.is_running()]
        self._running.append(self._latest)
        return batches

    def _own(self, caller: Caller) -> tuple[_native.Dataset, WorkerShare]:
        """The records of this worker of this rank in each epoch, and its part of the batches."""
        worker, workers = checks.worker(self._pin_memory)
        native = self._native_of(caller)
        if self._dataset._is_by_file and caller.dispatcher is None:
            rank, world_size = self._rank_of(caller)
            world = (world_size, workers, self._uneven)
            own = native.share(world, rank, worker, [])
            if self._is_uncounted:
                return own, UNCOUNTED
            _ = self._share_of(caller)
            return own, sharing.of_files(self._dataset, rank, world)[1][worker]
        share = self._share_of(caller)
        part = worker_share(share, self._dataset.batch_size, worker, workers)
        if caller.dispatcher is None:
            world = (share.world_size, workers, self._uneven)
            return native.share(world, share.rank, worker, self._file_records), part
        if caller.dispatcher.rank > 0:
            part = WorkerShare((0, 0), 0, 0, 0)
        own = native.slice(*part.records, self._file_records, rank=share.rank, worker=worker)
        return own, part

    def _native_of(self, caller: Caller) -> _native.Dataset:
        """The native data set for this worker."""
        readers = 1 if caller.dispatcher is not None else _options.ranks_of_machine()
        return self._of_process(checks.worker(self._pin_memory)[1] * readers)

    def _start(self, own: _native.Dataset, part: WorkerShare) -> Start:
        """Where the next iteration begins."""
        worker, workers = checks.worker(self._pin_memory)
        rank, epochs = self._rank_of_process(), self._dataset.epochs
        loaded = self._loaded
        if loaded is not None and self._epochs.next(rank, worker) != loaded["epoch"]:
            # Another process has gone on from it: this is a copy of the data set that has loaded it.
            loaded = None
        if loaded is None:
            first = self._epochs.begin(rank, worker, workers, epochs)
            start = Start(own, first, 0, first + epochs, part, part)
        else:
            # A worker may be another process than that which has loaded it.
            start = self._resume(own, part, loaded)
            self._epochs.put(rank, worker, workers, start.until)
        self._loaded = None
        self._known_epoch = start.until
        return start

    def _resume(self, own: _native.Dataset, part: WorkerShare, state: Mapping[str, Any]) -> Start:
        """Where an iteration goes on from a state."""
        rest, (epoch, given, until) = places.rest(own, state)
        left = rest.records_left()
        first = part
        if left is not None:
            share = self._rest_share(epoch, left)
            first = worker_share(share, self._dataset.batch_size, *checks.worker(self._pin_memory))
        return Start(rest, epoch, given, until, first, part)

    def _rest_share(self, epoch: int, records: int) -> Share:
        """The share of this rank in the records that others have left of an epoch."""
        rank, world_size = self._rank_of(self._caller())
        key = (rank, world_size, epoch, records)
        known = self._rests.get(key)
        if known is None:
            known = sharing.of_records(self._dataset, records, rank, world_size, self._uneven)
            self._rests = {key: known}
            said = report(known, self._uneven)
            if said is not None and checks.is_first_worker():
                _LOG.warning("rank %d, the rest of epoch %d: %s", rank, epoch, said)
        return known

    def _caller(self) -> Caller:
        """The loader that reads this data set. A method of the data set must call this."""
        found = callers.find(self)
        if found.dispatcher is None and self._pickled_dispatcher is not None:
            return dataclasses.replace(found, dispatcher=self._pickled_dispatcher)
        return found

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

    def _of_process(self, processes: int) -> _native.Dataset:
        """The native data set for this process, if ``processes`` processes share the cores."""
        if processes == 1:
            return self._dataset._here
        if self._limited is None or not self._limited.is_here():
            threads = max(1, checks.cores() // processes)
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
        dispatcher drops are only logged. Between :meth:`load_state_dict` of merged states and the
        iteration that goes on with them, it is the share in what was left of the epoch.

        Raises:
            OptionError: Several ranks shuffle files or blocks without a seed.
        """
        share, loaded = self._share_of(Caller()), self._loaded
        if loaded is None or self._epochs.next(self._rank_of_process()) != loaded["epoch"]:
            return share
        rest, _ = places.rest(self._own(Caller())[0], loaded)
        left = rest.records_left()
        return share if left is None else self._rest_share(loaded["epoch"], left)

    def _share_of(self, caller: Caller) -> Share:
        # How many batches records make does not depend on the number of workers.
        workers = checks.workers(caller) if self._dataset._is_by_file else 1
        key = caller.dispatcher or (*self._rank_of(caller), workers)
        known = self._shares.get(key)
        if known is None:
            if isinstance(key, Dispatcher):
                known = sharing.dispatched(self._dataset, key)
            else:
                known = sharing.of_rank(self._dataset, *key, self._uneven)
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
    def _file_records(self) -> list[int]:
        """The number of records of each file, counted once."""
        return self._dataset._records_of_files(self._dataset._here)

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

        Accelerate's loaders call it before each epoch, with the number of the epoch. They count from 0
        again when a run goes on: if the epoch of a state is a later one than what is set before it goes
        on, what is set from then on counts from there.
        """
        # All ranks call this before an epoch. If only rank 0 failed, the others would wait forever.
        checks.check_caller(self._caller(), self._rank, self._uneven, self._dataset)
        rank, loaded = self._rank_of_process(), self._loaded
        self._epochs.set_next(rank, _options.whole("epoch", epoch, 0))
        if loaded is not None and self._epochs.next(rank) < loaded["epoch"]:
            self._epochs.load(rank, *checks.worker(self._pin_memory), loaded["epoch"])
        self._known_epoch = epoch = self._epochs.next(rank)
        if loaded is not None and loaded["epoch"] != epoch:
            self._loaded = None
            states.give_up(loaded, epoch, len(self) // self._dataset.epochs)

    def state_dict(self) -> dict[str, Any]:
        """Where the latest iteration in this process is, after the last batch that it has yielded: a
        small dict of numbers and texts of this worker of this rank, see
        :meth:`atds.Dataset.state_dict`. Each rank saves its own.

        torchdata's ``StatefulDataLoader`` calls it, in each worker, for the state of all workers
        together. Without workers, a ``DataLoader`` needs no more than this method and
        :meth:`load_state_dict`.

        >>> def loader():
        ...     features = {"s_label": atds.DenseFeature([], "int32")}
        ...     return atds.torch.loader(atds.torch.Dataset("clicks/*.avro", 64, features))
        >>> all_labels = [batch["s_label"].tolist() for batch in loader()]
        >>> first = loader()
        >>> for batch in first:
        ...     state = first.dataset.state_dict()
        ...     break
        >>> second = loader()
        >>> second.dataset.load_state_dict(state)
        >>> [batch["s_label"].tolist() for batch in second] == all_labels[1:]
        True

        Raises:
            StateError: The batches are in worker processes, or several iterators are in use.
        """
        self._refuse_workers()
        if self._loaded is not None:
            return copy.deepcopy(self._loaded)
        if sum(place.is_running() for place in self._running) > 1:
            raise StateError(
                "several iterators of this data set are in use, and each is somewhere else: call "
                "state_dict() of the iterator"
            )
        latest = self._latest
        if latest is not None and latest.native.is_here():
            state = latest.state_dict()
            if state["epoch"] < state["until"]:
                return state
        epoch = self.epoch
        own, _ = self._own(self._caller())
        return own.state_at(epoch, 0, epoch + self._dataset.epochs)

    def _refuse_workers(self) -> None:
        """Raises an error in a process whose workers have begun: this data set is none of theirs."""
        if get_worker_info() is not None:
            return
        if self._epochs.next(self._rank_of_process()) != self._known_epoch:
            raise StateError(
                "the iterators are in worker processes, each of them somewhere else: have a "
                "torchdata.stateful_dataloader.StatefulDataLoader take and load states, which asks them, "
                "or leave num_workers out"
            )

    def get_state(self) -> dict[str, Any]:
        """As :meth:`state_dict`."""
        return self.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Has the next iteration go on from a state of :meth:`state_dict`. Iterations after it begin at
        the start of an epoch, as ever. Running iterators are left as they are. If no ``seed`` was
        given, the data set takes that of the state.

        Raises:
            StateError: The state is of another rank or worker; otherwise as
                :meth:`atds.Dataset.load_state_dict`. Another number of ranks or workers, or another
                ``uneven``, goes on with the states of all, see :func:`atds.merge_states`.
        """
        self._refuse_workers()
        before = self._dataset._seeded(state)
        if before is not None:
            self._limited = None
        try:
            start = self._resume(*self._own(self._caller()), state)
        except BaseException:
            self._dataset._unseeded(before)
            self._limited = None if before is not None else self._limited
            raise
        worker, workers = checks.worker(self._pin_memory)
        self._epochs.load(self._rank_of_process(), worker, workers, start.epoch)
        self._known_epoch, self._latest = start.epoch, None
        self._loaded = copy.deepcopy(dict(state)) if start.epoch < start.until else None

    def set_state(self, state: Mapping[str, Any]) -> None:
        """As :meth:`load_state_dict`."""
        self.load_state_dict(state)

    def stats(self) -> dict[str, Any]:
        """Figures of the latest iteration in this process, as in :meth:`atds.Dataset.stats`.
        Figures of a worker's iterations are only in the worker."""
        latest = self._latest
        if latest is None or not latest.native.is_here():
            return _native.no_stats()
        return latest.native.snapshot()

    def skipped(self) -> list[dict[str, Any]]:
        """The damage that the latest iteration in this process has left out, as in
        :meth:`atds.Dataset.skipped`. That of a worker's iterations is only in the worker:
        ``skip_log`` has that of all."""
        latest = self._latest
        is_here = latest is not None and latest.native.is_here()
        of_batches = latest.native.skipped() if latest is not None and is_here else []
        return [*self._dataset.skipped(), *of_batches]

    def describe_waits(self) -> str:
        """What each thread of the latest iteration in this process does now, or waits for; see
        :meth:`atds.Dataset.describe_waits`."""
        latest = self._latest
        if latest is None or not latest.native.is_here():
            return "no iteration has begun"
        return latest.native.describe_waits()

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
        del state["_limited"], state["_latest"], state["_running"]
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
