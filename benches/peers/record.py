"""Dated records: JSON with every figure, Markdown to read."""

import datetime
import json
from pathlib import Path

from . import machine

FOLDER = machine.REPOSITORY / "benches/record"


def today() -> str:
    """The date in a record's name."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def write_json(result: dict, folder: Path = FOLDER) -> Path:
    """Writes DATE-NAME.json, in place of one of the same date and name."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{result['date']}-{result['name']}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    return path


def heading(result: dict) -> list[str]:
    """What every record begins with."""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return [
        f"# {result['name']}, {result['date']}",
        "",
        machine.line(result["machine"]),
        f"- versions: {versions}",
    ]
