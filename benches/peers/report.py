"""A record's papers, made of its JSON alone: Markdown, plots, and the README's section."""

import argparse
import json
import re
import sys
from pathlib import Path

from . import machine, plot, record
from .measure import rate
from .sections import SECTIONS, narrow, people, python, readers, steps, training
from .text import paragraph

README = machine.REPOSITORY / "README.md"
BEGIN = (
    "<!-- Written by `make bench-peers ARGS=--write`; change benches/peers/report.py instead. -->"
)
END = "<!-- The end of what it writes. -->"

# Sections that README has; those on Python where the record has them.
SHOWN = {"readers", "steps", "narrow", "people"}

# In the plots.
PLOTTED_CODECS = ["null", "deflate"]


def main() -> None:
    """Writes the papers of the record that README shows anew, or checks that they are as they
    would be."""
    parser = argparse.ArgumentParser(prog="peers.report", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    shown = _shown(README.read_text())
    if shown is None:
        sys.exit("README shows no record")
    elif not check:
        render(shown)
    elif stale := [path.name for path, text in papers(shown).items() if _read(path) != text]:
        sys.exit("not as the record has it: " + ", ".join(stale))


def render(path: Path) -> list[Path]:
    """Writes the papers of the record at `path`."""
    written = papers(path)
    for paper, text in written.items():
        paper.write_text(text)
    return list(written)


def papers(path: Path) -> dict[Path, str]:
    """What belongs to the record at `path`."""
    result = json.loads(path.read_text())
    texts = {path.with_suffix(".md"): markdown(result)}
    if "readers" in result["sections"]:
        found = result["sections"]["readers"]["results"]
        texts[_plot(path, "readers")] = plot.bars(bars(found))
        texts[_plot(path, "threads")] = plot.lines(lines(found))
    if set(result["sections"]) >= SHOWN:
        texts[README] = _between(README.read_text(), readme(result, path))
    return texts


def markdown(result: dict) -> str:
    """The whole record, all but the single epochs."""
    lines = [
        *record.heading(result),
        f"- command: `{result['command']}`",
        f"- {result['rounds']} rounds, in which each system has its turn; files in the page cache",
    ]
    for name, section in result["sections"].items():
        lines += ["", f"## {SECTIONS[name].TITLE}", "", *SECTIONS[name].text(section)]
    lines += ["", "## What was run", "", "In the folder of the files:", "", "```text"]
    lines += dict.fromkeys(_commands(result["sections"]))
    return "\n".join([*lines, "```"]) + "\n"


def readme(result: dict, path: Path) -> list[str]:
    """README's section on speed, below its heading."""
    parts, where = result["sections"], path.parent.relative_to(README.parent)
    data = parts["readers"]["data"]
    plots = [where / _plot(path, name).name for name in ("readers", "threads")]
    paper = where / f"{path.stem}.md"
    introduction = (
        "`make bench-peers` sets up the other systems and reads the same files with each of them in"
        f" turn. Of [the record]({paper}) of {result['date']}, on"
        f" {machine.summary(result['machine'])}: {data['records']:,} records of 6 scalars, 8 dense"
        f" and 5 sparse features, about 2 KB each, in {data['files']} files that fastavro wrote, in"
        " batches of 1,024 where there are batches."
    )
    lines = [
        paragraph(introduction),
        "",
        *readers.text(parts["readers"]),
        "",
        f"![Records a second of each system]({plots[0]})",
        "",
        f"![Records a second over threads]({plots[1]})",
        "",
        "Against the older AvroRecordDataset, at several batch sizes:",
        "",
        *steps.text(parts["steps"]),
        "",
        paragraph(narrow.summary(parts["narrow"])),
        "",
        paragraph(people.summary(parts["people"])),
    ]
    if "python" in parts:
        lines += ["", *python.tensorflow(parts["python"])]
    if "training" in parts:
        lines += ["", paragraph(training.summary(parts["training"]))]
    return lines


def bars(found: dict[str, list[dict]]) -> dict[str, list[plot.Bar]]:
    """A panel for each codec, slowest first."""
    return {
        f"Records a second, {codec} codec": sorted(
            (
                plot.Bar(label(result), rate(result), result["system"].startswith("atds"))
                for result in found[codec]
                if "unable" not in result
            ),
            key=lambda bar: bar.value,
        )
        for codec in PLOTTED_CODECS
        if codec in found
    }


def label(result: dict) -> str:
    """A system in few words."""
    threads = result["threads"]
    name = result["system"].removeprefix("tensorflow-io ")
    return f"{name}, {threads} threads" if threads > 1 else name


def lines(found: dict[str, list[dict]]) -> list[plot.Line]:
    """Ours and ATDSDataset."""
    return [
        plot.Line(
            f"{system.removeprefix('tensorflow-io ')}, {codec}",
            {
                result["threads"]: rate(result)
                for result in found[codec]
                if result["system"] == system and "unable" not in result
            },
        )
        for system in ["atds", "tensorflow-io ATDSDataset"]
        for codec in PLOTTED_CODECS
        if codec in found
    ]


def _commands(value: object) -> list[str]:
    """All that stand anywhere in a record."""
    match value:
        case {"command": command}:
            return [command]
        case {"commands": commands}:
            return commands
        case dict():
            return [command for inner in value.values() for command in _commands(inner)]
        case list():
            return [command for inner in value for command in _commands(inner)]
        case _:
            return []


def _plot(path: Path, name: str) -> Path:
    return path.with_name(f"{path.stem}-{name}.svg")


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def _shown(readme: str) -> Path | None:
    """The record that README's section is made of."""
    section = readme.partition(BEGIN)[2].partition(END)[0]
    paper = re.search(r"\(benches/record/([\w-]+)\.md\)", section)
    return paper and record.FOLDER / f"{paper[1]}.json"


def _between(text: str, lines: list[str]) -> str:
    """`text` with other lines between the two marks."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return "\n".join([before + BEGIN, "", *lines, "", END + after])


if __name__ == "__main__":
    main()
