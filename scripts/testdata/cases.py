"""The test files: schema, records, features, writer, codec and block size of each."""

import dataclasses

from . import everything
from .schemas import array, dense, field, nested, record, sparse, sparse_value, varlen
from .values import AVRO_TYPES, DTYPE_OF, Values
from .writers import CODECS

EMPTY_OFTEN = lambda rng: (0, 0, 1, 2, 3, 2, 1, 5)[rng.getrandbits(3)]


@dataclasses.dataclass
class Case:
    name: str
    writer: str
    schema: dict
    records: list
    features: dict
    codec: str = "null"
    block_records: int = 1 << 30
    metadata: dict = dataclasses.field(default_factory=dict)
    rows: bool = False


def all_cases():
    for writer in CODECS:
        yield from _kinds(writer)
        yield from _edges(writer)
        yield from _codecs(writer)
        yield from everything.cases(writer, Case)
    yield from _schema_change()


# Each kind x type x rank.


def _kinds(writer):
    yield _dense_case(writer)
    yield _sparse_case(writer)
    yield _varlen_case(writer)


def _dense_case(writer, count=12):
    shapes = ([], [3], [2, 3], [2, 1, 2])
    fields, features, supply = [], {}, {}
    for avro_type in AVRO_TYPES:
        for shape in shapes:
            name = f"{avro_type}_rank{len(shape)}"
            fields.append(field(name, nested(avro_type, len(shape))))
            features[name] = dense(shape, DTYPE_OF[avro_type])
            supply[name] = (Values(avro_type, name), shape)
    records = [
        {name: values.nested(shape) for name, (values, shape) in supply.items()}
        for _ in range(count)
    ]
    return Case(
        f"dense_{writer}",
        writer,
        record("Dense", fields),
        records,
        features,
        block_records=5,
        rows=True,
    )


def _sparse_case(writer, count=12):
    shapes = ([1000], [7, 9], [3, 4, 2**40])
    fields, features, supply = [], {}, {}
    for number, avro_type in enumerate(AVRO_TYPES):
        for shape in shapes:
            rank, name = len(shape), f"{avro_type}_rank{len(shape)}"
            # Indices of both types, and `values` at each position among them.
            index_types = [
                "long" if size > 2**31 or (number + i) % 2 else "int"
                for i, size in enumerate(shape)
            ]
            order = [f"indices{i}" for i in range(rank)]
            order.insert(number % (rank + 1), "values")
            if number % 3 == 2:
                order.reverse()
            fields.append(
                field(name, sparse_value(f"Sparse_{name}", avro_type, index_types, order))
            )
            features[name] = sparse(shape, DTYPE_OF[avro_type])
            supply[name] = (Values(avro_type, name), shape)

    def value(values, shape):
        nnz = EMPTY_OFTEN(values.rng)
        indices = {
            f"indices{i}": [_index(values.rng, size) for _ in range(nnz)]
            for i, size in enumerate(shape)
        }
        return {"values": [values.next() for _ in range(nnz)], **indices}

    records = [{name: value(*each) for name, each in supply.items()} for _ in range(count)]
    return Case(
        f"sparse_{writer}",
        writer,
        record("Sparse", fields),
        records,
        features,
        block_records=7,
        rows=True,
    )


def _index(rng, size):
    """The first, the last or any index of a dimension; unsorted and repeated ones are allowed."""
    return (0, size - 1, rng.getrandbits(60) % size)[rng.getrandbits(8) % 3]


def _varlen_case(writer, count=10):
    shapes = ([-1], [3], [-1, -1], [2, -1], [-1, 2], [-1, -1, -1], [2, -1, 1], [-1, 2, -1])
    fields, features, supply = [], {}, {}
    for avro_type in AVRO_TYPES:
        for shape in shapes:
            name = "_".join([avro_type, *("x" if size == -1 else str(size) for size in shape)])
            fields.append(field(name, nested(avro_type, len(shape))))
            features[name] = varlen(shape, DTYPE_OF[avro_type])
            supply[name] = (
                Values(avro_type, name),
                [EMPTY_OFTEN if size == -1 else size for size in shape],
            )
    records = [
        {name: values.nested(lengths) for name, (values, lengths) in supply.items()}
        for _ in range(count)
    ]
    return Case(
        f"varlen_{writer}", writer, record("Varlen", fields), records, features, block_records=3
    )


# Sizes: none, one, many, giant; empty arrays.


def _edges(writer):
    yield _empty_arrays(writer)
    yield _trailing_empty_arrays(writer)
    yield from _record_counts(writer)
    yield _nullable(writer)


def _empty_arrays(writer):
    fields = [
        field("inner", nested("int", 2)),
        field("none", nested("string", 1)),
        field("deep", nested("double", 3)),
        field("deep_none", nested("long", 3)),
        field("sparse", sparse_value("S", "float", ["long"], ["values", "indices0"])),
    ]
    features = {
        "inner": varlen([-1, -1], "int32"),
        "none": varlen([-1], "string"),
        "deep": varlen([-1, -1, -1], "float64"),
        "deep_none": varlen([-1, -1, -1], "int64"),
        "sparse": sparse([10], "float32"),
    }
    nothing = {"indices0": [], "values": []}
    rows = [
        ([[1], []], [], [[[], [0.5]], []], [], nothing),
        ([[], [], []], [], [], [[]], nothing),
        ([], [], [[]], [[], []], nothing),
        ([[], [2, 3]], [], [[], [[], [], [1.5, 2.5]]], [[[], []], [[]]], nothing),
    ]
    records = [dict(zip(features, row, strict=True)) for row in rows]
    return Case(
        f"empty_arrays_{writer}",
        writer,
        record("EmptyArrays", fields),
        records,
        features,
        block_records=2,
        rows=True,
    )


