"""Saving where loaders are, and going on there: alone, and by torchdata's StatefulDataLoader."""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import signal
from pathlib import Path
from typing import Any

import pytest
from torch_states import STATEFUL, text

import atds
from conftest import NUMBER

torch = pytest.importorskip("torch")
import atds.torch

stateful = pytest.importorskip("torchdata.stateful_dataloader")

pytestmark = STATEFUL

BATCH = 64


def dataset(numbers: str, **options: Any) -> Any:
    options = {"shuffle_buffer_size": 150, "seed": 3, "num_parallel_calls": 2, **options}
    return atds.torch.Dataset(numbers, BATCH, NUMBER, **options)


def lists(batches: Any) -> list[list[int]]:
    return [batch["n"].tolist() for batch in batches]


@pytest.mark.parametrize("epochs", [1, 3])
@pytest.mark.parametrize(
    "ranks",
    [
        {},
        {"rank": 1, "world_size": 3, "uneven": "drop"},
        {"rank": 0, "world_size": 3, "uneven": "pad"},
        {"rank": 2, "world_size": 3, "uneven": "keep", "shuffle_blocks": True},
        # A rank whose records make no batch.
        {"rank": 0, "world_size": 2000, "uneven": "pad"},
        {"rank": 0, "world_size": 300, "uneven": "drop", "drop_remainder": True},
    ],
)
def test_iterators_go_on(numbers: str, epochs: int, ranks: dict[str, Any]) -> None:
    def rows(batches: Any) -> list[Any]:
        return [{name: column.tolist() for name, column in batch.items()} for batch in batches]

    first = iter(dataset(numbers, epochs=epochs, **ranks))
    states, whole = [first.state_dict()], []
    for batch in first:
        whole += rows([batch])
        states.append(first.state_dict())
    states.append(first.state_dict())
    assert all(len(json.dumps(state)) < 1000 for state in states)
    for given, state in enumerate(map(text, states)):
        rest = whole[min(given, len(whole)) :]
        ours = dataset(numbers, epochs=epochs, **ranks)
        ours.load_state_dict(state)
        if state["epoch"] < state["until"]:
            assert ours.state_dict() == state
        if given <= len(whole):
            assert rows(ours) == rest
        assert ours.epoch == epochs
        following = rows(ours)
        fresh = dataset(numbers, epochs=epochs, **ranks)
        fresh.set_epoch(epochs)
        assert rows(fresh) == following
        # An iterator that has begun elsewhere.
        batches = iter(ours)
        next(batches, None)
        batches.load_state_dict(state)
        assert batches.state_dict() == state
        assert rows(batches) == rest
        assert ours.epoch == epochs


def test_loaders_without_workers_go_on(numbers: str) -> None:
    epochs = [lists(atds.torch.loader(ours)) for ours in [dataset(numbers)] for _ in range(3)]
    ours = dataset(numbers)
    loader = atds.torch.loader(ours)
    found = [batch["n"].tolist() for batch in itertools.islice(loader, 5)]
    state = text(ours.state_dict())
    again = dataset(numbers)
    again.load_state_dict(state)
    loader = atds.torch.loader(again)
    assert found + lists(loader) == epochs[0]
    assert lists(loader) == epochs[1]
    state = text(again.state_dict())
    assert (state["epoch"], state["batches"]) == (2, 0)
    again = dataset(numbers)
    again.load_state_dict(state)
    assert lists(atds.torch.loader(again)) == epochs[2]


def test_an_iterator_takes_the_seed_of_a_state(numbers: str) -> None:
    first = iter(dataset(numbers, seed=None))
    next(first)
    state, rest = text(first.state_dict()), lists(first)
    ours = dataset(numbers, seed=None)
    batches = iter(ours)
    batches.load_state_dict(state)
    assert batches.state_dict() == state
    assert lists(batches) == rest
    given = iter(dataset(numbers, seed=1))
    with pytest.raises(atds.StateError, match="seed="):
        given.load_state_dict(state)


def loader(numbers: str, workers: int, context: str | None, persistent: bool, every: int) -> Any:
    return stateful.StatefulDataLoader(
        dataset(numbers),
        batch_size=None,
        num_workers=workers,
        multiprocessing_context=context,
        persistent_workers=persistent,
        snapshot_every_n_steps=every,
    )


