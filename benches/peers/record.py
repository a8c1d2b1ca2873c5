"""Dated records: JSON with every figure, Markdown to read."""

import datetime
import json
from pathlib import Path

from . import machine

FOLDER = machine.REPOSITORY / "benches/record"


def today() -> str:
    """The date in a record's name."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def write(folder: Path, result: dict, markdown: str) -> list[Path]:
    """Writes DATE-NAME.json and DATE-NAME.md, in place of those of the same date and name."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{result['date']}-{result['name']}"
    texts = {".json": json.dumps(result, indent=2) + "\n", ".md": markdown}
    for suffix, text in texts.items():
        path.with_name(path.name + suffix).write_text(text)
    return [path.with_name(path.name + suffix) for suffix in texts]


def heading(result: dict) -> list[str]:
    """What every record begins with."""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return [
        f"# {result['name']}, {result['date']}",
        "",
        machine.line(result["machine"]),
        f"- versions: {versions}",
    ]
