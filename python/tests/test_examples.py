"""Runs the examples unchanged, with little data."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from frameworks import need

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(example: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs an example and checks that it succeeds."""
    command = [sys.executable, str(EXAMPLES / example), *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done


def test_the_loss_of_the_logistic_regression_falls() -> None:
    need("jax")
    done = run("jax_logistic_regression.py", "--records", "2000", "--epochs", "3")
    assert done.stderr == ""
    said = re.findall(r"^epoch \d: (\d+) steps, mean loss (\S+)$", done.stdout, re.MULTILINE)
    assert [steps for steps, _ in said] == ["15"] * 3
    losses = [float(loss) for _, loss in said]
    # An untrained model has a loss of 0.693.
    assert losses[0] > losses[1] > losses[2]
    assert losses[2] < 0.4


def test_digits_are_told_apart() -> None:
    need("sklearn")
    need("tqdm")
    done = run("digits.py", "--epochs", "5")
    share = re.match(r"^(\S+)% of the test digits are classified correctly$", done.stdout)
    assert share is not None, done.stdout
    assert float(share[1]) > 90
    # The bar shows the number of batches in four of five files. It may be drawn in full more than
    # once.
    bars = re.findall(r"(epoch \d): 100%\|.*\| 23/23 ", done.stderr)
    assert len(set(bars)) == 5, done.stderr
