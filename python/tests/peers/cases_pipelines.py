"""Cases for pipelines over an ATDSDataset, and for its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf
from alike import Case
from elements import spec, value, whole
from files import array, record, write

PAIR = record("Pair", left="int", right="string")
SPARSE = record("Sparse", indices0=array("long"), values=array("float"))
ROW = record(
    "Row",
    unread=array(PAIR),
    x=array("float"),
    word=["null", "string"],
    ignored={"type": "map", "values": "long"},
    label="int",
    color={"type": "enum", "name": "Color", "symbols": ["red", "blue"]},
    sp=SPARSE,
    cube=array(array(array("int"))),
    pairs=array(array("long")),
    key={"type": "fixed", "name": "Key", "size": 3},
)


def row(n: int) -> dict[str, Any]:
    return {
        "unread": [{"left": n, "right": "r" * n}] * (n % 3),
        "x": [n / 8, -n / 4, 0.5],
        "word": "w" * (n % 5),
        "ignored": {f"k{k}": k for k in range(n % 4)},
        "label": n % 2,
        "color": "blue",
        "sp": {"indices0": list(range(n % 5)), "values": [n / 2] * (n % 5)},
        "cube": [[list(range(k)) for k in range(n % 3)] for _ in range(n % 4)],
        "pairs": [[n, n + 1]] * (n % 3),
        "key": b"abc",
    }


def features(tfio: Any) -> dict[str, Any]:
    return {
        "x": tfio.DenseFeature([3], tf.float32),
        "word": tfio.DenseFeature([], tf.string),
        "label": tfio.DenseFeature([], tf.int32),
        "sp": tfio.SparseFeature([5], tf.float32),
        "cube": tfio.VarlenFeature([-1, -1, -1], tf.int32),
        "pairs": tfio.VarlenFeature([-1, 2], tf.int64),
    }


def pipelines_cases(folder: Path) -> Iterator[Case]:
    """Codecs and files, uses of data sets, and values that do not fit."""
    path = write(folder / "rows.avro", ROW, [row(n) for n in range(100)], "deflate")
    yield from _files(folder, path)
    yield from _uses(path)
    yield from _misfits(folder, path)


def _files(folder: Path, path: str) -> Iterator[Case]:
    for codec in ("null", "deflate", "snappy"):
        name = write(folder / f"{codec}.avro", ROW, [row(n) for n in range(40)], codec)
        yield Case(
            f"ATDSDataset of {codec}",
            lambda tfio, name=name: whole(tfio.ATDSDataset(name, 7, features(tfio))),
        )
    none = write(folder / "no-rows.avro", ROW, [])
    odd = write(folder / "a[1]*?{2}.avro", ROW, [row(n) for n in range(3)])
    named: dict[str, Callable[[], Any]] = {
        "a file without records": lambda: none,
        "a file without records between others": lambda: [path, none, path],
        "a file twice": lambda: [path, path],
        "a name like a pattern": lambda: [odd],
        "a URL": lambda: f"file://{path}",
        "a tuple": lambda: (path, path),
        "a tensor": lambda: tf.constant([path]),
        "bytes": lambda: path.encode(),
    }
    for name, given in named.items():
        yield Case(
            f"ATDSDataset of {name}",
            lambda tfio, given=given: whole(tfio.ATDSDataset(given(), 32, features(tfio))),
        )


def _uses(path: str) -> Iterator[Case]:
    def made(tfio: Any, **options: Any) -> Any:
        return tfio.ATDSDataset(path, options.pop("batch_size", 16), features(tfio), **options)

    def in_a_function(tfio: Any) -> Any:
        @tf.function
        def total(names: Any) -> Any:
            found = tf.constant(0)
            for batch in tfio.ATDSDataset(names, 16, features(tfio)):
                found += tf.reduce_sum(batch["label"]) * tf.shape(batch["x"])[0]
            return found

        return int(total(tf.constant([path])))

    def of_an_iterator(tfio: Any) -> Any:
        iterator = iter(made(tfio))

        @tf.function
        def step() -> Any:
            return next(iterator)

        return [value(step()) for _ in range(3)]

    def interleaved(tfio: Any, calls: Any) -> Any:
        names = tf.data.Dataset.from_tensors(path).repeat(3)
        dataset = names.interleave(
            lambda name: tfio.ATDSDataset(name, 16, features(tfio)),
            cycle_length=3,
            num_parallel_calls=calls,
            deterministic=True,
        )
        return whole(dataset.prefetch(tf.data.AUTOTUNE))

    def fitted(tfio: Any) -> Any:
        dataset = made(tfio, drop_remainder=True).map(lambda batch: (batch["x"], batch["label"]))
        tf.keras.utils.set_random_seed(1)
        model = tf.keras.Sequential(
            [tf.keras.layers.Input([3]), tf.keras.layers.Dense(1, activation="sigmoid")]
        )
        model.compile(optimizer="sgd", loss="binary_crossentropy")
        history = model.fit(dataset.repeat().prefetch(2), steps_per_epoch=5, epochs=3, verbose=0)
        return history.history["loss"]

    def options(tfio: Any) -> Any:
        chosen = tf.data.Options()
        chosen.deterministic = True
        chosen.threading.private_threadpool_size = 2
        return whole(made(tfio).with_options(chosen))

    def weighed(tfio: Any) -> Any:
        return whole(
            made(tfio, drop_remainder=True).map(
                lambda batch: tf.sparse.sparse_dense_matmul(batch["sp"], tf.ones([5, 2]))
            )
        )

    uses: dict[str, Callable[[Any], Any]] = {
        "in a function": in_a_function,
        "an iterator in a function": of_an_iterator,
        "interleaved": lambda tfio: interleaved(tfio, None),
        "interleaved in parallel": lambda tfio: interleaved(tfio, 2),
        "interleaved by AUTOTUNE": lambda tfio: interleaved(tfio, tf.data.AUTOTUNE),
        "fitted": fitted,
        "with options": options,
        "weighed": weighed,
        "in shards": lambda tfio: whole(made(tfio).shard(3, 1)),
        "cached": lambda tfio: whole(made(tfio).cache().repeat(2)),
        "zipped": lambda tfio: whole(
            tf.data.Dataset.zip((made(tfio), made(tfio).skip(1))).map(lambda a, b: (a | b)["x"])
        ),
        "enumerated": lambda tfio: [int(n) for n, _ in made(tfio).enumerate()],
        "unbatched": lambda tfio: whole(made(tfio).unbatch().map(lambda one: one["word"])),
        "with tensors for options": lambda tfio: whole(
            made(
                tfio,
                batch_size=tf.constant(9, tf.int64),
                drop_remainder=tf.constant(True),
                reader_buffer_size=tf.constant(4096, tf.int64),
                shuffle_buffer_size=tf.constant(0, tf.int64),
                num_parallel_calls=tf.constant(tf.data.AUTOTUNE, tf.int64),
            )
        ),
        "with an int32 for a batch size": lambda tfio: whole(
            made(tfio, batch_size=tf.constant(9, tf.int32))
        ),
        "length": lambda tfio: len(made(tfio)),
        "element spec": lambda tfio: spec(made(tfio, drop_remainder=True).element_spec),
    }
    for name, use in uses.items():
        yield Case(f"ATDSDataset {name}", use)


def _misfits(folder: Path, path: str) -> Iterator[Case]:
    other = write(folder / "other.avro", record("Other", label="int"), [{"label": 1}])
    text = folder / "text.avro"
    text.write_text("no Avro at all, but long enough for a head")
    nulls = write(
        folder / "nulls.avro",
        record("Nulls", n=["null", "int"], a=["null", array("int")]),
        [{"n": None, "a": None}],
    )
    many = write(folder / "many.avro", record("Many", n=["int", "string"]), [{"n": 1}])
    short = record("Short", indices0=array("long"), values=array("float"))
    named = record("Named", index=array("long"), values=array("float"))
    texts = record("Texts", indices0=array("string"), values=array("float"))
    sparse = write(
        folder / "sparse.avro",
        record("Sparses", short=short, named=named, texts=texts, list=array("int")),
        [
            {
                "short": {"indices0": [1, 2], "values": [0.5]},
                "named": {"index": [1], "values": [0.5]},
                "texts": {"indices0": ["1"], "values": [0.5]},
                "list": [1, 2, 3],
            }
        ],
    )
    asks: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "a missing field among files": (
            [path, other],
            lambda tfio: {"x": tfio.DenseFeature([3], tf.float32)},
        ),
        "no Avro": (str(text), lambda tfio: {"x": tfio.DenseFeature([3], tf.float32)}),
        "a null": (nulls, lambda tfio: {"n": tfio.DenseFeature([], tf.int32)}),
        "a null list": (nulls, lambda tfio: {"a": tfio.VarlenFeature([-1], tf.int32)}),
        "a union of two types": (many, lambda tfio: {"n": tfio.DenseFeature([], tf.int32)}),
        "lists of two lengths": (
            sparse,
            lambda tfio: {"short": tfio.SparseFeature([9], tf.float32)},
        ),
        "other indices": (sparse, lambda tfio: {"named": tfio.SparseFeature([9], tf.float32)}),
        "texts for indices": (sparse, lambda tfio: {"texts": tfio.SparseFeature([9], tf.float32)}),
        "more indices": (path, lambda tfio: {"sp": tfio.SparseFeature([9, 9], tf.float32)}),
        "a sparse list": (sparse, lambda tfio: {"list": tfio.SparseFeature([9], tf.int32)}),
        "a list that is too long": (
            sparse,
            lambda tfio: {"list": tfio.VarlenFeature([2], tf.int32)},
        ),
        "an enum": (path, lambda tfio: {"color": tfio.DenseFeature([], tf.string)}),
        "a fixed": (path, lambda tfio: {"key": tfio.DenseFeature([], tf.string)}),
        "a map": (path, lambda tfio: {"ignored": tfio.VarlenFeature([-1], tf.int64)}),
    }
    for name, (given, asked) in asks.items():
        yield Case(
            f"ATDSDataset with {name}",
            lambda tfio, given=given, asked=asked: whole(tfio.ATDSDataset(given, 4, asked(tfio))),
            perilous=True,
            lifted=name in ("an enum", "a fixed"),
            # tensorflow-io reads any value as the first type.
            garbled=name == "a union of two types",
        )
