"""Ranks that start after the data set was made. They have it in shared memory."""

from typing import Any

import torch.distributed
import torch.multiprocessing
from reporting import FOLDER, NUMBER, SHUFFLED, case, dataset, numbers, write
from torch.utils.data import DataLoader


def run(rank: int, method: str, records: list[Any]) -> None:
    store = f"file://{FOLDER / method}"
    torch.distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    for workers, one in enumerate(records):
        with case(f"{method}, {workers} workers") as report:
            loader = DataLoader(one, batch_size=None, num_workers=workers)
            report["length"] = len(loader)
            for _ in range(3):
                report["epochs"].append(numbers(loader))
                # One rank begins the next epoch only when the other has begun this one.
                torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    write(rank)


if __name__ == "__main__":
    for method in ("fork", "spawn"):
        made = [dataset(NUMBER, **SHUFFLED) for _ in range(2)]
        made[0].set_epoch(5)
        torch.multiprocessing.start_processes(run, (method, made), 2, start_method=method)
