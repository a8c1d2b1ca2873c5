"""A sparse table, read and written by one library: `tables.py TASK LIBRARY`.

The tasks begin and end in memory, with files in the page cache. Each library reads a file of its own format,
made before the clock starts.
"""

import importlib.metadata
import itertools
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import btable
import numpy as np
import pandas as pd
import scipy.sparse

import atds

from .protocol import Measured, serve
from .table_files import ROWS

PACKAGES = ("btable-py", "numpy", "scipy", "pandas", "pyarrow")
TABLE, MATRIX = "table.btable", "table.npz"


def framed_rows(path: Path) -> int:
    """All rows as lists, by Framed's library, which is for Python 2: `chr` was `unichr`, and the file
    ended with an empty text."""
    btable.unichr = chr
    rows = 0
    try:
        for _ in btable.BTable(path).rows():
            rows += 1
    except struct.error:
        pass
    return rows


def batches(**options: object) -> Callable[[Path], int]:
    """All rows as shuffled batches of one sparse feature: an iteration of one epoch."""
    made: dict[Path, atds.Dataset] = {}

    def read(path: Path) -> int:
        if path not in made:
            made[path] = shuffled(path, **options)
        return sum(batch.num_records for batch in made[path])

    return read


def epochs() -> Callable[[Path], int]:
    """The next epoch of one long iteration, which does not wait between them."""
    made: dict[Path, Iterator] = {}

    def read(path: Path) -> int:
        if path not in made:
            made[path] = iter(shuffled(path, epochs=1_000_000))
        return sum(batch.num_records for batch in itertools.islice(made[path], -(-ROWS // BATCH)))

    return read


BATCH = 1_024


def shuffled(path: Path, **options: object) -> atds.Dataset:
    """Shuffled batches of all columns as one sparse feature."""
    return atds.Dataset(path, BATCH, shuffle_buffer_size=8_192, num_parallel_calls=1, **options)


def rows_of(read: Callable) -> Callable[[Path], int]:
    """The rows of what `read` returns."""
    return lambda path: read(path).shape[0]


# For each library: what writes the file that it reads, from a matrix, and what reads it.
READERS = {
    "atds.btable.read": (None, rows_of(atds.btable.read)),
    "scipy load_npz": (None, rows_of(scipy.sparse.load_npz)),
    "scipy load_npz, compressed": (scipy.sparse.save_npz, rows_of(scipy.sparse.load_npz)),
    "btable-py": (None, framed_rows),
    "pandas CSV": (
        lambda path, matrix: frame(matrix.toarray()).to_csv(path, index=False),
        rows_of(pd.read_csv),
    ),
    "pandas Parquet": (
        lambda path, matrix: frame(matrix.toarray()).to_parquet(path),
        rows_of(pd.read_parquet),
    ),
    "numpy.load, dense": (
        lambda path, matrix: np.save(path, matrix.toarray()),
        rows_of(np.load),
    ),
}

# From a CSR matrix, and from a dense array.
SPARSE_WRITERS = {
    "atds.btable.write": lambda path, matrix: atds.btable.write(path, labels(matrix), matrix),
    "scipy save_npz(compressed=False)": lambda path, matrix: scipy.sparse.save_npz(
        path, matrix, compressed=False
    ),
    "scipy save_npz": scipy.sparse.save_npz,
}
DENSE_WRITERS = {
    "atds.btable.write": lambda path, array: atds.btable.write(path, labels(array), array),
    "scipy csr_matrix, save_npz(compressed=False)": lambda path, array: scipy.sparse.save_npz(
        path, scipy.sparse.csr_matrix(array), compressed=False
    ),
    "numpy.save": np.save,
    "btable-py": lambda path, array: btable.write(path, labels(array), array.tolist()),
    "pandas CSV": lambda path, array: frame(array).to_csv(path, index=False),
    "pandas Parquet": lambda path, array: frame(array).to_parquet(path),
}
BATCHES = {
    "atds.Dataset, shuffled batches": (None, batches()),
    "atds.Dataset, shuffled batches, mapped": (None, batches(mmap=True)),
    "atds.Dataset, shuffled batches, epoch after epoch": (None, epochs()),
}
TASKS = {
    "read": READERS,
    "batches": BATCHES,
    "write sparse": SPARSE_WRITERS,
    "write dense": DENSE_WRITERS,
}
# What NumPy and SciPy would add to a name.
SUFFIXES = {"numpy": ".npy", "scipy": ".npz"}


def labels(table: object) -> list[str]:
    """The labels of the columns."""
    return [f"feature{column}" for column in range(table.shape[1])]


def frame(array: np.ndarray) -> pd.DataFrame:
    """A frame over an array."""
    return pd.DataFrame(array, columns=labels(array), copy=False)


def reader(folder: Path, temporary: Path, name: str, task: str) -> Callable[[], int]:
    """Makes the file, and returns what reads it."""
    write, read = TASKS[task][name]
    if write is None:
        path = folder / (MATRIX if name.startswith("scipy") else TABLE)
    else:
        path = temporary / f"table{suffix(name)}"
        write(path, scipy.sparse.load_npz(folder / MATRIX))
    return lambda: read(path)


def writer(folder: Path, temporary: Path, name: str, task: str) -> Callable[[], int]:
    """Returns what writes the table to a file that is replaced each time."""
    matrix = scipy.sparse.load_npz(folder / MATRIX)
    table = matrix if task == "write sparse" else matrix.toarray()
    write, path = TASKS[task][name], temporary / f"table{suffix(name)}"

    def run() -> int:
        write(path, table)
        return table.shape[0]

    return run


def suffix(name: str) -> str:
    """The ending of a library's file."""
    return SUFFIXES.get(name.split()[0].split(".")[0], "")


def main() -> None:
    """Serve the task and library of the command line."""
    task, name = sys.argv[1:]
    temporary = tempfile.TemporaryDirectory(prefix="atds-table-")
    runs: dict[str, Callable[[], int]] = {}
    prepare = writer if task.startswith("write") else reader

    def epoch(job: dict) -> Measured:
        files = job["files"]
        if files not in runs:
            runs[files] = prepare(Path(files), Path(temporary.name), name, task)
        start, processor = time.perf_counter(), time.process_time()
        rows = runs[files]()
        seconds = time.perf_counter() - start
        return Measured(rows, seconds, processor=time.process_time() - processor)

    versions = {package: importlib.metadata.version(package) for package in PACKAGES}
    with temporary:
        serve(versions | {"atds (Python)": atds.__version__}, epoch)


if __name__ == "__main__":
    main()
