"""A small model in PyTorch on the CPU, with several kinds of input."""

import statistics

from ..bench import Bench
from ..jobs import Job
from ..measure import Contender, rate
from ..text import ratio, rounded, table

TITLE = "Training"

BATCH_SIZE = 256
THREADS = 1


def run(bench: Bench) -> dict:
    """atds, fastavro in this process and in two others, and the model alone."""
    bench.data.ads(["deflate"])
    job = Job("ads/deflate", "ads/features.json", BATCH_SIZE, THREADS)
    contenders = [Contender(system, job) for system in bench.training]
    return {"batch_size": BATCH_SIZE, "results": bench.effort.in_turn("training", contenders)}


def text(result: dict) -> list[str]:
    """The table."""
    ours = result["results"][0]
    rows = [
        [
            found["system"].removeprefix(PREFIX),
            rounded(rate(found)),
            "" if found is ours else ratio(rate(ours) / rate(found)),
            f"{waiting(found):.0%}",
        ]
        for found in result["results"]
    ]
    return [
        "Median samples a second of a small click model in PyTorch on the CPU: preset `ads` with"
        f" deflate, batches of {result['batch_size']}. The model reads 5 dense and 3 sparse features"
        " and uses one thread. `waiting` is the share of time that it waits for batches.",
        "",
        *table(["fed by", "samples/s", "atds.torch is", "waiting"], rows, left=1),
    ]


PREFIX = "training, "


def waiting(found: dict) -> float:
    """The share of the time that the model waits."""
    shares = zip(found.get("waited_seconds", [0.0]), found["seconds"], strict=False)
    return statistics.median(waited / seconds for waited, seconds in shares)
