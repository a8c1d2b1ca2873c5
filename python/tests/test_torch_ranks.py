"""Ranks of a distributed training: they share the records and stay in step."""

from __future__ import annotations

import itertools
import json
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import atds
from conftest import NUMBER
from frameworks import need

torch = need("torch")
from torch.utils.data import DataLoader
from torch_loading import flat, load

import atds.torch
from atds.torch.shares import rank_share, report, worker_share

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

#: Seconds after which ranks that wait for each other count as hanging.
HANGS = 240


@pytest.mark.parametrize("drop_remainder", [False, True])
@pytest.mark.parametrize("uneven", ["drop", "pad", "keep"])
def test_shares_of_all_sizes(uneven: Any, drop_remainder: bool) -> None:
    for records in (*range(14), 63, 64, 65, 100):
        for batch_size in (1, 2, 5, 64):
            for world_size in (1, 2, 3, 7):
                shares = [
                    rank_share(records, batch_size, drop_remainder, rank, world_size, uneven)
                    for rank in range(world_size)
                ]
                check_ranks(shares, records, batch_size, uneven)
                for share in shares:
                    for workers in (1, 2, 4):
                        check_workers(share, batch_size, workers, drop_remainder)


def check_ranks(shares: list[Any], records: int, batch_size: int, uneven: str) -> None:
    bounds = [share.records for share in shares]
    assert (bounds[0][0], bounds[-1][1]) == (0, records)
    assert all(one[1] == next[0] for one, next in itertools.pairwise(bounds))
    batches = {share.batches for share in shares}
    made = shares[0].rank_batches
    assert max(made) - min(made) <= 1
    assert all(share.rank_batches == made for share in shares)
    assert shares[0].even == (len(batches) == 1)
    if uneven == "keep":
        assert [share.batches for share in shares] == list(made)
    else:
        assert batches == {min(made) if uneven == "drop" else max(made)}
    assert (report(shares[0], uneven) is None) == (min(made) == max(made))
    for share in shares:
        assert share.batches == share.padding + min(share.batches, made[share.rank])
        held = share.records[1] - share.records[0]
        taken = min(held, (share.batches - share.padding) * batch_size)
        assert share.dropped_records == held - taken
    dropped = {share.total_dropped_records for share in shares}
    assert dropped == {sum(share.dropped_records for share in shares)}


def check_workers(share: Any, batch_size: int, workers: int, drop_remainder: bool) -> None:
    parts = [worker_share(share, batch_size, worker, workers) for worker in range(workers)]
    assert (parts[0].records[0], parts[-1].records[1]) == share.records
    found = 0
    for part, behind in zip(parts, [*parts[1:], None], strict=True):
        held = part.records[1] - part.records[0]
        made = held // batch_size if drop_remainder else -(-held // batch_size)
        if behind is not None:
            assert part.records[1] == behind.records[0]
            assert held % batch_size == 0
        assert part.made == made
        found += part.taken + part.padding
    assert found == share.batches


@pytest.mark.parametrize("workers", [0, 3])
def test_ranks_share_the_records(numbers: str, workers: int) -> None:
    shuffled = {"shuffle_files": True, "shuffle_blocks": True, "seed": 1}
    for options in ({}, shuffled, {"shuffle": "blocks", "seed": 1}):
        ranks = [
            atds.torch.Dataset(numbers, 30, NUMBER, rank=rank, world_size=3, **options)  # type: ignore[arg-type]
            for rank in range(3)
        ]
        for _ in range(2):
            found = [load(dataset, num_workers=workers) for dataset in ranks]
            assert [len(batches) for batches in found] == [12, 12, 12]
            assert [len(dataset) for dataset in ranks] == [12, 12, 12]
            assert sorted(n for batches in found for batch in batches for n in batch) == list(
                range(1000)
            )
    assert ranks[1].share.records == (333, 666)


def test_ranks_read_other_records_in_every_epoch_where_blocks_are_shuffled(numbers: str) -> None:
    dataset = atds.torch.Dataset(
        numbers, 30, NUMBER, shuffle_blocks=True, seed=1, rank=0, world_size=2
    )
    first, second = (sorted(flat(load(dataset))) for _ in range(2))
    assert len(first) == len(second) == 500
    assert first != second


@pytest.fixture
def equal(write: Any) -> list[str]:
    """Six files with the numbers from 0 to 59, in the same blocks."""
    fields, records = [{"name": "n", "type": "long"}], [{"n": n} for n in range(60)]
    return [str(write(fields, records, f"{file}.avro", sync_interval=1)) for file in range(6)]


