"""The command behind `make versus`: the working tree's build of the command beside another commit's."""

import argparse
import shlex
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from peers import machine, record

from . import builds, cells, instructions, pairs, report, runs
from .intervals import FEWEST

# With fewer pairs the intervals are too wide for a verdict.
PAIRS = 30


def main() -> None:
    """Build, measure, print the table, and end with 1 if a bound does not hold."""
    options = parse_options()
    try:
        result = measure(options)
    except (ValueError, RuntimeError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"versus: {error}")
    text = report.markdown(result)
    print(text)
    if options.write:
        path = record.write_json(result)
        path.with_suffix(".md").write_text(text)
        print(f"versus: wrote {path} and .md", file=sys.stderr)
    sys.exit(1 if result["broken"] else 0)


def measure(options: argparse.Namespace) -> dict:
    """All results of the command line, as a record."""
    chosen = cells.chosen(options.only)
    old = builds.commit(options.ref)
    versions = machine.versions()
    if not options.no_instructions:
        versions["valgrind"] = instructions.version()
    programs = {"new": builds.working_tree(), "old": builds.of_commit(old)}
    state = machine.describe()
    if machine.is_busy(state):
        print("versus: warning: the machine is busy with something else", file=sys.stderr)
    passed = ["--mmap"] if options.mmap else []
    with tempfile.TemporaryDirectory(prefix="atds-versus-") as temporary:
        folder = Path(temporary)
        codecs = {cell.codec for cell in chosen}
        data = generate(programs["new"], folder / "data", codecs, cells.RECORDS, cells.FILES)

        def run(build: str, cell: cells.Cell) -> runs.Run:
            epochs = 1 + cells.EPOCHS[cell.codec]
            arguments = cell.arguments(data[cell.codec], epochs, passed)
            return runs.bench([str(programs[build]), *arguments])

        measured = pairs.measure(chosen, options.pairs, run)
        counted = {}
        if not options.no_instructions:
            sizes = (instructions.RECORDS, instructions.FILES)
            small = generate(programs["new"], folder / "small", codecs, *sizes)
            counted = instructions.a_record_of_all(chosen, programs, small, passed)
    results = [report.cell_result(cell, measured[cell], counted.get(cell)) for cell in chosen]
    bounds = report.Bounds(
        options.most_time, options.most_instructions, options.most_memory, options.most_mean
    )
    return {
        "name": options.name,
        "date": record.today(),
        "machine": state,
        "versions": versions,
        "old": f"commit {old[:7]}",
        "command": command(options.ref),
        "options": passed,
        "pairs": options.pairs,
        "floor_bytes": runs.floor_bytes(),
        "bounds": {name: most for name, most in asdict(bounds).items() if most is not None},
        "broken": report.broken(results, bounds),
        "cells": results,
    }


def generate(
    atds: Path, folder: Path, codecs: set[str], records: int, files: int
) -> dict[str, Path]:
    """Make the files of each codec, with one build for both."""
    for codec in codecs:
        options = ["--records", str(records), "--files", str(files), "--codec", codec]
        command = [str(atds), "generate", *options, str(folder / codec)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {codec: folder / codec for codec in codecs}


def command(reference: str) -> str:
    """The command to run this again."""
    # The first argument is the commit.
    arguments = sys.argv[2:]
    given = f' ARGS="{shlex.join(arguments)}"' if arguments else ""
    return f"make versus REF={reference}{given}"


def parse_options() -> argparse.Namespace:
    """Parse the command line. The defaults are the settings of a record."""
    parser = argparse.ArgumentParser(prog="versus", description=__doc__)
    add = parser.add_argument
    add("ref", help="the commit to compare with")
    add("--only", nargs="+", default=[], metavar="TEXT", help="cells with a text in their names")
    add("--pairs", type=pair_count, default=PAIRS, help=f"pairs of a cell [default: {PAIRS}]")
    add("--mmap", action="store_true", help="map the files rather than read them")
    add("--no-instructions", action="store_true", help="do not count instructions")
    most = {"type": float, "metavar": "RATIO"}
    add("--most-time", **most, help="most of the lower end of each cell's interval of time")
    add("--most-instructions", **most, help="most of each cell's instructions")
    add("--most-memory", **most, help="most of each cell's peak memory")
    add("--most-mean", **most, help="most of the geometric mean of the time")
    add("--write", action="store_true", help="write the record, .json and .md")
    add("--name", default="versus", help="of the record, after its date")
    options = parser.parse_args()
    if options.no_instructions and options.most_instructions is not None:
        parser.error("--most-instructions needs the instructions that --no-instructions leaves out")
    if options.pairs < PAIRS:
        print(f"versus: note: a record has at least {PAIRS} pairs", file=sys.stderr)
    return options


def pair_count(text: str) -> int:
    """Parse a number of pairs that is enough for an interval."""
    number = int(text)
    if number < FEWEST:
        raise argparse.ArgumentTypeError(f"must be at least {FEWEST}")
    return number


if __name__ == "__main__":
    main()
