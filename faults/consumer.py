"""A consumer that is killed: it appends the ids of each batch, and then the state, to its log, synced."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import atds

RECORDS, FILES, BLOCK, BATCH, PASSES = 600, 3, 7, 16, 3


@dataclass(frozen=True)
class Job:
    """How a consumer reads. All its lives read alike, but for the number of threads."""

    files: str
    log: str
    seed: int
    shuffled: bool
    # Workers of torchdata's StatefulDataLoader; None without it.
    workers: int | None
    # Steps between snapshots of the workers.
    snapshot_every: int
    # What goes wrong on purpose when it goes on: it "loses" or "repeats" a batch, "raises" or "hangs".
    planted: str | None = None


def consume(job: Job, threads: int, states_back: int) -> None:
    """Read to the end of all passes, from one of the latest states in the log."""
    log = Log(Path(job.log))
    number, passed, state = log.state(states_back)
    if job.planted == "repeats" and number is not None:
        # The log says this state, but the reader starts from the one before.
        _, passed, state = log.state(states_back + 1)
    log.append({"resumed": number})
    if job.planted == "raises" and number is not None:
        raise RuntimeError("as planted")
    if job.planted == "hangs" and number is not None:
        time.sleep(3600)
    reader = _loader(job, threads) if job.workers is not None else _plain(job, threads)
    if state is not None:
        reader.load(state)
    for number_of_pass in range(passed, PASSES):
        batches = reader.batches()
        if job.planted == "loses" and number is not None and number_of_pass == passed:
            next(batches, None)
        for ids in batches:
            log.append({"ids": ids, "pass": number_of_pass})
            log.append_state(number_of_pass, reader.state())
        # After the loop, the state is the start of the next pass.
        log.append_state(number_of_pass + 1, reader.state())
    log.append({"end": True})


class Log:
    """The log of a consumer. Every line is on the disk before the consumer goes on."""

    def __init__(self, path: Path) -> None:
        text = path.read_bytes() if path.exists() else b""
        self.states = []
        for line in text.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if "resumed" in entry:
                resumed = entry["resumed"]
                kept = [] if resumed is None else self.states
                self.states = [state for state in kept if state["state"] <= resumed]
            if "state" in entry:
                self.states.append(entry)
        # Numbers are never used twice: a state of batches that do not count has one, too.
        self.next = text.count(b'"state":')
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        if text and not text.endswith(b"\n"):
            os.write(self.file, b"\n")

    def state(self, back: int) -> tuple[int | None, int, Any]:
        """A state's number, the pass it is in, and the state: the last, or one of those before."""
        if back >= len(self.states):
            return None, 0, None
        entry = self.states[-1 - back]
        return entry["state"], entry["pass"], entry["saved"]

    def append_state(self, number_of_pass: int, saved: Any) -> None:
        """Append a state with the next number."""
        self.append({"state": self.next, "pass": number_of_pass, "saved": saved})
        self.next += 1

    def append(self, entry: dict[str, Any]) -> None:
        """Append a line, synced."""
        # One call: a kill cuts a line at its end, if at all.
        os.write(self.file, json.dumps(entry).encode() + b"\n")
        os.fsync(self.file)


def _options(job: Job, threads: int) -> dict[str, Any]:
    shuffled = {"shuffle_buffer_size": 100, "shuffle_files": True, "shuffle_blocks": True}
    return {
        "seed": job.seed,
        "num_parallel_calls": threads,
        **(shuffled if job.shuffled else {}),
    }


FEATURES = {"id": atds.DenseFeature([], "int64")}


class _Plain:
    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.load = dataset.load_state_dict
        self.state = dataset.state_dict

    def batches(self) -> Iterator[list[int]]:
        for batch in self.dataset:
            yield batch["id"].tolist()


def _plain(job: Job, threads: int) -> _Plain:
    return _Plain(atds.Dataset(job.files, BATCH, FEATURES, **_options(job, threads)))


class _Loader:
    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.load = loader.load_state_dict
        self.state = loader.state_dict

    def batches(self) -> Iterator[list[int]]:
        for batch in self.loader:
            yield batch["id"].tolist()


def _loader(job: Job, threads: int) -> _Loader:
    from torchdata.stateful_dataloader import StatefulDataLoader

    import atds.torch

    dataset = atds.torch.Dataset(job.files, BATCH, FEATURES, **_options(job, threads))
    loader = StatefulDataLoader(
        dataset,
        batch_size=None,
        num_workers=job.workers,
        multiprocessing_context="fork" if job.workers else None,
        snapshot_every_n_steps=job.snapshot_every,
    )
    return _Loader(loader)


def steps(job: Job) -> int:
    """The number of batches of a pass."""
    readers = job.workers or 1
    shares = [RECORDS // readers + (1 if n < RECORDS % readers else 0) for n in range(readers)]
    return sum(-(-share // BATCH) for share in shares)
