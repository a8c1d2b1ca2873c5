"""atds beside ATDSDataset: single features, odd sizes of records, odd sizes of blocks."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..bench import Bench
from ..data import ADS, RECORDS
from ..jobs import Job
from ..measure import Contender, Effort, rate
from ..text import ratio, rounded, table

TITLE = "Narrow cases"

DTYPES = ["int32", "int64", "float32", "float64", "bool", "string"]
SHAPES = {
    "dense": [[], [32], [8, 8]],
    "sparse": [[100_000], [1_000, 1_000]],
    "varlen": [[-1], [-1, -1]],
}

# Total values of a case, and maximum number of records.
VALUES = 4_000_000
MOST_RECORDS = 409_600

# Mean length of lists without a fixed length, by rank, and of sparse features.
MEAN_LENGTHS = {1: 16, 2: 6}

SMALL = {
    "id": {"kind": "dense", "shape": [], "dtype": "int64"},
    "price": {"kind": "dense", "shape": [], "dtype": "float32"},
    "count": {"kind": "dense", "shape": [], "dtype": "int32"},
}
LARGE = {
    "image": {"kind": "dense", "shape": [128, 128], "dtype": "float32"},
    "embedding": {"kind": "dense", "shape": [4_096], "dtype": "float64"},
}


@dataclass(frozen=True)
class Case:
    """A features file and its records."""

    name: str
    features: dict[str, dict]
    records: int
    mean_length: int = 16
    block_bytes: int = 16_000
    batch_size: int = 1_024


def cases() -> Iterator[Case]:
    """All cases."""
    for kind, shapes in SHAPES.items():
        for shape in shapes:
            for dtype in DTYPES:
                yield one_feature(kind, shape, dtype)
    yield Case("3 scalars a record", SMALL, MOST_RECORDS)
    yield Case("100 KB a record, batches of 64", LARGE, 512, batch_size=64)
    for kilobytes in [4, 16, 64, 1_000]:
        name = f"ads, blocks of {kilobytes:,} KB"
        yield Case(name, ADS, RECORDS, block_bytes=1_000 * kilobytes)


def one_feature(kind: str, shape: list[int], dtype: str) -> Case:
    """A case of a single feature, with `VALUES` values in all."""
    rank = len(shape)
    mean_length = MEAN_LENGTHS.get(rank if kind == "varlen" else 1)
    values = {
        "dense": math.prod(shape),
        "sparse": mean_length,
        "varlen": (mean_length or 1) ** rank,
    }
    return Case(
        f"{kind} {dtype}, rank {rank}",
        {"x": {"kind": kind, "shape": shape, "dtype": dtype}},
        min(MOST_RECORDS, VALUES // values[kind]),
        mean_length,
    )


def run(bench: Bench) -> dict:
    """One thread, codec null. The files of a case exist only while it runs."""
    effort = Effort(bench.effort.rounds, epochs=min(5, bench.effort.epochs))
    results = []
    for case in cases():
        folder, features = bench.data.narrow(
            case.features, case.records, case.mean_length, case.block_bytes
        )
        job = Job(folder, features, case.batch_size)
        contenders = [Contender(system, job) for system in (bench.atds_dataset, bench.atds)]
        found = effort.in_turn(case.name, contenders)
        results.append({"case": case.name, "records": case.records, "results": found})
    return {"results": results}


def text(result: dict) -> list[str]:
    """The table."""
    rows, refusals = [], set()
    for case in result["results"]:
        original, ours = case["results"]
        if times(case) is None:
            refusals.add(f"- {case['case']}: {original['unable']}")
            rows.append([case["case"], "–", rounded(rate(ours)), "–"])
        else:
            rates = [rounded(rate(original)), rounded(rate(ours))]
            rows.append([case["case"], *rates, ratio(times(case))])
    lines = [
        "Median records a second, codec null, one thread. Each file has one feature, except for the"
        " last six cases.",
        "",
        *table(["case", "ATDSDataset", "atds", "atds is"], rows, left=1),
    ]
    if refusals:
        lines += ["", "Cases that ATDSDataset cannot read, with its error:", "", *sorted(refusals)]
    return lines


def summary(result: dict) -> str:
    """One sentence of text."""
    ratios = [(times(case), case["case"]) for case in result["results"] if times(case)]
    (least, worst), (most, best) = min(ratios), max(ratios)
    return (
        f"{len(result['results'])} cases cover each kind, dtype and rank of a single feature, and"
        " small and large records and blocks. With one thread and the codec null, `atds` is between"
        f" {ratio(least)} ({worst}) and {ratio(most)} ({best}) as fast as ATDSDataset."
    )


def times(case: dict) -> float | None:
    """The speed of atds relative to ATDSDataset."""
    original, ours = case["results"]
    return None if "unable" in original else rate(ours) / rate(original)
