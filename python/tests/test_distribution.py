"""The distribution: its name and its licences."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest

import atds

NAME = "avro-tensor-dataset"


@pytest.fixture
def distribution() -> importlib.metadata.Distribution:
    return importlib.metadata.distribution(NAME)


def test_the_distribution_is_imported_as_atds(
    distribution: importlib.metadata.Distribution,
) -> None:
    assert distribution.metadata["Name"] == NAME
    assert distribution.version == atds.__version__
    command = [point for point in distribution.entry_points if point.group == "console_scripts"]
    assert [(point.name, point.value) for point in command] == [("atds", "atds._command:main")]
    extras = distribution.metadata.get_all("Provides-Extra")
    assert extras == ["arrow", "btable", "grain", "jax", "progress", "tensorflow", "torch"]


def test_licences_of_the_linked_code_are_in_it(
    distribution: importlib.metadata.Distribution,
) -> None:
    files = {file.name: file for file in distribution.files or () if "licenses" in file.parts}
    assert {"LICENSE", "THIRD-PARTY-NOTICES.txt"} <= files.keys()
    notices = files["THIRD-PARTY-NOTICES.txt"].read_text(encoding="utf-8")
    # Crates, and C libraries that crates contain.
    for part in [
        r"^clap \d",
        r"^pyo3 \d",
        r"^zstd-sys \d.*\n(.*\n)*Copyright \(c\) Meta Platforms",
        r"^liblzma-sys \d.*\n(.*\n)*XZ Utils Licensing",
        r"^libdeflate-sys \d.*\n(.*\n)*Copyright 2016 Eric Biggers",
        r"^libbz2-rs-sys \d.*\n(.*\n)*.*Julian R Seward",
        r"^snap \d.*\n(.*\n)*Copyright 2011, The Snappy-Rust Authors",
        r"^The Rust standard library",
        r"^FarmHash",
    ]:
        assert re.search(part, notices, re.MULTILINE), part
    # No linked code has one of these licences.
    assert "GENERAL PUBLIC LICENSE\n" not in notices


def test_installing_is_named_by_the_distribution() -> None:
    # On PyPI, `atds` is another project.
    root = Path(__file__).resolve().parents[2]
    texts = [
        path
        for pattern in ("*.md", "*.py", "*.pyi", "*.rs", "*.toml", "*.txt", "*.sh", "*.yml")
        for path in root.rglob(pattern)
        if not {"target", ".git", ".venv", "corpus"} & set(path.relative_to(root).parts)
    ]
    assert root / "python" / "README.md" in texts
    wrong = re.compile(
        r"""(pip3?|uv|poetry|conda) (install|add)\s[^\n]*(?<![\w/.-])atds(?![\w./-])"""
    )
    own = "[project]\nname = "
    for path in texts:
        text = path.read_text(encoding="utf-8", errors="replace")
        for line in text.splitlines():
            line = line.partition(" # ")[0]
            assert not wrong.search(line) or NAME in line, f"{path}: {line}"
        assert f'{own}"atds"' not in text
