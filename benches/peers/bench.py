"""The context of a comparison, shared by its sections."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .data import Data
from .measure import Effort
from .systems import ENVIRONMENT, Atds, System, Worker

# For each task with a sparse table: the libraries, and the epochs of a turn.
TABLES = {
    "read": {
        "atds.btable.read": 20,
        "scipy load_npz": 20,
        "scipy load_npz, compressed": 2,
        "numpy.load, dense": 5,
        "pandas Parquet": 2,
        "pandas CSV": 1,
        "btable-py": 1,
    },
    "batches": {
        "atds.Dataset, shuffled batches": 20,
        "atds.Dataset, shuffled batches, mapped": 20,
        "atds.Dataset, shuffled batches, epoch after epoch": 20,
    },
    "write sparse": {
        "atds.btable.write": 10,
        "scipy save_npz(compressed=False)": 10,
        "scipy save_npz": 1,
    },
    "write dense": {
        "atds.btable.write": 10,
        "scipy csr_matrix, save_npz(compressed=False)": 5,
        "numpy.save": 5,
        "pandas Parquet": 1,
        "pandas CSV": 1,
        "btable-py": 1,
    },
}


@dataclass(frozen=True)
class Programs:
    """The programs to run."""

    atds: Path
    handwritten: Path
    rust_peers: Path
    # The Python with the readers to data frames.
    frames_python: Path
    # The Python with PyTorch, TensorFlow, fastavro and atds.
    torch_python: Path
    # The Python with the libraries of TFRecord, BTable and tables, and atds.
    formats_python: Path
    # The Python with tensorflow-io, fastavro and atds.
    python: Path


class Bench:
    """The systems, the data, and the effort."""

    def __init__(
        self,
        programs: Programs,
        folder: Path,
        effort: Effort,
        codecs: list[str],
        threads: list[int],
    ) -> None:
        self.effort = effort
        self.codecs = codecs
        self.threads = threads
        self.data = Data(folder, programs.atds)
        self._programs = programs
        self._folder = folder
        self._tables: dict[str, list[Worker]] = {}

    @cached_property
    def atds(self) -> Atds:
        """The command of atds."""
        return Atds(self._programs.atds, self._folder)

    @cached_property
    def atds_mmap(self) -> Atds:
        """The command of atds, with mapped files."""
        return Atds(self._programs.atds, self._folder, "--mmap")

    @cached_property
    def atds_python(self) -> Worker:
        """The Python package of atds."""
        call = (
            'atds.Dataset(sorted(glob("{files}/*.avro")) * {times}, {batch_size}, features,'
            " shuffle_buffer_size={shuffle_buffer}, num_parallel_calls={threads})"
        )
        return self._python("atds.Dataset", "atds_python", call, short_lived=True)

    @cached_property
    def atds_ready(self) -> Worker:
        """The Python package, with a consumer slower than the pipeline."""
        call = (
            'next(atds.Dataset(sorted(glob("{files}/*.avro")) * {times}, {batch_size}, features,'
            " num_parallel_calls={threads})) of 64 batches, after 20 ms of other work each"
        )
        return self._python("atds.Dataset, ready batches", "atds_ready", call)

    @cached_property
    def atds_tensorflow(self) -> Worker:
        """The Python package behind tf.data."""
        call = (
            'atds.tensorflow.ATDSDataset(sorted(glob("{files}/*.avro")) * {times}, {batch_size},'
            " features, shuffle_buffer_size={shuffle_buffer}, num_parallel_calls={threads})"
        )
        return self._python("atds.tensorflow.ATDSDataset", "atds_tensorflow", call)

    @cached_property
    def atds_dataset(self) -> Worker:
        """LinkedIn's ATDSDataset, the model of this project."""
        call = (
            'ATDSDataset(sorted(glob("{files}/*.avro")) * {times}, {batch_size}, features,'
            " shuffle_buffer_size={shuffle_buffer}, num_parallel_calls={threads})"
        )
        return self._python("tensorflow-io ATDSDataset", "atds_dataset", call)

    @cached_property
    def avro_record_dataset(self) -> Worker:
        """The older data set of tensorflow-io."""
        call = (
            'make_avro_record_dataset(sorted(glob("{files}/*.avro")), features, {batch_size},'
            " reader_schema, num_epochs=1, shuffle=False, num_parallel_reads={threads}), the next"
            " 8192 records after 3072"
        )
        name = "tensorflow-io AvroRecordDataset"
        return self._python(name, "avro_record_dataset", call)

    @cached_property
    def fastavro(self) -> Worker:
        """Records in Python."""
        call = '[record for path in glob("{files}/*.avro") for record in fastavro.reader(path)]'
        return self._python("fastavro", "fastavro_records", call)

    @cached_property
    def frames(self) -> list[Worker]:
        """Readers of Avro into data frames."""
        each, files = 'for path in sorted(glob("{files}/*.avro"))', 'sorted(glob("{files}/*.avro"))'
        calls = {
            "polars": f"polars.read_avro(path) {each}",
            "polars-avro": f"polars_avro.read_avro(path) {each}",
            "jetliner": f"jetliner.read_avro({files})",
        }
        module = [self._programs.frames_python, "-m", "peers.workers.frames"]
        return [Worker(name, [*module, name], self._folder, call) for name, call in calls.items()]

    @cached_property
    def inflaters(self) -> list[Worker]:
        """Libraries that decompress blocks, and do nothing else."""
        module = [self._programs.frames_python, "-m", "peers.workers.inflaters"]
        names = ["libdeflate", "ISA-L", "zlib-ng", "zlib"]
        return [
            Worker(name, [*module, name], self._folder, "the blocks of {files}", epochs=2)
            for name in names
        ]

    @cached_property
    def tf_data(self) -> Worker:
        """The fastest form of tf.data: it parses a batch at a time."""
        call = (
            "TFRecordDataset(files).shuffle({shuffle_buffer}).batch({batch_size})"
            ".map(parse_example, AUTOTUNE).prefetch(AUTOTUNE)"
        )
        return self._tf_data("tf.data, batch, then parse", "batch", call)

    @cached_property
    def tf_data_each(self) -> Worker:
        """The form of Reverie's text: it parses each record."""
        call = (
            "TFRecordDataset(files, num_parallel_reads=4).map(parse_single_example)"
            ".shuffle({shuffle_buffer}).batch({batch_size}).prefetch(AUTOTUNE)"
        )
        return self._tf_data("tf.data, each record, then batch", "each", call)

    @cached_property
    def atds_tfrecord(self) -> Worker:
        """The Python package of atds, in the Python of tf.data."""
        call = (
            "atds.Dataset(files, {batch_size}, features, shuffle_buffer_size={shuffle_buffer},"
            " num_parallel_calls={threads})"
        )
        module = [self._programs.torch_python, "-m", "peers.workers.atds_python"]
        return Worker("atds.Dataset", module, self._folder, call)

    @cached_property
    def tfrecord_package(self) -> Worker:
        """The package `tfrecord` of PyPI."""
        call = "tfrecord.tfrecord_loader(path, None, description) for each file"
        module = [self._programs.formats_python, "-m", "peers.workers.tfrecord_package"]
        return Worker("tfrecord (PyPI)", module, self._folder, call)

    @cached_property
    def tfrecord_crate(self) -> list[Worker]:
        """The crate `tfrecord`, and the framing of `atds-tfrecord` alone."""
        return [
            self._rust("tfrecord"),
            self._rust("tfrecord", "--raw"),
            self._rust("atds-tfrecord"),
        ]

    def tables(self, task: str) -> list[Worker]:
        """The libraries that do a task with a sparse table."""
        return self._tables.setdefault(task, self._libraries(task))

    def make_files(self, what: str, folder: str) -> dict:
        """Make files by other writers, and return a description. Replaces earlier ones."""
        path = self._folder / folder
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        command = [self._programs.formats_python, "-m", "peers.workers.table_files", what, path]
        environment = os.environ | ENVIRONMENT
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    @cached_property
    def training(self) -> list[Worker]:
        """A model in training, with several kinds of input."""
        fastavro = "DataLoader(records of fastavro, {batch_size}, collate_fn=collate"
        calls = {
            "atds.torch": "atds.torch.Dataset(files, {batch_size}, features, sparse='bag',"
            " num_parallel_calls={threads})",
            "fastavro": f"{fastavro})",
            "fastavro, 2 workers": f"{fastavro}, num_workers=2)",
            "no input": "the first batch again and again",
        }
        module = [self._programs.torch_python, "-m", "peers.workers.training"]
        return [
            Worker(f"training, {name}", [*module, name], self._folder, call)
            for name, call in calls.items()
        ]

    @cached_property
    def apache_avro(self) -> Worker:
        """A value tree for each record."""
        return self._rust("apache-avro")

    @cached_property
    def arrow_avro(self) -> list[Worker]:
        """Record batches of Arrow, from files that it reads and from files that it maps."""
        return [self._rust("arrow-avro"), self._rust("arrow-avro", "--mmap")]

    @cached_property
    def serde_avro_fast(self) -> list[Worker]:
        """A struct for each record, from files that it reads and from files that it maps."""
        return [self._rust("serde_avro_fast"), self._rust("serde_avro_fast", "--mmap")]

    @cached_property
    def handwritten(self) -> Worker:
        """The loop written by hand for this one schema; codec null only."""
        command = [self._programs.handwritten]
        return Worker("hand-written loop", command, self._folder, "{files}", epochs=20)

    def used(self) -> Iterator[System]:
        """The systems that sections have used."""
        for value in [*vars(self).values(), *self._tables.values()]:
            systems = value if isinstance(value, list) else [value]
            yield from (system for system in systems if isinstance(system, Atds | Worker))

    def versions(self) -> dict[str, str]:
        """The versions of the systems used."""
        found: dict[str, str] = {}
        for system in self.used():
            found |= system.versions()
        return found

    def close(self) -> None:
        """End all processes."""
        for system in self.used():
            system.close()

    def _rust(self, *arguments: str) -> Worker:
        name = " ".join(arguments)
        command = [self._programs.rust_peers, *arguments]
        return Worker(name, command, self._folder, f"peers {name}, {{files}}", epochs=2)

    def _tf_data(self, name: str, form: str, call: str) -> Worker:
        module = [self._programs.torch_python, "-m", "peers.workers.tfrecord_tensorflow", form]
        return Worker(name, module, self._folder, call)

    def _libraries(self, task: str) -> list[Worker]:
        module = [self._programs.formats_python, "-m", "peers.workers.tables", task]
        return [
            Worker(name, [*module, name], self._folder, f"{task} by {name}", epochs=epochs)
            for name, epochs in TABLES[task].items()
        ]

    def _python(self, name: str, module: str, call: str, *, short_lived: bool = False) -> Worker:
        command = [self._programs.python, "-m", f"peers.workers.{module}"]
        return Worker(name, command, self._folder, call, short_lived=short_lived)


def thread_counts() -> list[int]:
    """1, 2, 4, .. up to the number of cores, at least 1 and 2."""
    cores = os.cpu_count() or 1
    counts = [1, 2]
    while counts[-1] * 2 <= cores:
        counts.append(counts[-1] * 2)
    return counts
