"""A small model in PyTorch on the CPU, fed in several ways."""

import statistics

from ..bench import Bench
from ..jobs import Job
from ..measure import Contender, rate
from ..text import ratio, rounded, table

TITLE = "Training"

BATCH_SIZE = 256
THREADS = 1


def run(bench: Bench) -> dict:
    """Ours, fastavro in this process and in two others, and the model alone."""
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
        "Samples a second that a small click model in PyTorch learns from, median, preset `ads`"
        f" with deflate, batches of {result['batch_size']}; the model takes 5 dense and 3 sparse"
        " features, and one thread. How much of the time it waits for batches.",
        "",
        *table(["fed by", "samples/s", "atds.torch is", "waiting"], rows, left=1),
    ]


PREFIX = "training, "


def waiting(found: dict) -> float:
    """The share of the time that the model waits."""
    shares = zip(found.get("waited_seconds", [0.0]), found["seconds"], strict=False)
    return statistics.median(waited / seconds for waited, seconds in shares)


def summary(result: dict) -> str:
    """In a sentence."""
    ours, *others, alone = result["results"]
    fed = ", ".join(
        f"{rounded(rate(found))} by {found['system'].removeprefix(PREFIX)} ({waiting(found):.0%})"
        for found in others
    )
    return (
        f"A small click model in PyTorch learns from {rounded(rate(ours))} samples a second where"
        f" `atds.torch` feeds it, waiting {waiting(ours):.0%} of the time; {fed}; and"
        f" {rounded(rate(alone))} of one batch again and again."
    )
