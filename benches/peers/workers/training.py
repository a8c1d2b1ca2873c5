"""A click model in PyTorch on the CPU, with one of several kinds of input.

The model is a network over dense features and embeddings of sparse features. It trains one step per
batch with one thread. So on two cores, the model and its input have a core each.
"""

import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator

import fastavro
import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

import atds
import atds.torch

from .protocol import Measured, files_of, serve

LABEL = "s_click"
DENSE = {"d0": 8, "d1": 16, "d5": 64, "d6": 64, "d7": 128}
SPARSE = {"sp0": 50_001, "sp1": 200_000, "sp2": 1_000}

# Number of measured steps, after warm-up steps. Both exceed every queue of ready batches.
STEPS = 64
WARM_UP_STEPS = 12

# A dense tensor, or the ids, offsets and weights of an EmbeddingBag.
Batch = dict[str, Tensor | tuple[Tensor, Tensor, Tensor]]


class Model(nn.Module):
    """The logit of a click for each row of a batch."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embeddings = nn.ModuleDict(
            {
                name: nn.EmbeddingBag(ids, width, mode="sum", sparse=True)
                for name, ids in SPARSE.items()
            }
        )
        inputs = width * len(SPARSE) + sum(DENSE.values())
        self.deep = nn.Sequential(
            nn.Linear(inputs, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 1)
        )

    def forward(self, batch: Batch) -> Tensor:
        """Map the columns of a batch to ``[rows]``."""
        parts = [embed(*batch[name]) for name, embed in self.embeddings.items()]
        return self.deep(torch.cat([*parts, *(batch[name] for name in DENSE)], dim=1)).squeeze(1)


def ours(job: dict) -> Iterable[Batch]:
    """``atds.torch``, with its threads in this process."""
    features: dict[str, atds.Feature] = {LABEL: atds.DenseFeature([], "bool")}
    features |= {name: atds.DenseFeature([length], "float32") for name, length in DENSE.items()}
    features |= {name: atds.SparseFeature([ids], "float32") for name, ids in SPARSE.items()}
    dataset = atds.torch.Dataset(
        files_of(job),
        job["batch_size"],
        features,
        num_parallel_calls=job["threads"],
        sparse="bag",
    )
    return DataLoader(dataset, batch_size=None)


class Records(IterableDataset):
    """Records as fastavro reads them; the workers share the files."""

    def __init__(self, files: list[str]) -> None:
        self._files = files

    def __iter__(self) -> Iterator[dict]:
        worker = get_worker_info()
        mine = self._files if worker is None else self._files[worker.id :: worker.num_workers]
        for path in mine:
            with open(path, "rb") as file:
                yield from fastavro.reader(file)


def collate(records: list[dict]) -> Batch:
    """Make a batch of records, without a loop over values in Python."""
    batch: Batch = {LABEL: torch.tensor([record[LABEL] for record in records])}
    for name in DENSE:
        batch[name] = torch.from_numpy(np.array([r[name] for r in records], dtype=np.float32))
    for name in SPARSE:
        rows = [record[name] for record in records]
        lengths = [len(row["values"]) for row in rows]
        offsets = torch.from_numpy(np.cumsum([0, *lengths[:-1]], dtype=np.int64))
        ids = flat((row["indices0"] for row in rows), sum(lengths), np.int64)
        batch[name] = (
            ids,
            offsets,
            flat((row["values"] for row in rows), sum(lengths), np.float32),
        )
    return batch


def flat(lists: Iterable[list], total: int, dtype: type) -> Tensor:
    """Concatenate lists."""
    return torch.from_numpy(np.fromiter(itertools.chain.from_iterable(lists), dtype, total))


def by_fastavro(workers: int) -> Callable[[dict], Iterable[Batch]]:
    """fastavro and `collate`, in this process or in worker processes."""

    def feed(job: dict) -> Iterable[Batch]:
        records = Records(files_of(job))
        return DataLoader(records, job["batch_size"], collate_fn=collate, num_workers=workers)

    return feed


def nothing(job: dict) -> Iterable[Batch]:
    """The first batch repeated, to measure the model alone."""
    return itertools.repeat(next(iter(ours(job))))


FEEDS = {
    "atds.torch": ours,
    "fastavro": by_fastavro(0),
    "fastavro, 2 workers": by_fastavro(2),
    "no input": nothing,
}


def steps(feed: Callable[[dict], Iterable[Batch]]) -> Callable[[dict], Measured]:
    """Train on some batches. Return the records, the seconds, and the seconds of waiting."""

    def epoch(job: dict) -> Measured:
        torch.manual_seed(7)
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        batches = iter(feed(job))
        records, waited, start = 0, 0.0, 0.0
        for step in range(WARM_UP_STEPS + STEPS):
            if step == WARM_UP_STEPS:
                records, waited, start = 0, 0.0, time.perf_counter()
            asked = time.perf_counter()
            batch = next(batches)
            waited += time.perf_counter() - asked
            clicked = batch[LABEL].float()
            loss = nn.functional.binary_cross_entropy_with_logits(model(batch), clicked)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            records += len(clicked)
        return Measured(records, time.perf_counter() - start, waited)

    return epoch


if __name__ == "__main__":
    torch.set_num_threads(1)
    found = {"atds (Python)": atds.__version__, "torch": torch.__version__}
    serve(found | {"fastavro": fastavro.__version__}, steps(FEEDS[sys.argv[1]]))
