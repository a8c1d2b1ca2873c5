"""The example of training a model in Keras."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from frameworks import need

need("tensorflow")

EXAMPLE = Path(__file__).parents[2] / "examples" / "keras_clicks.py"


def test_the_loss_of_the_click_model_falls() -> None:
    command = [sys.executable, str(EXAMPLE), "--records", "3000", "--epochs", "3"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    losses = [float(loss) for loss in re.findall(r"mean loss (\S+)$", done.stdout, re.MULTILINE)]
    assert len(losses) == 3
    # An untrained model has a loss of 0.693.
    assert losses[0] > losses[1] > losses[2]
    assert losses[2] < 0.55
