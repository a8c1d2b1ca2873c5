"""Further cases for parse_avro: ranks, shapes, defaults, filters, branches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf
from alike import Case
from cases_records import fixed, sparse, varlen
from elements import value, whole
from files import array, encoded, record

ENGINE = record("Engine", id="long", power="float", cylinders="long")
CAR = record("Car", maker="string", engine=ENGINE, owners=array("string"))
FRIEND = record("Friend", first="string", last="string", known="boolean", cars=array("Car"))
SCHEMA = record(
    "Person",
    first="string",
    yes="boolean",
    precise="double",
    raw="bytes",
    inner=record("Inner", deep=record("Deep", down="long")),
    car=CAR,
    engines=array("Engine"),
    friends=array(FRIEND),
    grid=array(array("int")),
    cube=array(array(array("long"))),
    shelf={"type": "map", "values": "Engine"},
    lists={"type": "map", "values": array("int")},
    multi=["null", "boolean", "int", "long", "float", "double", "string"],
    maybe=["null", "Inner"],
)
SCHEMA["namespace"] = "com.example"
TEXT = json.dumps(SCHEMA)

MULTI = [None, True, 3, 2**40, 0.5, 0.25, "text"]


def person(n: int) -> dict[str, Any]:
    def engine(k: int) -> dict[str, Any]:
        return {"id": 3 * k + n, "power": k / 2, "cylinders": k % 4}

    def car(k: int) -> dict[str, Any]:
        owners = [f"o{m}" for m in range(k % 3)]
        return {"maker": "ab"[k % 2], "engine": engine(k), "owners": owners}

    def friend(k: int) -> dict[str, Any]:
        cars = [car(k + m) for m in range(k % 3 + 1)]
        first, last = f"f{k % 3}", f"f{k % 2}"
        return {"first": first, "last": last, "known": k % 2 == 0, "cars": cars}

    return {
        "first": f"f{n % 3}",
        "yes": n % 2 == 0,
        "precise": n / 7,
        "raw": bytes([n, 255 - n]),
        "inner": {"deep": {"down": n << 33}},
        "car": car(n),
        "engines": [engine(k) for k in range(n % 4)],
        "friends": [friend(k) for k in range(n % 5 + 1)],
        "grid": [[n, n + 1], [n + 2, n + 3]],
        "cube": [[[n, k, m] for m in range(2)] for k in range(n % 2 + 1)],
        "shelf": {"a": engine(n), f"b{n % 2}": engine(n + 1)},
        "lists": {"one": [n, n + 1], "two": [n] * (n % 3)},
        "multi": ("double", 0.25) if n % 7 == 5 else MULTI[n % 7],
        "maybe": {"deep": {"down": n}} if n % 2 else None,
    }


PEOPLE = [person(n) for n in range(14)]

FEATURES: dict[str, Callable[[Any], Any]] = {
    "yes": fixed([], tf.bool),
    "precise": fixed([], tf.float64),
    "raw": fixed([], tf.string),
    "inner.deep.down": fixed([], tf.int64),
    "com.example.first": fixed([], tf.string),
    "car.engine.power": fixed([], tf.float32),
    "friends[0].cars[0].maker": fixed([], tf.string),
    "shelf['a'].power": fixed([], tf.float32),
    "lists['one'][1]": fixed([], tf.int32),
    "grid[0][1]": fixed([], tf.int32),
    "grid[*][*]": fixed([2, 2], tf.int32),
    "grid[1][*]": fixed([2], tf.int32),
    "friends[*].known": varlen(tf.bool),
    "friends[*].cars[*].engine.power": varlen(tf.float32, 2),
    "friends[*].cars[*].owners[*]": varlen(tf.string, 3),
    "friends[*].cars[0].maker": varlen(tf.string),
    "cube[*][*][*]": varlen(tf.int64, 3),
    "lists['two'][*]": varlen(tf.int32),
    "car.owners[*]": varlen(tf.string),
    "friends[first=last].last": varlen(tf.string),
    "friends[first=@first].last": varlen(tf.string),
    "friends[first='f1'].cars[maker='a'].engine.id": varlen(tf.int64, 2),
    "friends[first='nobody'].last": varlen(tf.string),
    "multi:boolean": fixed([], tf.bool, False),
    "multi:int": fixed([], tf.int32, 0),
    "multi:long": fixed([], tf.int64, -9),
    "multi:float": fixed([], tf.float32, 0.0),
    "multi:double": fixed([], tf.float64, 0.0),
    "multi:string": fixed([], tf.string, ""),
    "maybe:Inner.deep.down": fixed([], tf.int64, -1),
}

#: Each feature is a case of its own, since several have the same expression.
SHAPES: dict[str, dict[str, Callable[[Any], Any]]] = {
    "a row of any length": {"engines[*].id": fixed([None], tf.int64, 0)},
    "rows in a batch of any length": {"engines[*].id": fixed([None, 4], tf.int64, -2)},
    "two dimensions of any length": {"grid[*][*]": fixed([None, None], tf.int32, 0)},
    "one of two dimensions of any length": {"grid[*][*]": fixed([None, 2], tf.int32, 0)},
    "a default for all": {"engines[*].power": fixed([3], tf.float32, [7.5, 8.5, 9.5])},
    "a nested default": {"grid[*][*]": fixed([3, 2], tf.int32, [[1, 2], [3, 4], [5, 6]])},
    "a flat default": {"grid[*][*]": fixed([3, 2], tf.int32, [1, 2, 3, 4, 5, 6])},
    "strings by default": {"car.owners[*]": fixed([2], tf.string, ["x", "y"])},
    "a list in one dimension": {"grid[0][*]": fixed([None], tf.int32, 0)},
    "an index and a value": {"engines": sparse("id", "power", tf.float32, 99)},
    "two indices": {"engines": sparse(["cylinders", "id"], "power", tf.float32, [9, 99])},
    "indices from the root": {
        "any": sparse(["@engines[*].id"], "@engines[*].power", tf.float32, [99])
    },
    "two of the same entries": {
        "engines": sparse("id", "power", tf.float32, 99),
        "again": sparse("@engines[*].cylinders", "@engines[*].power", tf.float32, 99),
    },
    "a list feature": {"engines[*].id": lambda tfio: tf.io.VarLenFeature(tf.int64)},
    "a sequence feature": {
        "engines[*].id": lambda tfio: tf.io.FixedLenSequenceFeature(
            [3], tf.int64, allow_missing=True, default_value=0
        )
    },
    "all values of a map": {"shelf[*].power": varlen(tf.float32)},
    "a filter of a boolean": {"friends[known='true'].last": varlen(tf.string)},
    "a filter with two signs": {"friends[first=last=first].last": varlen(tf.string)},
    "a filter of an unknown field": {"friends[none='a'].last": varlen(tf.string)},
    "a filter without a side": {"friends[='a'].last": varlen(tf.string)},
    "an open bracket": {"friends[": varlen(tf.string)},
    "a record": {"car": fixed([], tf.string)},
    "a list as a scalar": {"engines": fixed([], tf.int64)},
    "a branch that is none": {"multi:bytes": fixed([], tf.string, "")},
    "a branch without a default": {"multi:int": fixed([], tf.int32)},
    "another dtype of a branch": {"multi:int": fixed([], tf.int64, 0)},
    "a default of another shape": {"grid[*][*]": fixed([2, 2], tf.int32, [1, 2, 3])},
    "a longer list": {"cube[0][0][*]": fixed([2], tf.int64, [0, 0])},
    "one default for all": {"engines[*].id": fixed([3], tf.int64, 7)},
}


def expressions_cases() -> Iterator[Case]:
    """Each feature alone and all at once, for each way to call parse_avro."""
    serialized = encoded(SCHEMA, PEOPLE)
    alone = {name: {name: feature} for name, feature in FEATURES.items()}
    many = {name: make for name, make in FEATURES.items() if name not in LIFTED | GARBLED}
    for name, makers in (alone | {"many together": many} | SHAPES).items():
        for way, parse in WAYS.items():

            def ask(tfio: Any, makers: Any = makers, parse: Any = parse) -> Any:
                features = {key: make(tfio) for key, make in makers.items()}
                return parse(tfio, serialized, features)

            # Documented features that fail in tensorflow-io have tests elsewhere.
            yield Case(
                f"parse_avro {way} of {name}",
                ask,
                perilous=True,
                lifted=name in LIFTED,
                # Eagerly, tensorflow-io returns lists that are partly in freed memory.
                garbled=name in GARBLED or (parse is _eagerly and "[*]" in name),
            )


#: Features that tensorflow-io's documentation promises, but on which it fails.
LIFTED = {
    "com.example.first",
    "grid[*][*]",
    "maybe:Inner.deep.down",
    "all values of a map",
    "a list feature",
    "a sequence feature",
    "a row of any length",
    "rows in a batch of any length",
    "two dimensions of any length",
    "one of two dimensions of any length",
    "one default for all",
}

#: Features for which tensorflow-io returns wrong values: missing values, entries that a filter
#: leaves out, and values of another type.
GARBLED = {
    "friends[first=@first].last",
    "friends[first='nobody'].last",
    "a branch that is none",
    "another dtype of a branch",
}


def _eagerly(tfio: Any, serialized: list[bytes], features: Any) -> Any:
    return value(tfio.parse_avro(tf.constant(serialized), TEXT, features))


def _mapped(tfio: Any, serialized: list[bytes], features: Any) -> Any:
    dataset = tf.data.Dataset.from_tensor_slices(serialized).batch(5)
    return whole(dataset.map(lambda batch: tfio.parse_avro(batch, TEXT, features)))


def _in_a_function(tfio: Any, serialized: list[bytes], features: Any) -> Any:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def parse(batch: Any) -> Any:
        return tfio.parse_avro(batch, TEXT, features)

    return value(parse(tf.constant(serialized)))


WAYS: dict[str, Callable[[Any, list[bytes], Any], Any]] = {
    "at once": _eagerly,
    "in a map": _mapped,
    "in a function": _in_a_function,
}
