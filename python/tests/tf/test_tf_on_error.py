"""Damage that ATDSDataset leaves out by choice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_on_error import HEALTHY, joined, write

import atds
from frameworks import need

tf = need("tensorflow")
at = need("atds.tensorflow")

FEATURES = {"id": at.DenseFeature([], tf.int64), "tags": at.VarlenFeature([-1], tf.int64)}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Three files, the first and the last of which have a damaged block."""
    for number, damaged in enumerate([[1], [], [3]]):
        write(tmp_path / f"{number}.avro", 20 * number, damaged)
    return tmp_path


def ids(dataset: Any) -> list[list[int]]:
    return [batch["id"].numpy().tolist() for batch in dataset]


def names(dataset: Any) -> list[str]:
    return [Path(place["file"]).name for place in dataset.skipped()]


def test_an_error_by_default(files: Path) -> None:
    dataset = at.ATDSDataset(files, 4, FEATURES)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"0\.avro"):
        list(dataset)
    assert dataset.skipped() == []


def test_a_block_is_left_out(files: Path) -> None:
    log = files / "skipped.jsonl"
    options: dict[str, Any] = {"on_error": "skip_block", "skip_log": log}
    dataset = at.ATDSDataset(files, 4, FEATURES, **options)
    assert int(dataset.cardinality()) == 15 and dataset.skipped() == []
    found = ids(dataset.prefetch(2))
    assert joined(found) == HEALTHY
    # The plan does not depend on damage.
    assert len(found) == 15 and [len(batch) for batch in found[:4]] == [4, 1, 2, 4]
    assert names(dataset) == ["0.avro", "2.avro"]
    assert [json.loads(line) for line in log.read_text().splitlines()] == dataset.skipped()
    reference = atds.Dataset(
        files, 4, {"id": atds.DenseFeature([], "int64")}, on_error="skip_block"
    )
    assert [batch["id"].tolist() for batch in reference] == found
    # Each iteration has its own, of what TensorFlow has taken ahead, too.
    assert ids(dataset.take(1)) == found[:1]
    assert "2.avro" not in names(dataset)


def test_batches_without_rows(tmp_path: Path) -> None:
    write(tmp_path / "all.avro", 0, [0, 1, 2, 3])
    dataset = at.ATDSDataset(tmp_path, 4, FEATURES, on_error="skip_block")
    batches = list(dataset)
    assert [batch["id"].shape.as_list() for batch in batches] == [[0]] * 5
    assert batches[0]["tags"].dense_shape.numpy()[0] == 0
    assert dataset.element_spec["id"] == tf.TensorSpec([None], tf.int64)


def test_batches_keep_their_shape_under_a_mask(files: Path) -> None:
    options: dict[str, Any] = {"on_error": "skip_block", "drop_remainder": True}
    dataset = at.ATDSDataset(files, 4, FEATURES, shuffle_buffer_size=20, seed=3, **options)
    assert list(dataset.element_spec) == ["id", "mask", "tags"]
    assert dataset.element_spec["mask"] == tf.TensorSpec([4], tf.bool)
    found: list[int] = []
    for batch in dataset:
        assert batch["id"].shape == batch["mask"].shape == [4]
        assert not tf.boolean_mask(batch["id"], ~batch["mask"]).numpy().any()
        found += tf.boolean_mask(batch["id"], batch["mask"]).numpy().tolist()
    assert sorted(found) == HEALTHY
    renamed = at.ATDSDataset(files, 4, FEATURES, skip_mask="read", **options)
    assert "read" in renamed.element_spec and "mask" not in renamed.element_spec
    with pytest.raises(atds.OptionError, match="skip_mask is 'id'"):
        at.ATDSDataset(files, 4, FEATURES, skip_mask="id", **options)


def test_a_graph_must_say_whether_there_is_a_mask(files: Path) -> None:
    @tf.function
    def read(drop_remainder: Any, on_error: str) -> Any:
        dataset = at.ATDSDataset(
            str(files), 4, FEATURES, drop_remainder=drop_remainder, on_error=on_error
        )
        return next(iter(dataset))["id"]

    assert read(tf.constant(True), "raise").numpy().tolist() == [0, 1, 2, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="drop_remainder"):
        read(tf.constant(True), "skip_block")


def test_damaged_files_are_left_out_whole(files: Path) -> None:
    (files / "3.avro").write_text("no Avro at all")
    dataset = at.ATDSDataset(files, 4, FEATURES, on_error="skip_file")
    assert int(dataset.cardinality()) == 5
    for _ in range(2):
        assert joined(ids(dataset)) == list(range(20, 40))
        assert names(dataset) == ["3.avro", "0.avro", "2.avro"]
    # The files are read for it once. Damage that comes later is an error.
    write(files / "1.avro", 20, [2])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"1\.avro"):
        list(dataset)
    nothing = at.ATDSDataset(files, 4, FEATURES, on_error="skip_file")
    with pytest.raises(tf.errors.InvalidArgumentError, match="all 4 files"):
        list(nothing)


def test_too_much_is_an_error_after_all(files: Path) -> None:
    def run(most: float | None) -> int:
        dataset = at.ATDSDataset(files, 4, FEATURES, on_error="skip_block", max_skipped=most)
        return sum(map(len, ids(dataset)))

    assert run(None) == run(10) == run(0.2) == 50
    for most in (0, 9, 0.1):
        with pytest.raises(tf.errors.InvalidArgumentError, match="max_skipped"):
            run(most)
    with pytest.raises(atds.OptionError, match="max_skipped"):
        run(-1)
