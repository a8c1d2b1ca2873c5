"""The command behind `make scaling`: one pipeline of n threads beside n processes of one thread."""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from peers import machine, record

from . import cells, data, report
from .measure import ROUNDS, Row, measure, progress
from .together import Together, together

# The folder of the command and of this program; see scaling.sh.
HOME = Path(__file__).resolve().parents[2]

# Less than eight minutes: the last run and the start of Python come on top.
SECONDS = 450

QUICK_RECORDS = 2_500


def main() -> None:
    """Make the files, measure, print the table, and write it with a plot."""
    started = time.monotonic()
    options = parse_options()
    try:
        result = run(options, started)
    except (ValueError, RuntimeError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"scaling: {error}")
    text = report.markdown(result)
    print(text)
    path = record.write_json(result, options.out)
    path.with_suffix(".md").write_text(text)
    path.with_suffix(".svg").write_text(report.svg(result))
    progress(f"wrote {path}, .md and .svg after {time.monotonic() - started:.0f} s")
    sys.exit(1 if any("fault" in entry for entry in result["results"]) else 0)


def run(options: argparse.Namespace, started: float) -> dict:
    """All results of the command line, as a record."""
    chosen = cells.chosen(options.only)
    state = machine.describe()
    if machine.is_busy(state):
        progress("warning: the machine is busy with something else")
    deadline = started + options.seconds
    with tempfile.TemporaryDirectory(prefix="data-", dir=options.data) as temporary:
        progress("making the files")
        generating = time.monotonic()
        codecs = list(dict.fromkeys(cell.codec for cell in chosen))
        made = data.generate(
            options.atds, Path(temporary), codecs, max(options.threads), options.records
        )
        generated = time.monotonic() - generating
        progress(f"made the files in {generated:.0f} s")
        rows = [Row(cell, threads) for cell in chosen for threads in options.threads]

        def run_side(side: str, row: Row, epochs: int, seconds: float) -> Together:
            return together(side_commands(side, row, epochs, options, made), seconds)

        measure(rows, run_side, deadline, options.rounds)
    return {
        "name": options.name,
        "date": record.today(),
        "machine": state,
        "versions": json.loads((HOME / "versions.json").read_text()),
        "command": shlex.join(["./run", *sys.argv[1:]]),
        "threads": options.threads,
        "records_a_share": made.records,
        "files_a_share": made.files,
        "rounds": options.rounds,
        "generating_seconds": generated,
        "seconds": time.monotonic() - started,
        "results": [report.row_result(row) for row in rows],
    }


def side_commands(
    side: str, row: Row, epochs: int, options: argparse.Namespace, made: data.Data
) -> list[list[str]]:
    """The commands of one side, which run together."""
    passes = 1 if options.quick else row.cell.passes(made.records)
    shares = [str(share) for share in made.shares[row.cell.codec][: row.threads]]
    atds = str(options.atds)
    if side == "pipeline":
        return [[atds, *row.cell.arguments(row.threads, 1 + epochs), *shares * passes]]
    return [[atds, *row.cell.arguments(1, 1 + epochs), *[share] * passes] for share in shares]


def parse_options() -> argparse.Namespace:
    """Parse the command line. The defaults are the settings of a record."""
    parser = argparse.ArgumentParser(prog="run", description=__doc__)
    add = parser.add_argument
    all_cores = data.cores()
    add("--only", nargs="+", default=[], metavar="TEXT", help="cells with a text in their names")
    add(
        "--threads",
        nargs="+",
        type=positive,
        default=sorted({1, max(1, all_cores // 2), all_cores}),
        metavar="N",
        help="numbers of threads, and of processes [default: 1, half of the cores, all cores]",
    )
    add("--seconds", type=positive, default=SECONDS, help=f"for all [default: {SECONDS}]")
    add("--quick", action="store_true", help="small files and one round: to see that it works")
    add("--atds", type=Path, default=HOME / "atds", help="the command [default: the one beside]")
    add(
        "--data", type=Path, default=HOME, help="folder for the files, which are removed at the end"
    )
    add("--out", type=Path, default=HOME / "results", help="folder of the record")
    add("--name", default="scaling", help="of the record, after its date")
    options = parser.parse_args()
    options.records = QUICK_RECORDS if options.quick else data.RECORDS
    options.rounds = 1 if options.quick else ROUNDS
    if shutil.which(options.atds) is None:
        parser.error(f"{options.atds} is no program")
    return options


def positive(text: str) -> int:
    """Parse a number above 0."""
    number = int(text)
    if number <= 0:
        raise ValueError(text)
    return number


if __name__ == "__main__":
    main()
