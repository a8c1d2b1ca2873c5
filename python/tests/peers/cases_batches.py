"""Cases for ATDSDataset."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf
from alike import Case
from elements import spec, value, whole
from files import TYPES, array, record, write

from atds import _native


def batches_cases(folder: Path) -> Iterator[Case]:
    """Values, options and errors."""
    yield from _types(folder)
    yield from _options(folder)
    yield from _errors(folder)


def _types(folder: Path) -> Iterator[Case]:
    """Every dtype and every kind, in ranks up to 2, with and without null in the type."""
    for avro, (dtype, values) in TYPES.items():
        for nullable in (False, True):
            path, features = _file_of_type(folder, avro, dtype, values, nullable)

            def ask(tfio: Any, path: str = path, features: Any = features) -> Any:
                made = {name: make(tfio) for name, make in features.items()}
                return [
                    whole(tfio.ATDSDataset(path, size, made, drop_remainder=drop))
                    for size, drop in [(1, False), (7, False), (7, True), (100, False)]
                ]

            yield Case(f"ATDSDataset of {avro}{' or null' if nullable else ''}", ask)


def _file_of_type(
    folder: Path, avro: str, dtype: Any, values: list[Any], nullable: bool
) -> tuple[str, dict[str, Callable[[Any], Any]]]:
    longs, items = array("long"), array(avro)
    schema = record(
        "R",
        s=["null", avro] if nullable else avro,
        d1=["null", items] if nullable else items,
        d2=array(items),
        v1=[items, "null"] if nullable else items,
        v2=array(items),
        sp1=record("Sp1", indices0=longs, values=items),
        sp2=record("Sp2", values=items, indices1=longs, indices0=array("int")),
    )
    some = itertools.cycle(values)

    def take(count: int) -> list[Any]:
        return [next(some) for _ in range(count)]

    rows = [
        {
            "s": take(1)[0],
            "d1": take(3),
            "d2": [take(2), take(2)],
            "v1": take(n % 4),
            "v2": [take((n + k) % 3) for k in range(n % 3)],
            "sp1": {"indices0": [9 - k for k in range(n % 4)], "values": take(n % 4)},
            "sp2": {
                "values": take(n % 3),
                "indices1": [n % 5] * (n % 3),
                "indices0": list(range(n % 3)),
            },
        }
        for n in range(40)
    ]
    path = write(folder / f"{avro}{nullable}.avro", schema, rows)
    return path, {
        "s": lambda tfio: tfio.DenseFeature([], dtype),
        "d1": lambda tfio: tfio.DenseFeature([3], dtype),
        "d2": lambda tfio: tfio.DenseFeature([2, 2], dtype),
        "v1": lambda tfio: tfio.VarlenFeature([-1], dtype),
        "v2": lambda tfio: tfio.VarlenFeature([-1, -1], dtype),
        "sp1": lambda tfio: tfio.SparseFeature([10], dtype),
        "sp2": lambda tfio: tfio.SparseFeature([10, 5], dtype),
    }


def _options(folder: Path) -> Iterator[Case]:
    ads = folder / "ads"
    assert (
        _native.run_command(["atds", "generate", str(ads), "--records", "3000", "--files", "3"])
        == 0
    )
    files = sorted(str(file) for file in ads.glob("*.avro"))

    def features(tfio: Any) -> dict[str, Any]:
        return {
            "s_member": tfio.DenseFeature([], tf.int64),
            "s_country": tfio.DenseFeature([], tf.string),
            "d7": tfio.DenseFeature([128], tf.float32),
            "sp0": tfio.SparseFeature([50_001], tf.float32),
        }

    for options in (
        {"batch_size": 64},
        {"batch_size": 1000, "num_parallel_calls": 2},
        {"batch_size": 1000, "num_parallel_calls": tf.data.AUTOTUNE},
        {"batch_size": 700, "num_parallel_calls": 99, "reader_buffer_size": 1000},
        {"batch_size": 128, "drop_remainder": True, "shuffle_buffer_size": 0},
        {"batch_size": 5000, "drop_remainder": False},
    ):

        def ask(tfio: Any, options: Any = options) -> Any:
            return whole(tfio.ATDSDataset(files, features=features(tfio), **options))

        yield Case(f"ATDSDataset with {options}", ask)

    def shuffled(tfio: Any) -> Any:
        dataset = tfio.ATDSDataset(files, 256, features(tfio), shuffle_buffer_size=512)
        members = [int(n) for batch in dataset for n in batch["s_member"]]
        return spec(dataset.element_spec), sorted(members)

    yield Case("ATDSDataset shuffled", shuffled)

    def interleaved(tfio: Any) -> Any:
        names = tf.data.Dataset.from_tensor_slices(files)
        return whole(
            names.interleave(
                lambda name: tfio.ATDSDataset(name, 100, features(tfio)), cycle_length=2
            )
        )

    yield Case("ATDSDataset interleaved", interleaved)

    def transformed(tfio: Any) -> Any:
        dataset = tfio.ATDSDataset(tf.constant(files), 500, features(tfio))
        found = dataset.repeat(2).map(lambda batch: batch["d7"]).prefetch(2)
        return int(dataset.cardinality()), whole(found)

    yield Case("ATDSDataset transformed", transformed)

    def each(tfio: Any) -> Any:
        return [value(batch) for batch in tfio.ATDSDataset(files[0], 300, features(tfio))]

    yield Case("ATDSDataset of one name", each)


def _errors(folder: Path) -> Iterator[Case]:
    path = write(folder / "n.avro", record("R", n="int", a=array("int")), [{"n": 1, "a": [1]}])

    def make(tfio: Any, **options: Any) -> Any:
        given = {"filenames": path, "batch_size": 2} | options
        if "features" not in given:
            given["features"] = {"n": tfio.DenseFeature([], tf.int32)}
        return len(list(tfio.ATDSDataset(**given)))

    asks: dict[str, Callable[[Any], Any]] = {
        "a batch size of 0": lambda tfio: make(tfio, batch_size=0),
        "a batch size of 1.5": lambda tfio: make(tfio, batch_size=1.5),
        "a buffer of 0": lambda tfio: make(tfio, reader_buffer_size=0),
        "a shuffle buffer of -1": lambda tfio: make(tfio, shuffle_buffer_size=-1),
        "0 calls": lambda tfio: make(tfio, num_parallel_calls=0),
        "-2 calls": lambda tfio: make(tfio, num_parallel_calls=-2),
        "a missing file": lambda tfio: make(tfio, filenames=str(folder / "none.avro")),
        "a number for a file": lambda tfio: make(tfio, filenames=3),
        "a data set for a file": lambda tfio: make(tfio, filenames=tf.data.Dataset.range(1)),
        "a matrix of files": lambda tfio: make(tfio, filenames=[[path]]),
        "no features": lambda tfio: make(tfio, features=None),
        "empty features": lambda tfio: make(tfio, features={}),
        "a feature of 3": lambda tfio: make(tfio, features={"n": 3}),
        "an unknown feature": lambda tfio: make(tfio, features={"m": _int(tfio)}),
        "another dtype": lambda tfio: make(tfio, features={"n": tfio.DenseFeature([], tf.int64)}),
        "another rank": lambda tfio: make(tfio, features={"a": _int(tfio)}),
        "another length": lambda tfio: make(tfio, features={"a": tfio.DenseFeature([2], tf.int32)}),
        "a shape of None": lambda tfio: tfio.DenseFeature(None, tf.int32),
        "a dimension of 0": lambda tfio: tfio.VarlenFeature([0], tf.int32),
        "a dense dimension of -1": lambda tfio: tfio.DenseFeature([-1], tf.int32),
        "a sparse scalar": lambda tfio: tfio.SparseFeature([], tf.int32),
        "a dtype of None": lambda tfio: tfio.DenseFeature([], None),
        "a dtype of uint8": lambda tfio: tfio.DenseFeature([], tf.uint8),
    }
    for name, ask in asks.items():
        yield Case(f"ATDSDataset with {name}", ask)
    yield Case("ATDSDataset without files", lambda tfio: make(tfio, filenames=[]), perilous=True)


def _int(tfio: Any) -> Any:
    return tfio.DenseFeature([], tf.int32)
