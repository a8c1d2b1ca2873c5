"""Packages that are used where they are installed."""

from __future__ import annotations

import importlib
from typing import Any

from atds.errors import MissingPackageError


def need(module: str, what: str) -> Any:
    """The module, or an error that says what it is needed for and how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        package = _PACKAGES.get(name, name)
        raise MissingPackageError(
            f"{what} needs {package}, which is not installed: pip install {package}"
        ) from error


#: The packages of modules that are named otherwise.
_PACKAGES = {"ml_dtypes": "ml-dtypes"}
