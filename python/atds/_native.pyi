"""The native part: data sets, iterations and messages."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, final

import numpy as np

from atds.batch import Batch

__all__ = [
    "Batches",
    "Dataset",
    "FileSchemas",
    "Files",
    "MessageDecoder",
    "RecordReader",
    "Reencoder",
    "RowWriter",
    "StatsHandle",
    "TableReader",
    "TableWriter",
    "__version__",
    "bfloat16_dlpack",
    "check_features",
    "check_features_file",
    "codec_levels",
    "copy_into",
    "export_array",
    "export_stream",
    "forked",
    "format_of_name",
    "forward_logs",
    "infer_features",
    "inspect",
    "merge_states",
    "no_stats",
    "rank_share",
    "read_schema",
    "run_command",
    "shares_of_files",
    "spec_of_features",
    "without_damaged",
    "worker_share",
]

__version__: str

_World: TypeAlias = tuple[int, int, str]
_Share: TypeAlias = tuple[tuple[int, int], int, int, int]
_Column: TypeAlias = tuple[str, str, str, list[int], bool]

@final
class Dataset:
    def __new__(
        cls,
        files: Files,
        batch_size: int,
        features: str,
        binary: set[str],
        masks: dict[str, str],
        options: dict[str, Any],
        schemas: FileSchemas,
        sampled: list[tuple[str, str, int]],
        *,
        max_threads: int | None,
        processes: int,
        keep_threads: bool,
    ) -> Dataset: ...
    def is_here(self) -> bool: ...
    def end_threads(self) -> None: ...
    def epochs(
        self, first: int, count: int, given: int = 0, *, any_seed: bool = False
    ) -> Batches: ...
    def with_seed(self, seed: int) -> Dataset: ...
    def with_states_of(self, other: Dataset) -> Dataset: ...
    def rest(self, state: Mapping[str, Any]) -> tuple[Dataset, tuple[int, int, int]]: ...
    def records_left(self) -> int | None: ...
    def state_at(
        self, epoch: int, batches: int, until: int, skipped: tuple[int, int] = ...
    ) -> dict[str, Any]: ...
    def schemas(self) -> list[tuple[int, str]]: ...
    def file_records(self) -> list[int]: ...
    def is_counted(self) -> bool: ...
    def slice(
        self, start: int, end: int, file_records: list[int], *, rank: int, worker: int
    ) -> Dataset: ...
    def shard(self, index: int, count: int, *, rank: int, worker: int) -> Dataset: ...
    def share(self, world: _World, rank: int, worker: int, file_records: list[int]) -> Dataset: ...
    def num_records(self) -> int: ...
    def spec(self) -> list[_Column]: ...

@final
class FileSchemas:
    @staticmethod
    def read(files: Files, all: bool) -> FileSchemas: ...
    @staticmethod
    def of(schemas: list[tuple[int, str]]) -> FileSchemas: ...

@final
class Files:
    def __new__(cls, given: list[str], recursive: bool, format: str | None = None) -> Files: ...
    def is_here(self) -> bool: ...
    def format(self) -> str: ...
    def paths(self) -> list[str]: ...
    def read_once(self) -> list[str]: ...

@final
class Batches(Iterator[Batch]):
    """The batches of an iteration, prefetched by its threads.

    Several threads may take batches from one iterator: each batch is yielded once. Dropping or
    closing it ends its threads, and so does the end of a ``with`` block: ``with iter(dataset) as
    batches:``.
    """

    def __iter__(self) -> Batches: ...
    def __next__(self) -> Batch: ...
    def __enter__(self) -> Batches: ...
    def __exit__(self, *exception: object) -> None: ...
    def _repr_html_(self) -> str: ...
    def close(self) -> None:
        """Ends the iteration: stops its threads and waits for them."""
    def stats(self) -> dict[str, Any]:
        """Figures of the iteration up to now; see :meth:`atds.Dataset.stats`."""
    def skipped(self) -> list[dict[str, Any]]:
        """The damage that was left out of the batches yielded until now; see
        :meth:`atds.Dataset.skipped`."""
    def describe_waits(self) -> str:
        """What each thread does now, or waits for; see :meth:`atds.Dataset.describe_waits`."""
    def state_dict(self) -> dict[str, Any]:
        """Where the iterator is, after the last batch that it has yielded; see
        :meth:`atds.Dataset.state_dict`."""
    def get_state(self) -> dict[str, Any]:
        """As :meth:`state_dict`."""
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state of the same data set, whatever was yielded before. If no ``seed`` was
        given, the iterator takes that of the state."""
    def set_state(self, state: Mapping[str, Any]) -> None:
        """As :meth:`load_state_dict`."""
    def stats_handle(self) -> StatsHandle: ...

@final
class StatsHandle:
    def is_here(self) -> bool: ...
    def snapshot(self) -> dict[str, Any]: ...
    def skipped(self) -> list[dict[str, Any]]: ...
    def epoch_skipped(self) -> tuple[int, int]: ...
    def describe_waits(self) -> str: ...
    def is_running(self) -> bool: ...
    def position(self) -> tuple[int, int, int]: ...
    def state_dict(self) -> dict[str, Any]: ...
    def refuse(self) -> None: ...

