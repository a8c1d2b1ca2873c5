"""Renders records of comparisons: Markdown beside the JSON, docs/speed.md, its plots, README's table.

All text is made of the JSON alone.
"""

import argparse
import json
import re
import sys
from pathlib import Path

from . import index, machine, plot, record
from .measure import rate
from .sections import (
    SECTIONS,
    btable,
    cold,
    inflaters,
    memory,
    narrow,
    people,
    python,
    readers,
    ready,
    steps,
    tfrecord,
    training,
)
from .text import paragraph, ratio, table

README = machine.REPOSITORY / "README.md"
SPEED = machine.REPOSITORY / "docs/speed.md"
IMAGES = machine.REPOSITORY / "docs/images"
BEGIN = "<!-- Begin of generated text: change benches/peers/report.py, run `make bench-peers`. -->"
END = "<!-- End of generated text. -->"

# docs/speed.md shows a record only if it has all of them.
SHOWN = {
    "readers",
    "inflaters",
    "steps",
    "python",
    "ready",
    "training",
    "narrow",
    "people",
    "memory",
}

# In the plots and in README's table.
CODECS = ["null", "deflate"]

# README's table: a name to print for each system.
README_SYSTEMS = {
    "tensorflow-io AvroRecordDataset": "tensorflow-io `AvroRecordDataset`",
    "fastavro": "fastavro",
    "tensorflow-io ATDSDataset": "tensorflow-io `ATDSDataset`",
    "polars": "polars",
    "arrow-avro": "arrow-avro",
    "serde_avro_fast": "serde_avro_fast",
    "atds": "**atds**",
}

# The kinds of machines, by the ends of records' names.
MACHINES = {"xeon": "Intel Xeon", "zen3": "AMD Zen 3", "zen4": "AMD Zen 4", "zen5": "AMD Zen 5"}


