"""Fields of all Avro types around the selected fields, nested records, and logical types."""

import datetime
import decimal

from .schemas import array, dense, field, record, sparse, sparse_value, varlen

UTC = datetime.timezone.utc


def cases(writer, case):
    yield _every_type(writer, case)
    yield _nested_records(writer, case)
    yield _logical_types(writer, case)


def _every_type(writer, case):
    """Fields of each type that a reader must skip, between selected fields."""
    unselected = [
        field("u_null", "null"),
        field("u_boolean", "boolean"),
        field("u_int", "int", doc="an int", order="descending"),
        field("u_long", "long", aliases=["old_long"]),
        field("u_float", "float", default=1.5),
        field("u_double", "double", custom={"any": ["thing", 1]}),
        field("u_bytes", "bytes"),
        field("u_string", "string"),
        field(
            "u_enum",
            {
                "type": "enum",
                "name": "Suit",
                "namespace": "cards",
                "symbols": ["SPADES", "HEARTS"],
                "default": "SPADES",
            },
        ),
        field("u_enum_again", array("cards.Suit")),
        field("u_fixed", {"type": "fixed", "name": "Md5", "size": 16}),
        field("u_map", {"type": "map", "values": "long"}),
        field(
            "u_map_of_arrays", {"type": "map", "values": array({"type": "map", "values": "string"})}
        ),
        field("u_nulls", array("null")),
        field("u_empty_record", record("Nothing", [])),
        field("u_empty_records", array("Nothing")),
        field(
            "u_union",
            [
                "null",
                "string",
                "long",
                "double",
                "boolean",
                "Md5",
                array("int"),
                {"type": "map", "values": "int"},
            ],
        ),
        field(
            "u_records",
            array(record("Pair", [field("left", "string"), field("right", ["null", "Pair"])])),
        ),
        field("u_list", record("List", [field("head", "long"), field("tail", ["null", "List"])])),
        field(
            "u_tree",
            record(
                "Tree",
                [
                    field("label", "bytes"),
                    field("children", array("Tree")),
                    field("named", {"type": "map", "values": "Tree"}),
                ],
            ),
        ),
    ]
    schema = record(
        "Everything",
        [
            field("first", "int"),
            *unselected[:10],
            field("middle", array("double")),
            *unselected[10:],
            field("last", "string"),
        ],
        namespace="org.example.data",
        doc="Every Avro type.",
    )
    features = {
        "first": dense([], "int32"),
        "middle": varlen([-1], "float64"),
        "last": dense([], "string"),
    }
    unions = [None, "text", -5, 2.25, True, b"0123456789abcdef", [1, 2, 3], {"k": -1, "": 0}]
    return case(
        f"everything_{writer}",
        writer,
        schema,
        [_every_value(i, unions[i % len(unions)]) for i in range(16)],
        features,
        block_records=6,
        rows=True,
    )


def _every_value(i, union):
    linked = None
    for k in range(i):
        linked = {"head": k - 2, "tail": linked}
    leaf = {"label": b"\x00\xff", "children": [], "named": {}}
    tree = {
        "label": b"root",
        "children": [leaf] * (i % 3),
        "named": {"é": {"label": b"", "children": [leaf], "named": {"deep": leaf}}}
        if i % 2
        else {},
    }
    return {
        "first": i - 8,
        "u_null": None,
        "u_boolean": i % 3 == 0,
        "u_int": -(2**31) + i,
        "u_long": 2**63 - 1 - i,
        "u_float": [
            0.0,
            -0.0,
            float("nan"),
            float("inf"),
            float("-inf"),
            0.100000001490116119384765625,
            1e-45,
        ][i % 7],
        "u_double": [0.1, -0.0, float("nan"), float("inf"), float("-inf"), 1e300, 5e-324][i % 7],
        "u_bytes": bytes(range(i, i * 17)),
        "u_string": "ключ" * i,
        "u_enum": ("SPADES", "HEARTS")[i % 2],
        "u_enum_again": ["HEARTS", "SPADES"][: i % 3],
        "u_fixed": bytes(range(240, 256)),
        "u_map": {f"key{k}": k * 1000 for k in range(i % 4)},
        "u_map_of_arrays": {"a": [{"x": "y"}, {}], "b": []} if i % 2 else {},
        "u_nulls": [None] * (i % 4),
        "u_empty_record": {},
        "u_empty_records": [{}] * (i % 3),
        "u_union": union,
        "u_records": [
            {"left": "l", "right": {"left": "r", "right": None}},
            {"left": "", "right": None},
        ][: i % 3],
        "u_list": {"head": i, "tail": linked},
        "u_tree": tree,
        "middle": [i / 4] * (i % 4),
        "last": f"row {i}",
    }