def test_ranks_and_workers_draw_independently(equal: list[str]) -> None:
    options: dict[str, Any] = {"shuffle_buffer_size": 30, "seed": 3}

    def read(rank: int, workers: int) -> list[list[list[int]]]:
        dataset = atds.torch.Dataset(equal, 10, NUMBER, rank=rank, world_size=3, **options)
        return [load(dataset, num_workers=workers) for _ in range(2)]

    # Each of two workers reads a file. The loader takes their batches in turn.
    orders = [
        tuple(flat(batches[worker::2]))
        for rank in range(3)
        for batches in read(rank, workers=2)
        for worker in range(2)
    ]
    assert all(sorted(order) == list(range(60)) for order in orders)
    assert len(set(orders)) == 12
    # The only worker draws as none does, and a rank as the shard of its index.
    assert read(1, workers=1) == read(1, workers=0)
    shard = atds.Dataset(equal, 10, NUMBER, shard=(1, 3), **options)
    assert [[b["n"].tolist() for b in shard] for _ in range(2)] == read(1, workers=0)


def uneven(path: str, rank: int, **options: Any) -> Any:
    """The data set of a rank. Rank 2 has 67 records in 7 batches, the others 66 in 6."""
    return atds.torch.Dataset(path, 11, NUMBER, rank=rank, world_size=3, **options)


@pytest.fixture
def few(write: Any) -> str:
    """199 records with their number."""
    return str(
        write([{"name": "n", "type": "long"}], [{"n": n} for n in range(199)], sync_interval=90)
    )


def test_a_batch_that_only_some_ranks_have_is_dropped(
    few: str, caplog: pytest.LogCaptureFixture
) -> None:
    ranks = [uneven(few, rank) for rank in range(3)]
    assert [len(dataset) for dataset in ranks] == [6, 6, 6]
    for workers in (0, 2):
        assert [len(load(dataset, num_workers=workers)) for dataset in ranks] == [6, 6, 6]
        assert sorted(flat(load(ranks[2], num_workers=workers))) == list(range(132, 198))
    assert [dataset.share.dropped_records for dataset in ranks] == [0, 0, 1]
    assert [dataset.share.total_dropped_records for dataset in ranks] == [1, 1, 1]
    assert ranks[0].share.rank_batches == (6, 6, 7)
    assert all(dataset.share.even for dataset in ranks)
    # The warning comes once for each data set, however often it is read.
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (
            logging.WARNING,
            (
                f"rank {rank}: the records of 3 ranks make 6 batches on some and 7 on others: the "
                f"last is dropped on these, here {dropped} records, on all ranks 1"
            ),
        )
        for rank, dropped in enumerate([0, 0, 1])
    ]


def test_a_batch_that_only_some_ranks_have_is_made_up_for(
    few: str, caplog: pytest.LogCaptureFixture
) -> None:
    ranks = [uneven(few, rank, uneven="pad", mask="real") for rank in range(3)]
    for workers in (0, 2):
        rows: list[int] = []
        for dataset in ranks:
            loader = DataLoader(dataset, batch_size=None, num_workers=workers)
            batches = list(loader)
            assert len(batches) == len(dataset) == 7
            for batch in batches:
                assert batch["real"].dtype == torch.bool
                assert batch["real"].shape == batch["n"].shape
            rows += [n for batch in batches for n in batch["n"][batch["real"]].tolist()]
            padding = [batch for batch in batches if not batch["real"].any()]
            assert [batch["n"].tolist() for batch in padding] == (
                [list(range(11))] * dataset.share.padding
            )
        assert sorted(rows) == list(range(199))
    assert [dataset.share.padding for dataset in ranks] == [1, 1, 0]
    assert "ranks with fewer repeat records in a last batch whose mask is false" in caplog.text


def test_a_batch_that_only_some_ranks_have_is_kept(
    few: str, caplog: pytest.LogCaptureFixture
) -> None:
    ranks = [uneven(few, rank, uneven="keep") for rank in range(3)]
    found = [load(dataset) for dataset in ranks]
    assert [len(batches) for batches in found] == [len(dataset) for dataset in ranks] == [6, 6, 7]
    assert sorted(n for batches in found for batch in batches for n in batch) == list(range(199))
    assert not ranks[0].share.even
    assert "collective operations may wait for ever" in caplog.text


def test_ranks_without_records(few: str) -> None:
    for uneven, batches in (("drop", 0), ("pad", 1), ("keep", 0)):
        dataset = atds.torch.Dataset(
            few,
            11,
            NUMBER,
            rank=0,
            world_size=200,
            uneven=uneven,  # type: ignore[arg-type]
        )
        assert dataset.share.records == (0, 0)
        for workers in (0, 2):
            assert len(load(dataset, num_workers=workers)) == len(dataset) == batches


