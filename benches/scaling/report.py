"""The record: results, a table and a plot."""

from peers import plot, record
from peers.text import paragraph, rounded, table

from .cells import SHUFFLE_BUFFER
from .measure import SIDES, Row


def row_result(row: Row) -> dict:
    """The entry of a row in the record."""
    about = {"cell": row.cell.name, "threads": row.threads}
    if row.fault is not None:
        return about | {"fault": row.fault}
    counted = row.counted()
    rates = {
        side: {
            "median": row.rate(side),
            "rounds": [found[side].records_per_s for found in counted],
            "rounds_of_slowest": [found[side].records_per_s_of_slowest for found in counted],
            "epochs": row.epochs[side],
        }
        for side in SIDES
    }
    return about | {"records_per_s": rates, "ratio": row.ratio()}


def markdown(result: dict) -> str:
    """The record as text."""
    lines = [
        *record.heading(result),
        f"- `{result['command']}`",
        "",
        paragraph(_method(result)),
        "",
        *_table(result),
    ]
    faults = [entry for entry in result["results"] if "fault" in entry]
    if faults:
        lines += ["", "Not measured:", ""]
        lines += [f"- {entry['cell']}, {entry['threads']}: {entry['fault']}" for entry in faults]
    return "\n".join(lines) + "\n"


def svg(result: dict) -> str:
    """The plot: the pipeline's rate over that of the processes, a panel for each number of threads."""
    panels = {}
    for threads in result["threads"]:
        bars = [
            plot.Bar(entry["cell"], entry["ratio"], ours=True)
            for entry in result["results"]
            if entry["threads"] == threads and "ratio" in entry
        ]
        if bars:
            panels[f"{_title(threads)}, records a second: ratio"] = bars
    return plot.bars(panels, figure=lambda ratio: f"{ratio:.2f}", mark=1.0)


def _title(threads: int) -> str:
    if threads == 1:
        return "1 thread beside 1 process of the same command"
    return f"{threads} threads beside {threads} processes"


def _method(result: dict) -> str:
    share, files = result["records_a_share"], result["files_a_share"]
    each = "1 file" if files == 1 else f"{files} files"
    return (
        "Records a second of one pipeline of n threads, and of n processes of one thread each. A share"
        f" is {share:,} records of the preset `ads` in {each}, in the page cache; the pipeline reads n"
        " shares and each process one, so work a thread is the same for all n. With large batches an"
        " epoch reads the shares several times, so that a share fills two batches. The processes wait"
        " until all are there, and begin together. A process's rate is its records over its epochs"
        " after the first one, which does not count; the figure of the processes is the sum of their"
        " rates (the .json has the records over the time of the slowest process, too). With one thread"
        " both sides are the same command, so their ratio shows the noise. The two sides run by turns"
        f" right after each other. A figure is the median of {_rounds(result)}, and a ratio that of"
        f" the rounds' ratios. Shuffled: a buffer of {SHUFFLE_BUFFER:,} records for each"
        f" pipeline and process. {result['seconds']:.0f} s in all, {result['generating_seconds']:.0f} s"
        " of them to make the files."
    )


def _rounds(result: dict) -> str:
    """The number of rounds that the figures have."""
    rates = [entry["records_per_s"] for entry in result["results"] if "fault" not in entry]
    counts = sorted({len(rate["pipeline"]["rounds"]) for rate in rates}) or [0]
    if counts[0] >= result["rounds"]:
        return f"{counts[0]} rounds"
    return f"{' to '.join(map(str, counts))} rounds (the time was too short for {result['rounds']})"


def _table(result: dict) -> list[str]:
    heads = ["codec, source, order, batch"]
    for threads in result["threads"]:
        heads += [f"{threads}: pipeline", "processes", "ratio"]
    found = {(entry["cell"], entry["threads"]): entry for entry in result["results"]}
    rows = []
    for name in dict.fromkeys(entry["cell"] for entry in result["results"]):
        row = [name]
        for threads in result["threads"]:
            row += _figures(found[name, threads])
        rows.append(row)
    return table(heads, rows, left=1)


def _figures(entry: dict) -> list[str]:
    if "fault" in entry:
        return ["–", "–", "–"]
    rates = [rounded(entry["records_per_s"][side]["median"]) for side in SIDES]
    return [*rates, f"{entry['ratio']:.3f}"]