#: Pairwise: workers, how they start, whether they persist, steps between snapshots.
LOADERS = [
    (0, None, False, 1),
    (0, None, False, 10),
    (1, "fork", True, 1),
    (1, "spawn", False, 10),
    (4, "fork", False, 1),
    (4, "fork", True, 10),
    (4, "spawn", True, 1),
]


@pytest.mark.parametrize(("workers", "context", "persistent", "every"), LOADERS)
def test_stateful_loaders_go_on(
    numbers: str, workers: int, context: str | None, persistent: bool, every: int
) -> None:
    make: list[Any] = [numbers, workers, context, persistent, every]
    plain = loader(*make)
    epochs = [lists(plain) for _ in range(3)]
    assert [sorted(itertools.chain(*epoch)) for epoch in epochs] == [list(range(1000))] * 3
    assert epochs[0] != epochs[1] != epochs[2]

    # In the middle of the second epoch; before the first batch, the last batch, and the end. Processes
    # that are spawned take seconds to start.
    for taken in (3,) if context == "spawn" else (3, 0, 15, 16):
        first = loader(*make)
        assert lists(first) == epochs[0]
        batches = iter(first)
        found = [next(batches)["n"].tolist() for _ in range(taken)]
        state = first.state_dict()
        second = loader(*make)
        second.load_state_dict(state)
        assert found + lists(second) == epochs[1], taken
        # Once, and not again for the next epoch.
        assert lists(second) == epochs[2], taken
        # A worker of torch that is ended while it sends a batch may abort.
        lists(batches)


@pytest.mark.parametrize(
    ("workers", "context", "persistent", "every"), [made for made in LOADERS if made[1] != "spawn"]
)
def test_a_state_at_the_end_of_an_epoch(
    numbers: str, workers: int, context: str | None, persistent: bool, every: int
) -> None:
    make: list[Any] = [numbers, workers, context, persistent, every]
    first = loader(*make)
    epochs = [lists(first)]
    state = first.state_dict()
    epochs += [lists(first), lists(first)]
    second = loader(*make)
    second.load_state_dict(state)
    assert lists(second) == epochs[1]
    assert lists(second) == epochs[2]


@pytest.mark.parametrize("workers", [0, 2])
def test_states_before_and_during_loops(numbers: str, workers: int) -> None:
    make: list[Any] = [numbers, workers, "fork" if workers else None, bool(workers), 1]
    first = loader(*make)
    start = first.state_dict()
    epochs = [lists(first), lists(first)]
    # Loaded before `iter`, after it, and after a loop that was left.
    second = loader(*make)
    second.load_state_dict(start)
    assert lists(second) == epochs[0]
    third = loader(*make)
    for _ in itertools.islice(third, 3):
        pass
    state = third.state_dict()
    rest = epochs[0][3:]
    third.load_state_dict(state)
    assert lists(third) == rest
    assert lists(third) == epochs[1]
    for _ in itertools.islice(third, 3):
        pass
    third.load_state_dict(start)
    assert lists(third) == epochs[0]


def test_the_parent_of_workers_has_no_state(numbers: str) -> None:
    ours = dataset(numbers)
    loader = atds.torch.loader(ours, num_workers=1)
    batches = iter(loader)
    next(batches)
    with pytest.raises(atds.StateError, match="StatefulDataLoader"):
        ours.state_dict()


def test_two_iterators(numbers: str) -> None:
    ours = dataset(numbers)
    first, second = iter(ours), iter(ours)
    with pytest.raises(atds.StateError, match="of the iterator"):
        ours.state_dict()
    first.close()
    assert ours.state_dict() == second.state_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"rank": 0, "world_size": 2},
            "number of ranks was 1 when it was taken, and is 2: merge .* .atds.merge_states.",
        ),
        ({"uneven": "keep"}, "uneven= was drop when it was taken, and is keep: merge"),
        ({"seed": 4}, "seed= was 3 when it was taken, and is 4"),
    ],
)
def test_other_worlds_are_refused(numbers: str, options: dict[str, Any], message: str) -> None:
    state = text(dataset(numbers).state_dict())
    with pytest.raises(atds.StateError, match=message):
        dataset(numbers, **options).load_state_dict(state)


