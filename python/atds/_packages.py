"""Optional packages."""

from __future__ import annotations

import importlib
from typing import Any

from atds.errors import MissingPackageError


def need(module: str, what: str) -> Any:
    """The module. If it is missing, the error names its purpose and its package."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        package = _PACKAGES.get(name, name)
        raise MissingPackageError(
            f"{what} needs {package}, which is not installed: pip install {package}"
        ) from error


#: The packages of modules whose name differs from the package's.
_PACKAGES = {"ml_dtypes": "ml-dtypes"}
