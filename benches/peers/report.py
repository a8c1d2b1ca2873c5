"""A record's papers: Markdown, made of its JSON alone."""

import json
from pathlib import Path

from . import record
from .sections import SECTIONS


def render(path: Path) -> list[Path]:
    """Writes what belongs to the record at `path`."""
    result = json.loads(path.read_text())
    paper = path.with_suffix(".md")
    paper.write_text(markdown(result))
    return [paper]


def markdown(result: dict) -> str:
    """The whole record, all but the single epochs."""
    lines = [
        *record.heading(result),
        f"- command: `{result['command']}`",
    ]
    for name, section in result["sections"].items():
        lines += ["", f"## {SECTIONS[name].TITLE}", "", *SECTIONS[name].text(section)]
    return "\n".join(lines) + "\n"
