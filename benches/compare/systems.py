"""The systems that are compared, behind one interface: run an epoch, say how long it took."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """What an epoch is."""

    codec: str
    threads: int
    batch_size: int
    shuffle_buffer: int


@dataclass(frozen=True)
class Epoch:
    """What one system did in an epoch."""

    records: int
    seconds: float


class Atds:
    """The command, a process an epoch.

    `atds bench` says itself how long it read, so the start of the process is not measured; but
    each run begins with fresh memory, which a warmed process does not have to ask for.
    """

    name = "atds"

    def __init__(self, binary: Path, data: Path) -> None:
        self._binary = binary
        self._data = data

    def command(self, settings: Settings) -> list[str]:
        """The arguments, with paths from the data folder."""
        return [
            *["bench", "--json", "--features", "ads.json", "--epochs", "1"],
            *["--batch-size", str(settings.batch_size)],
            *["--threads", str(settings.threads)],
            *["--shuffle-buffer", str(settings.shuffle_buffer)],
            settings.codec,
        ]

    def describe(self, settings: Settings) -> str:
        """How to run it, for the record."""
        return "atds " + " ".join(self.command(settings))

    def epoch(self, settings: Settings) -> Epoch:
        """Reads all files of the codec once."""
        done = subprocess.run(
            [self._binary, *self.command(settings)],
            cwd=self._data,
            check=True,
            stdout=subprocess.PIPE,
        )
        figures = json.loads(done.stdout)
        return Epoch(figures["records"], figures["seconds"])

    def versions(self) -> dict[str, str]:
        """Of the command."""
        done = subprocess.run([self._binary, "--version"], check=True, stdout=subprocess.PIPE)
        return {"atds": done.stdout.decode().split()[-1]}

    def close(self) -> None:
        """Nothing is left running."""


class TensorFlowIo:
    """ATDSDataset in one long-lived process, asked for an epoch at a time."""

    name = "tensorflow-io ATDSDataset"

    def __init__(self, data: Path) -> None:
        worker = Path(__file__).with_name("tensorflow_io_worker.py")
        self._worker = subprocess.Popen(
            [sys.executable, worker],
            cwd=data,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._versions = self._receive()

    def describe(self, settings: Settings) -> str:
        """How to run it, for the record."""
        return (
            f'ATDSDataset(sorted(glob("{settings.codec}/*.avro")), {settings.batch_size},'
            f" features, shuffle_buffer_size={settings.shuffle_buffer},"
            f" num_parallel_calls={settings.threads})"
        )

    def epoch(self, settings: Settings) -> Epoch:
        """Iterates over all files of the codec once."""
        self._worker.stdin.write(json.dumps(vars(settings)) + "\n")
        self._worker.stdin.flush()
        return Epoch(**self._receive())

    def versions(self) -> dict[str, str]:
        """Of the packages in the worker."""
        return self._versions

    def close(self) -> None:
        """Ends the worker, which stops at the end of its input."""
        self._worker.stdin.close()
        self._worker.wait()

    def _receive(self) -> dict:
        line = self._worker.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended with status {self._worker.wait()}")
        return json.loads(line)
