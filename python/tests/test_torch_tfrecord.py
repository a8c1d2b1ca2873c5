"""TFRecord files through `atds.torch`: workers, ranks, and an index of their records."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import atds
from atds import _native
from frameworks import need

torch = need("torch")
from torch.utils.data import DataLoader

import atds.torch

FEATURES = {
    "n": atds.FixedLenFeature([], "int64"),
    "x": atds.FixedLenFeature([2], "float32"),
    "tags": atds.VarLenFeature("int64", layout="ragged"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3 files of 100, 40 and 77 records with their numbers."""
    folder = tmp_path_factory.mktemp("tfrecords")
    number = 0
    for part, count in enumerate((100, 40, 77)):
        rows = [
            {"n": n, "x": [n / 2, n / 4], "tags": [n] * (n % 3)}
            for n in range(number, number + count)
        ]
        atds.write(
            folder / f"part-{part}.tfrecord", rows, {"n": "int64", "x": "float", "tags": "int64"}
        )
        number += count
    return folder


def numbers(batches: Any) -> list[int]:
    found: list[int] = []
    for batch in batches:
        assert torch.equal(batch["x"], torch.stack([batch["n"] / 2, batch["n"] / 4], 1).float())
        tags = [n for n in batch["n"].tolist() for _ in range(n % 3)]
        assert batch["tags"].values.tolist() == tags
        found += batch["n"].tolist()
    return found


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("workers", [0, 2])
def test_workers_share_the_records(folder: Path, workers: int) -> None:
    dataset = atds.torch.Dataset(str(folder), 16, FEATURES, shuffle_buffer_size=64, seed=3)
    loader = DataLoader(dataset, batch_size=None, num_workers=workers)
    first, second = numbers(loader), numbers(loader)
    assert sorted(first) == sorted(second) == list(range(217)) and first != second


def test_ranks_share_an_index(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "atds.index"
    assert _native.run_command(["atds", "index", str(folder), "-o", str(index)]) == 0

    def rank(n: int, **options: Any) -> list[int]:
        dataset = atds.torch.Dataset(
            str(folder), 16, FEATURES, rank=n, world_size=3, uneven="keep", **options
        )
        assert dataset.num_records == 217
        return numbers(dataset)

    shares = [rank(n, index=index) for n in range(3)]
    assert sorted(n for share in shares for n in share) == list(range(217))
    assert Counter(map(len, shares)) == {72: 2, 73: 1}
    assert shares == [rank(n) for n in range(3)]


def test_the_counts_are_those_of_the_index(tmp_path: Path) -> None:
    index, path = tmp_path / "atds.index", tmp_path / "a.tfrecord"
    atds.write(path, ({"n": n, "x": [n / 2, n / 4], "tags": []} for n in range(1000)))
    assert _native.run_command(["atds", "index", str(path), "-o", str(index)]) == 0
    # The length of a record in the middle has a wrong checksum, where no index looks.
    stat, data = path.stat(), bytearray(path.read_bytes())
    offset = 0
    while offset < 20_000:
        offset += int.from_bytes(data[offset : offset + 8], "little") + 16
    data[offset + 8] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    features = {"n": FEATURES["n"]}
    dataset = atds.torch.Dataset(str(path), 16, features, index=index)
    assert (dataset.num_records, len(dataset)) == (1000, 63)
    with pytest.raises(atds.DataError, match=rf"byte {offset}: the length"):
        _ = atds.torch.Dataset(str(path), 16, features).num_records


def test_a_state_goes_on(folder: Path) -> None:
    dataset = atds.torch.Dataset(str(folder), 16, FEATURES, shuffle="blocks", seed=1)
    batches = iter(dataset)
    for _ in range(5):
        next(batches)
    state, rest = batches.state_dict(), numbers(batches)
    again = atds.torch.Dataset(str(folder), 16, FEATURES, shuffle="blocks", seed=1)
    again.load_state_dict(state)
    assert numbers(again) == rest and len(rest) == 217 - 80


def test_tensorflow_needs_not_be_there_for_its_features(folder: Path) -> None:
    class FixedLenFeature:
        shape, dtype, default_value = [2], "float32", None

    class RaggedFeature:
        dtype, value_key, partitions = "int64", "tags", ()

    features = {"x": FixedLenFeature(), "t": RaggedFeature(), "n": FEATURES["n"]}
    batch = next(iter(atds.torch.Dataset(str(folder), 4, features)))
    assert batch["x"].tolist() == [[0, 0], [0.5, 0.25], [1, 0.5], [1.5, 0.75]]
    assert batch["t"].values.tolist() == [1, 2, 2]
