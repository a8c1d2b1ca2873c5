"""The record: results, bounds that do not hold, and a table to read."""

from dataclasses import dataclass

from peers import record
from peers.text import paragraph, rounded, table

from .cells import CELLS, EPOCHS, FILES, RECORDS, SHUFFLE_BUFFER, Cell
from .instructions import COUNTS
from .intervals import geometric_mean
from .pairs import Pairs, peak_bytes, rate


@dataclass(frozen=True)
class Bounds:
    """Most of new over old in each cell; `mean` is for the geometric mean of the time."""

    time: float | None = None
    instructions: float | None = None
    memory: float | None = None
    mean: float | None = None


def cell_result(cell: Cell, pairs: Pairs, instructions: dict[str, float] | None) -> dict:
    """The entry of a cell in the record."""
    time = pairs.time_ratio()
    peaks = {"new": peak_bytes(pairs.new), "old": peak_bytes(pairs.old)}
    result = {
        "cell": cell.name,
        "records_per_s": {"new": rate(pairs.new), "old": rate(pairs.old)},
        "time_ratio": time.median,
        "interval": [time.low, time.high],
        "peak_bytes": peaks,
        "peak_ratio": peaks["new"] / peaks["old"],
        "seconds": {
            "new": [round(run.seconds, 6) for run in pairs.new],
            "old": [round(run.seconds, 6) for run in pairs.old],
        },
    }
    if instructions is not None:
        result["instructions_per_record"] = instructions
        result["instructions_ratio"] = instructions["new"] / instructions["old"]
    return result


def mean_of(results: list[dict], key: str) -> float | None:
    """The geometric mean of a ratio over the cells that have it."""
    ratios = [result[key] for result in results if key in result]
    return geometric_mean(ratios) if ratios else None


def broken(results: list[dict], bounds: Bounds) -> list[str]:
    """A line for each bound that does not hold.

    The time of a cell breaks its bound if the whole interval lies above it.
    """
    lines = []
    for result in results:
        found = [
            ("time, lower end of the interval", result["interval"][0], bounds.time),
            ("instructions", result.get("instructions_ratio"), bounds.instructions),
            ("peak memory", result["peak_ratio"], bounds.memory),
        ]
        lines += [
            f"{result['cell']}: {what}: {value:.3f} of the old, at most {most}"
            for what, value, most in found
            if value is not None and most is not None and value > most
        ]
    if bounds.instructions is not None and mean_of(results, "instructions_ratio") is None:
        lines.append("instructions: no cell has one thread, so none were counted")
    mean = mean_of(results, "time_ratio")
    if bounds.mean is not None and mean > bounds.mean:
        lines.append(f"geometric mean of the time: {mean:.3f} of the old, at most {bounds.mean}")
    return lines


def markdown(result: dict) -> str:
    """The record as text."""
    cells = result["cells"]
    lines = [
        *record.heading(result),
        f"- new: the working tree at commit {result['versions']['commit']}; old: {result['old']}",
        f"- `{result['command']}`",
        "",
        paragraph(_method(result)),
        "",
        *_table(cells),
        "",
        paragraph(_means(cells)),
    ]
    if result["bounds"]:
        bounds = ", ".join(f"{name} {most}" for name, most in result["bounds"].items())
        verdict = "all hold" if not result["broken"] else "these do not hold:"
        lines += ["", f"Bounds: {bounds}: {verdict}", *(f"- {line}" for line in result["broken"])]
    return "\n".join(lines) + "\n"


def _method(result: dict) -> str:
    epochs = ", ".join(f"{codec} {count}" for codec, count in EPOCHS.items())
    source = "mapped" if "--mmap" in result["options"] else "read plainly"
    return (
        f"{RECORDS:,} records of the preset `ads` in {FILES} files, {source}, in the page cache; the same"
        f" files for both builds. {result['pairs']} pairs a cell after one that does not count, the"
        " builds first by turns, all cells in each round in random order. A run is a process; its time"
        f" is that of the epochs ({epochs}) after one that does not count, by the command's own clock. Time is"
        " new over old: the median of the pairs' ratios, with the 95 % interval of the median by ranks"
        f" (binomial; it assumes nothing about the noise). Shuffled: a buffer of {SHUFFLE_BUFFER:,}"
        " records. Peak memory is the maximum resident set of the process that the operating system"
        f" reports (`wait4`), the median of all runs; below {result['floor_bytes'] / 1e6:.0f} MB it would"
        " not be seen. Instructions, where they were counted, are of one thread, under valgrind:"
        f" those of some epochs less those of one, each the smallest of {COUNTS} counts."
    )


def _table(cells: list[dict]) -> list[str]:
    heads = [
        *["codec, order, threads, batch", "new, records/s", "old", "time", "95 % interval"],
        *["peak memory, new", "old", "ratio", "instructions a record, new", "old", "ratio"],
    ]
    return table(heads, [_row(cell) for cell in cells], left=1)


def _row(cell: dict) -> list[str]:
    rates, peaks = cell["records_per_s"], cell["peak_bytes"]
    low, high = cell["interval"]
    row = [
        cell["cell"],
        rounded(rates["new"]),
        rounded(rates["old"]),
        f"{cell['time_ratio']:.3f}",
        f"{low:.3f} to {high:.3f}",
        f"{peaks['new'] / 1e6:.1f} MB",
        f"{peaks['old'] / 1e6:.1f} MB",
        f"{cell['peak_ratio']:.2f}",
    ]
    if "instructions_ratio" not in cell:
        return [*row, "", "", ""]
    counts = cell["instructions_per_record"]
    figures = [f"{counts['new']:,.0f}", f"{counts['old']:,.0f}"]
    return [*row, *figures, f"{cell['instructions_ratio']:.3f}"]


def _means(cells: list[dict]) -> str:
    means = [
        f"{name} {mean:.3f}"
        for name, key in [
            ("time", "time_ratio"),
            ("peak memory", "peak_ratio"),
            ("instructions", "instructions_ratio"),
        ]
        if (mean := mean_of(cells, key)) is not None
    ]
    every = "all" if len(cells) == len(CELLS) else "these"
    return f"Geometric means over {every} {len(cells)} cells, new over old: {', '.join(means)}."
