"""The systems that are compared, behind one interface: do a job, say how long it took."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Protocol

from .jobs import Job, Timing, UnableError

# Of workers: where this package is, and no notes of TensorFlow's on how it was built.
ENVIRONMENT = {
    "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
    "TF_CPP_MIN_LOG_LEVEL": "2",
}


class System(Protocol):
    """A way to read Avro files."""

    name: str
    # Epochs that are measured at a time, before others have their turn.
    epochs: int

    def run(self, job: Job, epochs: int) -> Timing:
        """Reads all files `epochs` times, after once that is not measured."""

    def describe(self, job: Job, epochs: int) -> str:
        """How to run it, for the record."""

    def versions(self) -> dict[str, str]:
        """Of what it is made of."""

    def close(self) -> None:
        """Leaves nothing running."""


class Atds:
    """The command, a process each time; it says itself how long each epoch took."""

    epochs = 20

    def __init__(self, binary: Path, data: Path, *options: str) -> None:
        self.name = " ".join(["atds", *options])
        self._binary = binary
        self._data = data
        self._options = options

    def command(self, job: Job, epochs: int) -> list[str]:
        """The arguments, with paths from the data's folder."""
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
        # The first fills the page cache, and the memory of the process.
        return Timing(figures["records"] // (1 + epochs), figures["epoch_seconds"][1:])

    def peak_memory(self, job: Job, epochs: int) -> int:
        """The most bytes of memory that were resident in a fresh process."""
        command = [self._binary, *self.command(job, 1 + epochs)]
        with subprocess.Popen(command, cwd=self._data, stdout=subprocess.DEVNULL) as process:
            peak = 0
            # The mark only rises; `ru_maxrss` would have this process's own memory in it.
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
    """A system in a process of its own, which answers to a line with a line.

    It lives as long as the comparison, so that neither the start of a runtime nor its first
    allocations are measured; or, where it is short-lived, for a turn, as the command does: where
    the memory of a process happens to lie makes some percent of difference.
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
        more = (answer.get(name, []) for name in ("waited", "taking"))
        return Timing(answer["records"], answer["seconds"], *more)

    def peak_memory(self, job: Job, epochs: int) -> tuple[int, int]:
        """The resident memory before there was a dataset, and the most there was from then on.

        Of a fresh process.
        """
        self.close()
        answer = self._ask(vars(job) | {"epochs": epochs, "warm_up": 1})
        return answer["memory_before"], answer["memory_peak"]

    def versions(self) -> dict[str, str]:
        self._start()
        return self._versions

    def close(self) -> None:
        """Ends the process, which stops at the end of its input."""
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


def _high_water_mark(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    # A process that has ended has none.
    lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return 1024 * int(lines[0].split()[1]) if lines else 0
