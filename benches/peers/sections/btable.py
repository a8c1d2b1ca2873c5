"""BTable: a sparse table, read and written by atds and by other libraries."""

from ..bench import TABLES, Bench
from ..jobs import Job
from ..measure import Contender, processor_seconds
from ..text import megabytes, ratio, table

TITLE = "BTable"

FOLDER = "table"

HEADS = {
    "read": "to memory",
    "write sparse": "from a CSR matrix",
    "write dense": "from a dense array",
}


def run(bench: Bench) -> dict:
    """Each task: reading and shuffled batches in turn, and both ways of writing."""
    data = bench.make_files("table", FOLDER)
    job = Job(FOLDER, "")
    tasks = {"read": ["read", "batches"], "write sparse": ["write sparse"]}
    tasks["write dense"] = ["write dense"]
    assert {task for several in tasks.values() for task in several} == set(TABLES)
    return {
        "data": data,
        "tasks": {
            title: bench.effort.in_turn(
                f"BTable, {title}",
                [Contender(system, job) for task in several for system in bench.tables(task)],
            )
            for title, several in tasks.items()
        },
    }


def text(result: dict) -> list[str]:
    """The tables."""
    data = result["data"]
    lines = [
        f"{data['rows']:,} rows of {data['columns']} columns, {data['nonzeros']:,} numbers that are not 0,"
        f" {megabytes(data['file_bytes'])}, written by `btable-py`. Files in the page cache. Each library reads"
        " a file of its own format. Shuffled batches have 1,024 rows and a window of 8,192, one thread. The"
        " text that published the format gives 7 s for reading and 5.8 s for writing such a table.",
    ]
    for title, found in result["tasks"].items():
        heads = [HEADS[title], "ms", "atds is", "ms of the processor", "atds is"]
        lines += ["", *table(heads, _rows(found), left=1)]
    return lines


def _rows(results: list[dict]) -> list[list[str]]:
    ours = results[0]
    rows = []
    for found in results:
        if "unable" in found:
            rows.append([found["system"], "–", "", "–", ""])
            continue
        times = [1e3 * found["records"] / found["records_per_s"]["median"]]
        times.append(1e3 * processor_seconds(found))
        base = [1e3 * ours["records"] / ours["records_per_s"]["median"]]
        base.append(1e3 * processor_seconds(ours))
        cells = []
        for time, least in zip(times, base, strict=True):
            cells += [f"{time:,.1f}", "" if found is ours else f"{ratio(time / least)}"]
        rows.append([found["system"], *cells])
    return rows
