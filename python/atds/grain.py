"""Data sets of Grain, whose iterators Orbax saves and restores.

>>> import atds.grain
>>> dataset = atds.Dataset("clicks/*.avro", 64, {"d0": atds.DenseFeature([8], "float32")})
>>> means = atds.grain.IterDataset(dataset).map(lambda batch: batch["d0"].mean(axis=0))
>>> [mean.shape for mean in means]
[(8,), (8,), (8,), (8,)]
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from atds._packages import need
from atds.dataset import Dataset
from atds.errors import OptionError

if TYPE_CHECKING:
    from typing import Protocol

    from typing_extensions import Self

    class _Stateful(Protocol):
        """An iterator over batches that says where it is."""

        def __next__(self) -> Any: ...
        def close(self) -> None: ...
        def get_state(self) -> dict[str, Any]: ...
        def set_state(self, state: dict[str, Any]) -> None: ...


#: The module ``grain``. If it is missing, the import fails with a helpful error.
grain: Any = need("grain", "atds.grain")

__all__ = ["IterDataset"]


class IterDataset(grain.IterDataset):
    """A ``grain.IterDataset`` of the batches of a data set.

    Its iterators have ``get_state`` and ``set_state``, so that Orbax saves them with a checkpoint and
    restores them: with ``grain.checkpoint.CheckpointSave`` and ``CheckpointRestore``, or as one of the
    checkpointables of Orbax's newer interface. A state is that of :meth:`atds.Dataset.state_dict`.

    >>> dataset = atds.Dataset("clicks/*.avro", 64, shuffle_buffer_size=100, seed=7)
    >>> batches = iter(atds.grain.IterDataset(dataset))
    >>> first = next(batches)
    >>> state = batches.get_state()
    >>> rest = [batch["s_label"].tolist() for batch in batches]
    >>> batches = iter(atds.grain.IterDataset(dataset))
    >>> batches.set_state(state)
    >>> [batch["s_label"].tolist() for batch in batches] == rest
    True

    As Grain has it, the data set does not change: each iterator begins at the same place, in the epoch
    that was ``dataset.epoch``, and goes through ``dataset.epochs`` epochs. The data set that was given
    is left as it is. ``repeat`` gives the same batches in each of its rounds; with ``epochs=n``, each
    epoch has its own order. The order depends on the ``seed`` of the data set alone, not on Grain's.

    The batches are whole already: leave out ``batch`` and ``shuffle``. ``map``, ``filter``,
    ``random_map``, ``repeat``, ``mix``, ``grain.experimental.ThreadPrefetchIterDataset`` and others that
    take an element at a time work. The data set reads ahead with its own threads; ``mp_prefetch`` moves
    batches between processes, and works with ``num_workers=1``.

    Args:
        dataset: The data set. Processes that read parts of it give it ``shard=``.
        iterate: Begins an iteration of a data set: ``iter``, for dicts of NumPy arrays as in
            :class:`atds.Batch`, or :func:`atds.jax.iterate` for dicts of JAX arrays. For the latter with
            options, give ``functools.partial(atds.jax.iterate, nse=…)``, without ``shard=``.

    Raises:
        OptionError: ``dataset`` is none, or a transformation of Grain would split the batches among
            several workers.
        StateError: ``set_state`` of an iterator was given a state that does not fit.
    """

    def __init__(
        self, dataset: Dataset, iterate: Callable[[Dataset], Iterator[Any]] = iter
    ) -> None:
        super().__init__()
        if not isinstance(dataset, Dataset):
            raise OptionError(f"dataset must be an atds.Dataset, not {type(dataset).__name__}")
        self._dataset = dataset._copy()
        self._iterate: Any = iterate

    def __iter__(self) -> _Iterator:
        """An iterator. It begins to read with its first batch, or with ``start_prefetch``."""
        return _Iterator(self._dataset._copy(), self._iterate)

    def set_slice(self, sl: slice, sequential_slice: bool = False) -> None:
        """Refused: batches are not split among workers of Grain."""
        raise OptionError(
            f"Grain would split the batches among {sl.step or 1} workers: give num_workers=1, or leave "
            "mp_prefetch out, since the data set reads ahead with threads of its own "
            "(num_parallel_calls, prefetch)"
        )

    def __str__(self) -> str:
        return f"atds.grain.IterDataset({self._dataset!r})"

    __repr__ = __str__


class _Iterator(grain.DatasetIterator):
    """An iterator over the batches of a data set that it has for itself."""

    def __init__(self, dataset: Dataset, iterate: Callable[[Dataset], _Stateful]) -> None:
        super().__init__()
        self._dataset = dataset
        self._iterate = iterate
        self._batches: _Stateful | None = None
        #: The state that was set before the iteration began.
        self._state: dict[str, Any] | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> dict[str, Any]:
        self._assert_not_closed()
        # Grain takes a plain dict for a tree of arrays.
        return dict(next(self._begun()))

    def start_prefetch(self) -> None:
        """Begins to read."""
        self._assert_not_closed()
        self._begun()

    def _begun(self) -> _Stateful:
        if self._batches is None:
            self._batches = self._iterate(self._dataset)
            if self._state is not None and self._state["epoch"] == self._state["until"]:
                # The end, after which the data set would begin its next epoch.
                self._batches.set_state(self._state)
            self._state = None
        return self._batches

    def get_state(self) -> dict[str, Any]:
        """Where the iterator is, after the last batch that it has yielded."""
        if self._batches is not None:
            return self._batches.get_state()
        return self._dataset.state_dict() if self._state is None else copy.deepcopy(self._state)

    def set_state(self, state: dict[str, Any]) -> None:
        """Goes on from a state, whatever was yielded before."""
        self._assert_not_closed()
        if self._batches is not None:
            self._batches.set_state(state)
        else:
            self._dataset.load_state_dict(state)
            self._state = copy.deepcopy(dict(state))

    def close(self) -> None:
        """Ends the iteration: stops its threads and waits for them."""
        super().close()
        # Grain closes an iterator whose constructor has failed, too.
        batches = getattr(self, "_batches", None)
        if batches is not None:
            batches.close()

    def __str__(self) -> str:
        return "atds.grain.IterDataset"
