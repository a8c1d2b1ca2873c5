"""The example of training a model in PyTorch."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from frameworks import need

need("torch")

EXAMPLE = Path(__file__).parents[1] / "examples" / "torch_wide_and_deep.py"


def test_the_loss_of_the_wide_and_deep_model_falls() -> None:
    command = [sys.executable, str(EXAMPLE), "--records", "3000", "--epochs", "3"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    said = re.findall(r"^epoch (\d): (\d+) steps, mean loss (\S+)$", done.stdout, re.MULTILINE)
    assert [(epoch, steps) for epoch, steps, _ in said] == [("0", "24"), ("1", "24"), ("2", "24")]
    losses = [float(loss) for _, _, loss in said]
    # An untrained model has a loss of 0.693.
    assert losses[0] > losses[1] > losses[2]
    assert losses[2] < 0.55
