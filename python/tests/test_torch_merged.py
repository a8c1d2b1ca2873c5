"""Ranks save their merged state, and another number of ranks goes on with it: in processes of torchrun."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from frameworks import need

need("torch")
need("torchdata")
need("accelerate")
from torch_launch import RECORDS, Reports, launch

STEPS, BATCH = 5, 17

Runs = tuple[Reports, Reports]


@pytest.fixture(scope="module", params=["torchdata", "accelerate"])
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The reports of the four ranks that save, and of the three that go on."""
    folder = tmp_path_factory.mktemp(request.param)
    saved = launch("run_merged.py", folder, "save", request.param, ranks=4)
    for report in folder.glob("*.json"):
        report.unlink()
    return saved, launch("run_merged.py", folder, "go on", request.param, ranks=3)


@pytest.mark.parametrize("case", ["in order", "shuffled", "blocks"])
def test_three_ranks_go_on_with_the_state_of_four(runs: Runs, case: str) -> None:
    saved, gone_on = ([report[case] for report in reports] for reports in runs)
    assert [report["error"] for report in [*saved, *gone_on]] == [None] * 7

    def batches(reports: list[dict[str, Any]]) -> list[list[int]]:
        return [batch for report in reports for batch in report["epochs"][0]]

    assert [len(batch) for batch in batches(saved)] == [BATCH] * (4 * STEPS)
    steps = {len(report["epochs"][0]) for report in gone_on}
    assert steps == {report["length"] for report in gone_on} and len(steps) == 1
    read = list(itertools.chain(*batches(saved), *batches(gone_on)))
    assert len(set(read)) == len(read)
    dropped = {report["dropped"] for report in gone_on}
    assert dropped == {RECORDS - len(read)}
    # A batch that not all ranks have is dropped, or the others have padding.
    assert dropped == {0} or (case != "blocks" and max(dropped) < 3 * 26)
    # All ranks have merged the same.
    (state,) = {json.dumps(report["state"], sort_keys=True) for report in saved}
    assert len(state) < 1024


def test_the_same_ranks_go_on(runs: Runs) -> None:
    for report in runs[0]:
        assert report["alike"]["error"] is None
        rest, found, following, after = report["alike"]["epochs"]
        assert found == rest != []
        assert after == following != rest


def test_lightning_s_checkpoint_can_have_the_merged_state(tmp_path: Path) -> None:
    need("lightning")

    def run(action: str, ranks: int) -> list[dict[str, Any]]:
        reports = launch("run_merged_lightning.py", tmp_path, action, ranks=ranks)
        return [report["lightning"] for report in reports]

    saved, gone_on = run("save", 2), run("go on", 3)
    assert [report["error"] for report in [*saved, *gone_on]] == [None] * 5
    assert [len(report["epochs"][0]) for report in saved] == [5, 5]
    # The weights are those of the checkpoint, too.
    assert all(report["weight"] > 0 for report in gone_on)
    assert len({len(report["epochs"][0]) for report in gone_on}) == 1
    batches = [batch for report in [*saved, *gone_on] for batch in report["epochs"][0]]
    read = list(itertools.chain(*batches))
    assert len(set(read)) == len(read) > RECORDS - 3 * 26
