"""Cases for the older interface: AvroRecordDataset, parse_avro, make_avro_record_dataset."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf
from alike import Case
from elements import value, whole
from files import TYPES, array, encoded, record, write

ADDRESS = record("Address", zip="long", house="long", street_no="int")
GUEST = record("Guest", name="string", age=["null", "int"], address=array(ADDRESS))
SCHEMA = record(
    "Party",
    n="int",
    word="string",
    host=record("Host", age="int", name="string"),
    guests=array(GUEST),
    x=array("int"),
    rooms={"type": "map", "values": "float"},
    color={"type": "enum", "name": "Color", "symbols": ["red", "blue"]},
    key={"type": "fixed", "name": "Key", "size": 2},
    either=["null", "int", "string"],
)
TEXT = json.dumps(SCHEMA)

RECORDS = [
    {
        "n": n,
        "word": "w" * n,
        "host": {"age": 30 + n, "name": f"host {n}"},
        "guests": [
            {
                "name": ["Ann", "Bob", "Cem"][k % 3],
                "age": None if k % 2 else 10 * n + k,
                "address": [
                    {"zip": 10 * k + m, "house": m, "street_no": n + m} for m in range((n + k) % 3)
                ],
            }
            for k in range(n % 4 + 2)
        ],
        "x": list(range(n % 3, 5)),
        "rooms": {"first": n + 0.5, f"room {n}": 0.25},
        "color": ["red", "blue"][n % 2],
        "key": bytes([n, 255]),
        "either": [None, n, f"e{n}"][n % 3],
    }
    for n in range(23)
]


def fixed(shape: Any, dtype: Any, default: Any = None) -> Callable[[Any], Any]:
    """Makes a FixedLenFeature."""
    return lambda tfio: tf.io.FixedLenFeature(shape, dtype, default)


def varlen(dtype: Any, rank: int = 1) -> Callable[[Any], Any]:
    """Makes a VarLenFeatureWithRank."""
    return lambda tfio: tfio.VarLenFeatureWithRank(dtype, rank)


def sparse(*arguments: Any, **options: Any) -> Callable[[Any], Any]:
    """Makes a SparseFeature."""
    return lambda tfio: tf.io.SparseFeature(*arguments, **options)


FEATURES: dict[str, Callable[[Any], Any]] = {
    "n": fixed([], tf.int32),
    "word": fixed([], tf.string),
    "host.age": fixed([], tf.int32),
    "color": fixed([], tf.string),
    "key": fixed([], tf.string),
    "guests[1].name": fixed([], tf.string),
    "rooms['first']": fixed([], tf.float32),
    "either:int": fixed([], tf.int32, -1),
    "either:string": fixed([], tf.string, "none"),
    "guests[0].age:int": fixed([], tf.int32, -1),
    "x[*]": varlen(tf.int32),
    "guests[*].name": varlen(tf.string),
    "guests[*].address[*].zip": varlen(tf.int64, 2),
    "guests[name='Bob'].address[*].zip": varlen(tf.int64, 2),
    "guests[name='Ann'].name": varlen(tf.string),
}

# Features on which tensorflow-io can crash.
PERILOUS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "a padded list": {"x[*]": fixed([None], tf.int32, -7)},
    "a list with a default for each place": {"x[*]": fixed([5], tf.int32, [1, 2, 3, 4, 5])},
    "a list with one default": {"x[*]": fixed([5], tf.int32, [0] * 5)},
    "entries": {"guests[0].address": sparse("zip", "street_no", tf.int32, 99)},
    "entries as they come": {
        "guests[0].address": sparse("zip", "street_no", tf.int32, 99, already_sorted=True)
    },
    "entries of two keys": {
        "guests[0].address": sparse(["house", "zip"], "street_no", tf.int32, [99, 98])
    },
    "a filter that keeps nothing": {"guests[name='Zoe'].name": varlen(tf.string)},
}

# Features with missing values and a default, which tensorflow-io does not use.
LIFTED: dict[str, dict[str, Callable[[Any], Any]]] = {
    "a map of another key": {"rooms['second']": fixed([], tf.float32, 0.5)},
    "a missing element": {"guests[3].name": fixed([], tf.string, "nobody")},
}


def records_cases(folder: Path) -> Iterator[Case]:
    """Records as bytes, parsed, and in batches; errors."""
    path = write(folder / "party.avro", SCHEMA, RECORDS, "deflate")
    yield from _records(folder, path)
    yield from _parsed()
    yield from _made(folder, path)
    yield from _errors(folder, path)


def _records(folder: Path, path: str) -> Iterator[Case]:
    fewer = record("Party", word="string", x=array("int"), n="long", host=record("Host", age="int"))
    number = write(folder / "1.avro", record("R", n="int"), [{"n": n} for n in range(7)])
    other = write(folder / "2.avro", record("R", n="int"), [{"n": -n} for n in range(4)])
    asks: dict[str, Callable[[Any], Any]] = {
        "plain": lambda tfio: tfio.AvroRecordDataset(path),
        "by their schema": lambda tfio: tfio.AvroRecordDataset([path], reader_schema=TEXT),
        "by a schema of fewer fields": lambda tfio: tfio.AvroRecordDataset(
            path, reader_schema=json.dumps(fewer)
        ),
        "of two files": lambda tfio: tfio.AvroRecordDataset([number, other], buffer_size=8192),
        "of two files side by side": lambda tfio: tfio.AvroRecordDataset(
            [number, other], num_parallel_reads=2, block_length=2
        ),
        "of two files in parallel": lambda tfio: tfio.AvroRecordDataset(
            [number, other], num_parallel_reads=2, num_parallel_calls=2, block_length=3
        ),
        "of a data set of files": lambda tfio: tfio.AvroRecordDataset(
            tf.data.Dataset.from_tensor_slices([other, number])
        ),
    }
    for name, make in asks.items():
        # tensorflow-io's re-encoding fails for some readers' schemas.
        perilous = "fewer" in name
        yield Case(f"records {name}", lambda tfio, make=make: whole(make(tfio)), perilous)


def _parsed() -> Iterator[Case]:
    serialized = encoded(SCHEMA, RECORDS)
    cases = {name: {name: feature} for name, feature in FEATURES.items()}
    for name, makers in (cases | {"all at once": FEATURES} | PERILOUS | LIFTED).items():

        def eagerly(tfio: Any, makers: Any = makers) -> Any:
            features = {key: make(tfio) for key, make in makers.items()}
            return value(tfio.parse_avro(tf.constant(serialized), TEXT, features))

        def mapped(tfio: Any, makers: Any = makers) -> Any:
            features = {key: make(tfio) for key, make in makers.items()}
            dataset = tf.data.Dataset.from_tensor_slices(serialized).batch(10)
            return whole(dataset.map(lambda batch: tfio.parse_avro(batch, TEXT, features)))

        may = {"perilous": True, "lifted": name in LIFTED}
        yield Case(f"parse_avro of {name}", eagerly, **may)
        yield Case(f"parse_avro in a map of {name}", mapped, **may)
    for avro, (dtype, values) in TYPES.items():
        schema = record("R", s=avro, a=array(avro))
        rows = [{"s": one, "a": values[:k]} for k, one in enumerate(values)]

        kinds = {
            "s": fixed([], dtype),
            "a[*]": varlen(dtype),
        }
        for name, make in kinds.items():

            def typed(
                tfio: Any,
                schema: Any = schema,
                rows: Any = rows,
                name: Any = name,
                make: Any = make,
            ) -> Any:
                features, text = {name: make(tfio)}, json.dumps(schema)
                # tensorflow-io crashes on lists in eager mode.
                dataset = tf.data.Dataset.from_tensors(encoded(schema, rows))
                return whole(dataset.map(lambda batch: tfio.parse_avro(batch, text, features)))

            yield Case(f"parse_avro of {avro} as {name}", typed)


def _made(folder: Path, path: str) -> Iterator[Case]:
    second = write(folder / "party2.avro", SCHEMA, RECORDS[:5])
    for options in (
        {"num_epochs": 1},
        {"num_epochs": 2, "batch_size": 7},
        {"num_epochs": 1, "drop_final_batch": True},
        {"num_epochs": 1, "prefetch_buffer_size": 0, "reader_buffer_size": 4096},
        {"num_epochs": 1, "num_parallel_reads": 2},
        {"num_epochs": None},
    ):

        def ask(tfio: Any, options: Any = options) -> Any:
            features = {name: make(tfio) for name, make in FEATURES.items()}
            given = {"batch_size": 4, "shuffle": False} | options
            dataset = tfio.make_avro_record_dataset(
                [path, second], features, reader_schema=TEXT, **given
            )
            return whole(dataset, most=20)

        yield Case(f"make_avro_record_dataset with {options}", ask, perilous=True)

    def shuffled(tfio: Any) -> Any:
        dataset = tfio.make_avro_record_dataset(
            path, {"n": tf.io.FixedLenFeature([], tf.int32)}, 4, TEXT, num_epochs=2
        )
        return sorted(int(n) for batch in dataset for n in batch["n"])

    yield Case("make_avro_record_dataset shuffled", shuffled)


def _errors(folder: Path, path: str) -> Iterator[Case]:
    serialized = encoded(SCHEMA, RECORDS[:2])

    def parse(tfio: Any, features: Any, given: Any = serialized, **options: Any) -> Any:
        return value(tfio.parse_avro(given, TEXT, features, **options))

    n = tf.io.FixedLenFeature([], tf.int32)
    asks: dict[str, Callable[[Any], Any]] = {
        "no features": lambda tfio: parse(tfio, {}),
        "an unknown field": lambda tfio: parse(tfio, {"m": n}),
        "another dtype": lambda tfio: parse(tfio, {"n": tf.io.FixedLenFeature([], tf.int64)}),
        "no default": lambda tfio: parse(tfio, {"x[*]": tf.io.FixedLenFeature([9], tf.int32)}),
        "a rank of 0": lambda tfio: parse(tfio, {"x": tfio.VarLenFeatureWithRank(tf.int32, 0)}),
        "a dtype of None": lambda tfio: parse(tfio, {"n": tf.io.FixedLenFeature([], None)}),
        "a shape of None": lambda tfio: parse(tfio, {"n": tf.io.FixedLenFeature(None, tf.int32)}),
        "a feature of 3": lambda tfio: parse(tfio, {"n": 3}),
        "one record": lambda tfio: parse(tfio, {"n": n}, serialized[0]),
        "a matrix": lambda tfio: parse(tfio, {"n": n}, [serialized]),
        "names": lambda tfio: parse(tfio, {"n": n}, avro_names=["a", "b"]),
        "a name too few": lambda tfio: parse(tfio, {"n": n}, avro_names=["a"]),
        "no schema": lambda tfio: value(tfio.parse_avro(serialized, "{", {"n": n})),
        "no records": lambda tfio: parse(tfio, {"n": n}, tf.constant([], tf.string)),
        "a broken record": lambda tfio: parse(tfio, {"n": n}, [b"\xff"]),
    }
    for name, ask in asks.items():
        yield Case(f"parse_avro with {name}", ask, perilous=True)
    reads: dict[str, dict[str, Any]] = {
        "numbers": {"filenames": [1]},
        "a data set of numbers": {"filenames": tf.data.Dataset.range},
        "calls without reads": {"num_parallel_calls": 2},
        "more calls than reads": {"num_parallel_reads": 1, "num_parallel_calls": 2},
        "0 calls": {"num_parallel_reads": 1, "num_parallel_calls": 0},
        "a missing file": {"filenames": str(folder / "none.avro")},
        "another file": {"filenames": __file__},
        "another schema": {"reader_schema": json.dumps(record("Party", q="int"))},
    }
    for name, options in reads.items():

        def read(tfio: Any, options: Any = options) -> Any:
            given = {"filenames": path} | options
            if callable(given["filenames"]):
                given["filenames"] = given["filenames"](1)
            return whole(tfio.AvroRecordDataset(**given))

        yield Case(f"AvroRecordDataset with {name}", read, perilous=True)
    yield Case(
        "make_avro_record_dataset without files",
        lambda tfio: whole(
            tfio.make_avro_record_dataset(str(folder / "*.none"), {"n": n}, 2, TEXT)
        ),
    )