def test_other_numbers_of_workers_are_refused(numbers: str) -> None:
    first = loader(numbers, 2, "fork", False, 1)
    next(iter(first))
    state = first.state_dict()
    single = dataset(numbers)
    single.load_state_dict(single.state_dict())
    with pytest.raises(atds.StateError, match="number of workers was 1"):
        next(iter(atds.torch.loader(single, num_workers=2)))
    del state


def test_set_epoch_and_loaded_states(numbers: str, caplog: pytest.LogCaptureFixture) -> None:
    ours = dataset(numbers)
    batches = iter(ours)
    next(batches)
    state, rest = batches.state_dict(), lists(batches)
    ours.load_state_dict(state)
    ours.set_epoch(0)
    assert lists(ours) == rest
    ours.load_state_dict(state)
    with caplog.at_level(logging.WARNING, "atds"):
        ours.set_epoch(5)
    assert "is given up" in caplog.text
    assert len(lists(ours)) == 16


@pytest.mark.parametrize("loads_first", [False, True])
def test_loops_that_count_from_0_again(numbers: str, loads_first: bool) -> None:
    ours = dataset(numbers)
    epochs = [lists(ours) for _ in range(4)]
    ours.set_epoch(2)
    batches = iter(ours)
    next(batches)
    state = batches.state_dict()
    again = dataset(numbers)
    if loads_first:
        again.load_state_dict(state)
    for epoch, expected in enumerate([epochs[2][1:], epochs[3]]):
        again.set_epoch(epoch)
        if epoch == 0 and not loads_first:
            again.load_state_dict(state)
        assert again.epoch == 2 + epoch
        assert lists(again) == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_accelerate_goes_on(numbers: str, workers: int) -> None:
    accelerate = pytest.importorskip("accelerate")

    def prepared() -> Any:
        config = accelerate.utils.DataLoaderConfiguration(
            use_stateful_dataloader=True, dispatch_batches=False
        )
        accelerator = accelerate.Accelerator(cpu=True, dataloader_config=config)
        made = torch.utils.data.DataLoader(dataset(numbers), batch_size=None, num_workers=workers)
        return accelerator.prepare(made)

    plain = prepared()
    epochs = [lists(plain) for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    for taken in (1, 5, 15):
        first = prepared()
        assert lists(first) == epochs[0]
        batches = iter(first)
        found = [next(batches)["n"].tolist() for _ in range(taken)]
        state = first.state_dict()
        second = prepared()
        second.load_state_dict(state)
        assert found + lists(second) == epochs[1]
        assert lists(second) == epochs[2]


def test_a_seed_that_was_not_given(numbers: str) -> None:
    batches = iter(dataset(numbers, seed=None))
    next(batches)
    state, rest = batches.state_dict(), lists(batches)
    ours = dataset(numbers, seed=None)
    ours.load_state_dict(state)
    assert lists(ours) == rest


BAD: list[dict[str, Any]] = [{"n": n} for n in range(129)]


def with_a_bad_record(write: Any, at: int, records: int = 129) -> str:
    """A file with a record that has a bad union."""
    fields = [{"name": "n", "type": ["long", "null"]}]
    path: str = write(fields, BAD[:records], codec="null", sync_interval=100)
    bytes_ = bytearray(Path(path).read_bytes())
    # Branch 0, and the number as it is written.
    number = bytes([0, 2 * at & 0x7F | 0x80, 2 * at >> 7])
    place = bytes_.find(number)
    assert bytes_.count(number) == 1
    bytes_[place] = 9
    Path(path).write_bytes(bytes_)
    return path


@pytest.mark.parametrize("epochs", [1, 2])
def test_errors_in_the_last_batch_are_seen(write: Any, epochs: int) -> None:
    path = with_a_bad_record(write, 120)
    options: dict[str, Any] = {
        "rank": 1,
        "world_size": 2,
        "num_parallel_calls": 1,
        "epochs": epochs,
    }
    ours = atds.torch.Dataset(path, BATCH, NUMBER, **options)
    batches, found = iter(ours), []
    with pytest.raises(atds.DataError):
        for batch in batches:
            found.append(len(batch["n"]))
    assert len(found) == 1 and found[0] < 64
    state = ours.state_dict()
    assert (state["epoch"], state["batches"]) == (0, 0)
    assert lists(batches) == []
    assert ours.state_dict() == state


def test_closed_iterators_stay_where_they_are(numbers: str) -> None:
    ours = dataset(numbers)
    batches = iter(ours)
    for i, _ in enumerate(batches):
        if i == 2:
            batches.close()
    state = ours.state_dict()
    assert (state["epoch"], state["batches"]) == (0, 3)


@pytest.mark.parametrize("persistent", [False, True])
def test_loaded_states_of_plain_loaders_count_once(numbers: str, persistent: bool) -> None:
    plain = dataset(numbers)
    epochs = [lists(plain) for _ in range(2)]
    batches = iter(dataset(numbers))
    next(batches)
    ours = dataset(numbers)
    ours.load_state_dict(batches.state_dict())
    made = torch.utils.data.DataLoader(
        ours, batch_size=None, num_workers=1, persistent_workers=persistent
    )
    assert lists(made) == epochs[0][1:]
    with pytest.raises(atds.StateError, match="worker processes"):
        ours.state_dict()
    assert lists(made) == epochs[1]
    with pytest.raises(atds.StateError, match="worker processes"):
        ours.load_state_dict(batches.state_dict())


def test_more_batches_than_there_are(numbers: str) -> None:
    ours = dataset(numbers)
    state = {**ours.state_dict(), "batches": 17}
    ours.load_state_dict(state)
    with pytest.raises(atds.StateError, match="fewer than the 17 batches"):
        lists(ours)
    with pytest.raises(atds.StateError, match="epoch is too large"):
        ours.load_state_dict({**state, "epoch": 1 << 63, "until": (1 << 63) + 1})
    nothings: list[Any] = [None, [], "state", {}]
    for nothing in nothings:
        with pytest.raises(atds.StateError, match="no state"):
            ours.load_state_dict(nothing)


def test_epochs_that_are_set_after_a_state(numbers: str) -> None:
    def loaded(epoch: int, was_set: int) -> Any:
        other = dataset(numbers)
        other.set_epoch(epoch)
        state = other.state_dict()
        ours = dataset(numbers)
        ours.set_epoch(was_set)
        ours.load_state_dict(state)
        assert ours.epoch == epoch
        lists(ours)
        return ours

    # Back to an earlier one; then absolute numbers, or counted on.
    ours = loaded(2, 5)
    ours.set_epoch(3)
    assert ours.epoch == 3
    ours = loaded(5, 0)
    ours.set_epoch(6)
    assert ours.epoch == 6
    ours = loaded(5, 0)
    ours.set_epoch(1)
    assert ours.epoch == 6


def test_signal_handlers_save_states(numbers: str) -> None:
    ours = dataset(numbers, epochs=100_000)
    batches, found = iter(ours), []

    def save(*_: Any) -> None:
        found.append((batches.state_dict()["batches"], ours.state_dict()["batches"]))

    before = signal.signal(signal.SIGALRM, save)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        while len(found) < 100:
            next(batches)
            ours.state_dict()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert all(one == other for one, other in found)


class Stopped(Exception):
    pass


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("workers", [0, 2])
def test_lightning_goes_on(numbers: str, workers: int, tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning")

    class Model(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))
            self.seen: list[list[int]] = []

        def training_step(self, batch: Any, _: int) -> Any:
            self.seen.append(batch["n"].tolist())
            return (0 * self.weight).sum()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    class SaveAndStop(lightning.Callback):  # type: ignore[misc, name-defined]
        def __init__(self, after: int) -> None:
            self.after = after

        def on_train_batch_end(self, trainer: Any, model: Any, *_: Any) -> None:
            if len(model.seen) == self.after:
                trainer.save_checkpoint(tmp_path / "saved.ckpt")
                raise Stopped

    def fit(*callbacks: Any, **options: Any) -> list[list[int]]:
        model = Model()
        trainer = lightning.Trainer(
            accelerator="cpu",
            max_epochs=3,
            callbacks=list(callbacks),
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        context = "fork" if workers else None
        with contextlib.suppress(Stopped):
            trainer.fit(model, loader(numbers, workers, context, False, 1), **options)
        return model.seen

    whole = fit()
    epochs = [sorted(itertools.chain(*whole[at : at + 16])) for at in (0, 16, 32)]
    assert epochs == [list(range(1000))] * 3
    for taken in (5, 15, 21):
        found = fit(SaveAndStop(taken))
        assert found == whole[:taken]
        assert fit(ckpt_path=tmp_path / "saved.ckpt") == whole[taken:]
