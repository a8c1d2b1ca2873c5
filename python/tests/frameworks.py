"""Imports frameworks. Tests without theirs are skipped, and the reason says what to install."""

from __future__ import annotations

import importlib
from typing import Any

import pytest


def need(module: str) -> Any:
    """Imports the module. If it is missing, skips the test or the test module."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        reason = f"{package} cannot be imported ({error}): make test FRAMEWORKS=all"
        pytest.skip(reason, allow_module_level=True)
