"""States of iterations."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from atds import _native
from atds.errors import StateError
from atds.options import orders_files

__all__ = ["merge_states"]

_LOG = logging.getLogger("atds")


def merge_states(states: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The state with which any number of ranks and workers goes on, in batches of any size, of the states
    of all ranks after the same step.

    Gather the states of all ranks, merge them, and have each of the ranks that go on load the result. What
    was left of the epoch is shared out among them: each record is still read once at most, and all
    have the same number of batches, as ``uneven`` says. The epochs after it are as ever. An epoch may
    be shared out again up to 16 times.

    >>> def shard(index, count, batch_size):
    ...     features = {"s_label": atds.DenseFeature([], "int32")}
    ...     return atds.Dataset("clicks/*.avro", batch_size, features, shard=(index, count))
    >>> states, records = [], 0
    >>> for index in range(4):
    ...     batches = iter(shard(index, 4, 10))
    ...     records += next(batches).num_records
    ...     states.append(batches.state_dict())
    >>> state = atds.merge_states(states)
    >>> for index in range(3):
    ...     dataset = shard(index, 3, 32)
    ...     dataset.load_state_dict(state)
    ...     records += sum(batch.num_records for batch in dataset)
    >>> records
    200

    Args:
        states: The states of all workers of all ranks, in any order: of ``state_dict()`` of iterators and
            data sets, or of ``StatefulDataLoader`` of torchdata, which have those of all workers of a
            rank.

    Raises:
        StateError: They are not those of all ranks after the same step, with the same files and options;
            or the epoch has been shared out 16 times. The message says what does not fit.
    """
    if isinstance(states, Mapping):
        states = [states]
    return _native.merge_states([found for state in states for found in _of_workers(state)])


def _of_workers(state: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], int]]:
    """The states of the workers of a rank, with the number of batches that the rank has yielded since."""
    if not isinstance(state, Mapping):
        raise StateError(f"this is no state of an iteration, but of type {type(state).__name__}")
    if "_snapshot" in state:
        # A StatefulDataLoader with workers.
        workers = state["_snapshot"]["_worker_snapshots"].values()
        later = int(state["_steps_since_snapshot"])
    elif "_num_yielded" in state:
        workers, later = [state], 0
    else:
        return [(_unwrapped(state), 0)]
    found = [_of_worker(worker) for worker in workers]
    if state["_iterator_finished"]:
        return [(_after(worker), 0) for worker in found]
    return [(worker, later) for worker in found]


def _unwrapped(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """The state, unless it is that of a transformation of Grain which adds something of its own."""
    if state and not state.keys() & {"version", "fingerprint"}:
        raise StateError(
            f"this is no state of an iteration, but has {', '.join(map(repr, state))}: if it is that of a "
            "transformation of Grain (random_map, repeat, mix, mp_prefetch), merge the states of the "
            "iterators below it, of atds.grain.IterDataset, and apply it again where others go on"
        )
    return state


def _of_worker(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a worker of a ``StatefulDataLoader`` says of its iterator, or else of its data set."""
    fetcher = state.get("fetcher_state")
    found = fetcher.get("dataset_iter_state") if fetcher is not None else None
    found = state.get("dataset_state") if found is None else found
    if not isinstance(found, Mapping):
        raise StateError("this is no state of a loader of atds.torch.Dataset")
    return found


def _after(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """The state after the end of the iteration of a state."""
    return {**state, "epoch": state["until"], "batches": 0, "layers": ""}


def seed_of(state: Mapping[str, Any]) -> int | None:
    """The seed of a state; None if its order is not random. For what is no state it is None, too: the
    check of the state says so."""
    try:
        options = state["fingerprint"]["options"]
        seed = options["seed"]
        is_random = options["shuffle_buffer_size"] or orders_files(options)
    except (KeyError, TypeError):
        return None
    is_seed = type(seed) is int and 0 <= seed < 1 << 64
    return seed if is_random and is_seed else None


def give_up(state: Mapping[str, Any], epoch: int, batches: int) -> None:
    """Warns that a state is given up, since another epoch was set. An epoch has so many batches; after
    the last of them, the next epoch comes anyway."""
    is_over = state["batches"] >= batches
    if epoch != state["epoch"] + 1 or not is_over:
        _LOG.warning(
            "set_epoch(%d): the state that was loaded, of epoch %d, is given up",
            epoch,
            state["epoch"],
        )


def is_running(handle: _native.StatsHandle) -> bool:
    """Whether an iteration of this process may yield more."""
    return handle.is_here() and handle.is_running()
