"""Ranks of the Trainer of transformers."""

from typing import Any

import torch.distributed
import transformers
from reporting import FOLDER, POINT, SHUFFLED, case, dataset, write
from torch.utils.data import DataLoader


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
        self.seen: list[list[int]] = []

    def forward(self, n: Any, x: Any) -> dict[str, Any]:
        self.seen.append(n.tolist())
        scores = self.layer(x / 1000)
        return {"loss": scores.square().mean(), "logits": scores}


class BatchTrainer(transformers.Trainer):
    """A trainer with plain loaders."""

    def get_train_dataloader(self) -> Any:
        workers = self.args.dataloader_num_workers
        return DataLoader(self.train_dataset, batch_size=None, num_workers=workers)

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        return DataLoader(eval_dataset or self.eval_dataset, batch_size=None)


class PreparedTrainer(transformers.Trainer):
    """A trainer that follows the advice of the error: its loader is wrapped by Accelerate."""

    def get_train_dataloader(self) -> Any:
        return self.accelerator.prepare(DataLoader(self.train_dataset, batch_size=None))


def train(name: str, trainer_class: Any, workers: int = 0, **accelerator_config: Any) -> None:
    with case(name) as report:
        model = Model()
        arguments = transformers.TrainingArguments(
            output_dir=str(FOLDER / "trained"),
            use_cpu=True,
            num_train_epochs=2,
            report_to=[],
            disable_tqdm=True,
            save_strategy="no",
            logging_strategy="no",
            dataloader_num_workers=workers,
            accelerator_config=accelerator_config,
        )
        trainer = trainer_class(
            model,
            arguments,
            train_dataset=dataset(POINT, **SHUFFLED),
            eval_dataset=dataset(POINT, drop_remainder=True),
        )
        steps = trainer.train().global_step
        report["length"] = steps // 2
        report["epochs"] = [model.seen[: steps // 2], model.seen[steps // 2 :]]
        if trainer_class is BatchTrainer:
            model.seen.clear()
            trainer.evaluate()
            report["evaluated"] = list(model.seen)
    torch.distributed.barrier()


if __name__ == "__main__":
    train("as it is", transformers.Trainer)
    train("as it is, workers", transformers.Trainer, workers=1)
    train("as it is, not dispatched", transformers.Trainer, dispatch_batches=False)
    train("loader of batches", BatchTrainer)
    train("loader of batches, workers", BatchTrainer, workers=2)
    train("prepared", PreparedTrainer)
    train("prepared, not dispatched", PreparedTrainer, dispatch_batches=False)
    torch.distributed.destroy_process_group()
    write()
