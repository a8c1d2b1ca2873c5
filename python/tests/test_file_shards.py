"""Shards of whole files: what each reads and counts, where it goes on."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atds
from conftest import NUMBER

#: Numbers of records of the files.
COUNTS = (30, 4, 17, 50, 9)
ALL = list(range(sum(COUNTS)))


def write(folder: Path, ending: str) -> str:
    """Files of running numbers, each with those of its name."""
    first = 0
    for part, count in enumerate(COUNTS):
        rows = [{"n": n} for n in range(first, first + count)]
        name, codec = folder / f"{part}.{ending}", None
        if ending == "tfrecord.gz":
            name, codec = folder / f"{part}.tfrecord", "gzip"
        if ending.startswith("btable"):
            values = np.array([[row["n"]] for row in rows], np.float64)
            atds.btable.write(name, ["n"], values)
        else:
            kind = {"n": "int64"} if ending.startswith("tfrecord") else None
            atds.write(name, rows, kind, codec=codec)
        first += count
    return str(folder)


def feature(ending: str) -> dict[str, Any]:
    return {"n": atds.DenseFeature([], "float64")} if ending.startswith("btable") else NUMBER


def read(dataset: Any) -> list[int]:
    return [int(n) for batch in dataset for n in batch["n"].tolist()]


SHUFFLED: dict[str, Any] = {"shuffle_files": True, "shuffle_buffer_size": 20, "seed": 3}


@pytest.mark.parametrize("options", [{}, SHUFFLED])
@pytest.mark.parametrize("ending", ["avro", "tfrecord", "tfrecord.gz", "btable", "btable.gz"])
def test_each_record_is_in_one_shard(tmp_path: Path, ending: str, options: dict[str, Any]) -> None:
    folder = write(tmp_path, ending)
    for count in (1, 2, 3, 6):
        shards = [
            atds.Dataset(folder, 8, feature(ending), shard=(i, count), shard_by="file", **options)
            for i in range(count)
        ]
        for _ in range(2):
            found = [read(shard) for shard in shards]
            assert sorted(n for shard in found for n in shard) == ALL
        assert [shard.num_records for shard in shards] == list(map(len, found))
        assert [len(shard) for shard in shards] == [-(-len(one) // 8) for one in found]


def test_files_of_others_are_not_opened(tmp_path: Path) -> None:
    folder = write(tmp_path, "avro")
    options: dict[str, Any] = {"shard": (1, 2), "shard_by": "file", "check_files": False}
    dataset = atds.Dataset(folder, 8, NUMBER, **options)
    for part in (0, 2, 4):
        (tmp_path / f"{part}.avro").write_bytes(b"damaged")
    batches = iter(dataset)
    first = read([next(batches)])
    state, rest = json.loads(json.dumps(batches.state_dict())), read(batches)
    assert first + rest == [*range(30, 34), *range(51, 101)]
    dataset.load_state_dict(state)
    assert read(dataset) == rest
    assert len(dataset) == 7


def test_no_seed_is_needed(tmp_path: Path) -> None:
    folder = write(tmp_path, "avro")
    shards = [
        atds.Dataset(folder, 8, NUMBER, shard=(i, 2), shard_by="file", shuffle="blocks")
        for i in range(2)
    ]
    assert sorted(read(shards[0]) + read(shards[1])) == ALL


def test_a_packed_file_is_counted_for_shards_of_records_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write(tmp_path, "tfrecord.gz")
    by_file = atds.Dataset(folder, 8, NUMBER, shard=(0, 2), shard_by="file")
    batches = iter(by_file)
    next(batches)
    batches.state_dict()
    assert not caplog.records
    atds.Dataset(folder, 8, NUMBER, shard=(0, 2))
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1 and "packed as gzip" in said[0] and 'shard_by="file"' in said[0]


def test_a_shard_without_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = write(tmp_path, "avro")
    dataset = atds.Dataset(folder, 8, NUMBER, shard=(5, 6), shard_by="file")
    assert (read(dataset), len(dataset)) == ([], 0)
    assert "fewer files, 5, than readers" in caplog.text


def test_states_of_others_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, "avro")

    def dataset(index: int, count: int, by: Any = "file") -> atds.Dataset:
        return atds.Dataset(folder, 8, NUMBER, shard=(index, count), shard_by=by)

    def state(index: int, by: Any = "file") -> dict[str, Any]:
        batches = iter(dataset(index, 2, by))
        next(batches)
        return batches.state_dict()

    with pytest.raises(atds.StateError, match=r'shard_by= was "file" .* and is "record"'):
        dataset(0, 2, "record").load_state_dict(state(0))
    with pytest.raises(atds.StateError, match=r'shard_by= was "record" .* and is "file"'):
        dataset(0, 2).load_state_dict(state(0, "record"))
    for other in (dataset(1, 2), dataset(0, 3)):
        with pytest.raises(atds.StateError):
            other.load_state_dict(state(0))
    with pytest.raises(atds.StateError, match="not all at the start of the same epoch"):
        atds.merge_states([state(0), state(1)])


def test_others_go_on_after_an_epoch(tmp_path: Path) -> None:
    folder = write(tmp_path, "avro")

    def dataset(index: int, count: int) -> atds.Dataset:
        return atds.Dataset(folder, 8, NUMBER, shard=(index, count), shard_by="file", **SHUFFLED)

    states, second = [], []
    for index in range(2):
        shard = dataset(index, 2)
        read(shard)
        states.append(shard.state_dict())
        second += read(shard)
    whole = dataset(0, 1)
    whole.load_state_dict(atds.merge_states(states))
    assert sorted(read(whole)) == sorted(second) == ALL


def test_what_is_no_choice(tmp_path: Path) -> None:
    for given in ("files", None, 1):
        with pytest.raises(atds.OptionError, match="shard_by must be 'record' or 'file'"):
            atds.Dataset(tmp_path, 8, NUMBER, shard_by=given)  # type: ignore[arg-type]


def test_shards_of_pipes(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    write(folder, "tfrecord.gz")
    pipes = [tmp_path / f"{part}.tfrecord" for part in range(4)]
    # Everyone looks at the start of the first file.
    pipes[0] = folder / "0.tfrecord"
    writers = []
    for part, pipe in list(enumerate(pipes))[1:]:
        os.mkfifo(pipe)
        if part % 2 == 1:
            data = (folder / f"{part}.tfrecord").read_bytes()
            writers.append(threading.Thread(target=pipe.write_bytes, args=[data]))
            writers[-1].start()
    # Nobody writes to the pipes of the other shard.
    dataset = atds.Dataset(
        pipes, 8, NUMBER, shard=(1, 2), shard_by="file", format="tfrecord", check_files=False
    )
    assert read(dataset) == [*range(30, 34), *range(51, 101)]
    for writer in writers:
        writer.join()


def test_parts_of_jax(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    import atds.jax

    folder = write(tmp_path, "avro")
    jax.config.update("jax_enable_x64", True)
    try:
        dataset = atds.Dataset(folder, 8, NUMBER, shard_by="file")
        found = []
        for index in range(3):
            dataset.set_epoch(0)
            found += read(atds.jax.iterate(dataset, shard=(index, 3)))
        assert sorted(found) == ALL
        # Parts of a shard share its files.
        shard = atds.Dataset(folder, 8, NUMBER, shard=(0, 2), shard_by="file")
        part = read(atds.jax.iterate(shard, shard=(1, 2)))
        assert part == [*range(34, 51)]
    finally:
        jax.config.update("jax_enable_x64", False)