@final
class MessageDecoder:
    def __new__(
        cls,
        schemas: list[str],
        features: str,
        binary: set[str],
        masks: dict[str, str],
        *,
        reader_schema: str | None,
        single_objects: bool,
        out_of_bounds: str,
        memory_limit: int | None,
        tolerate: list[str],
        max_depth: int | None,
    ) -> MessageDecoder: ...
    def is_here(self) -> bool: ...
    def decode(self, messages: list[bytes]) -> Batch: ...
    def spec(self) -> list[_Column]: ...
    def tolerated(self) -> tuple[int, int]: ...
    def dropped_entries(self) -> int: ...
    def truncated_lists(self) -> int: ...

@final
class Reencoder:
    def __new__(
        cls,
        schemas: list[str],
        reader_schema: str,
        *,
        single_objects: bool,
        to_single_objects: bool,
    ) -> Reencoder: ...
    def reencode(self, messages: list[bytes]) -> list[bytes]: ...

@final
class RecordReader(Iterator[list[bytes]]):
    def __new__(
        cls,
        file: str,
        buffer_size: int,
        reader_schema: str | None = None,
        tolerate: list[str] = ...,
        max_block_bytes: int | None = None,
        max_depth: int | None = None,
    ) -> RecordReader: ...
    def __iter__(self) -> RecordReader: ...
    def __next__(self) -> list[bytes]: ...

@final
class RowWriter:
    @staticmethod
    def avro(
        path: str | os.PathLike[str],
        schema: str,
        codec: str,
        level: int | None,
        block_bytes: int,
        metadata: list[tuple[str, bytes]],
    ) -> RowWriter: ...
    @staticmethod
    def tfrecord(
        path: str | os.PathLike[str],
        kinds: list[tuple[str, str]] | None,
        kinds_of_lists: list[tuple[str, str]] | None,
        compression: str,
        level: int,
    ) -> RowWriter: ...
    def write(self, rows: Iterable[Any]) -> None: ...
    def finish(self) -> int: ...
    def abort(self) -> None: ...

@final
class TableReader:
    labels: list[str]
    def __new__(cls, path: str | os.PathLike[str]) -> TableReader: ...
    def read(
        self, rows: int | None = None
    ) -> tuple[
        np.ndarray[Any, np.dtype[np.float64]],
        np.ndarray[Any, np.dtype[np.signedinteger[Any]]],
        np.ndarray[Any, np.dtype[np.signedinteger[Any]]],
    ]: ...

@final
class TableWriter:
    def __new__(
        cls, path: str | os.PathLike[str], labels: list[str], compression: str | None
    ) -> TableWriter: ...
    def write_csr(
        self,
        data: np.ndarray[Any, np.dtype[np.float64]],
        indices: np.ndarray[Any, np.dtype[np.signedinteger[Any]]],
        ends: np.ndarray[Any, np.dtype[np.signedinteger[Any]]],
    ) -> None: ...
    def write_dense(self, rows: np.ndarray[Any, np.dtype[np.float64]]) -> None: ...
    def rows(self) -> int: ...
    def finish(self) -> None: ...
    def abort(self) -> None: ...

def bfloat16_dlpack(bits: np.ndarray[Any, np.dtype[np.uint16]]) -> Any: ...
def check_features(features: str) -> None: ...
def check_features_file(file: str | os.PathLike[str]) -> None: ...
def codec_levels(name: str) -> tuple[int, int] | None: ...
def copy_into(
    target: np.ndarray[Any, np.dtype[np.uint8]],
    sources: list[tuple[int, np.ndarray[Any, np.dtype[np.uint8]]]],
) -> None: ...
def export_array(node: tuple[Any, ...]) -> tuple[Any, Any]: ...
def export_stream(empty: tuple[Any, ...], batches: Iterator[tuple[Any, ...]]) -> Any: ...
def forked() -> None: ...
def format_of_name(path: str | os.PathLike[str]) -> str | None: ...
def forward_logs() -> None: ...
def infer_features(
    files: Files, options: dict[str, Any], schemas: FileSchemas
) -> tuple[str, list[str], list[tuple[str, str]], list[str], list[tuple[str, str, int]]]: ...
def without_damaged(
    files: Files, features: str | None, options: dict[str, Any]
) -> tuple[list[os.PathLike[str]], list[str]]: ...
def inspect(
    file: str | os.PathLike[str],
    sample: int | None = None,
    memory_limit: int | None = None,
    tolerate: list[str] = ...,
    max_block_bytes: int | None = None,
    max_depth: int | None = None,
) -> dict[str, Any]: ...
def merge_states(states: list[tuple[Mapping[str, Any], int]]) -> dict[str, Any]: ...
def no_stats() -> dict[str, Any]: ...
def rank_share(
    records: int, batch_size: int, drop_remainder: bool, of: _World, rank: int
) -> _Share: ...
def read_schema(file: str | os.PathLike[str]) -> str: ...
def run_command(argv: list[str]) -> int: ...
def shares_of_files(
    file_records: list[int], batch_size: int, drop_remainder: bool, of: _World
) -> list[list[tuple[int, int, int, int]]]: ...
def spec_of_features(features: str, format: str) -> list[_Column]: ...
def worker_share(share: _Share, batch_size: int, worker: int, workers: int) -> _Share: ...