def _nested_records(writer, case):
    """Features with dotted names, with fields before and after them on each level."""
    profile = record(
        "Profile",
        [
            field("note", "string"),
            field("age", "int"),
            field("tags", array("string")),
            field("ids", sparse_value("Ids", "float", ["int"], ["values", "indices0"])),
            field("more", {"type": "map", "values": "Ids"}),
        ],
        namespace="org.example",
    )
    user = record(
        "User", [field("id", "long"), field("profile", profile), field("score", "double")]
    )
    schema = record(
        "Event",
        [
            field("before", "bytes"),
            field("user", user),
            field("friend", "org.example.Profile"),
            field("after", "long"),
        ],
    )
    features = {
        "after": dense([], "int64"),
        "friend.age": dense([], "int32"),
        "friend.ids": sparse([20], "float32"),
        "user.id": dense([], "int64"),
        "user.profile.age": dense([], "int32"),
        "user.profile.ids": sparse([20], "float32"),
        "user.profile.tags": varlen([-1], "string"),
        "user.score": dense([], "float64"),
    }

    def profile_value(i):
        ids = {"values": [i / 2, 1.0][: i % 3], "indices0": [i, 19][: i % 3]}
        return {
            "note": "n" * i,
            "age": 20 + i,
            "tags": ["x", "ÿ", ""][: i % 4],
            "ids": ids,
            "more": {"k": ids} if i % 2 else {},
        }

    records = [
        {
            "before": b"b" * i,
            "user": {"id": -i, "profile": profile_value(i), "score": i / 8},
            "friend": profile_value(9 - i),
            "after": 10 * i,
        }
        for i in range(9)
    ]
    return case(
        f"nested_records_{writer}", writer, schema, records, features, block_records=4, rows=True
    )


def _logical_types(writer, case):
    """Logical types do not change a tensor: the underlying type decides."""

    def logical(avro_type, name, **attributes):
        return {"type": avro_type, "logicalType": name, **attributes}

    moment = datetime.datetime(2024, 2, 29, 12, 34, 56, 789012, UTC)
    plain = [
        ("day", logical("int", "date"), dense([], "int32"), datetime.date(1969, 12, 31)),
        (
            "time_ms",
            logical("int", "time-millis"),
            dense([], "int32"),
            datetime.time(23, 59, 59, 999000),
        ),
        ("time_us", logical("long", "time-micros"), dense([], "int64"), datetime.time(0, 0, 0, 1)),
        (
            "stamp_ms",
            logical("long", "timestamp-millis"),
            dense([], "int64"),
            moment.replace(microsecond=789000),
        ),
        ("stamp_us", logical("long", "timestamp-micros"), dense([], "int64"), moment),
        (
            "price",
            logical("bytes", "decimal", precision=10, scale=2),
            dense([], "string"),
            decimal.Decimal("-12345.67"),
        ),
        (
            "rate",
            {
                "type": "fixed",
                "name": "Rate",
                "size": 6,
                "logicalType": "decimal",
                "precision": 12,
                "scale": 3,
            },
            None,
            decimal.Decimal("0.125"),
        ),
        (
            "key",
            logical("string", "uuid"),
            dense([], "string"),
            "01234567-89ab-cdef-0123-456789abcdef",
        ),
        ("unknown", logical("int", "no-such-type"), dense([], "int32"), 7),
        (
            "duration",
            {"type": "fixed", "name": "Duration", "size": 12, "logicalType": "duration"},
            None,
            bytes(range(12)),
        ),
        (
            "days",
            array(logical("int", "date")),
            varlen([-1], "int32"),
            [datetime.date(1970, 1, 1), datetime.date(2100, 6, 1)],
        ),
    ]
    schema = record("Logical", [field(name, avro_type) for name, avro_type, _, _ in plain])
    features = {name: feature for name, _, feature, _ in plain if feature}
    records = [{name: value for name, _, _, value in plain}] * 3
    return case(f"logical_types_{writer}", writer, schema, records, features, rows=True)
