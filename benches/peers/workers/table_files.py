"""Makes the files of the sections `btable`, `tfrecord` and `sizes`, and prints their sizes.

`table_files.py table FOLDER`: a sparse table, `examples FOLDER`: Examples, `sizes FOLDER`: the records of
both in each format. No writer of atds has a part in what systems are compared on.
"""

import gzip
import io
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import btable
import fastavro
import numpy as np
import pyarrow as pa
import scipy.sparse
from backports import zstd
from pyarrow import parquet
from tfrecord.writer import TFRecordWriter

ROWS, COLUMNS, DENSITY = 50_000, 500, 0.0668
LABELS = [f"feature{column}" for column in range(COLUMNS)]

EXAMPLE_FILES, EXAMPLES_A_FILE = 10, 4_000
EMBEDDING = 64

#: Bytes of a block of Avro, as the other sections have it.
BLOCK_BYTES = 16_000

TABLE_SCHEMA = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": "columns", "type": {"type": "array", "items": "int"}},
        {"name": "values", "type": {"type": "array", "items": "double"}},
    ],
}
EXAMPLE_SCHEMA = {
    "type": "record",
    "name": "example",
    "fields": [
        {"name": "label", "type": "long"},
        {"name": "weight", "type": "float"},
        {"name": "country", "type": "string"},
        {"name": "embedding", "type": {"type": "array", "items": "float"}},
        {"name": "ids", "type": {"type": "array", "items": "long"}},
    ],
}
KINDS = {"label": "int", "weight": "float", "country": "byte", "embedding": "float", "ids": "int"}


def table() -> scipy.sparse.csr_matrix:
    """Counts, of which one in 15 is not 0."""
    random = np.random.default_rng(1)
    counts = lambda n: random.geometric(0.1, n).astype(np.float64)
    return scipy.sparse.random(ROWS, COLUMNS, DENSITY, "csr", rng=random, data_rvs=counts)


def examples(file: int) -> Iterator[dict]:
    """The examples of a file: some 430 bytes each."""
    random = np.random.default_rng(file)
    countries = ["de", "fr", "us", "jp", "br"]
    for _ in range(EXAMPLES_A_FILE):
        yield {
            "label": int(random.integers(2)),
            "weight": float(random.random(dtype=np.float32)),
            "country": str(random.choice(countries)),
            "embedding": random.standard_normal(EMBEDDING, dtype=np.float32),
            "ids": random.integers(100_000, size=int(random.integers(1, 20))),
        }


def write_table(folder: Path) -> dict:
    """Write `table.btable` by Framed's library, and `table.npz`."""
    matrix = table()
    btable.write(folder / "table.btable", LABELS, matrix.toarray().tolist())
    scipy.sparse.save_npz(folder / "table.npz", matrix, compressed=False)
    size = (folder / "table.btable").stat().st_size
    return {"rows": ROWS, "columns": COLUMNS, "nonzeros": matrix.nnz, "file_bytes": size}


def write_examples(folder: Path) -> dict:
    """Write ten files of examples."""
    for file in range(EXAMPLE_FILES):
        write_records(folder / f"part-{file}.tfrecord", list(examples(file)), KINDS)
    size = sum(path.stat().st_size for path in folder.iterdir())
    records = EXAMPLE_FILES * EXAMPLES_A_FILE
    return {"records": records, "files": EXAMPLE_FILES, "file_bytes": size}


def write_records(path: Path, records: list[dict], kinds: dict[str, str]) -> None:
    """Write a TFRecord file."""
    writer = TFRecordWriter(str(path))
    for record in records:
        values = {name: (encoded(record[name]), kind) for name, kind in kinds.items()}
        writer.write(values)
    writer.close()


def encoded(value: object) -> object:
    """A value as `TFRecordWriter` takes it."""
    return [value.encode()] if isinstance(value, str) else value


def sizes(folder: Path) -> dict:
    """The sizes of both sets of records in each format, in bytes."""
    matrix = table()
    ends = matrix.indptr
    rows = [
        {"columns": matrix.indices[start:end], "values": matrix.data[start:end]}
        for start, end in itertools.pairwise(ends)
    ]
    found = others(folder, rows, TABLE_SCHEMA, {"columns": "int", "values": "float"})
    write_table(folder)
    file = (folder / "table.btable").read_bytes()
    found["BTable"] = len(file)
    found["BTable, zstandard"] = len(zstd.compress(file))
    records = [record for file in range(EXAMPLE_FILES) for record in examples(file)]
    return {
        "table": found,
        "examples": others(folder, records, EXAMPLE_SCHEMA, KINDS),
    }


def others(folder: Path, records: list[dict], schema: dict, kinds: dict[str, str]) -> dict:
    """The sizes of records in Avro, TFRecord and Parquet."""
    found = {}
    plain = [{name: plain_value(value) for name, value in record.items()} for record in records]
    for codec in ("null", "deflate", "zstandard"):
        file = io.BytesIO()
        fastavro.writer(file, schema, plain, codec=codec, sync_interval=BLOCK_BYTES)
        found[f"Avro, {codec}"] = file.tell()
    path = folder / "all.tfrecord"
    write_records(path, records, kinds)
    found["TFRecord"] = path.stat().st_size
    found["TFRecord, gzip"] = len(gzip.compress(path.read_bytes(), compresslevel=6))
    columns = pa.Table.from_pylist(plain, schema=arrow_schema(schema))
    for codec in ("none", "zstd"):
        path = folder / "all.parquet"
        parquet.write_table(columns, path, compression=codec)
        found["Parquet" if codec == "none" else "Parquet, zstandard"] = path.stat().st_size
    return found


def plain_value(value: object) -> object:
    """A value without NumPy."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def arrow_schema(schema: dict) -> pa.Schema:
    """The schema of the same columns in Parquet."""
    types = {
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
    }

    def of(kind: str | dict) -> pa.DataType:
        return types[kind] if isinstance(kind, str) else pa.list_(types[kind["items"]])

    return pa.schema([(field["name"], of(field["type"])) for field in schema["fields"]])


def main() -> None:
    """Make what the command line names."""
    what, folder = sys.argv[1:]
    make = {"table": write_table, "examples": write_examples, "sizes": sizes}[what]
    print(json.dumps(make(Path(folder))))


if __name__ == "__main__":
    main()
