"""Peak resident memory while shuffling."""

from ..bench import Bench
from ..jobs import Job
from ..measure import progress
from ..text import megabytes, table

TITLE = "Memory"

SHUFFLE_BUFFER = 8_192
EPOCHS = 5


def run(bench: Bench) -> dict:
    """Each system in a new process."""
    codecs = [codec for codec in ["null", "deflate"] if codec in bench.codecs]
    bench.data.ads(codecs)
    results = []
    for codec in codecs:
        progress(f"{codec}, shuffled")
        job = Job(f"ads/{codec}", "ads/features.json", shuffle_buffer=SHUFFLE_BUFFER)
        systems = (bench.atds_dataset, bench.atds)
        (before, peak), ours = (system.peak_memory(job, EPOCHS) for system in systems)
        results.append(
            {
                "codec": codec,
                "atds_dataset_before": before,
                "atds_dataset_peak": peak,
                "atds_peak": ours,
                "commands": [system.describe(job, EPOCHS) for system in systems],
            }
        )
    return {"epochs": EPOCHS, "shuffle_buffer": SHUFFLE_BUFFER, "results": results}


def text(result: dict) -> list[str]:
    """The table."""
    rows = [
        [
            case["codec"],
            megabytes(case["atds_dataset_peak"] - case["atds_dataset_before"]),
            megabytes(case["atds_dataset_peak"]),
            megabytes(case["atds_peak"]),
        ]
        for case in result["results"]
    ]
    return [
        f"Peak resident memory of a new process in {1 + result['epochs']} epochs: batches of 1,024,"
        f" shuffle buffer {result['shuffle_buffer']:,}, one thread.",
        "",
        *table(
            ["codec", "ATDSDataset alone", "with TensorFlow", "atds, the whole process"],
            rows,
            left=1,
        ),
    ]
