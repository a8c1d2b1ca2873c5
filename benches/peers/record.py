"""Dated records: JSON with all figures, Markdown to read."""

import json
import time
from pathlib import Path

from . import machine

FOLDER = machine.REPOSITORY / "benches/record"


def today() -> str:
    """Today's date, for the name of a record."""
    return time.strftime("%Y-%m-%d", time.gmtime())


def write_json(result: dict, folder: Path = FOLDER) -> Path:
    """Write DATE-NAME.json. Replaces a file of the same date and name."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{result['date']}-{result['name']}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    return path


def heading(result: dict) -> list[str]:
    """The first lines of a record."""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return [
        f"# {result['name']}, {result['date']}",
        "",
        machine.line(result["machine"]),
        f"- versions: {versions}",
    ]
