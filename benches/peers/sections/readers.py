"""All systems on the same files: records a second."""

from ..bench import Bench
from ..jobs import Job
from ..measure import Contender, rate
from ..text import ratio, rounded, table

TITLE = "Readers"

# The codecs of tensorflow-io.
TENSORFLOW_CODECS = ["null", "deflate", "snappy"]


def run(bench: Bench) -> dict:
    """All systems, by codec."""
    data = bench.data.ads(bench.codecs)
    results = {codec: run_codec(bench, codec) for codec in bench.codecs}
    return {"data": data, "results": results}


def run_codec(bench: Bench, codec: str) -> list[dict]:
    """All systems that read the codec, in turn."""

    def contenders(systems: list, threads: int) -> list[Contender]:
        job = Job(f"ads/{codec}", "ads/features.json", threads=threads)
        return [Contender(system, job) for system in systems]

    ours = [bench.atds, bench.atds_mmap]
    if codec not in TENSORFLOW_CODECS:
        all_of_them = contenders(bench.serde_avro_fast, 1)
        for threads in bench.threads:
            all_of_them += contenders(ours, threads)
        return bench.effort.in_turn(codec, all_of_them)
    # Systems without a number of threads keep one core busy.
    rust = [bench.apache_avro, *bench.arrow_avro, *bench.serde_avro_fast]
    single = [bench.fastavro, *bench.frames, *rust]
    threaded = [bench.avro_record_dataset, bench.atds_dataset, *ours]
    if codec == "null":
        single.append(bench.handwritten)
    all_of_them = contenders(single, 1)
    for threads in bench.threads:
        all_of_them += contenders(threaded, threads)
    return bench.effort.in_turn(codec, all_of_them)


def text(result: dict) -> list[str]:
    """The table. After each rate: how many times as fast atds is on the same number of threads."""
    by_codec = {
        codec: {(found["system"], found["threads"]): found for found in results}
        for codec, results in result["results"].items()
    }
    systems = list(dict.fromkeys(key for found in by_codec.values() for key in found))
    first = by_codec[next(iter(by_codec))]
    systems.sort(key=lambda key: (key[0].startswith("atds"), rate(first[key]) or 0))
    rows = []
    for system, threads in systems:
        row = [system, str(threads)]
        for found in by_codec.values():
            row += cells(found.get((system, threads)), found["atds", threads])
        rows.append(row)
    heads = [head for codec in by_codec for head in (codec, "atds is")]
    return [
        "Median records a second. `atds is` compares with atds on the same number of threads.",
        "",
        *table(["system", "threads", *heads], rows, left=1),
    ]


def cells(found: dict | None, ours: dict) -> list[str]:
    """The rate of a system, and the ratio of atds to it."""
    if found is None or "unable" in found:
        return ["–", "–"]
    if found is ours or "unable" in ours:
        return [rounded(rate(found)), ""]
    return [rounded(rate(found)), ratio(rate(ours) / rate(found))]
