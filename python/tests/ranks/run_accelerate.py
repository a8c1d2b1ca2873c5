"""Ranks of Accelerate. Its loaders dispatch the batches of rank 0, or do not."""

from typing import Any

import torch.distributed
from accelerate import Accelerator, skip_first_batches
from accelerate.data_loader import DataLoaderDispatcher
from accelerate.utils import DataLoaderConfiguration
from reporting import POINT, SHUFFLED, case, dataset, numbers, write
from torch.utils.data import DataLoader, IterableDataset

import atds


class Rows(IterableDataset[Any]):
    """Single records."""

    def __init__(self, batches: Any) -> None:
        self.batches = batches

    def __iter__(self) -> Any:
        for batch in self.batches:
            yield from ({"n": n} for n in batch["n"])


def prepared(loader: Any, **configuration: Any) -> Any:
    config = DataLoaderConfiguration(**configuration)
    return Accelerator(cpu=True, dataloader_config=config).prepare(loader)


def read(name: str, records: Any, configuration: Any, **options: Any) -> None:
    with case(name) as report:
        loader = prepared(DataLoader(records, **{"batch_size": None, **options}), **configuration)
        report["length"] = len(loader) if isinstance(records, atds.torch.Dataset) else None
        report["epochs"] = [numbers(loader) for _ in range(2)]
    # If ranks failed at different times, one would wait in the next case.
    torch.distributed.barrier()


def read_all_ways(how: str, configuration: Any) -> None:
    def loaded(name: str, records: Any = None, **options: Any) -> None:
        read(f"{how}, {name}", records or dataset(**SHUFFLED), configuration, **options)

    loaded("no workers")
    loaded("workers", num_workers=2)
    spawned = {"num_workers": 1, "multiprocessing_context": "spawn", "persistent_workers": True}
    loaded("spawned workers", **spawned)
    loaded("drop_remainder", dataset(drop_remainder=True, **SHUFFLED))
    loaded("in any order", num_workers=2, in_order=False)
    for layout in ("coo", "ragged"):
        sparse = atds.VarlenFeature([None], "int64", layout=layout)  # type: ignore[arg-type]
        loaded(f"varlen {layout}", dataset({**POINT, "ids": sparse}, **SHUFFLED))
    loaded("pad", dataset(uneven="pad", **SHUFFLED))
    loaded("batch_size", batch_size=8)
    loaded("batch_size, workers", batch_size=8, num_workers=1)
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    loaded("rank given", dataset(rank=rank, world_size=size, **SHUFFLED))
    loaded("alone", dataset(rank=0, world_size=1, **SHUFFLED))
    loaded("rows", Rows(dataset(**SHUFFLED)), batch_size=8)
    alone = Rows(dataset(rank=0, world_size=1, **SHUFFLED))
    loaded("rows, alone", alone, batch_size=8, drop_last=True)

    with case(f"{how}, skipped") as report:
        loader = prepared(DataLoader(dataset(), batch_size=None), **configuration)
        report["epochs"] = [numbers(skip_first_batches(loader, 3)) for _ in range(2)]


if __name__ == "__main__":
    Accelerator(cpu=True)
    read_all_ways("dispatched", {})
    read_all_ways("not dispatched", {"dispatch_batches": False})
    read("uneven batches", dataset(**SHUFFLED), {"even_batches": False})
    with case("each batch split") as report:
        splitting = DataLoaderDispatcher(dataset(**SHUFFLED), split_batches=True, batch_size=None)
        report["length"] = len(splitting)
        report["epochs"] = [numbers(splitting) for _ in range(2)]
    read("split_batches", dataset(**SHUFFLED), {"split_batches": True}, batch_size=8)
    torch.distributed.destroy_process_group()
    write()
