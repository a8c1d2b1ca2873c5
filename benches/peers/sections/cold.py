"""atds and the fastest other readers on files that are not in the page cache."""

import statistics

from .. import page_cache
from ..bench import Bench
from ..jobs import Job, UnableError
from ..measure import Contender
from ..systems import Cold
from ..text import megabytes, table
from .readers import cells

TITLE = "Cold files"


def run(bench: Bench) -> dict:
    """One thread, by codec. Nothing is measured if the files cannot leave the page cache."""
    codecs = [codec for codec in ["null", "deflate"] if codec in bench.codecs]
    data = bench.data.ads(codecs)
    try:
        for codec in codecs:
            page_cache.evict(bench.data.files(f"ads/{codec}"))
    except UnableError as error:
        return {"data": data, "unable": str(error)}
    return {
        "data": data,
        "device": bench.data.device(),
        "results": {codec: run_codec(bench, codec) for codec in codecs},
    }


def run_codec(bench: Bench, codec: str) -> list[dict]:
    """Readers that read the files, and readers that map them, in turn."""
    job = Job(f"ads/{codec}", "ads/features.json")
    systems = [*bench.arrow_avro, *bench.serde_avro_fast, bench.atds, bench.atds_mmap]
    if codec == "null":
        systems.insert(0, bench.handwritten)
    contenders = [Contender(Cold(system, bench.data), job) for system in systems]
    return bench.effort.in_turn(f"cold, {codec}", contenders)


def text(result: dict) -> list[str]:
    """The table, or why there is none."""
    if "unable" in result:
        return [f"Not measured: {result['unable']}."]
    by_codec = {
        codec: {found["system"]: found for found in results}
        for codec, results in result["results"].items()
    }
    systems = dict.fromkeys(system for found in by_codec.values() for system in found)
    rows = []
    for system in systems:
        row = [system]
        for found in by_codec.values():
            speed, times = cells(found.get(system), found["atds"])
            row += [speed, device_bytes(found.get(system)), times]
        rows.append(row)
    heads = [head for codec in by_codec for head in (codec, "from the device", "atds is")]
    sizes = " and ".join(
        f"{megabytes(result['data']['file_bytes'][codec])} with {codec}" for codec in by_codec
    )
    return [
        "Median records a second, one thread. Before each epoch the files leave the page cache:"
        f" {sizes}, on the device {result['device']}. `from the device` is what the process then"
        " reads from it in an epoch, as the kernel counts. The host of a virtual machine may"
        " still have the files in its memory.",
        "",
        *table(["system", *heads], rows, left=1),
    ]


def device_bytes(found: dict | None) -> str:
    """The bytes read from the device in an epoch, if the kernel counts them."""
    if found is None or "unable" in found:
        return "–"
    return megabytes(statistics.median(found["device_bytes"])) if "device_bytes" in found else "–"
