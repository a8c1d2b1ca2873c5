"""The whole of our pipeline beside libraries that inflate the same blocks and do nothing else."""

from ..bench import Bench
from ..jobs import Job
from ..measure import Contender, rate
from ..text import ratio, rounded, table

TITLE = "Deflate"


def run(bench: Bench) -> dict:
    """One thread; the libraries through their Python packages, blocks already in memory."""
    bench.data.ads(["deflate"])
    job = Job("ads/deflate", "ads/features.json")
    systems = [*bench.inflaters, bench.atds_mmap]
    contenders = [Contender(system, job) for system in systems]
    return {"results": bench.effort.in_turn("deflate", contenders)}


def text(result: dict) -> list[str]:
    """The table."""
    *others, ours = result["results"]
    rows = [
        [other["system"], rounded(rate(other)), ratio(rate(ours) / rate(other))] for other in others
    ]
    rows.append([f"{ours['system']}, batches of all features", rounded(rate(ours)), ""])
    return [
        "Records a second, median, one thread, preset `ads` with deflate: libraries that inflate"
        " its blocks, which are in memory, one by one and do nothing else, and the whole of our"
        " pipeline, which inflates blocks eight at a time.",
        "",
        *table(["", "records/s", "atds is"], rows, left=1),
    ]
