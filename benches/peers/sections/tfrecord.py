"""TFRecord: atds beside tf.data, and one thread beside other readers."""

from ..bench import Bench
from ..jobs import Job
from ..measure import Contender, processor_seconds, rate
from ..text import megabytes, ratio, rounded, table

TITLE = "TFRecord"

FOLDER, FEATURES = "tfrecord", "tfrecord.json"
THREADS = 2
SHUFFLE_BUFFER = 8_192
CASES = [(1_024, 0), (1_024, SHUFFLE_BUFFER), (32, 0), (32, SHUFFLE_BUFFER)]

# In a long epoch the start of an iterator does not matter.
TIMES = 3

# The fields of the examples that `table_files.py` makes.
COLUMNS = {
    "label": {"kind": "dense", "shape": [], "dtype": "int64"},
    "weight": {"kind": "dense", "shape": [], "dtype": "float32"},
    "country": {"kind": "dense", "shape": [], "dtype": "string"},
    "embedding": {"kind": "dense", "shape": [64], "dtype": "float32"},
    "ids": {"kind": "varlen", "shape": [-1], "dtype": "int64"},
}


def run(bench: Bench) -> dict:
    """tf.data in two forms by batch size and shuffling, and one thread."""
    data = bench.make_files("examples", FOLDER)
    bench.data.write_features(FEATURES, COLUMNS)
    alone = Job(FOLDER, FEATURES)
    readers = [bench.tfrecord_package, *bench.tfrecord_crate, bench.atds, bench.atds_tfrecord]
    contenders = [Contender(system, alone) for system in readers]
    return {
        "data": data,
        "threads": THREADS,
        "tf_data": [case(bench, *of) for of in CASES],
        "alone": bench.effort.in_turn("TFRecord, one thread", contenders),
    }


def case(bench: Bench, size: int, shuffle_buffer: int) -> dict:
    """tf.data and atds with two threads."""
    job = Job(FOLDER, FEATURES, size, THREADS, shuffle_buffer, TIMES)
    systems = [bench.tf_data, bench.atds_tfrecord]
    if shuffle_buffer:
        systems.insert(0, bench.tf_data_each)
    contenders = [Contender(system, job) for system in systems]
    title = f"TFRecord, batches of {size}, window of {shuffle_buffer}"
    found = bench.effort.in_turn(title, contenders)
    return {"batch_size": size, "shuffle_buffer": shuffle_buffer, "results": found}


def text(result: dict) -> list[str]:
    """The tables."""
    data = result["data"]
    rows = [row for case in result["tf_data"] for row in _rows(case)]
    heads = [
        "batch",
        "order",
        "system",
        "records/s",
        "atds is",
        "processor, µs a record",
        "atds is",
    ]
    framed = next(found for found in result["alone"] if found["system"] == "atds-tfrecord")
    size = data["file_bytes"] / data["records"]
    return [
        f"{data['records']:,} Examples of five features in {data['files']} files,"
        f" {megabytes(data['file_bytes'])}, written by the package `tfrecord`. tf.data chooses its threads,"
        f" atds has {result['threads']}; both run in Python and shuffle in a window of"
        f" {SHUFFLE_BUFFER:,}. `atds is` says how many times as fast, and how many times as cheap.",
        "",
        *table(heads, rows, left=3),
        "",
        "One thread, in order. `tfrecord (PyPI)` and the crate `tfrecord` give records and no batches;"
        " `--raw` does not parse them. `atds-tfrecord` frames files in memory and verifies both"
        f" checksums: {_gigabytes(framed, size)}."
        " `atds` is the command, `atds.Dataset` Python.",
        "",
        *table(["system", "records/s", "atds is"], _alone(result["alone"]), left=1),
    ]


def _rows(case: dict) -> list[list[str]]:
    *others, ours = case["results"]
    order = "shuffled" if case["shuffle_buffer"] else "of the files"
    rows = []
    for found in [*others, ours]:
        if "unable" in found:
            rows.append([f"{case['batch_size']:,}", order, found["system"], "–", "", "–", ""])
            continue
        cost, least = (_cost(each) for each in (found, ours))
        is_ours = found is ours
        times = ["", ""] if is_ours else [ratio(rate(ours) / rate(found)), ratio(cost / least)]
        row = [f"{case['batch_size']:,}", order, found["system"], rounded(rate(found))]
        rows.append([*row, times[0], f"{cost:.2f}", times[1]])
    return rows


def _cost(found: dict) -> float:
    """Microseconds of processor time a record."""
    return 1e6 * processor_seconds(found) / found["records"]


def _gigabytes(found: dict, record_bytes: float) -> str:
    """By the processor's time, which the machine's other work does not change: one thread, no system calls."""
    if "unable" in found:
        return "not measured"
    if (seconds := processor_seconds(found)) is None:
        # A record of before it was measured.
        return f"{rate(found) * record_bytes / 1e9:.1f} GB/s"
    return f"{found['records'] * record_bytes / seconds / 1e9:.1f} GB/s of processor time"


def _alone(results: list[dict]) -> list[list[str]]:
    ours = next(found for found in results if found["system"] == "atds")
    rows = []
    for found in results:
        speed = "–" if "unable" in found else rounded(rate(found))
        times = "" if found is ours or "unable" in found else ratio(rate(ours) / rate(found))
        rows.append([found["system"], speed, times])
    return rows
