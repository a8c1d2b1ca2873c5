"""What the tests of states with PyTorch share."""

from __future__ import annotations

import json
from typing import Any

import pytest

#: Warnings of torchdata, and of four workers on two cores, which these tests leave out.
STATEFUL = [
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
    # As such a worker does in loops that are left.
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in.*DataLoaderIter:pytest.PytestUnraisableExceptionWarning"
    ),
]


def text(state: Any) -> Any:
    """A state as a checkpoint has it."""
    return json.loads(json.dumps(state))
