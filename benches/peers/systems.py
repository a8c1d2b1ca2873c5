"""The systems, behind one interface: run a job, return its times."""

import json
import os
import resource
import subprocess
import time
from pathlib import Path
from typing import Protocol

from . import page_cache
from .data import Data
from .jobs import Job, Timing, UnableError

# For workers: the path of this package, and no log lines of TensorFlow.
ENVIRONMENT = {
    "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
    "TF_CPP_MIN_LOG_LEVEL": "2",
}


class System(Protocol):
    """A way to read files."""

    name: str
    # Maximum number of epochs in a turn.
    epochs: int

    def run(self, job: Job, epochs: int) -> Timing:
        """Read all files `epochs` times, after one epoch that does not count."""

    def describe(self, job: Job, epochs: int) -> str:
        """The command, for the record."""

    def versions(self) -> dict[str, str]:
        """The versions of its parts."""

    def close(self) -> None:
        """End its processes."""


class Atds:
    """The command: a process for each turn, which prints the time of each epoch."""

    epochs = 20

    def __init__(self, binary: Path, data: Path, *options: str) -> None:
        self.name = " ".join(["atds", *options])
        self._binary = binary
        self._data = data
        self._options = options

    def command(self, job: Job, epochs: int) -> list[str]:
        """The arguments, with paths relative to the folder of the data."""
        return [
            *["bench", "--json", "--features", job.features, "--epochs", str(epochs)],
            *["--batch-size", str(job.batch_size), "--threads", str(job.threads)],
            *["--shuffle-buffer", str(job.shuffle_buffer), *self._options, job.files],
        ]

    def describe(self, job: Job, epochs: int) -> str:
        return "atds " + " ".join(self.command(job, 1 + epochs))

    def run(self, job: Job, epochs: int) -> Timing:
        command = [self._binary, *self.command(job, 1 + epochs)]
        done = subprocess.run(command, cwd=self._data, check=True, stdout=subprocess.PIPE)
        figures = json.loads(done.stdout)
        # The first epoch fills the page cache and the memory of the process.
        return Timing(figures["records"] // (1 + epochs), figures["epoch_seconds"][1:])

    def prepare(self, job: Job) -> None:
        """Nothing: each epoch has a process of its own."""

    def once(self, job: Job) -> Timing:
        """The first epoch of a new process."""
        command = [self._binary, *self._once(job)]
        before = _device_bytes_of_ended()
        done = subprocess.run(command, cwd=self._data, check=True, stdout=subprocess.PIPE)
        figures = json.loads(done.stdout)
        device_bytes = [_device_bytes_of_ended() - before]
        return Timing(figures["records"], figures["epoch_seconds"], device_bytes=device_bytes)

    def describe_once(self, job: Job) -> str:
        return "atds " + " ".join(self._once(job))

    def _once(self, job: Job) -> list[str]:
        # The clock starts after the check of the files, which would read the start of each.
        return [*self.command(job, 1), "--no-check-files"]

    def peak_memory(self, job: Job, epochs: int) -> int:
        """Peak resident memory of a new process, in bytes."""
        command = [self._binary, *self.command(job, 1 + epochs)]
        with subprocess.Popen(command, cwd=self._data, stdout=subprocess.DEVNULL) as process:
            peak = 0
            # `ru_maxrss` would include the memory of this process.
            while process.poll() is None:
                peak = max(peak, _high_water_mark(process.pid))
                time.sleep(0.002)
        if process.returncode != 0:
            raise RuntimeError(f"{command} ended with {process.returncode}")
        return peak

    def versions(self) -> dict[str, str]:
        done = subprocess.run([self._binary, "--version"], check=True, stdout=subprocess.PIPE)
        return {"atds": done.stdout.decode().split()[-1]}

    def close(self) -> None:
        pass


class Worker:
    """A system in a process of its own, which answers each line with a line.

    The process lives as long as the comparison, so the start of a runtime and its first
    allocations do not count. A short-lived process lives for one turn, as the command does,
    because the addresses of its memory change its speed by a few percent.
    """

    def __init__(
        self,
        name: str,
        command: list,
        data: Path,
        call: str,
        *,
        epochs: int = 1,
        short_lived: bool = False,
    ) -> None:
        self.name = name
        self.epochs = epochs
        self._short_lived = short_lived
        self._command = command
        self._data = data
        self._call = call
        self._process: subprocess.Popen | None = None
        self._versions: dict[str, str] = {}
        self._warm: set[Job] = set()

    def describe(self, job: Job, epochs: int) -> str:
        return f"{self.name}, {epochs} times: " + self._call.format(**vars(job))

    def run(self, job: Job, epochs: int) -> Timing:
        if self._short_lived:
            self.close()
        warm_up = 0 if job in self._warm else 1
        answer = self._ask(vars(job) | {"epochs": epochs, "warm_up": warm_up})
        self._warm.add(job)
        more = (answer.get(name, []) for name in ("waited", "taking", "processor"))
        return Timing(answer["records"], answer["seconds"], *more)

    def prepare(self, job: Job) -> None:
        """Run the epoch that does not count."""
        if job not in self._warm:
            self.run(job, 1)

    def once(self, job: Job) -> Timing:
        """Another epoch of a job that is prepared."""
        before = _device_bytes(self._process.pid)
        timing = self.run(job, 1)
        device_bytes = [_device_bytes(self._process.pid) - before]
        return Timing(timing.records, timing.seconds, device_bytes=device_bytes)

    def describe_once(self, job: Job) -> str:
        return f"{self.name}: " + self._call.format(**vars(job))

    def peak_memory(self, job: Job, epochs: int) -> tuple[int, int]:
        """The resident memory of a new process before the data set is made, and the peak after it."""
        self.close()
        answer = self._ask(vars(job) | {"epochs": epochs, "warm_up": 1})
        return answer["memory_before"], answer["memory_peak"]

    def versions(self) -> dict[str, str]:
        self._start()
        return self._versions

    def close(self) -> None:
        """End the process, which stops at the end of its input."""
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait()
            self._process = None
        self._warm.clear()

    def _ask(self, request: dict) -> dict:
        self._start()
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._receive()
        if "unable" in answer:
            raise UnableError(answer["unable"])
        return answer

    def _start(self) -> None:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._data,
                env=os.environ | ENVIRONMENT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            try:
                self._versions = self._receive()
            except UnableError as error:
                raise RuntimeError(f"{self.name} did not start: {error}") from error

    def _receive(self) -> dict:
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            self._process = None
            self._warm.clear()
            raise UnableError(f"the process ended with status {status}")
        return json.loads(line)


class Cold:
    """A system that reads files which are not in the page cache."""

    epochs = 4

    def __init__(self, system: Atds | Worker, data: Data) -> None:
        self.name = system.name
        self._system = system
        self._files = data.files

    def describe(self, job: Job, epochs: int) -> str:
        about = self._system.describe_once(job)
        return f"{epochs} times, each after the files left the page cache: {about}"

    def run(self, job: Job, epochs: int) -> Timing:
        self._system.prepare(job)
        timings = []
        for _ in range(epochs):
            page_cache.evict(self._files(job.files))
            timings.append(self._system.once(job))
        return Timing(
            timings[0].records,
            [seconds for timing in timings for seconds in timing.seconds],
            device_bytes=[size for timing in timings for size in timing.device_bytes],
        )

    def versions(self) -> dict[str, str]:
        return self._system.versions()

    def close(self) -> None:
        self._system.close()


def _device_bytes_of_ended() -> int:
    """Bytes that all processes which this one has waited for have read from devices."""
    # The kernel counts in units of 512 bytes.
    return 512 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock


def _device_bytes(pid: int) -> int:
    """Bytes that a process has read from devices, 0 if the kernel does not count them."""
    counts = Path(f"/proc/{pid}/io")
    lines = counts.read_text().splitlines() if counts.exists() else []
    return sum(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))


def _high_water_mark(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    # An ended process has no such file.
    lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return 1024 * int(lines[0].split()[1]) if lines else 0