def distributed(folder: Path, code: str, *args: str, world_size: int = 2) -> list[Any]:
    """The JSON that each rank prints. `torch.distributed` connects the processes with gloo."""
    start = """
        import json, os, sys
        import torch, torch.distributed as dist
        import atds, atds.torch
        from torch.utils.data import DataLoader

        def main():
            rank, size, store, *args = sys.argv[1:]
            dist.init_process_group(
                "gloo", init_method="file://" + store, rank=int(rank), world_size=int(size)
            )
            print(json.dumps(run(*args)), flush=True)
            dist.destroy_process_group()
    """
    script = folder / "rank.py"
    end = "if __name__ == '__main__':\n    main()\n"
    script.write_text(textwrap.dedent(start) + textwrap.dedent(code) + end)
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    store = folder / "store"
    ranks = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), str(world_size), str(store), *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(world_size)
    ]
    try:
        done = [rank.communicate(timeout=HANGS) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    for rank, (_, errors) in zip(ranks, done, strict=True):
        assert rank.returncode == 0, errors
    return [json.loads(out.splitlines()[-1]) for out, _ in done]


def test_ranks_of_torch_distributed(numbers: str, tmp_path: Path) -> None:
    code = """
        def run(path):
            features = {"n": atds.DenseFeature([], "int64")}
            dataset = atds.torch.Dataset(
                path, 32, features, shuffle_buffer_size=100, shuffle_blocks=True, seed=2
            )
            found = []
            for workers, method in ((0, None), (1, "fork"), (4, "fork"), (1, "spawn"), (2, "spawn")):
                loader = DataLoader(
                    dataset, batch_size=None, num_workers=workers, multiprocessing_context=method
                )
                batches = [batch["n"].tolist() for batch in loader]
                assert len(batches) == len(loader), (workers, method)
                found.append(sum(batches, []))
                dist.barrier()
            return {"share": [dataset.share.rank, dataset.share.world_size], "epochs": found}
    """
    ranks = distributed(tmp_path, code, numbers)
    assert [rank["share"] for rank in ranks] == [[0, 2], [1, 2]]
    for one, other in zip(ranks[0]["epochs"], ranks[1]["epochs"], strict=True):
        assert (len(one), len(other)) == (500, 500)
        assert sorted(one + other) == list(range(1000))


def test_a_distributed_training_does_not_wait_for_ever(few: str, tmp_path: Path) -> None:
    # Two ranks have 100 and 99 of the 199 records: 4 and 3 batches of 33. Each step averages the
    # gradients, so it waits for the other rank.
    code = """
        def run(path):
            features = {"n": atds.DenseFeature([], "float32", cast=True)}
            model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
            optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
            steps = {}
            for uneven in ("drop", "pad"):
                dataset = atds.torch.Dataset(path, 33, features, uneven=uneven)
                steps[uneven] = 0
                for batch in DataLoader(dataset, batch_size=None, num_workers=2):
                    n = batch["n"].unsqueeze(1)
                    loss = (model(n) - 3 * n).square()
                    if uneven == "pad":
                        loss = loss * batch["mask"].unsqueeze(1)
                    optimizer.zero_grad()
                    loss.mean().backward()
                    optimizer.step()
                    steps[uneven] += 1
            dist.barrier()
            return [steps, [p.flatten().tolist() for p in model.parameters()]]
    """
    ranks = distributed(tmp_path, code, few)
    assert [steps for steps, _ in ranks] == [{"drop": 3, "pad": 4}] * 2
    assert ranks[0][1] == ranks[1][1]


def test_a_data_set_made_before_the_ranks_are_known(few: str, tmp_path: Path) -> None:
    code = """
        def run(path):
            features = {"n": atds.DenseFeature([], "int64")}
            rank = dist.get_rank()
            dist.barrier()
            dist.destroy_process_group()
            dataset = atds.torch.Dataset(path, 10, features)
            alone = len(dataset)
            dist.init_process_group(
                "gloo", init_method="file://" + sys.argv[3] + "2", rank=rank, world_size=2
            )
            loader = DataLoader(
                dataset, batch_size=None, num_workers=1, multiprocessing_context="spawn"
            )
            return [alone, len(dataset), sum((batch["n"].tolist() for batch in loader), [])]
    """
    (one, own, numbers), (_, _, others) = distributed(tmp_path, code, few)
    assert (one, own) == (20, 10)
    assert sorted(numbers + others) == list(range(199))
