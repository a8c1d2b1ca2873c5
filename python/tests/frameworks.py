"""Frameworks that tests need: skipped without them, by a reason that says what to do."""

from __future__ import annotations

import importlib
from typing import Any

import pytest


def need(module: str) -> Any:
    """The module; without it the test, or the module that is collected, is skipped."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        reason = f"{package} cannot be imported ({error}): make test FRAMEWORKS=all"
        pytest.skip(reason, allow_module_level=True)