def _trailing_empty_arrays(writer):
    """The only value has index 0 in both unknown dimensions; the empty arrays do not count."""
    schema = record("TrailingEmpty", [field("v", nested("int", 2))])
    records = [{"v": [[1], []]}, {"v": [[], [], []]}]
    return Case(
        f"trailing_empty_arrays_{writer}", writer, schema, records, {"v": varlen([-1, -1], "int32")}
    )


def _record_counts(writer):
    schema = record(
        "Example",
        [
            field("id", "long"),
            field("name", "string"),
            field("weights", array("float")),
            field("tags", array("string")),
            field("ids", sparse_value("Ids", "double", ["int"], ["indices0", "values"])),
            field("blob", "bytes"),
        ],
    )
    features = {
        "id": dense([], "int64"),
        "name": dense([], "string"),
        "weights": dense([2], "float32"),
        "tags": varlen([-1], "string"),
        "ids": sparse([100], "float64"),
    }
    text, numbers = Values("string", "counts"), Values("float", "counts")

    def records(count, blob=0):
        return [
            {
                "id": i * i - 5,
                "name": text.next(),
                "weights": [numbers.next(), numbers.next()],
                "tags": [text.next() for _ in range(i % 4)],
                "ids": {
                    "indices0": [i % 100, (7 * i) % 100][: i % 3],
                    "values": [float(i), -0.5][: i % 3],
                },
                "blob": bytes((i + k) % 251 for k in range(blob)),
            }
            for i in range(count)
        ]

    for name, rows, options in (
        ("no_record", records(0), {}),
        ("no_record_deflate", records(0), {"codec": "deflate"}),
        (
            "one_record",
            records(1),
            {"metadata": {"made.by": "a test", "empty": "", "note": "Ünïcödé"}},
        ),
        ("many_blocks", records(150), {"block_records": 1}),
        ("giant_block", records(400, blob=800), {"codec": "deflate"}),
    ):
        yield Case(f"{name}_{writer}", writer, schema, rows, features, **options)


def _nullable(writer):
    """Nullable fields without a null, which read as plain fields."""
    sparse_type = sparse_value("Ids", "long", ["long", "int"], ["indices1", "indices0", "values"])
    plain = {
        "f": ("float", dense([], "float32"), 1.5),
        "s": ("string", dense([], "string"), "é"),
        "b": ("boolean", dense([], "bool"), True),
        "d": (nested("double", 2), dense([1, 2], "float64"), [[0.5, -0.0]]),
        "v": (nested("int", 2), varlen([-1, -1], "int32"), [[1], [], [2, 3]]),
        "p": (
            sparse_type,
            sparse([5, 6], "int64"),
            {"indices0": [4, 0], "indices1": [5, 5], "values": [-1, 1]},
        ),
    }
    fields, features, row = [], {}, {}
    for name, (avro_type, feature, value) in plain.items():
        # A named type is defined once, then referred to by name.
        again = "Ids" if avro_type is sparse_type else avro_type
        for suffix, union in (
            ("null_first", ["null", avro_type]),
            ("null_last", [again, "null"]),
            ("alone", [again]),
        ):
            fields.append(field(f"{name}_{suffix}", union))
            features[f"{name}_{suffix}"] = feature
            row[f"{name}_{suffix}"] = value
    return Case(
        f"nullable_{writer}", writer, record("Nullable", fields), [row] * 3, features, rows=True
    )


# Each codec.


def _codecs(writer):
    schema = record(
        "Click",
        [
            field("label", "int"),
            field("bid", "double"),
            field("country", "string"),
            field("embedding", array("float")),
            field("terms", sparse_value("Terms", "float", ["long"], ["indices0", "values"])),
            field("history", array("long")),
        ],
    )
    features = {
        "label": dense([], "int32"),
        "bid": dense([], "float64"),
        "country": dense([], "string"),
        "embedding": dense([4], "float32"),
        "terms": sparse([50001], "float32"),
        "history": varlen([-1], "int64"),
    }
    rng = Values("long", "codecs").rng
    records = []
    for i in range(60):
        nnz = rng.getrandbits(2)
        records.append(
            {
                "label": i % 2,
                "bid": rng.getrandbits(10) / 8,
                "country": ("de", "fr", "日本", "")[rng.getrandbits(2)],
                "embedding": [rng.getrandbits(8) / 16 - 8 for _ in range(4)],
                "terms": {
                    "indices0": sorted(rng.getrandbits(15) for _ in range(nnz)),
                    "values": [rng.getrandbits(6) / 4 for _ in range(nnz)],
                },
                "history": [rng.getrandbits(40) for _ in range(rng.getrandbits(2))],
            }
        )
    for codec in CODECS[writer]:
        yield Case(
            f"codec_{codec}_{writer}",
            writer,
            schema,
            records,
            features,
            codec=codec,
            block_records=25,
        )


# Two files of one data set, whose schemas differ outside of the features.


def _schema_change():
    features = {"a": dense([], "int64"), "b": dense([2], "float32")}
    before = record("Row", [field("a", "long"), field("b", array("float"))])
    after = record(
        "Row",
        [
            field("extra", nested("string", 2)),
            field("b", ["null", array("float")]),
            field("c", "bytes"),
            field("a", "long"),
        ],
    )
    rows = [{"a": i, "b": [i / 2, -i / 4]} for i in range(5)]
    yield Case("schema_before_fastavro", "fastavro", before, rows, features)
    yield Case(
        "schema_after_avro",
        "avro",
        after,
        [{**row, "extra": [["x"], []], "c": b"\xff"} for row in rows],
        features,
        codec="deflate",
    )
