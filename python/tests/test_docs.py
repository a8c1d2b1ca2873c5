"""Every example of the documentation runs and gives what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from inspect import isfunction
from pathlib import Path

import pytest

import atds
from frameworks import need

README = Path(__file__).parents[1] / "README.md"


def modules() -> list[str]:
    found = pkgutil.walk_packages(atds.__path__, "atds.")
    names = [module.name for module in found]
    return ["atds", *(name for name in names if name not in ("atds._native", "atds.__main__"))]


#: The parts of the package that need the framework they are named after.
FRAMEWORKS = ("jax", "tensorflow", "torch")


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


BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS)
def test_examples_of_the_readme(block: str, in_samples: Path) -> None:
    needed = [name for name in (*FRAMEWORKS, *ALONE, "duckdb") if imports(block, name)]
    for framework in needed:
        need(framework)
    if not Path("data").exists():
        Path("data").symlink_to("clicks")
    if set(needed) & set(ALONE):
        command = [sys.executable, "-c", block]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    else:
        exec(compile(block, str(README), "exec"), {})  # noqa: S102


#: They import TensorFlow if it is there, and crash in a process of many frameworks.
ALONE = ("accelerate", "transformers")


def imports(block: str, module: str) -> bool:
    return re.search(rf"^(import|from) {module}\b", block, re.MULTILINE) is not None


def test_the_readme_has_examples() -> None:
    assert len(BLOCKS) > 5


def test_everything_public_is_documented() -> None:
    for name in atds.__all__:
        value = getattr(atds, name)
        if isinstance(value, type) or isfunction(value):
            assert value.__doc__, name
        if isinstance(value, type) and value.__module__.startswith("atds."):
            for attribute, member in vars(value).items():
                if not attribute.startswith("_") and callable(getattr(member, "fget", member)):
                    assert member.__doc__ or member is None, f"{name}.{attribute}"
