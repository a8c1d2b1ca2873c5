"""The Trainer of transformers saves checkpoints in the middle of an epoch, and goes on."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path
from typing import Any

import pytest

import atds
from conftest import NUMBER
from frameworks import need

torch = need("torch")
transformers = need("transformers")
from torch.utils.data import DataLoader

import atds.torch

pytestmark = pytest.mark.filterwarnings("ignore")


class Stopped(Exception):
    pass


class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.seen: list[list[int]] = []

    def forward(self, n: Any) -> Any:
        self.seen.append(n.tolist())
        return {"loss": (0 * self.weight).sum()}


class Trainer(transformers.Trainer):  # type: ignore[misc, name-defined]
    """As docs/ranks.md has it."""

    workers = 0

    def get_train_dataloader(self) -> Any:
        loader = DataLoader(self.train_dataset, batch_size=None, num_workers=self.workers)
        return self.accelerator.prepare(loader)


class StopAfter(transformers.TrainerCallback):  # type: ignore[misc, name-defined]
    def __init__(self, steps: int) -> None:
        self.steps = steps

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        # As if the process were killed while it trains on.
        if state.global_step == self.steps + 1:
            raise Stopped


def fit(
    numbers: str,
    folder: Path,
    workers: int,
    accumulated: int,
    stop: int | None = None,
    **goes_on: Any,
) -> list[list[int]]:
    dataset = atds.torch.Dataset(numbers, 64, NUMBER, shuffle_buffer_size=150, seed=3)
    arguments = transformers.TrainingArguments(
        str(folder),
        num_train_epochs=3,
        gradient_accumulation_steps=accumulated,
        save_strategy="no" if stop is None else "steps",
        save_steps=stop or 1,
        accelerator_config={"dispatch_batches": False},
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        logging_strategy="no",
        remove_unused_columns=False,
    )
    model = Model()
    callbacks = [] if stop is None else [StopAfter(stop)]
    trainer = Trainer(model, arguments, train_dataset=dataset, callbacks=callbacks)
    trainer.workers = workers
    with contextlib.suppress(Stopped):
        trainer.train(**goes_on)
    return model.seen


@pytest.mark.parametrize(("workers", "accumulated"), [(0, 1), (0, 3), (2, 1)])
def test_goes_on_in_the_middle_of_an_epoch(
    numbers: str, tmp_path: Path, workers: int, accumulated: int
) -> None:
    whole = fit(numbers, tmp_path, workers, accumulated)
    epochs = [sorted(itertools.chain(*whole[at : at + 16])) for at in (0, 16, 32)]
    assert epochs == [list(range(1000))] * 3
    assert len({str(whole[at : at + 16]) for at in (0, 16, 32)}) == 3
    steps_of_epoch = -(-16 // accumulated)
    for step in (2, steps_of_epoch, steps_of_epoch + 3):
        found = fit(numbers, tmp_path, workers, accumulated, step)
        epoch, rest = divmod(step, steps_of_epoch)
        taken = 16 * epoch + rest * accumulated
        assert found[:taken] == whole[:taken]
        assert taken < len(found) < len(whole)
        checkpoint = tmp_path / f"checkpoint-{step}"
        resumed = fit(
            numbers, tmp_path, workers, accumulated, resume_from_checkpoint=str(checkpoint)
        )
        assert resumed == whole[taken:]
