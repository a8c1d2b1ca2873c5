"""Launchers of ranks, and the loaders that they wrap: each record is read once in an epoch."""

from __future__ import annotations

import pytest

from frameworks import need

need("torch")
from torch_launch import Reports, assert_read_once, errors, launch
from torch_loading import flat


@pytest.fixture(scope="module")
def torchrun(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return launch("run_torchrun.py", tmp_path_factory.mktemp("torchrun"))


@pytest.mark.parametrize(
    "case", ["not connected", "not connected, workers", "connected later", "connected"]
)
def test_torchrun(torchrun: Reports, case: str) -> None:
    assert_read_once(torchrun, case)


def test_torchrun_without_the_remainder(torchrun: Reports) -> None:
    assert_read_once(torchrun, "connected, drop_remainder", dropped=41, batches=15)


def test_torchrun_says_whose_rank_it_takes(torchrun: Reports) -> None:
    for rank, report in enumerate(torchrun):
        (said,) = report["not connected"]["said"]
        assert said == (
            f"rank {rank} reads its share of 2: torch.distributed is not initialised, and RANK and "
            "WORLD_SIZE are in the environment; give rank=0, world_size=1 to read all records"
        )
        assert report["connected"]["said"] == []
        # Follows the advice of the warning.
        alone = report["alone"]
        assert alone["said"] == []
        assert [sorted(flat(epoch)) for epoch in alone["epochs"]] == [list(range(1001))] * 2


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return launch("run_started.py", tmp_path_factory.mktemp("started"), with_=())


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_ranks_started_after_the_data_set_was_made(
    started: Reports, method: str, workers: int
) -> None:
    assert_read_once(started, f"{method}, {workers} workers")


@pytest.fixture(scope="module")
def accelerate(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    need("accelerate")
    return launch("run_accelerate.py", tmp_path_factory.mktemp("accelerate"))


@pytest.mark.parametrize("case", ["no workers", "workers", "spawned workers", "alone"])
def test_accelerate_dispatches(accelerate: Reports, case: str) -> None:
    assert_read_once(accelerate, f"dispatched, {case}", dropped=1)


def test_accelerate_dispatches_whole_batches(accelerate: Reports) -> None:
    # Each rank has 15 batches. If order did not matter, a smaller batch could come in between.
    for case in ("drop_remainder", "in any order"):
        assert_read_once(accelerate, f"dispatched, {case}", dropped=41, batches=15)


def test_accelerate_dispatches_records(accelerate: Reports) -> None:
    assert_read_once(accelerate, "dispatched, rows", dropped=1, batches=63)
    assert_read_once(accelerate, "dispatched, rows, alone", dropped=9, batches=62)


def test_accelerate_says_how_many_records_are_dropped(accelerate: Reports) -> None:
    said = [rank["dispatched, no workers"]["said"] for rank in accelerate]
    number = "1 of 1001 records are dropped, so that Accelerate's dispatcher gives 2 ranks the same"
    assert said == [[f"{number} number"], []]


@pytest.mark.parametrize(
    "case",
    [
        "no workers",
        "workers",
        "spawned workers",
        "in any order",
        "varlen coo",
        "varlen ragged",
        "pad",
        "rank given",
        "alone",
    ],
)
def test_accelerate_without_dispatching(accelerate: Reports, case: str) -> None:
    assert_read_once(accelerate, f"not dispatched, {case}")


def test_accelerate_without_dispatching_whole_batches(accelerate: Reports) -> None:
    assert_read_once(accelerate, "not dispatched, drop_remainder", dropped=41, batches=15)


def test_accelerate_with_uneven_batches(accelerate: Reports) -> None:
    assert_read_once(accelerate, "uneven batches", dropped=1)


def test_accelerate_splits_each_batch(accelerate: Reports) -> None:
    assert_read_once(accelerate, "each batch split", dropped=1, batches=32)


def test_accelerate_skips_batches(accelerate: Reports) -> None:
    for case, dropped in (("dispatched", 1), ("not dispatched", 0)):
        assert_read_once(
            accelerate,
            f"{case}, skipped",
            dropped=dropped + 3 * 2 * 32,
            batches=13,
            shuffled=False,
        )


#: The advice that `test_accelerate_without_dispatching` follows, as the error gives it.
DO_NOT_DISPATCH = "dataloader_config=DataLoaderConfiguration(dispatch_batches=False)"


@pytest.mark.parametrize(
    ("case", "error"),
    [
        ("varlen coo", "FeatureError: feature 'ids' cannot be split by Accelerate's dispatcher"),
        ("varlen ragged", "FeatureError: feature 'ids' cannot be split by Accelerate's"),
        ("pad", "OptionError: uneven='pad' is not possible with Accelerate's dispatcher"),
        ("rank given", "OptionError: rank=0, world_size=2 would lose records"),
    ],
)
def test_what_cannot_be_dispatched(accelerate: Reports, case: str, error: str) -> None:
    said = errors(accelerate, f"dispatched, {case}")
    assert said.startswith(error)
    assert DO_NOT_DISPATCH in said


def test_records_that_are_split_twice(accelerate: Reports) -> None:
    said = errors(accelerate, "not dispatched, rows")
    assert said.startswith("OptionError: IterableDatasetShard splits the batches among ranks")
    assert "give it rank=0, world_size=1" in said
    # Accelerate drops the remainder of 16 records for two ranks, as drop_last=True asks.
    assert_read_once(accelerate, "not dispatched, rows, alone", dropped=9, batches=62)


@pytest.mark.parametrize(
    "case",
    [
        "dispatched, batch_size",
        "dispatched, batch_size, workers",
        "not dispatched, batch_size",
        "not dispatched, batch_size, workers",
        "split_batches",
    ],
)
def test_accelerate_with_a_batch_size(accelerate: Reports, case: str) -> None:
    said = errors(accelerate, case)
    assert said.startswith("OptionError: the data set yields whole batches")
    assert "give it batch_size=None, and Accelerate no split_batches=True" in said


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    need("transformers")
    need("accelerate")
    return launch("run_trainer.py", tmp_path_factory.mktemp("trainer"))


@pytest.mark.parametrize("case", ["as it is", "as it is, workers", "as it is, not dispatched"])
def test_a_trainer_s_own_loader_is_refused(trainer: Reports, case: str) -> None:
    said = errors(trainer, case)
    assert said.startswith("OptionError: the data set yields whole batches")
    loader = "DataLoader(self.train_dataset, batch_size=None)"
    assert f"return self.accelerator.prepare({loader})" in said


@pytest.mark.parametrize("case", ["loader of batches", "loader of batches, workers"])
def test_a_trainer_with_a_loader_of_batches(trainer: Reports, case: str) -> None:
    assert_read_once(trainer, case)
    evaluated = sorted(n for rank in trainer for batch in rank[case]["evaluated"] for n in batch)
    assert evaluated == [*range(480), *range(500, 980)]


def test_a_trainer_with_a_prepared_loader(trainer: Reports) -> None:
    assert_read_once(trainer, "prepared", dropped=1)
    assert_read_once(trainer, "prepared, not dispatched")


@pytest.fixture(scope="module")
def lightning(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    need("lightning")
    return launch("run_lightning.py", tmp_path_factory.mktemp("lightning"), with_=())


@pytest.mark.parametrize("case", ["no workers", "workers", "persistent workers"])
def test_lightning(lightning: Reports, case: str) -> None:
    assert_read_once(lightning, case)
    assert_read_once(lightning, f"{case}, validated", shuffled=False)


def test_lightning_without_the_remainder(lightning: Reports) -> None:
    assert_read_once(lightning, "drop_remainder", dropped=41, batches=15)
