"""Ranks of torchrun, before and after they connect."""

import torch.distributed
from reporting import NUMBER, SHUFFLED, case, dataset, numbers, write
from torch.utils.data import DataLoader


def read(name: str, workers: int = 0, **options: object) -> None:
    with case(name) as report:
        records = dataset(NUMBER, **options)
        loader = DataLoader(records, batch_size=None, num_workers=workers)
        report["length"] = len(loader)
        report["epochs"] = [numbers(loader) for _ in range(2)]


if __name__ == "__main__":
    read("not connected", **SHUFFLED)
    read("not connected, workers", workers=2, **SHUFFLED)
    read("alone", rank=0, world_size=1)
    with case("connected later") as later:
        early = dataset(NUMBER, **SHUFFLED)
        torch.distributed.init_process_group("gloo")
        later["epochs"] = [numbers(early) for _ in range(2)]
    read("connected", **SHUFFLED)
    read("connected, drop_remainder", drop_remainder=True, **SHUFFLED)
    torch.distributed.destroy_process_group()
    write()
