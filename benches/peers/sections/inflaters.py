"""atds beside libraries that decompress the same deflate blocks and do nothing else."""

from ..bench import Bench
from ..jobs import Job
from ..measure import Contender, rate
from ..text import ratio, rounded, table

TITLE = "Deflate libraries"


def run(bench: Bench) -> dict:
    """One thread. The libraries run through their Python packages, on blocks in memory."""
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
        "Median records a second, one thread, preset `ads` with deflate. The libraries decompress"
        " blocks in memory, one by one, and do nothing else. atds decompresses eight blocks at a"
        " time and makes batches.",
        "",
        *table(["", "records/s", "atds is"], rows, left=1),
    ]
