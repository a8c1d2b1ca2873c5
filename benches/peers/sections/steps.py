"""Milliseconds a step by batch size, as in LinkedIn's report of ATDSDataset."""

from ..bench import Bench
from ..jobs import Job
from ..measure import Contender, ms_per_step
from ..text import ratio, table

TITLE = "Steps"

BATCH_SIZES = [64, 256, 1_024]
THREADS = 2


def run(bench: Bench) -> dict:
    """AvroRecordDataset, ATDSDataset and atds with two threads."""
    codecs = [codec for codec in ["deflate", "null", "snappy"] if codec in bench.codecs]
    bench.data.ads(codecs)
    results = []
    for codec in codecs:
        for batch_size in BATCH_SIZES if codec == "deflate" else BATCH_SIZES[-1:]:
            job = Job(f"ads/{codec}", "ads/features.json", batch_size, THREADS)
            systems = [bench.avro_record_dataset, bench.atds_dataset, bench.atds, bench.atds_mmap]
            contenders = [Contender(system, job) for system in systems]
            title = f"{codec}, batches of {batch_size}"
            found = bench.effort.in_turn(title, contenders)
            results.append({"codec": codec, "batch_size": batch_size, "results": found})
    return {"threads": THREADS, "results": results}


def text(result: dict) -> list[str]:
    """The table."""
    rows = []
    for case in result["results"]:
        slowest, original, *ours = [ms_per_step(found) for found in case["results"]]
        row = [case["codec"], f"{case['batch_size']:,}"]
        row += [f"{slowest:.1f}", f"{original:.2f}", *(f"{ms:.3f}" for ms in ours)]
        rows.append([*row, ratio(slowest / ours[0]), ratio(slowest / original)])
    heads = ["codec", "batch", "AvroRecordDataset", "ATDSDataset", "atds", "atds --mmap"]
    return [
        f"Median milliseconds a step, {result['threads']} threads. The last two columns compare with"
        " AvroRecordDataset.",
        "",
        *table([*heads, "atds is", "ATDSDataset is"], rows, left=1),
    ]
