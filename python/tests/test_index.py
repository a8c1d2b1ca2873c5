"""Data sets with an index of their files' records."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any

import pytest

import atds
from atds import _native
from conftest import generate
from frameworks import need

FEATURES = {"s_label": atds.DenseFeature([], "int32")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return generate(
        tmp_path / "data",
        "--records",
        "300",
        "--files",
        "3",
        "--codec",
        "null",
        "--block-bytes",
        "9000",
    )


def index(folder: Path) -> Path:
    path = folder / "atds.index"
    assert _native.run_command(["atds", "index", str(folder), "-o", str(path)]) == 0
    return path


def break_framing(file: Path) -> None:
    """Damages the marker of the first block, so that the blocks cannot be counted."""
    data = bytearray(file.read_bytes())
    marker = bytes(data[-16:])
    at = data.index(marker, data.index(marker) + 16)
    data[at] ^= 1
    file.write_bytes(data)


def test_the_counts_are_those_of_the_index(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dataset(**options: Any) -> atds.Dataset:
        return atds.Dataset(str(folder), 16, FEATURES, shuffle_buffer_size=90, seed=7, **options)

    batches = iter(dataset())
    for _ in range(5):
        next(batches)
    state, rest = batches.state_dict(), [batch["s_label"].tolist() for batch in batches]
    path = index(folder)
    resumed = dataset(index=path)
    resumed.load_state_dict(state)
    assert resumed.state_dict() == state
    assert [batch["s_label"].tolist() for batch in resumed] == rest
    monkeypatch.chdir(folder)
    shards = [dataset(index="atds.index", shard=(shard, 3)) for shard in range(3)]
    monkeypatch.chdir("/")
    break_framing(folder / "part-00001.avro")
    for ours in (dataset(index=str(path)), pickle.loads(pickle.dumps(shards[0]))):
        assert ours.num_records in (100, 300)
    with pytest.raises(atds.DataError):
        _ = dataset().num_records


def test_workers_use_it(folder: Path) -> None:
    torch = need("torch")
    import atds.torch

    path = index(folder)
    ours = atds.torch.Dataset(str(folder), 16, FEATURES, index=path)
    whole = [batch["s_label"].tolist() for batch in ours]
    break_framing(folder / "part-00002.avro")
    ours = atds.torch.Dataset(str(folder), 16, FEATURES, index=path)
    assert (len(ours), ours.num_records) == (19, 300)
    batches = iter(ours)
    first = next(batches)["s_label"].tolist()
    assert [first] == whole[:1]
    assert batches.state_dict()["batches"] == 1
    assert torch.is_tensor(next(batches)["s_label"])


def test_files_that_have_changed(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = index(folder)
    file = folder / "part-00000.avro"
    file.write_bytes((folder / "part-00001.avro").read_bytes())
    (folder / "part-00003.avro").write_bytes(file.read_bytes())
    with caplog.at_level(logging.WARNING, "atds"):
        ours = atds.Dataset(str(folder), 16, FEATURES, index=path)
        assert ours.num_records == 400
        assert len(list(ours)) == 25
    said = [record.getMessage() for record in caplog.records]
    assert len([text for text in said if "counted again; write the index again" in text]) == 1
    assert len([text for text in said if "1 of 4 files are not in the index" in text]) == 1


def test_what_is_no_index(folder: Path) -> None:
    for given in (3, ["a"], 1.5):
        with pytest.raises(atds.OptionError, match="index must be a path, or None, not"):
            atds.Dataset(str(folder), 16, FEATURES, index=given)  # type: ignore[arg-type]
    with pytest.raises(atds.MissingFileError, match="missing"):
        atds.Dataset(str(folder), 16, FEATURES, index=folder / "missing")
    with pytest.raises(atds.DataError, match=r"part-00000\.avro: it is no index"):
        atds.Dataset(str(folder), 16, FEATURES, index=folder / "part-00000.avro")
    path = index(folder)
    path.write_bytes(path.read_bytes().replace(b"part-00001", b"part-00007"))
    with pytest.raises(atds.DataError, match=r"atds\.index: line 3 of the index is damaged"):
        atds.Dataset(str(folder), 16, FEATURES, index=path)
