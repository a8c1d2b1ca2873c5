"""The files: a share for each thread and each process, all of the same size."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

# 16 threads then read 400,000 records of some 2 KB in 16 files.
RECORDS = 25_000
FILES = 16


@dataclass(frozen=True)
class Data:
    """The folders of the shares by codec."""

    shares: dict[str, list[Path]]
    # Of each share.
    records: int
    files: int


def generate(atds: Path, folder: Path, codecs: list[str], shares: int, records: int) -> Data:
    """Make `shares` folders for each codec, on all cores. Their seeds differ, and so do their records."""
    files = max(1, FILES // shares)

    def share(codec: str, number: int) -> Path:
        path = folder / codec / f"share-{number}"
        command = [
            *[str(atds), "generate", "--codec", codec, "--seed", str(number)],
            *["--records", str(records), "--files", str(files), str(path)],
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return path

    with ThreadPoolExecutor(cores()) as pool:
        made = {
            codec: [pool.submit(share, codec, number) for number in range(shares)]
            for codec in codecs
        }
        paths = {codec: [share.result() for share in shares] for codec, shares in made.items()}
    # Else the files would be written to disk while the first cells are measured.
    os.sync()
    return Data(paths, records, files)


def cores() -> int:
    """The number of cores that this process may use at the same time."""
    allowed = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(allowed, int(quota) // int(period)))
    except (OSError, ValueError):
        # There is no quota ("max"), or none that can be read.
        return allowed
