"""Dated records: JSON with every figure, Markdown to read."""

import datetime
import json
from pathlib import Path

import machine

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


def comparison(result: dict) -> str:
    """A comparison of two systems, all but the single runs."""
    data, settings = result["data"], result["settings"]
    raw = ", ".join(f"{codec} {_mb(size)}" for codec, size in data["raw_bytes"].items())
    lines = [
        *heading(result),
        f"- data: {data['records']:,} records of the preset `ads` in {data['files']} files,"
        f" written by fastavro in blocks of {data['block_bytes']:,} bytes;"
        f" {_mb(data['inflated_bytes'])} inflated; {raw}",
        f"- {settings['runs']} epochs of each in turn, after one that is not measured;"
        f" batches of {settings['batch_size']:,}; shuffle buffer {settings['shuffle_buffer']:,};"
        " files in the page cache",
        "",
        "Records per second: median (least to most). The ratio is that of the medians.",
        "",
        *_comparison_table(result),
        "",
        "What was run, in the folder of the files:",
        "",
        "```text",
        *[run["command"] for run in result["results"]],
        "```",
    ]
    return "\n".join(lines) + "\n"


def _comparison_table(result: dict) -> list[str]:
    other, ours = result["settings"]["systems"]
    runs = {(run["codec"], run["threads"], run["system"]): run for run in result["results"]}
    rows = [
        f"| codec | threads | {other} | {ours} | ratio |",
        "|---|---:|---:|---:|---:|",
    ]
    for ratio in result["ratios"]:
        codec, threads = ratio["codec"], ratio["threads"]
        cells = [_rates(runs[codec, threads, system]) for system in (other, ours)]
        rows.append(f"| {codec} | {threads} | {' | '.join(cells)} | {ratio['ratio']:.1f} |")
    return rows


def _rates(run: dict) -> str:
    rates = run["records_per_s"]
    return f"{rates['median']:,.0f} ({rates['min']:,.0f} to {rates['max']:,.0f})"


def benchmarks(result: dict) -> str:
    """A run of the criterion benchmarks."""
    lines = [
        *heading(result),
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
    return f"{_mb(per_second)}/s" if run["unit"] == "Bytes" else f"{per_second:,.0f} /s"


def _time(nanoseconds: float) -> str:
    for unit, size in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)]:
        if nanoseconds >= size:
            return f"{nanoseconds / size:.2f} {unit}"
    return f"{nanoseconds:.1f} ns"


def _mb(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"
