"""The script that runs the pages' examples notices faults in them."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

import atds

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts"))

from examples import Page, Report, RustPrograms, pages


def run(folder: Path, text: str, *, all_frameworks: bool = True) -> Report:
    """Runs a page that has no Rust."""
    page = folder / "page.md"
    page.write_text(text)
    return Page(page, all_frameworks).run(RustPrograms(folder / "rust", {}))


def block(info: str, text: str) -> str:
    return f"Text.\n\n```{info}\n{text}\n```\n\n"


DATA = block("sh", "atds generate data --records 20 --files 1")


def test_blocks_run_in_order_in_a_fresh_folder(tmp_path: Path) -> None:
    text = (
        block("sh", 'test -z "$(ls)"')
        + DATA
        + block("python", "import atds\nassert atds.Dataset('data', 8).num_records == 20")
        + block("text output", "20 records")
    )
    report = run(tmp_path, text)
    assert report.failure is None
    assert report.ran == {"sh": 2, "python": 1, "output": 1}


def test_what_a_line_is_said_to_print_is_checked(tmp_path: Path) -> None:
    text = DATA + block("python", "print(1 + 1)  # 2\nprint([2, 1])  # [2, 1]")
    assert run(tmp_path, text).failure is None
    report = run(tmp_path / "rust", block("python", "print(1 + 1)  # 2\nprint(1 + 2)  # 4"))
    assert "no line of the output is '4'" in str(report.failure)


def test_a_block_in_a_list_or_an_admonition_runs(tmp_path: Path) -> None:
    report = run(tmp_path, "1. First\n\n    ```python\n    assert False\n    ```\n")
    assert "page.md:3: ends with 1" in str(report.failure)


@pytest.mark.parametrize("info", ["", "text", "yaml", "yaml title='x'", "console", "json"])
def test_what_is_not_known_to_run_is_a_failure(tmp_path: Path, info: str) -> None:
    report = run(tmp_path, block(info, "x: 1"))
    assert f"page.md:3: a block of '{info}'" in str(report.failure)


def test_only_what_the_page_installs_can_be_imported(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    use = block("python", "import numpy\nimport scipy.sparse")
    assert "No module named 'scipy'" in str(run(tmp_path, use).failure)
    assert run(tmp_path / "rust", block("sh", "pip install scipy") + use).failure is None


def test_what_tests_do_not_have_is_skipped_or_a_failure(tmp_path: Path) -> None:
    text = block("sh", "pip install no-such-package") + block("python", "import no_such_package")
    assert "no-such-package is not installed" in str(run(tmp_path, text).failure)
    report = run(tmp_path / "rust", text, all_frameworks=False)
    assert report.failure is None
    assert report.skipped == {"no-such-package": 2}


def test_files_are_written_and_must_be_used(tmp_path: Path) -> None:
    file = block('json title="f.json"', '{"s_label": {"kind": "dense", "dtype": "int32"}}')
    use = block("sh", "atds head --features f.json data/*.avro")
    assert "uses the file f.json" in str(run(tmp_path, file).failure)
    assert run(tmp_path / "rust", DATA + file + use).failure is None


@pytest.mark.parametrize(
    "command",
    ["make no-such-target", "cargo install --path crates/sched", "cargo publish", "false"],
)
def test_commands_that_would_fail_do(tmp_path: Path, command: str) -> None:
    assert "page.md:3: ends with" in str(run(tmp_path, block("sh", command)).failure)


def test_every_page_is_walked() -> None:
    walked = {str(page) for page in pages()}
    assert {"README.md", "python/README.md", "crates/atds/README.md", "docs/index.md"} <= walked
    assert len(walked) > 20


def test_each_promise_names_tests_that_there_are() -> None:
    page = (REPOSITORY / "docs/guarantees.md").read_text()
    rows = [row for row in page.splitlines() if re.match(r"\| (?!promise|---)", row)]
    assert len(rows) > 20
    for row in rows:
        tests = re.findall(r"`([^`]+)`", row.split("|")[3])
        assert tests, row
    for path, name in re.findall(r"`([\w/.-]+/[\w.-]+)(?:::(\w+))?`", page):
        assert (REPOSITORY / path).exists(), path
        if name:
            text = (REPOSITORY / path).read_text()
            assert re.search(rf"(?:fn|def) {name}\(", text), f"{path}::{name}"


def test_the_page_of_the_api_has_all_that_is_public() -> None:
    page = (REPOSITORY / "docs/python-api.md").read_text()
    documented = re.findall(r"^::: (\S+)$", page, re.MULTILINE)
    assert len(documented) == len(set(documented))
    public = {f"{module}.{name}" for module in MODULES for name in exported(module)}
    bases = {"atds.options.PipelineOptions", "atds.options.LenienceOptions"}
    assert set(documented) == (public | bases) - {"atds.__version__"}


#: The modules whose names are public.
MODULES = ("atds", "atds.btable", "atds.grain", "atds.jax", "atds.tensorflow", "atds.torch")


def exported(module: str) -> list[str]:
    """A module's `__all__`, read without importing its framework."""
    path = Path(atds.__file__).parent.joinpath(*module.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found = [
        ast.literal_eval(node.value)
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    return list(*found)
