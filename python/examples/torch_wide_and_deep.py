"""A wide-and-deep click model in PyTorch, on advertising data in Avro files.

    python torch_wide_and_deep.py --records 20000 --epochs 3

`atds generate` first makes random data with the columns of a click model: scalars, dense vectors, and
sparse features with up to tens of thousands of ids. fastavro then rewrites the files with clicks
that depend on two of the vectors, so that a model can learn them. The model trains on shuffled
batches of these files.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import fastavro
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

import atds
import atds.torch

#: Sparse features and their numbers of ids.
SPARSE = {"sp0": 50_001, "sp2": 1_000}

#: Dense features and their lengths.
DENSE = {"d0": 8, "d1": 16}

FEATURES: dict[str, atds.Feature] = {
    "s_click": atds.DenseFeature([], "bool"),
    # PyTorch has no strings, so countries become ids.
    "s_country": atds.DenseFeature([], "int64", hash_buckets=64),
    **{name: atds.DenseFeature([length], "float32") for name, length in DENSE.items()},
    **{name: atds.SparseFeature([size], "float32") for name, size in SPARSE.items()},
}


class WideAndDeep(nn.Module):
    """A linear model of the ids, and a network over embeddings of them and the dense features."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.wide = nn.ModuleDict(
            {name: nn.EmbeddingBag(size, 1, mode="sum") for name, size in SPARSE.items()}
        )
        self.embeddings = nn.ModuleDict(
            {name: nn.EmbeddingBag(size, width, mode="sum") for name, size in SPARSE.items()}
        )
        self.country = nn.Embedding(64, width)
        for embedding in [*self.wide.values(), *self.embeddings.values()]:
            nn.init.normal_(embedding.weight, std=0.01)
        inputs = width * (len(SPARSE) + 1) + sum(DENSE.values())
        self.deep = nn.Sequential(
            nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1)
        )

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """The logit of a click for each row ``[B]`` of a batch."""
        # A bag is the three arguments of an EmbeddingBag: ids, offsets and weights.
        wide = sum(embed(*batch[name]) for name, embed in self.wide.items())
        deep = [embed(*batch[name]) for name, embed in self.embeddings.items()]
        deep += [self.country(batch["s_country"]), *(batch[name] for name in DENSE)]
        return (wide + self.deep(torch.cat(deep, dim=1))).squeeze(1)


def train(folder: Path, epochs: int, batch_size: int, workers: int) -> list[float]:
    """Trains a model on the files of a folder, and returns the mean loss of each epoch."""
    torch.manual_seed(7)
    dataset = atds.torch.Dataset(
        folder,
        batch_size,
        FEATURES,
        shuffle_buffer_size=8 * batch_size,
        seed=7,
        shuffle_files=True,
        sparse="bag",
    )
    loader = DataLoader(dataset, batch_size=None, num_workers=workers)
    model = WideAndDeep()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for epoch in range(epochs):
        total, rows = 0.0, 0
        for batch in loader:
            clicked = batch["s_click"].float()
            loss = nn.functional.binary_cross_entropy_with_logits(model(batch), clicked)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, rows = total + loss.item() * len(clicked), rows + len(clicked)
        losses.append(total / rows)
        print(f"epoch {epoch}: {len(loader)} steps, mean loss {losses[-1]:.4f}", flush=True)
    return losses


def make_data(folder: Path, records: int) -> None:
    """Makes files of advertising data whose clicks a model can learn."""
    with tempfile.TemporaryDirectory() as made:
        options = ["--records", str(records), "--files", "4", "--json"]
        command = [sys.executable, "-m", "atds", "generate", made, *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(Path(made).glob("*.avro")):
            with path.open("rb") as source, (folder / path.name).open("wb") as target:
                reader = fastavro.reader(source)
                clicked = map(with_click, reader)
                fastavro.writer(target, reader.writer_schema, clicked, codec="deflate")


def with_click(record: Any) -> Any:
    """The record, with a click that depends on two vectors."""
    return {**record, "s_click": sum(record["d0"]) > sum(record["d1"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=20_000, help="number of records")
    parser.add_argument("--epochs", type=int, default=3, help="number of epochs")
    parser.add_argument("--batch-size", type=int, default=128, help="number of records in a batch")
    parser.add_argument("--workers", type=int, default=0, help="number of worker processes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder), options.records)
        losses = train(Path(folder), options.epochs, options.batch_size, options.workers)
    if losses[-1] >= losses[0]:
        sys.exit("the loss did not fall")


if __name__ == "__main__":
    main()
