"""Runs scripts as ranks on this machine, and collects the reports of the ranks."""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fastavro

#: The scripts have a folder of their own, since Python imports modules from a script's folder.
SCRIPTS = Path(__file__).parent / "ranks"

#: Seconds after which ranks that wait for each other count as hanging.
HANGS = 400

#: Number of records that the scripts read. Two ranks cannot share it evenly.
RECORDS = 1001

Reports = list[dict[str, Any]]


def torchrun(ranks: int) -> tuple[str, ...]:
    """The way that ranks of a script are started."""
    return ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks))


def launch(
    script: str, folder: Path, *arguments: str, with_: tuple[str, ...] | None = None, ranks: int = 2
) -> Reports:
    """The reports of each rank of a script, by the name of the case."""
    with_ = torchrun(ranks) if with_ is None else with_
    if not (folder / "numbers.avro").exists():
        write_numbers(folder)
    environment = {
        **os.environ,
        "ACCELERATE_USE_CPU": "true",
        "GLOO_SOCKET_IFNAME": "lo",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, *with_, str(SCRIPTS / script), str(folder), *arguments],
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(ranks)]


def write_numbers(folder: Path) -> None:
    """The records that the scripts read."""
    schema = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "n", "type": "long"},
            {"name": "x", "type": {"type": "array", "items": "float"}},
            {"name": "ids", "type": {"type": "array", "items": "long"}},
        ],
    }
    records = [{"n": n, "x": [n, 1.0], "ids": list(range(n % 4))} for n in range(RECORDS)]
    with (folder / "numbers.avro").open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), records, sync_interval=200)


def assert_read_once(
    ranks: Reports, case: str, *, dropped: int = 0, batches: int = 16, shuffled: bool = True
) -> None:
    """Checks that each epoch of a case reads each record once, except for a number of dropped records.

    All ranks must have the same number of batches, and each epoch another order.
    """
    reports = [rank[case] for rank in ranks]
    assert [report["error"] for report in reports] == [None, None]
    for epoch in zip(*(report["epochs"] for report in reports), strict=True):
        assert [len(found) for found in epoch] == [batches, batches]
        rows = collections.Counter(n for found in epoch for batch in found for n in batch)
        assert max(rows.values()) == 1
        assert set(rows) <= set(range(RECORDS))
        assert len(rows) == RECORDS - dropped
        # The numbers of records of two ranks differ by at most one.
        held = [sum(map(len, found)) for found in epoch]
        assert abs(held[0] - held[1]) <= 1
    for report in reports:
        assert report["length"] in (None, batches)
        orders = {json.dumps(epoch) for epoch in report["epochs"]}
        assert len(orders) == (len(report["epochs"]) if shuffled else 1)


def errors(ranks: Reports, case: str) -> str:
    """The error of a case on all ranks. It must be the same except for the rank's number."""
    found = [rank[case]["error"] for rank in ranks]
    assert all(found), found
    assert found[0].replace("rank=0", "rank=1") == found[1].replace("rank=0", "rank=1")
    return str(found[0])
