"""The cost of a ready batch in Python."""

from ..bench import Bench
from ..jobs import Job
from ..measure import Contender, ms_per_step
from ..text import table

TITLE = "Taking a ready batch"

CODECS = ["null", "deflate"]
BATCH_SIZES = [64, 256, 1_024]
THREADS = 2

# Number of times that an iteration reads the files, for enough batches.
TIMES = 5


def run(bench: Bench) -> dict:
    """Batches of `atds.Dataset`, each taken long after it is ready."""
    codecs = [codec for codec in CODECS if codec in bench.codecs]
    bench.data.ads(codecs)
    return {"cases": [case(bench, codec, size) for codec in codecs for size in BATCH_SIZES]}


def case(bench: Bench, codec: str, size: int) -> dict:
    """All features of `ads`."""
    job = Job(f"ads/{codec}", "ads/features.json", size, THREADS, times=TIMES)
    contenders = [Contender(bench.atds_ready, job)]
    (result,) = bench.effort.in_turn(f"ready, {codec}, batches of {size}", contenders)
    return {"codec": codec, "batch_size": size, "result": result}


def text(result: dict) -> list[str]:
    """The table."""
    return [
        "Microseconds that `next` takes if the batch is ready: 19 columns as 25 arrays. The figure"
        " is the median of 64 batches. Before each `next` the program does 20 ms of other work.",
        "",
        *table(
            ["codec", "batch", "µs"],
            [
                [
                    case["codec"],
                    f"{case['batch_size']:,}",
                    f"{1e3 * ms_per_step(case['result']):.0f}",
                ]
                for case in result["cases"]
            ],
            left=1,
        ),
    ]
