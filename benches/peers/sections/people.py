"""atds beside AvroRecordDataset: nested records by path expressions."""

from ..bench import Bench
from ..jobs import Job
from ..measure import Contender, rate
from ..text import ratio, rounded, table

TITLE = "Path expressions"

THREADS = 2


def run(bench: Bench) -> dict:
    """Eight expressions into the preset `people`, two of them filters."""
    codecs = [codec for codec in ["null", "deflate"] if codec in bench.codecs]
    data = bench.data.people(codecs)
    results = {}
    for codec in codecs:
        job = Job(f"people/{codec}", "people/features.json", threads=THREADS)
        systems = [bench.avro_record_dataset, bench.atds]
        contenders = [Contender(system, job) for system in systems]
        results[codec] = bench.effort.in_turn(f"people, {codec}", contenders)
    return {"threads": THREADS, "data": data, "results": results}


def text(result: dict) -> list[str]:
    """The table."""
    rows = []
    for codec, (other, ours) in result["results"].items():
        rates = [rounded(rate(other)), rounded(rate(ours)), ratio(rate(ours) / rate(other))]
        rows.append([codec, *rates])
    return [
        f"Median records a second, preset `people`, {result['threads']} threads."
        f" {len(result['data']['expressions'])} expressions, two of them filters.",
        "",
        *table(["codec", "AvroRecordDataset", "atds", "atds is"], rows, left=1),
    ]


def summary(result: dict) -> str:
    """One sentence of text."""
    times = [
        f"{ratio(rate(ours) / rate(other))} with {codec}"
        for codec, (other, ours) in result["results"].items()
    ]
    return (
        f"Nested records, {len(result['data']['expressions'])} path expressions, two of them"
        f" filters: `atds` is {' and '.join(times)} as fast as AvroRecordDataset."
    )
