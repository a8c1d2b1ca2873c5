"""Runs every example in the docstrings; scripts/examples.py runs those of the pages."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from inspect import isfunction
from pathlib import Path

import pytest

import atds
from frameworks import need


def modules() -> list[str]:
    found = pkgutil.walk_packages(atds.__path__, "atds.")
    names = [module.name for module in found]
    return ["atds", *(name for name in names if name not in ("atds._native", "atds.__main__"))]


#: The subpackages that need the framework of the same name.
FRAMEWORKS = ("grain", "jax", "tensorflow", "torch")


def framework_of(name: str) -> str | None:
    part = name.split(".")[1:2]
    return part[0] if part and part[0] in FRAMEWORKS else None


@pytest.mark.parametrize("name", modules())
def test_examples_of_docstrings(name: str, in_samples: Path) -> None:
    framework = framework_of(name)
    if framework is not None:
        need(framework)
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    for test in doctest.DocTestFinder().find(module, extraglobs={"atds": atds}):
        assert runner.run(test).failed == 0, test.name


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [
        test
        for name in modules()
        if framework_of(name) is None
        for test in finder.find(importlib.import_module(name))
        if test.examples
    ]
    assert len(examples) > 10


def test_everything_public_is_documented() -> None:
    for name in atds.__all__:
        value = getattr(atds, name)
        if isinstance(value, type) or isfunction(value):
            assert value.__doc__, name
        if isinstance(value, type) and value.__module__.startswith("atds."):
            for attribute, member in vars(value).items():
                if not attribute.startswith("_") and callable(getattr(member, "fget", member)):
                    assert member.__doc__ or member is None, f"{name}.{attribute}"


def test_each_argument_has_a_line_of_its_own() -> None:
    for name in modules():
        if framework_of(name) is not None:
            need(str(framework_of(name)))
        for value in vars(importlib.import_module(name)).values():
            for line in (getattr(value, "__doc__", None) or "").splitlines():
                assert " **options:" not in line.strip(), line
