"""Processor time of reading 1 % of files, by record and by block, as a share of reading all of them.

Of an epoch after the first, as the difference of a run of several and a run of one: a start would be most of some
figures. Where blocks are looked for, the first epoch is a line of its own.

Makes its files with `atds generate`, of the command in `ATDS` or else of this repository. Needs only
Python's standard library, on Linux or macOS.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
COMMAND = Path(os.environ.get("ATDS", REPOSITORY / "target/release/atds"))

THREE_FEATURES = {
    "label": {"kind": "dense", "shape": [], "dtype": "int64"},
    "embedding": {"kind": "dense", "shape": [64], "dtype": "float32"},
    "ids": {"kind": "varlen", "shape": [-1], "dtype": "int64"},
}
FIVE_FEATURES = THREE_FEATURES | {
    "weight": {"kind": "dense", "shape": [], "dtype": "float32"},
    "country": {"kind": "dense", "shape": [], "dtype": "string"},
}

# What `atds generate` is told, and the number of records. Features instead of a preset go to a file.
DATA = {
    "tfrecord": (["--format", "tfrecord"], THREE_FEATURES, 1_000_000),
    "tfrecord-5": (["--format", "tfrecord"], FIVE_FEATURES, 600_000),
    "tfrecord-ads": (["--format", "tfrecord", "--preset", "ads"], None, 100_000),
    "btable": (["--format", "btable", "--preset", "wide"], None, 100_000),
    "avro-null": (["--codec", "null"], None, 200_000),
    "avro-null-64k": (["--codec", "null", "--block-bytes", "64000"], None, 200_000),
    "avro-deflate": (["--codec", "deflate"], None, 200_000),
}
FIRST = "1 % by block, first epoch"
# What no way of finding blocks by reading can do without, unless blocks say how long they are.
BYTES = "the bytes alone"
READ_SIZE = 256 << 10
SPLIT = ["--split", "test", "--splits", "train=0.99,test=0.01"]


def main() -> None:
    """Make the files, read them, print a table."""
    options = parse_options()
    if "ATDS" not in os.environ:
        build = ["cargo", "build", "--release", "--locked", "-p", "atds-cli"]
        subprocess.run(build, cwd=REPOSITORY, check=True)
    print("| data | threads | read | ms | share of all | each run |")
    print("|---|---:|---|---:|---:|---|", flush=True)
    for name in options.data or DATA:
        with tempfile.TemporaryDirectory(prefix="atds-splits-", dir=options.folder) as folder:
            files, index = Path(folder) / name, Path(folder) / "index"
            generate(files, *DATA[name])
            run("index", files, "-o", index)
            for threads in options.threads:
                measure(name, files, index, threads, options)


def generate(files: Path, arguments: list[str], features: dict | None, records: int) -> None:
    """Make the files of a data set."""
    if features:
        described = files.with_suffix(".json")
        described.write_text(json.dumps(features))
        arguments = [*arguments, "--features", described]
    run("generate", files, "--records", records, *arguments)


def measure(name: str, files: Path, index: Path, threads: int, options: argparse.Namespace) -> None:
    """Read the files in each way, all ways in turn, and print the medians."""
    read = ["bench", files, "--batch-size", 1024, "--threads", threads]
    if options.mmap:
        read.append("--mmap")
    by_block = [*SPLIT, "--split-by", "block"]
    ways = {
        "all": [],
        "1 % by record": [*SPLIT, "--split-by", "record"],
        "1 % by block": by_block,
        "1 % by block, index": [*by_block, "--index", index],
    }
    times = {way: [] for way in (*ways, FIRST, BYTES)}
    for _ in range(options.runs):
        one, later = {}, {}
        for way, arguments in ways.items():
            one[way] = run(*read, *arguments, "--epochs", 1)
            several = run(*read, *arguments, "--epochs", options.epochs)
            later[way] = (several - one[way]) / (options.epochs - 1)
            times[way].append(1e3 * later[way])
        # A start is the same with and without an index.
        start = one["1 % by block, index"] - later["1 % by block, index"]
        times[FIRST].append(1e3 * (one["1 % by block"] - start))
        times[BYTES].append(1e3 * read_bytes(files))
    medians = {way: statistics.median(runs) for way, runs in times.items()}
    for way, runs in times.items():
        share = medians[way] / medians["all"]
        each = " ".join(f"{ms:.0f}" for ms in runs)
        print(
            f"| {name} | {threads} | {way} | {medians[way]:.0f} | {share:.3f} | {each} |",
            flush=True,
        )


def read_bytes(files: Path) -> float:
    """Read all bytes of the files to one small buffer, and return the processor time in seconds."""
    buffer = bytearray(READ_SIZE)
    before = time.process_time()
    for file in sorted(files.iterdir()):
        with file.open("rb", buffering=0) as source:
            while source.readinto(buffer):
                pass
    return time.process_time() - before


def run(*arguments: object) -> float:
    """Run the command, and return its processor time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [COMMAND, *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("data", nargs="*", help=f"of {', '.join(DATA)}; all by default")
    add("--threads", type=int, nargs="+", default=[1, 2], help="of `atds bench`")
    add("--runs", type=int, default=5, help="of each way of reading")
    add("--epochs", type=int, default=10, help="that each run of the command reads")
    add("--mmap", action="store_true", help="map the files")
    add("--folder", type=Path, help="where the files are made, 400 MB at a time")
    options = parser.parse_args()
    if unknown := set(options.data) - set(DATA):
        parser.error(f"unknown data: {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    main()
