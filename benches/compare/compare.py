"""Compares atds with tensorflow-io's ATDSDataset, epoch by epoch in turn, on the same files.

See README.md. Writes a record, and prints it.
"""

import argparse
import platform
import statistics
import sys
import tempfile
from pathlib import Path

import ads
import fastavro
import machine
import record
from systems import Atds, Settings, TensorFlowIo

# ATDSDataset reads no others.
CODECS = ["null", "deflate", "snappy"]


def main() -> None:
    """Makes the data, measures, writes the record."""
    options = parse_options()
    with tempfile.TemporaryDirectory(prefix="atds-compare-") as name:
        folder = Path(name)
        progress(f"making {options.records} records with {', '.join(options.codecs)}")
        data = ads.make(folder, options.atds, options.records, options.files, options.codecs)
        systems = [TensorFlowIo(folder), Atds(options.atds, folder)]
        try:
            versions = machine.versions() | package_versions()
            for system in systems:
                versions |= system.versions()
            state = machine.describe()
            if state["busy_before"] > machine.QUIET:
                progress("warning: the machine is busy with something else")
            results = [
                result
                for codec in options.codecs
                for threads in options.threads
                for result in measure(systems, codec, threads, options)
            ]
        finally:
            for system in systems:
                system.close()

    result = {
        "name": options.name,
        "date": record.today(),
        "machine": state,
        "versions": versions,
        "data": data,
        "settings": {
            "systems": [system.name for system in systems],
            "runs": options.runs,
            "batch_size": options.batch_size,
            "shuffle_buffer": options.shuffle_buffer,
        },
        "results": results,
        "ratios": ratios(results),
    }
    markdown = record.comparison(result)
    print(markdown)
    for path in record.write(options.record, result, markdown):
        progress(f"wrote {path}")


def package_versions() -> dict[str, str]:
    """Of what wrote the files."""
    return {"python": platform.python_version(), "fastavro": fastavro.__version__}


def measure(systems: list, codec: str, threads: int, options: argparse.Namespace) -> list[dict]:
    """Epochs of all systems in turn, so that whatever slows the machine down slows down all."""
    settings = Settings(codec, threads, options.batch_size, options.shuffle_buffer)
    seconds = [[] for _ in systems]
    for run in range(-1, options.runs):
        for system, times in zip(systems, seconds, strict=True):
            epoch = system.epoch(settings)
            if epoch.records != options.records:
                raise RuntimeError(f"{system.name} gave {epoch.records} records, {settings}")
            # The first fills the page cache, and the memory of a worker.
            if run < 0:
                continue
            times.append(epoch.seconds)
            rate = epoch.records / epoch.seconds
            progress(f"{codec}, threads {threads}, {system.name}: {rate:,.0f} records/s")
    return [
        {
            "codec": codec,
            "threads": threads,
            "system": system.name,
            "command": system.describe(settings),
            "seconds": times,
            "records_per_s": rates(options.records, times),
            "ms_per_step": 1e3 * statistics.median(times) / steps(options),
        }
        for system, times in zip(systems, seconds, strict=True)
    ]


def rates(records: int, seconds: list[float]) -> dict[str, float]:
    """The middle and the ends of the runs' rates."""
    of_runs = [records / time for time in seconds]
    return {"median": statistics.median(of_runs), "min": min(of_runs), "max": max(of_runs)}


def steps(options: argparse.Namespace) -> int:
    """Batches in an epoch, the last one's remainder among them."""
    return -(-options.records // options.batch_size)


def ratios(results: list[dict]) -> list[dict]:
    """How many times the other's median ours is; the two stand side by side in `results`."""
    return [
        {
            "codec": ours["codec"],
            "threads": ours["threads"],
            "ratio": ours["records_per_s"]["median"] / other["records_per_s"]["median"],
        }
        for other, ours in zip(results[::2], results[1::2], strict=True)
    ]


def parse_options() -> argparse.Namespace:
    """The command line; the defaults are those of a record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--atds", type=Path, required=True, help="the command, built for release")
    add("--name", default="tensorflow-io", help="of the record, after its date")
    add("--record", type=Path, default=record.FOLDER, help="its folder")
    add("--records", type=positive, default=40_960)
    add("--files", type=positive, default=8)
    add("--codecs", nargs="+", choices=CODECS, default=CODECS)
    add("--threads", nargs="+", type=positive, default=[1, 2])
    add("--batch-size", type=positive, default=1_024)
    add("--shuffle-buffer", type=int, default=0, help="records; 0 keeps the order of the files")
    add("--runs", type=positive, default=7, help="epochs of each that are measured")
    options = parser.parse_args()
    options.atds = options.atds.resolve()
    return options


def positive(text: str) -> int:
    """A number above 0."""
    number = int(text)
    if number <= 0:
        raise ValueError(text)
    return number


def progress(text: str) -> None:
    """A line that is no part of the result."""
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
