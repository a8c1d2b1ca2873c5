"""What the writers would otherwise write as another value: it is refused, or written as it is."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pytest

import atds


def nanos(type_: str = "timestamp-nanos") -> dict[str, Any]:
    return {
        "type": "record",
        "name": "R",
        "fields": [{"name": "t", "type": {"type": "long", "logicalType": type_}}],
    }


def rows_of(path: Path) -> list[Any]:
    with path.open("rb") as file:
        return list(fastavro.reader(file))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.datetime64("9999-12-31"), "out of the range of long"),
        (np.datetime64("9999-12-31T00:00:00"), "out of the range of long"),
        (np.datetime64("9999", "Y"), "out of the range of long"),
        (np.datetime64(-(10**17), "Y"), "beyond the range of timestamp-nanos"),
        (np.datetime64(1, "ps"), "between two values of timestamp-nanos"),
    ],
)
def test_datetimes_that_no_int_is_equal_to(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(atds.DataError, match=f"row 1, field t: .*{said}") as caught:
        atds.write(tmp_path / "a.avro", [{"t": 0}, {"t": value}], nanos())
    assert (caught.value.record, caught.value.field) == (1, "t")


def test_datetimes_and_ints_of_numpy(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    values = [np.datetime64("2262-04-11"), np.datetime64("1677-09-22"), np.int64(5), np.array(6)]
    values += [np.array("1970-01-02", "M8[D]"), np.datetime64("1969", "Y"), np.datetime64(6, "25s")]
    atds.write(path, [{"t": value} for value in values], nanos())
    day = 86_400 * 10**9
    expected = [106_751 * day, -106_751 * day, 5, 6, day, -365 * day, 150 * 10**9]
    found = atds.Dataset(path, 7, {"t": atds.DenseFeature([], "int64")})
    assert next(iter(found))["t"].tolist() == expected
    for type_, logical in [("int", "date"), ("int", "time-millis"), ("long", "time-micros")]:
        schema = nanos(logical)
        schema["fields"][0]["type"]["type"] = type_
        assert atds.write(path, [{"t": np.int32(7)}, {"t": np.uint8(8)}], schema) == 2
        assert [str(row["t"])[-1] for row in rows_of(path)] == {
            "date": ["8", "9"],
            "time-millis": ["0", "0"],
            "time-micros": ["7", "8"],
        }[logical]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.ma.array([1, 2], mask=[False, True]), "no masked items"),
        (np.ma.array([0.5, 2], mask=[False, True]), "no masked items"),
        (np.ma.masked, "no masked items"),
        (np.array(["2024-01-01"], "M8[ns]"), "no dates and times: give ints"),
        (np.array(["2024-01-01"], "M8[us]"), "no dates and times"),
        (np.datetime64("2024-01-01"), "no dates and times"),
        (np.timedelta64(1, "s"), "no dates and times"),
        ([np.timedelta64(1, "ns")], "no dates and times"),
        ([np.array([1, 2], "m8[ns]")], "no dates and times"),
        ({"b": 1}, "a dict is no value of a key"),
        ([[1, 2], 3], "differ in length"),
        ([[1, "a"]], "ints, floats, bytes or text"),
        ([[1], [None]], "ints, floats, bytes or text"),
        ([[2**63]], "beyond int64"),
    ],
)
def test_values_that_an_example_does_not_have(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(atds.DataError, match=f"row 1, field a: .*{said}") as caught:
        atds.write(tmp_path / "a.tfrecord", [{"a": []}, {"a": value}])
    assert (caught.value.record, caught.value.field) == (1, "a")


def test_lists_that_contain_themselves(tmp_path: Path) -> None:
    loop: list[Any] = []
    loop += [loop, loop]
    with pytest.raises(atds.DataError, match="nested deeper than"):
        atds.write(tmp_path / "a.tfrecord", [{"a": loop}])


def test_masked_columns_of_two_dimensions(tmp_path: Path) -> None:
    values = np.ma.array([[1, 2], [3, 4]], mask=[[False, False], [False, True]])
    for name in ("a.tfrecord", "a.avro"):
        with pytest.raises(atds.DataError, match="row 1, field a"):
            atds.write(tmp_path / name, atds.Batch({"a": values}))
    atds.write(tmp_path / "a.tfrecord", atds.Batch({"a": values.filled(0)}))


def test_nested_lists_keep_the_values_of_their_items(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    rows = [
        # Through an array of NumPy, 2^53 + 1 would be rounded, and ints among bytes be text.
        {"n": [[2**53 + 1], [np.uint64(7)]], "s": [[b"a\0"], ["b"]]},
        {"n": [[], []], "s": [[]]},
        {"n": [np.array([1, 2]), [3, 4]], "s": np.array([["p"], ["q"]])},
    ]
    # No items fix no kind.
    atds.write(path, [{"n": [[], []], "s": np.zeros((0, 2))}, *rows])
    features: Any = {
        "n": atds.VarLenFeature("int64", layout="ragged"),
        "s": atds.VarLenFeature("bytes", layout="ragged"),
    }
    (batch,) = atds.Dataset(path, 4, features)
    assert batch["n"].tolist() == [[], [2**53 + 1, 7], [], [1, 2, 3, 4]]
    assert batch["s"].tolist() == [[], [b"a\0", b"b"], [], [b"p", b"q"]]


def test_keys_that_would_be_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with pytest.raises(atds.DataError, match="a dict is no value"):
        atds.write(path, [{"a": {"b": 1}, "a.b": 2}])
    sparse = atds.RaggedSparseTensor(
        np.array([[0]]), np.array([5]), np.array([0, 1]), np.array([1, 3])
    )
    atds.write(path, atds.Batch({"a": sparse}))
    twice = atds.Batch({"a": sparse, "a.values": np.array([1])})
    with pytest.raises(atds.DataError, match=r"two columns have the key 'a\.values'"):
        atds.write(path, twice)


def test_masks_that_are_not_there(tmp_path: Path) -> None:
    batch = atds.Batch({"x": np.array([1, 2]), "has": np.array([True, False])})
    path = tmp_path / "a.avro"
    for masks in ({"is": "x"}, {"has": "y"}):
        with pytest.raises(atds.OptionError, match="the first batch has no column"):
            atds.write(path, batch, masks=masks)
    with pytest.raises(atds.OptionError, match="masks are columns of batches"):
        atds.write(path, [{"x": 1, "has": True}], masks={"has": "x"})
    atds.write(path, batch, masks={"has": "x"})
    assert rows_of(path) == [{"x": 1}, {"x": None}]


def test_labels_and_keys_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "a.btable"
    for labels in (["a", "a", "b"], ["a", "b", "a"], [1, "1"]):
        with pytest.raises(atds.SchemaError, match="is there twice"):
            atds.write(path, [{"b": 1}], labels)
    atds.write(path, [{2: 1.5, "1": 2}], [1, 2])
    assert list(atds.btable.BTable(path).rows()) == [[2, 1.5]]
    with pytest.raises(atds.DataError, match="row 0: the key '1' is there twice as text"):
        atds.write(path, [{1: 5, "1": 6}], [1])
    with pytest.raises(atds.DataError, match="row 1: 9007199254740993 is no float64"):
        atds.write(path, [{"a": 1, "b": 0}, {"a": 2**53 + 1, "b": 0.5}])


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.btable.gz-00000-of-00128", b"\x1f\x8b"),
        ("a.btable.zst-00000-of-00128", b"\x28\xb5\x2f\xfd"),
        ("a.btable-00000-of-00128", b"\0\0\0\0"),
        ("a.tfrecord.gz-00000-of-00128", b"\x1f\x8b"),
        ("a.tfrecord.zlib-00000-of-00128", b"\x78"),
    ],
)
def test_endings_before_the_number_of_a_shard(tmp_path: Path, name: str, head: bytes) -> None:
    path = tmp_path / name
    atds.write(path, [{"a": 1}])
    assert path.read_bytes().startswith(head)


@pytest.mark.parametrize("value", [5, None, ["a"], True])
def test_metadata_that_is_no_text_or_bytes(tmp_path: Path, value: Any) -> None:
    with pytest.raises(atds.OptionError, match=r"metadata\['k'\] must be text or bytes"):
        atds.write(tmp_path / "a.avro", [{"x": 1}], metadata={"j": "v", "k": value})


@pytest.mark.parametrize("metadata", [{"k": "\udcff"}, {"k\udcff": "v"}])
def test_surrogates_in_metadata(tmp_path: Path, metadata: dict[str, str]) -> None:
    with pytest.raises(atds.OptionError, match="metadata.* has lone surrogates"):
        atds.write(tmp_path / "a.avro", [{"x": 1}], metadata=metadata)
    assert list(tmp_path.iterdir()) == []


def test_metadata_of_every_class(tmp_path: Path) -> None:
    given: Any = {"s": "ä", "b": b"\xff", "a": bytearray(b"z"), "m": memoryview(b"y")}
    path = tmp_path / "a.avro"
    atds.write(path, [{"x": 1}], metadata=given)
    data = path.read_bytes()
    assert all(part in data for part in (b"\x02s\x04\xc3\xa4", b"\x02b\x02\xff", b"\x02m\x02y"))


def test_the_schema_of_a_list_of_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    atds.write(path, [{"x": [np.array([1, 2]), np.array([3])]}])
    assert rows_of(path) == [{"x": [[1, 2], [3]]}]
    atds.write(path, [{"x": [np.array([1, 2]), None]}])
    assert rows_of(path) == [{"x": [[1, 2], None]}]


@pytest.mark.parametrize("name", ["a.avro", "a.tfrecord"])
def test_a_dict_that_changes_while_it_is_written(tmp_path: Path, name: str) -> None:
    row: dict[str, Any] = {}

    class Changes:
        def __array__(self, *_: Any, **__: Any) -> Any:
            row.pop("b", None)
            row.update({f"c{i}": 1 for i in range(50)})
            return np.array(7)

    row |= {"a": Changes(), "b": 2}
    schema: Any = {"type": "map", "values": "long"} if name == "a.avro" else None
    assert atds.write(tmp_path / name, [row], schema) == 1


def of_field(type_: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": "u", "type": type_}]}


TEXT_OF_UUID = {"type": "string", "logicalType": "uuid"}


@pytest.mark.parametrize(
    "value", ["", "one", "12345678-1234-5678-1234-56781234567g", "12345678\u0661", b"one", 5]
)
@pytest.mark.parametrize("type_", [TEXT_OF_UUID, ["null", TEXT_OF_UUID]])
def test_text_that_is_no_uuid(tmp_path: Path, type_: Any, value: Any) -> None:
    with pytest.raises(atds.DataError, match="row 1, field u: .* does not fit uuid: give a"):
        atds.write(
            tmp_path / "a.avro", [{"u": str(uuid.UUID(int=1))}, {"u": value}], of_field(type_)
        )


def test_text_of_uuids(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    one = uuid.UUID("12345678-abcd-5678-1234-567812345678")
    given = [one, str(one), str(one).upper(), str(one).encode(), one.hex, f"{{{one}}}", one.urn]
    atds.write(path, [{"u": value} for value in given], of_field(TEXT_OF_UUID))
    assert [row["u"] for row in rows_of(path)] == [one] * len(given)
    # The text is what the specification asks for, also for readers that do not look at it.
    (batch,) = atds.Dataset(path, len(given), {"u": atds.DenseFeature([], "string")})
    assert {text.lower() for text in batch["u"].tolist()} == {str(one)}


@pytest.mark.parametrize(
    ("rows", "values", "said"),
    [
        ([1, 0], [5, 6], "indices are not sorted by rows: sort indices and values"),
        ([0, 3], [5, 6], "an entry of row 3, but 3 rows by its dense_shape"),
        ([-1, 0], [5, 6], "an entry of row -1, but 3 rows"),
        ([0, 1], [5], "has 2 indices, but 1 values"),
    ],
)
def test_entries_that_would_be_lost(
    tmp_path: Path, rows: list[int], values: list[int], said: str
) -> None:
    indices = np.array([[row, 0] for row in rows])
    own = atds.Batch({"u": atds.SparseTensor(indices, np.array(values), (3, 2))})
    schema = of_field({"type": "array", "items": "long"})
    with pytest.raises(atds.DataError, match=f"column 'u' .*{said}"):
        atds.write(tmp_path / "a.avro", [own], schema)
