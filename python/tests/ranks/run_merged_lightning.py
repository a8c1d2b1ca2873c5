"""Ranks of Lightning that save a checkpoint with their merged state, or go on with it: `save` or `go on`."""

import contextlib
import os
import sys
from typing import Any

import lightning
import torch
import torch.distributed
from reporting import FOLDER, NUMBER, case, numbers, write
from torchdata.stateful_dataloader import StatefulDataLoader

import atds
import atds.torch

CHECKPOINT = FOLDER / "saved.ckpt"
STEPS = 5


class Stopped(Exception):
    pass


class Model(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.seen: list[list[int]] = []

    def training_step(self, batch: Any, index: int) -> Any:
        self.seen += numbers([batch])
        return (self.weight - 1).square().sum()

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), 0.1)


class SaveMerged(lightning.Callback):
    """As docs/resuming.md has it."""

    def on_save_checkpoint(self, trainer: Any, model: Any, checkpoint: dict[str, Any]) -> None:
        (state,) = checkpoint["loops"]["fit_loop"]["state_dict"]["combined_loader"]
        states = [None] * trainer.world_size
        torch.distributed.all_gather_object(states, state)
        checkpoint["batches"] = atds.merge_states(states)


class SaveAndStop(lightning.Callback):
    def on_train_batch_end(self, trainer: Any, model: Any, *_: Any) -> None:
        if len(model.seen) == STEPS:
            trainer.save_checkpoint(CHECKPOINT)
            raise Stopped


def fit(model: Model, records: Any, workers: int, *callbacks: Any) -> int:
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=int(os.environ["WORLD_SIZE"]),
        strategy="ddp",
        max_epochs=1,
        callbacks=list(callbacks),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    with contextlib.suppress(Stopped):
        trainer.fit(model, StatefulDataLoader(records, batch_size=None, num_workers=workers))
    return int(trainer.global_rank)


if __name__ == "__main__":
    shuffled: dict[str, Any] = {"shuffle_buffer_size": 150, "shuffle_blocks": True, "seed": 3}
    model = Model()
    with case("lightning") as report:
        if sys.argv[2] == "save":
            records = atds.torch.Dataset(FOLDER / "numbers.avro", 17, NUMBER, **shuffled)
            rank = fit(model, records, 1, SaveMerged(), SaveAndStop())
        else:
            saved = torch.load(CHECKPOINT, weights_only=False)
            model.load_state_dict(saved["state_dict"])
            report["weight"] = model.weight.item()
            records = atds.torch.Dataset(FOLDER / "numbers.avro", 26, NUMBER, **shuffled)
            records.load_state_dict(saved["batches"])
            rank = fit(model, records, 2)
        report["epochs"] = [model.seen]
    write(rank)
    # This process must not end before the others have written their reports.
    torch.distributed.barrier()