def main() -> None:
    """Render all records of comparisons again, or check that nothing would change."""
    parser = argparse.ArgumentParser(prog="peers.report", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    rendered = pages(shown())
    for path in comparisons():
        rendered[path.with_suffix(".md")] = markdown(_load(path))
    if not check:
        write(rendered)
    elif stale := [str(path) for path, text in rendered.items() if _read(path) != text]:
        sys.exit("differs from the record: " + ", ".join(stale))
    elif faults := index.faults():
        sys.exit("\n".join(faults))


def write(rendered: dict[Path, str]) -> list[Path]:
    """Write each text to its file."""
    for path, text in rendered.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return list(rendered)


def pages(path: Path) -> dict[Path, str]:
    """The texts to write for the record at `path`."""
    result = _load(path)
    texts = {path.with_suffix(".md"): markdown(result)}
    if set(result["sections"]) >= SHOWN:
        found = result["sections"]["readers"]["results"]
        texts[IMAGES / "speed-readers.svg"] = plot.bars(bars(found))
        texts[IMAGES / "speed-threads.svg"] = plot.lines(lines(found))
        texts[SPEED] = _between(SPEED.read_text(), speed(result, path))
        texts[README] = _between(README.read_text(), readme(result, path))
    return texts


def markdown(result: dict) -> str:
    """The whole record, except for the time of each epoch."""
    lines = [
        *record.heading(result),
        f"- command: `{result['command']}`",
        f"- {result['rounds']} rounds; in each, the systems take turns; files in the page cache"
        + (", except cold ones" if "cold" in result["sections"] else ""),
    ]
    for name, section in result["sections"].items():
        lines += ["", f"## {SECTIONS[name].TITLE}", "", *SECTIONS[name].text(section)]
    lines += ["", "## Commands", "", "In the folder of the files:", "", "```text"]
    lines += dict.fromkeys(_commands(result["sections"]))
    return "\n".join([*lines, "```"]) + "\n"


def speed(result: dict, path: Path) -> list[str]:
    """The tables of docs/speed.md."""
    parts = result["sections"]
    lines = [
        paragraph(
            f"Source of all tables down to the table of machines: the record `{_cite(path)}`."
            f" Machine: {machine.summary(result['machine'])}, a virtual machine."
            f" Data: {_data(parts)}."
        ),
        "",
        "### Readers",
        "",
        *readers.text(parts["readers"]),
        "",
        "![Records a second of each system](images/speed-readers.svg)",
        "",
        "![Records a second by number of threads](images/speed-threads.svg)",
    ]
    for part in (cold, steps, inflaters, python, ready, training, memory, tfrecord, btable):
        name = next(name for name, section in SECTIONS.items() if section is part)
        # Records before 2026-11-27 have no cold files, before 2026-11-28 one format.
        if name in parts:
            lines += ["", f"### {part.TITLE}", "", *part.text(parts[name])]
    return [
        *lines,
        "",
        "### Single features and nested records",
        "",
        paragraph(narrow.summary(parts["narrow"])),
        "",
        paragraph(people.summary(parts["people"])),
        "",
        "### Other machines",
        "",
        *machines(),
    ]


def readme(result: dict, path: Path) -> list[str]:
    """README's table: one thread, by codec."""
    by_codec = {
        codec: {
            found["system"]: found
            for found in result["sections"]["readers"]["results"][codec]
            if found["threads"] == 1
        }
        for codec in CODECS
    }
    rows = []
    for system, name in README_SYSTEMS.items():
        # Records before 2026-11-27 lack a system.
        if any(system in found for found in by_codec.values()):
            rates = [readers.cells(found.get(system), found["atds"]) for found in by_codec.values()]
            rows.append([name, *(cell for cells in rates for cell in cells)])
    heads = ["records a second, one thread"]
    for codec in CODECS:
        heads += ["uncompressed" if codec == "null" else codec, "atds is"]
    return [
        *table(heads, rows, left=1),
        "",
        paragraph(
            f"Machine: {machine.summary(result['machine'])}, a virtual machine."
            f" Data: {_data(result['sections'])}. Source: [the record of {result['date']}]({_cite(path)})."
        ),
    ]


def machines() -> list[str]:
    """The table of ratios on each kind of machine."""
    rows = []
    for path in comparisons():
        result = _load(path)
        if not set(result["sections"]) >= SHOWN:
            continue
        found = {codec: result["sections"]["readers"]["results"][codec] for codec in CODECS}
        kind = result["name"].rpartition("-")[2]
        row = [f"`{_cite(path)}`", MACHINES.get(kind, machine.summary(result["machine"]))]
        for system in ("tensorflow-io ATDSDataset", "arrow-avro"):
            row += [ratio(_times(found[codec], system)) for codec in CODECS]
        rows.append(row)
    heads = ["record", "machine"]
    for system in ("ATDSDataset", "arrow-avro"):
        heads += [f"{system}, {codec}" for codec in CODECS]
    return [
        paragraph(
            "Ratios depend on the machine and on what else its host runs. The codec null depends"
            " most: there, memory is the limit. The table says how many times as fast `atds` is,"
            " with one thread."
        ),
        "",
        *table(heads, rows, left=2),
    ]


def comparisons() -> list[Path]:
    """The records of comparisons, newest first."""
    paths = sorted(record.FOLDER.glob("*.json"), reverse=True)
    return [path for path in paths if "sections" in _load(path)]


def shown() -> Path:
    """The record that docs/speed.md shows."""
    text = SPEED.read_text().partition(BEGIN)[2].partition(END)[0]
    name = re.search(r"`benches/record/([\w-]+)\.md`", text)
    if name is None:
        sys.exit(f"{SPEED} shows no record")
    return record.FOLDER / f"{name[1]}.json"


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
        for codec in CODECS
        if codec in found
    }


def label(result: dict) -> str:
    """A short name of a system and its number of threads."""
    threads = result["threads"]
    name = result["system"].removeprefix("tensorflow-io ")
    return f"{name}, {threads} threads" if threads > 1 else name


def lines(found: dict[str, list[dict]]) -> list[plot.Line]:
    """A line for each codec of atds and of ATDSDataset."""
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
        for codec in CODECS
        if codec in found
    ]


def _times(found: list[dict], system: str) -> float:
    """The speed of atds relative to `system`, with one thread."""
    rates = {result["system"]: rate(result) for result in found if result["threads"] == 1}
    return rates["atds"] / rates[system]


def _data(parts: dict) -> str:
    data = parts["readers"]["data"]
    return (
        f"{data['records']:,} records of 6 scalars, 8 dense and 5 sparse features, about 2 KB each,"
        f" in {data['files']} files that fastavro wrote, in batches of 1,024"
    )


def _cite(path: Path) -> str:
    return path.with_suffix(".md").relative_to(machine.REPOSITORY).as_posix()


def _commands(value: object) -> list[str]:
    """All commands in a record, at any depth."""
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


def _load(path: Path) -> dict:
    return json.loads(path.read_text())


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def _between(text: str, lines: list[str]) -> str:
    """`text` with `lines` between the two marks."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return "\n".join([before + BEGIN, "", *lines, "", END + after])


if __name__ == "__main__":
    main()
