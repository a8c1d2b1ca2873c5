"""Batches on an accelerator: a loop of PyTorch over sample files, with batches pinned in three ways.

    python benches/accelerator.py [--records N] [--batch-size B] [--codec C]... [--epochs E] [--json FILE]

Each loop reads all columns of the preset `ads`, brings each batch to the device and does a small
step of training there. The loops differ in what lies between:

- `none`: batches stay in pageable memory, and each tensor is copied by itself.
- `tensors`: each tensor is copied to pinned memory by itself, as a DataLoader does it with any
  dict, and from there to the device.
- `packed`: `pin_memory=True` of `atds.torch.Dataset`: one allocation, and one copy.

Rounds of all loops follow each other, and the best of each counts. Needs PyTorch and this package,
built with optimisations. Without an accelerator nothing is measured, and this says so.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import atds
import atds.torch
from atds import _native
from atds.torch import packing

#: Brings a batch to a device.
Move = Callable[[atds.torch.Batch, torch.device], Any]


def main() -> int:
    arguments = parsed()
    if not packing.has_accelerator():
        print(
            f"no accelerator: PyTorch {torch.__version__} finds none, so that nothing was measured"
        )
        return 0
    device = torch.empty(0, device=accelerator()).device
    print(f"{device_name(device)}, PyTorch {torch.__version__}, {platform.processor()}")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for codec in arguments.codec:
            files = generate(Path(folder) / codec, codec, arguments.records)
            rates = measure(files, arguments.batch_size, arguments.epochs, device)
            found.append({"codec": codec, "samples_per_second": rates})
            for way, rate in rates.items():
                print(f"{codec:8} {way:8} {rate / 1e6:6.2f} million samples/s")
    if arguments.json is not None:
        record = {
            "device": device_name(device),
            "torch": torch.__version__,
            "records": arguments.records,
            "batch_size": arguments.batch_size,
            "loops": found,
        }
        arguments.json.write_text(json.dumps(record, indent=2) + "\n")
    return 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument("--batch-size", type=int, default=4096)
    parser.add_argument("--epochs", type=int, default=5, help="rounds of each loop")
    parser.add_argument("--codec", nargs="+", default=["deflate", "null"])
    parser.add_argument("--json", type=Path, help="where a record is written")
    return parser.parse_args()


def generate(folder: Path, codec: str, records: int) -> Path:
    """Sample files of a codec."""
    options = ["--records", str(records), "--codec", codec, "--json"]
    if _native.run_command(["atds", "generate", str(folder), *options]) != 0:
        sys.exit(1)
    return folder


def measure(files: Path, batch_size: int, rounds: int, device: torch.device) -> dict[str, float]:
    """Samples per second of each loop, in its best round after one that does not count."""
    ways = loops(files, batch_size)
    best = dict.fromkeys(ways, 0.0)
    step = Step(device)
    for round_number in range(rounds + 1):
        for way, (dataset, move) in ways.items():
            synchronize(device)
            begun = time.perf_counter()
            for batch in dataset:
                step(move(batch, device))
            synchronize(device)
            rate = dataset.num_records / (time.perf_counter() - begun)
            if round_number > 0:
                best[way] = max(best[way], rate)
    return best


def loops(files: Path, batch_size: int) -> dict[str, tuple[atds.torch.Dataset, Move]]:
    """The loops by name: what each reads, and how it brings batches to the device."""
    plain = atds.torch.Dataset(str(files), batch_size, sparse="bag")
    packed = atds.torch.Dataset(str(files), batch_size, sparse="bag", pin_memory=True)
    return {
        "none": (plain, lambda batch, device: batch.to(device)),
        "tensors": (plain, move_tensors),
        "packed": (packed, lambda batch, device: batch.to(device, non_blocking=True)),
    }


def move_tensors(batch: atds.torch.Batch, device: torch.device) -> Any:
    """Pins each tensor by itself, and copies it to the device."""

    def moved(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.pin_memory().to(device, non_blocking=True)

    return packing.map_tensors(dict(batch), moved)


class Step:
    """A step of training with the dense columns of floats."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._layer: torch.nn.Linear | None = None

    def __call__(self, batch: dict[str, Any]) -> None:
        inputs = torch.cat(list(dense_columns(batch)), dim=1)
        if self._layer is None:
            self._layer = torch.nn.Linear(inputs.shape[1], 64).to(self._device)
        loss = self._layer(inputs).square().mean()
        self._layer.zero_grad()
        loss.backward()


def dense_columns(batch: dict[str, Any]) -> Iterator[torch.Tensor]:
    for column in batch.values():
        if isinstance(column, torch.Tensor) and column.dtype == torch.float32:
            yield column.reshape(len(column), -1)


def accelerator() -> torch.device:
    # Older versions know of CUDA alone.
    if hasattr(torch, "accelerator"):
        found: torch.device = torch.accelerator.current_accelerator()
        return found
    return torch.device("cuda")


def synchronize(device: torch.device) -> None:
    """Waits for all that the device has to do."""
    if device.type != "cpu":
        getattr(torch, device.type).synchronize()


def device_name(device: torch.device) -> str:
    properties = getattr(getattr(torch, device.type), "get_device_name", None)
    return str(properties(device)) if properties is not None else str(device)


if __name__ == "__main__":
    sys.exit(main())
