"""Runs the criterion benchmarks and writes a record. Needs only Python's standard library."""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from peers import machine, record
from peers.text import megabytes

COMMAND = ["cargo", "bench", "--locked", "-p", "atds-benches"]


def main() -> None:
    """Build, run, and write the record."""
    options = parse_options()
    subprocess.run([*COMMAND, "--no-run"], cwd=machine.REPOSITORY, check=True)
    state = machine.describe()
    if machine.is_busy(state):
        print("warning: the machine is busy with something else", file=sys.stderr)
    versions = machine.versions()
    command = [*COMMAND, "--", options.filter] if options.filter else COMMAND
    # A new folder, so that it has no earlier results.
    with tempfile.TemporaryDirectory(prefix="atds-criterion-") as home:
        environment = os.environ | {"CRITERION_HOME": home}
        subprocess.run(command, cwd=machine.REPOSITORY, env=environment, check=True)
        results = read_results(Path(home))
    result = {
        "name": options.name,
        "date": record.today(),
        "machine": state,
        "versions": versions,
        "command": shlex.join(command),
        "results": results,
    }
    path = record.write_json(result, options.record)
    path.with_suffix(".md").write_text(markdown(result))
    print(f"wrote {path} and .md", file=sys.stderr)


def read_results(home: Path) -> list[dict]:
    """All results of criterion, in the order of the runs."""
    paths = sorted(home.rglob("new/benchmark.json"), key=lambda path: path.stat().st_mtime_ns)
    return [read_result(path.parent) for path in paths]


def read_result(folder: Path) -> dict:
    """The throughput and the time of one benchmark."""
    benchmark = json.loads((folder / "benchmark.json").read_text())
    median = json.loads((folder / "estimates.json").read_text())["median"]
    [(unit, per_iteration)] = benchmark["throughput"].items()
    return {
        "benchmark": benchmark["full_id"],
        "unit": unit,
        "per_iteration": per_iteration,
        "median_ns": median["point_estimate"],
        "low_ns": median["confidence_interval"]["lower_bound"],
        "high_ns": median["confidence_interval"]["upper_bound"],
    }


def markdown(result: dict) -> str:
    """The record as Markdown."""
    lines = [
        *record.heading(result),
        f"- `{result['command']}`",
        "",
        "Medians, with criterion's confidence interval of 95 % for the time.",
        "",
        "| benchmark | time | from | to | throughput |",
        "|---|---:|---:|---:|---:|",
    ]
    for run in result["results"]:
        times = " | ".join(_time(run[key]) for key in ("median_ns", "low_ns", "high_ns"))
        lines.append(f"| {run['benchmark']} | {times} | {_throughput(run)} |")
    return "\n".join(lines) + "\n"


def _throughput(run: dict) -> str:
    per_second = run["per_iteration"] / run["median_ns"] * 1e9
    return f"{megabytes(per_second)}/s" if run["unit"] == "Bytes" else f"{per_second:,.0f} /s"


def _time(nanoseconds: float) -> str:
    for unit, size in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)]:
        if nanoseconds >= size:
            return f"{nanoseconds / size:.2f} {unit}"
    return f"{nanoseconds:.1f} ns"


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("filter", nargs="?", help="only benchmarks whose name matches, a regular expression")
    add("--name", default="benchmarks", help="of the record, after its date")
    add("--record", type=Path, default=record.FOLDER, help="its folder")
    return parser.parse_args()


if __name__ == "__main__":
    main()
