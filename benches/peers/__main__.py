"""The command behind `make bench-peers`."""

import argparse
import shlex
import sys
import tempfile
from pathlib import Path

from . import machine, record, report
from .bench import Bench, Programs, thread_counts
from .data import CODECS
from .measure import Effort, progress
from .sections import SECTIONS


def main() -> None:
    """Measure, print the record, and write it with --write."""
    options = parse_options()
    with tempfile.TemporaryDirectory(prefix="atds-peers-") as temporary:
        folder = (options.data or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        bench = make_bench(options, folder)
        try:
            result = measure(bench, options)
        finally:
            bench.close()
    print(report.markdown(result))
    if options.write:
        path = record.write_json(result)
        progress(f"wrote {path}")
        for written in report.write(report.pages(path)):
            progress(f"wrote {written}")


def make_bench(options: argparse.Namespace, folder: Path) -> Bench:
    """The systems, data and effort of the command line."""
    atds, handwritten, rust_peers, frames_python, torch_python, formats_python = options.programs
    # The Pythons are not resolved, so that they stay in their virtual environments.
    python = Path(sys.executable)
    programs = Programs(
        atds.resolve(),
        handwritten.resolve(),
        rust_peers.resolve(),
        frames_python,
        torch_python,
        formats_python,
        python,
    )
    effort = Effort(rounds=2, epochs=2) if options.quick else Effort(rounds=5, epochs=20)
    return Bench(programs, folder, effort, options.codecs, options.threads)


def measure(bench: Bench, options: argparse.Namespace) -> dict:
    """Measure the sections of the command line."""
    state = machine.describe()
    if machine.is_busy(state):
        progress("warning: the machine is busy with something else")
    sections = {}
    for name in options.only or SECTIONS:
        progress(f"== {name}")
        sections[name] = SECTIONS[name].run(bench)
    return {
        "name": options.name,
        "date": record.today(),
        "machine": state,
        "versions": machine.versions() | bench.versions(),
        "command": command(options),
        "rounds": bench.effort.rounds,
        "sections": sections,
    }


def command(options: argparse.Namespace) -> str:
    """The command to run this again, without the folder of the files."""
    arguments = sys.argv[1 + len(options.programs) :]
    if options.data is not None:
        at = arguments.index("--data")
        del arguments[at : at + 2]
    return f'make bench-peers ARGS="{shlex.join(arguments)}"' if arguments else "make bench-peers"


def parse_options() -> argparse.Namespace:
    """Parse the command line. The defaults are the settings of a record."""
    parser = argparse.ArgumentParser(prog="peers", description=__doc__)
    add = parser.add_argument
    # Absolute paths of the programs that run.sh has built and installed.
    add("programs", nargs=6, type=Path, help=argparse.SUPPRESS)
    add("--only", nargs="+", choices=SECTIONS, help="parts of it")
    add("--codecs", nargs="+", choices=CODECS, default=CODECS)
    add("--threads", nargs="+", type=positive, default=thread_counts())
    add("--quick", action="store_true", help="few epochs: to see that it works")
    add("--data", type=Path, help="folder of the files, which are kept and reused")
    add(
        "--write",
        action="store_true",
        help="write the record, docs/speed.md with its plots, and the table in README.md",
    )
    add("--name", default="peers", help="of the record, after its date")
    return parser.parse_args()


def positive(text: str) -> int:
    """Parse a number above 0."""
    number = int(text)
    if number <= 0:
        raise ValueError(text)
    return number


if __name__ == "__main__":
    main()
