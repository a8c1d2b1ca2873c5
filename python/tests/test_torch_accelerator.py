"""`benches/accelerator.py`. Only a machine with an accelerator can run its measurements."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from frameworks import need

torch = need("torch")
from atds.torch import packing

SCRIPT = Path(__file__).resolve().parents[2] / "benches" / "accelerator.py"


@pytest.fixture
def script() -> Any:
    spec = importlib.util.spec_from_file_location("accelerator", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_an_accelerator_it_says_so(
    script: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "has_accelerator", lambda: False)
    monkeypatch.setattr(sys, "argv", ["accelerator.py"])
    assert script.main() == 0
    assert capsys.readouterr().out == (
        f"no accelerator: PyTorch {torch.__version__} finds none, so that nothing was measured\n"
    )


def test_its_loops(script: Any, clicks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops run on the CPU, with ordinary instead of pinned memory."""
    monkeypatch.setattr(packing, "has_accelerator", lambda: True)
    monkeypatch.setattr(packing, "pinned_bytes", lambda size: torch.empty(size, dtype=torch.uint8))
    monkeypatch.setattr(torch.Tensor, "pin_memory", torch.Tensor.clone)
    rates = script.measure(Path(clicks), 64, 1, torch.device("cpu"))
    assert list(rates) == ["none", "tensors", "packed"]
    assert all(rate > 0 for rate in rates.values())
