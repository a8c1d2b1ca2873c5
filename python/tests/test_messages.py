"""Records without a container."""

from __future__ import annotations

import io
import pickle
from typing import Any

import fastavro
import pytest

import atds

SCHEMA = {
    "type": "record",
    "name": "Click",
    "fields": [{"name": "label", "type": "int"}, {"name": "page", "type": "string"}],
}
FEATURES = {
    "label": atds.DenseFeature([], "int32"),
    "page": atds.DenseFeature([], "bytes"),
}


def encode(records: list[dict[str, Any]], schema: Any = SCHEMA) -> list[bytes]:
    encoded = []
    for record in records:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, fastavro.parse_schema(schema), record)
        encoded.append(out.getvalue())
    return encoded


CLICKS = encode([{"label": n, "page": "p" * n} for n in range(5)])


def test_decoding() -> None:
    batch = atds.decode(CLICKS, SCHEMA, FEATURES)
    assert isinstance(batch, atds.Batch) and batch.num_records == 5
    assert batch["label"].tolist() == [0, 1, 2, 3, 4]
    assert batch["page"].to_pylist() == [b"p" * n for n in range(5)]
    assert atds.decode([], SCHEMA, FEATURES)["label"].tolist() == []
    import json

    text = json.dumps(SCHEMA)
    for schema in (text, text.encode()):
        assert atds.decode(iter(CLICKS), schema, FEATURES)["label"].tolist() == [0, 1, 2, 3, 4]


def test_a_decoder_can_be_kept_and_sent() -> None:
    decoder = atds.MessageDecoder(SCHEMA, FEATURES)
    assert decoder.element_spec == {
        "label": atds.ArraySpec((None,), "int32"),
        "page": atds.ArraySpec((None,), "bytes"),
    }
    first = decoder.decode(CLICKS)["label"]
    for other in (decoder, pickle.loads(pickle.dumps(decoder))):
        assert other.decode(CLICKS[::-1])["label"].tolist() == [4, 3, 2, 1, 0]
    assert first.tolist() == [0, 1, 2, 3, 4]


def test_a_reader_schema() -> None:
    reader = {
        "type": "record",
        "name": "Click",
        "fields": [
            {"name": "label", "type": "double"},
            {"name": "new", "type": "int", "default": 7},
        ],
    }
    features = {
        "label": atds.DenseFeature([], "float64"),
        "new": atds.DenseFeature([], "int32"),
    }
    batch = atds.decode(CLICKS, SCHEMA, features, reader_schema=reader)
    assert batch["label"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert batch["new"].tolist() == [7] * 5
    reencoded = atds.Reencoder(SCHEMA, reader).reencode(CLICKS)
    assert reencoded == encode([{"label": float(n), "new": 7} for n in range(5)], reader)


def test_single_objects() -> None:
    other = {"type": "record", "name": "Other", "fields": [{"name": "label", "type": "int"}]}
    plain = {"label": FEATURES["label"]}
    single = atds.Reencoder(SCHEMA, SCHEMA, to_single_objects=True).reencode(CLICKS)
    single += atds.Reencoder(other, other, to_single_objects=True).reencode([b"\x12"])
    decoder = atds.MessageDecoder([SCHEMA, other], plain, single_objects=True)
    assert decoder.decode(single)["label"].tolist() == [0, 1, 2, 3, 4, 9]
    with pytest.raises(atds.SchemaError, match="fingerprint") as caught:
        atds.MessageDecoder(SCHEMA, plain, single_objects=True).decode(single)
    assert caught.value.record == 5
    with pytest.raises(atds.OptionError, match="^schema must be at least one schema$"):
        atds.MessageDecoder([], plain, single_objects=True)


def test_bytes_that_are_no_record() -> None:
    with pytest.raises(atds.DataError) as caught:
        atds.decode([*CLICKS, b"\x02\x04"], SCHEMA, FEATURES)
    error = caught.value
    assert (error.record, error.field, error.offset, error.file) == (5, "page", 1, None)
    assert str(error) == ("message 5 at byte 1: field 'page': a length of 2 bytes where 0 are left")
    with pytest.raises(atds.DataError) as caught:
        atds.Reencoder(SCHEMA, SCHEMA).reencode([*CLICKS, b""])
    assert caught.value.record == 5


def test_records_that_are_not_bytes() -> None:
    given: list[tuple[Any, str]] = [
        ([CLICKS[0], "text"], "record 1 is 'text', which is not bytes"),
        (b"\x02\x02a", "records is a list with the bytes of each record, not a bytes"),
        (None, "records is a list with the bytes of each record, not a NoneType"),
    ]
    decode = atds.MessageDecoder(SCHEMA, FEATURES).decode
    reencode = atds.Reencoder(SCHEMA, SCHEMA).reencode
    for records, said in given:
        for call in (decode, reencode):
            with pytest.raises(atds.OptionError) as caught:
                call(records)  # type: ignore[operator]
            assert str(caught.value) == said
    assert decode([bytearray(CLICKS[1])])["label"].tolist() == [1]


def test_what_does_not_fit() -> None:
    with pytest.raises(atds.FeatureError, match="no field 'lable'; did you mean 'label'"):
        atds.decode(CLICKS, SCHEMA, {"lable": FEATURES["label"]})
    with pytest.raises(atds.SchemaError, match="^schema: "):
        atds.decode(CLICKS, "no schema", FEATURES)
    with pytest.raises(atds.MemoryLimitError, match="memory_limit is 10 bytes"):
        atds.MessageDecoder(SCHEMA, FEATURES, memory_limit=10).decode(CLICKS)
    other = {"type": "record", "name": "Click", "fields": [{"name": "label", "type": "string"}]}
    with pytest.raises(atds.SchemaError, match="label"):
        atds.Reencoder(SCHEMA, other)
