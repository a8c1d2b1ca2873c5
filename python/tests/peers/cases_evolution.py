"""Cases for records read with another schema, and for the order of records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf
from alike import Case
from elements import whole
from files import array, record, write

WRITTEN = record("R", n="int", f="float", word="string", x=array("int"), opt=["null", "int"])
ROWS = [
    {"n": n, "f": n / 2, "word": "w" * (n % 4), "x": list(range(n % 3)), "opt": [None, n][n % 2]}
    for n in range(30)
]


def field(name: str, avro: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": avro, **more}


def _reader(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": list(fields)})


READERS: dict[str, str] = {
    "the same fields": json.dumps(WRITTEN),
    "the first fields": _reader(field("n", "int"), field("f", "float")),
    "the last fields": _reader(field("x", array("int")), field("opt", ["null", "int"])),
    "fields in another order": _reader(field("word", "string"), field("n", "int")),
    "a wider number": _reader(field("n", "long"), field("f", "double")),
    "a number as a float": _reader(field("n", "float")),
    "a new field": _reader(field("n", "int"), field("new", "string", default="none")),
    "an alias": _reader(field("m", "int", aliases=["n"])),
    "a union of a plain field": _reader(field("n", ["null", "int"])),
    "a plain field of a union": _reader(field("opt", "int")),
    "a new field without a default": _reader(field("n", "int"), field("new", "string")),
    "another type": _reader(field("n", "string")),
    "another name": json.dumps(record("Q", n="int")),
}


def evolution_cases(folder: Path) -> Iterator[Case]:
    """Readers' schemas for every function that takes one, and orders."""
    path = write(folder / "written.avro", WRITTEN, ROWS)
    for name, reader in READERS.items():
        yield Case(
            f"records read by {name}",
            lambda tfio, reader=reader: whole(tfio.AvroRecordDataset(path, reader_schema=reader)),
            perilous=True,
        )
        yield Case(
            f"make_avro_record_dataset read by {name}",
            lambda tfio, reader=reader: whole(_made(tfio, path, reader)),
            perilous=True,
        )
    yield from _options(folder, path)
    yield from _orders(folder)


def _made(tfio: Any, path: str, reader: str) -> Any:
    """Batches of the first numeric field."""
    fields = {f["name"]: f["type"] for f in json.loads(reader)["fields"]}
    dtypes = {"int": tf.int32, "long": tf.int64, "float": tf.float32, "string": tf.string}
    found = [(name, dtypes[avro]) for name, avro in fields.items() if str(avro) in dtypes]
    features = {name: tf.io.FixedLenFeature([], dtype) for name, dtype in found}
    features = features or {"opt:int": tf.io.FixedLenFeature([], tf.int32, 0)}
    return tfio.make_avro_record_dataset(path, features, 8, reader, num_epochs=1, shuffle=False)


def _options(folder: Path, path: str) -> Iterator[Case]:
    files = [path, write(folder / "again.avro", WRITTEN, ROWS[:11], "deflate")]
    snappy = write(folder / "snappy-records.avro", WRITTEN, ROWS, "snappy")
    asks: dict[str, Callable[[Any], Any]] = {
        "without a buffer": lambda tfio: tfio.AvroRecordDataset(path, buffer_size=0),
        "with a buffer of 1": lambda tfio: tfio.AvroRecordDataset(path, buffer_size=1),
        "of snappy": lambda tfio: tfio.AvroRecordDataset(snappy),
        "by an empty schema": lambda tfio: tfio.AvroRecordDataset(path, reader_schema=""),
        "by a tensor": lambda tfio: tfio.AvroRecordDataset(
            tf.constant(files), reader_schema=tf.constant(json.dumps(WRITTEN))
        ),
        "with arguments by position": lambda tfio: tfio.AvroRecordDataset(
            files, 4096, 2, 1, None, True, 3
        ),
        "in no order": lambda tfio: tfio.AvroRecordDataset(
            files[:1], num_parallel_reads=2, num_parallel_calls=2, deterministic=False
        ),
        "by AUTOTUNE": lambda tfio: tfio.AvroRecordDataset(
            files[:1], num_parallel_reads=tf.data.AUTOTUNE, num_parallel_calls=tf.data.AUTOTUNE
        ),
        "in blocks of None": lambda tfio: tfio.AvroRecordDataset(
            files, num_parallel_reads=2, block_length=None
        ),
        "repeated": lambda tfio: tfio.AvroRecordDataset(files).repeat(2).batch(7),
        "of a URL": lambda tfio: tfio.AvroRecordDataset(f"file://{path}"),
        "of no files": lambda tfio: tfio.AvroRecordDataset(tf.constant([], tf.string)),
        "interleaved": lambda tfio: tf.data.Dataset.from_tensor_slices(files).interleave(
            tfio.AvroRecordDataset, cycle_length=2, num_parallel_calls=2
        ),
    }
    for name, make in asks.items():
        yield Case(f"records {name}", lambda tfio, make=make: whole(make(tfio)), perilous=True)


def _orders(folder: Path) -> Iterator[Case]:
    schema = record("N", n="int")
    for k in range(4):
        rows = [{"n": 100 * k + n} for n in range(20)]
        write(folder / f"order-{k}.avro", schema, rows)
    pattern = str(folder / "order-*.avro")
    for options in (
        {"num_epochs": 1, "shuffle_seed": 5},
        {"num_epochs": 3, "shuffle_seed": 5, "shuffle_buffer_size": 30},
        {"num_epochs": None, "shuffle_seed": 6},
        {"num_epochs": 1, "shuffle_seed": 5, "num_parallel_reads": 2},
        {"num_epochs": 2, "shuffle": False, "drop_final_batch": True},
        {"num_epochs": 2, "shuffle": False, "num_parallel_reads": 3, "prefetch_buffer_size": 2},
        {"num_epochs": 1, "shuffle": False, "num_parallel_reads": tf.data.AUTOTUNE},
        {"num_epochs": 0},
        {"num_epochs": 1, "shuffle_buffer_size": 0},
    ):

        def ask(tfio: Any, options: Any = options) -> Any:
            features = {"n": tf.io.FixedLenFeature([], tf.int32)}
            dataset = tfio.make_avro_record_dataset(
                [pattern], features, 7, json.dumps(schema), **options
            )
            return whole(dataset, most=40)

        yield Case(
            f"make_avro_record_dataset in the order of {options}",
            ask,
            perilous=True,
            # With -1 reads, tensorflow-io makes blocks of -1 records.
            lifted=options.get("num_parallel_reads") == tf.data.AUTOTUNE,
        )
