"""Ranks of Lightning's DDP, which starts this script again for the second rank."""

from typing import Any

import lightning
import torch
from reporting import SHUFFLED, case, dataset, numbers, write
from torch.utils.data import DataLoader


class Model(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
        self.trained: list[list[list[int]]] = []
        self.validated: list[list[list[int]]] = []

    def on_train_epoch_start(self) -> None:
        self.trained.append([])

    def training_step(self, batch: Any, index: int) -> Any:
        self.trained[-1] += numbers([batch])
        return self.layer(batch["x"] / 1000).square().mean()

    def on_validation_epoch_start(self) -> None:
        self.validated.append([])

    def validation_step(self, batch: Any, index: int) -> None:
        self.validated[-1] += numbers([batch])

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), 1e-5)


def fit(name: str, records: Any, **options: Any) -> int:
    model = Model()
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=2,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    with case(name) as report, case(f"{name}, validated") as validated:
        loader = DataLoader(records, batch_size=None, **options)
        trainer.fit(model, loader, DataLoader(dataset(), batch_size=None))
        report["length"] = len(loader)
        report["epochs"] = model.trained
        validated["epochs"] = model.validated
    return int(trainer.global_rank)


if __name__ == "__main__":
    fit("no workers", dataset(**SHUFFLED))
    fit("workers", dataset(**SHUFFLED), num_workers=2)
    fit("persistent workers", dataset(**SHUFFLED), num_workers=2, persistent_workers=True)
    write(fit("drop_remainder", dataset(drop_remainder=True, **SHUFFLED)))
    # This process must not end before the other has written its report.
    torch.distributed.barrier()
