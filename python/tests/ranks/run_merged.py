"""Ranks that save the merged state of a step, or go on with it: `save` or `go on`, and by which loader."""

import itertools
import json
import sys
from typing import Any

import torch.distributed
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from reporting import FOLDER, NUMBER, case, write
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

import atds
import atds.torch

ORDERS: dict[str, dict[str, Any]] = {
    "in order": {},
    "shuffled": {"shuffle_buffer_size": 150, "shuffle_files": True, "seed": 3},
    "blocks": {"shuffle_buffer_size": 150, "shuffle": "blocks", "seed": 3, "uneven": "pad"},
}


def loader(how: str, dataset: Any, workers: int, every: int) -> Any:
    if how == "torchdata":
        return StatefulDataLoader(
            dataset, batch_size=None, num_workers=workers, snapshot_every_n_steps=every
        )
    config = DataLoaderConfiguration(use_stateful_dataloader=True, dispatch_batches=False)
    accelerator = Accelerator(cpu=True, dataloader_config=config)
    return accelerator.prepare(DataLoader(dataset, batch_size=None))


def real(batch: Any) -> list[int]:
    """The records of a batch that are no padding."""
    found: list[int] = (
        batch["n"][batch["mask"]].tolist() if "mask" in batch else batch["n"].tolist()
    )
    return found


def save(how: str) -> None:
    for (name, order), workers, every in zip(ORDERS.items(), (0, 1, 2), (1, 1, 3), strict=True):
        with case(name) as report:
            ours = atds.torch.Dataset(FOLDER / "numbers.avro", 17, NUMBER, **order)
            loaded = loader(how, ours, workers, every)
            batches = iter(loaded)
            found = [real(batch) for batch in itertools.islice(batches, 5)]
            states: list[Any] = [None] * torch.distributed.get_world_size()
            torch.distributed.all_gather_object(states, loaded.state_dict())
            state = atds.merge_states(states)
            # As after a checkpoint, until the job is ended: this counts for nothing.
            list(batches)
            if torch.distributed.get_rank() == 0:
                (FOLDER / f"{name}.state").write_text(json.dumps(state))
            report["epochs"], report["state"] = [found], state


def go_on_alike(how: str) -> None:
    """The same ranks go on in the middle of the second epoch."""

    def made() -> Any:
        ours = atds.torch.Dataset(FOLDER / "numbers.avro", 17, NUMBER, **ORDERS["shuffled"])
        return loader(how, ours, 0, 1)

    with case("alike") as report:
        first, second = made(), made()
        list(first)
        batches = iter(first)
        list(itertools.islice(batches, 5))
        second.load_state_dict(json.loads(json.dumps(first.state_dict())))
        report["epochs"] = [[real(batch) for batch in loaded] for loaded in (batches, second)]
        report["epochs"] += [[real(batch) for batch in loaded] for loaded in (first, second)]


def go_on(how: str) -> None:
    for (name, order), workers in zip(ORDERS.items(), (2, 0, 1), strict=True):
        with case(name) as report:
            ours = atds.torch.Dataset(FOLDER / "numbers.avro", 26, NUMBER, **order)
            ours.load_state_dict(json.loads((FOLDER / f"{name}.state").read_text()))
            report["length"] = ours.share.batches
            report["dropped"] = ours.share.total_dropped_records
            found = []
            for batch in loader(how, ours, workers, 1):
                found.append(real(batch))
                # As gradients do: ranks with other numbers of steps would wait for ever.
                torch.distributed.barrier()
            report["epochs"] = [found]


if __name__ == "__main__":
    torch.distributed.init_process_group("gloo")
    action, how = sys.argv[2:]
    if action == "save":
        save(how)
        go_on_alike(how)
    else:
        go_on(how)
    torch.distributed.destroy_process_group()
    write()
