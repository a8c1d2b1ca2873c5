"""Checks the index of benches/record, and the citations of records in the repository."""

import re
import subprocess

from . import machine
from .record import FOLDER

INDEX = FOLDER / "README.md"
CITATION = re.compile(r"benches/record/(\d[\w.-]+\.(?:md|json|svg))")


def faults() -> list[str]:
    """A line for each record that the index lacks, and for each citation of a missing record."""
    listed = set(re.findall(r"\]\(([\w.-]+\.(?:md|json))\)", INDEX.read_text()))
    stems = {name.rpartition(".")[0] for name in listed}
    lines = [
        f"benches/record/README.md does not list {path.name}"
        for path in sorted(FOLDER.iterdir())
        if path != INDEX and path.stem not in stems
    ]
    lines += [
        f"benches/record/README.md lists {name}, which does not exist"
        for name in sorted(listed)
        if not (FOLDER / name).exists()
    ]
    for path in _texts():
        lines += [
            f"{path} cites benches/record/{name}, which does not exist"
            for name in CITATION.findall((machine.REPOSITORY / path).read_text())
            if not (FOLDER / name).exists()
        ]
    return lines


def _texts() -> list[str]:
    """The tracked files that can cite a record."""
    command = ["git", "ls-files", "*.md", "*.rs", "*.py"]
    done = subprocess.run(
        command, cwd=machine.REPOSITORY, check=True, stdout=subprocess.PIPE, text=True
    )
    return [path for path in done.stdout.splitlines() if (machine.REPOSITORY / path).exists()]
