"""Damage that is left out by choice."""

from __future__ import annotations

import itertools
import json
import logging
import pickle
from pathlib import Path
from typing import Any

import fastavro
import pytest

import atds

FEATURES = {"id": atds.DenseFeature([], "int64"), "tags": atds.VarlenFeature([-1], "int64")}
SCHEMA = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "tags", "type": {"type": "array", "items": "long"}},
    ],
}
PER_BLOCK, PER_FILE = 5, 20


def write(path: Path, first: int, damaged: list[int]) -> None:
    """A file of 20 records in blocks of five, some of which do not decompress."""
    with path.open("wb") as file:
        writer = fastavro.write.Writer(file, SCHEMA, codec="snappy")
        for number in range(first, first + PER_FILE):
            writer.write({"id": number, "tags": [number] * (number % 3)})
            if number % PER_BLOCK == PER_BLOCK - 1:
                writer.dump()
        writer.flush()
    with path.open("rb") as file:
        blocks = [(block.offset, block.size) for block in fastavro.block_reader(file)]
    data = bytearray(path.read_bytes())
    for block in damaged:
        data[blocks[block][0] + 8] ^= 0xFF
    path.write_bytes(data)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Three files, the first and the last of which have a damaged block."""
    for number, damaged in enumerate([[1], [], [3]]):
        write(tmp_path / f"{number}.avro", PER_FILE * number, damaged)
    return tmp_path


LOST = {*range(5, 10), *range(55, 60)}
HEALTHY = [number for number in range(60) if number not in LOST]


def ids(dataset: Any) -> list[list[int]]:
    return [batch["id"].tolist() for batch in dataset]


def joined(batches: list[list[int]]) -> list[int]:
    return list(itertools.chain.from_iterable(batches))


def test_an_error_by_default(files: Path) -> None:
    with pytest.raises(atds.DataError):
        list(atds.Dataset(files, 4, FEATURES))


def test_a_block_is_left_out(files: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = files / "skipped.jsonl"
    dataset = atds.Dataset(files, 4, FEATURES, on_error="skip_block", skip_log=log)
    assert dataset.skipped() == []
    batches = iter(dataset)
    with caplog.at_level(logging.WARNING, logger="atds"):
        found = ids(batches)
    assert joined(found) == HEALTHY
    # The plan does not depend on damage.
    assert len(found) == len(dataset) == 15
    assert [len(batch) for batch in found[:4]] == [4, 1, 2, 4]
    stats = dataset.stats()
    assert (stats["skipped_records"], stats["skipped_bytes"]) == (10, 0)
    first, second = dataset.skipped()
    assert first["file"].endswith("0.avro") and second["file"].endswith("2.avro")
    assert (first["block"], first["records"], first["record"]) == (1, 5, None)
    assert first["bytes"] > 0 and "checksum" in first["reason"]
    assert batches.skipped() == dataset.skipped()
    assert [json.loads(line) for line in log.read_text().splitlines()] == [first, second]
    lines = [record.message for record in caplog.records]
    assert sum("0.avro" in line for line in lines) == 1
    assert any("10 records" in line for line in lines)


def test_batches_without_rows(tmp_path: Path) -> None:
    write(tmp_path / "all.avro", 0, [0, 1, 2, 3])
    batches = list(atds.Dataset(tmp_path, 4, FEATURES, on_error="skip_block"))
    assert [batch.num_records for batch in batches] == [0] * 5
    assert batches[0]["id"].shape == (0,) and batches[0]["id"].dtype == "int64"
    assert batches[0]["tags"].dense_shape[0] == 0


def test_batches_keep_their_shape_under_a_mask(files: Path) -> None:
    options: dict[str, Any] = {"on_error": "skip_block", "drop_remainder": True}
    dataset = atds.Dataset(files, 4, FEATURES, shuffle_buffer_size=20, seed=3, **options)
    assert dataset.element_spec["mask"].shape == (4,)
    found = []
    for batch in dataset:
        assert batch["id"].shape == batch["mask"].shape == (4,)
        assert not batch["id"][~batch["mask"]].any()
        found += batch["id"][batch["mask"]].tolist()
    assert sorted(found) == HEALTHY
    renamed = atds.Dataset(files, 4, FEATURES, skip_mask="read", **options)
    assert "read" in renamed.element_spec and "mask" not in renamed.element_spec
    with pytest.raises(atds.OptionError, match="mask"):
        atds.Dataset(files, 4, FEATURES, skip_mask="id", **options)


def test_rows_under_a_false_mask_are_from_nowhere(files: Path) -> None:
    options: dict[str, Any] = {"on_error": "skip_block", "drop_remainder": True}
    dataset = atds.Dataset(files, 4, FEATURES, provenance="place", **options)
    found = []
    for batch in dataset:
        assert not batch["place"][~batch["mask"]].any()
        for number, (file, record) in zip(batch["id"], batch["place"], strict=True):
            assert (file, record) == divmod(int(number), PER_FILE)
        found += batch["id"][batch["mask"]].tolist()
    assert found == HEALTHY


def test_damaged_files_are_left_out_whole(files: Path) -> None:
    (files / "3.avro").write_text("no Avro at all")
    for features in (FEATURES, None):
        dataset = atds.Dataset(files, 4, features, on_error="skip_file")
        assert [Path(name).name for name in dataset.filenames] == ["1.avro"]
        names = [Path(skipped["file"]).name for skipped in dataset.skipped()]
        assert names == ["3.avro", "0.avro", "2.avro"]
        assert joined(ids(dataset)) == list(range(20, 40))
        copy = pickle.loads(pickle.dumps(dataset))
        assert copy.skipped() == dataset.skipped()
        assert joined(ids(copy)) == list(range(20, 40))
    with pytest.raises(atds.DataError, match=r"3\.avro"):
        atds.Dataset(files, 4, FEATURES, on_error="skip_block")
    (files / "1.avro").unlink()
    with pytest.raises(atds.DataError, match="all 3 files"):
        atds.Dataset(files, 4, FEATURES, on_error="skip_file")


def test_too_much_is_an_error_after_all(files: Path) -> None:
    def run(most: float | None) -> int:
        dataset = atds.Dataset(files, 4, FEATURES, on_error="skip_block", max_skipped=most)
        return sum(batch.num_records for batch in dataset)

    assert run(None) == run(10) == run(0.2) == 50
    for most in (0, 9, 0.0, 0.1):
        with pytest.raises(atds.DataError, match="max_skipped"):
            run(most)
    for wrong in (-1, 1.5, "all", True):
        with pytest.raises(atds.OptionError, match="max_skipped"):
            run(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["skip", None, True, "SKIP_BLOCK"])
def test_other_choices(files: Path, wrong: Any) -> None:
    with pytest.raises(atds.OptionError, match="on_error"):
        atds.Dataset(files, 4, FEATURES, on_error=wrong)


def test_going_on_after_a_choice(files: Path) -> None:
    """A run that damage has ended goes on where it was, without what is damaged."""
    dataset = atds.Dataset(files, 4, FEATURES)
    batches = iter(dataset)
    found = [next(batches)["id"].tolist()]
    state = dataset.state_dict()
    with pytest.raises(atds.DataError):
        list(batches)
    there = atds.Dataset(files, 4, FEATURES, on_error="skip_block")
    there.load_state_dict(state)
    found += ids(there)
    assert joined(found) == HEALTHY


@pytest.mark.parametrize("options", [{}, {"shuffle_buffer_size": 16, "seed": 5}])
def test_states(files: Path, options: Any) -> None:
    def make() -> atds.Dataset:
        return atds.Dataset(files, 4, FEATURES, on_error="skip_block", **options)

    whole = ids(make())
    for taken in range(len(whole) + 1):
        batches = iter(make())
        for _ in range(taken):
            next(batches)
        there = make()
        state = batches.state_dict()
        there.load_state_dict(state)
        assert ids(there) == whole[taken:]
        lost = state["skipped"]["records"] + there.stats()["skipped_records"]
        assert (lost, state["skipped"]["bytes"]) == (len(LOST), 0)


def test_what_was_lost_before_counts(files: Path) -> None:
    def make() -> atds.Dataset:
        return atds.Dataset(files, 4, FEATURES, on_error="skip_block", max_skipped=7)

    batches = iter(make())
    for _ in range(5):
        next(batches)
    state = batches.state_dict()
    assert state["skipped"] == {"records": 5, "bytes": 0}
    there = make()
    there.load_state_dict(json.loads(json.dumps(state)))
    assert iter(there).state_dict() == state
    there.load_state_dict(state)
    with pytest.raises(atds.DataError, match="10 records"):
        list(there)
