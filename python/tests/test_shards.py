"""Shards: parts of the records for several processes."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest

import atds
from conftest import NUMBER


def read(dataset: Any) -> list[int]:
    return [n for batch in dataset for n in batch["n"].tolist()]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 1000, 1003])
def test_each_record_is_in_one_shard(numbers: str, count: int) -> None:
    found = []
    for index in range(count):
        dataset = atds.Dataset(numbers, 64, NUMBER, shard=(index, count))
        first, last = 1000 * index // count, 1000 * (index + 1) // count
        assert dataset.num_records == last - first
        assert len(dataset) == -(-(last - first) // 64)
        if count < 10 or index % 100 == 0:
            records = read(dataset)
            assert records == list(range(first, last))
            found += records
    assert count > 10 or found == list(range(1000))


def test_shards_of_several_files(clicks: str) -> None:
    features = {"s_weight": atds.DenseFeature([], "float32")}

    def weights(**options: Any) -> list[float]:
        dataset = atds.Dataset(clicks, 30, features, **options)
        return [n for batch in dataset for n in batch["s_weight"].tolist()]

    everything = weights()
    assert len(everything) == 200
    assert [n for index in range(3) for n in weights(shard=(index, 3))] == everything


@pytest.mark.parametrize("drop_remainder", [False, True])
def test_the_batches_of_shards(numbers: str, drop_remainder: bool) -> None:
    shards = [
        atds.Dataset(numbers, 83, NUMBER, drop_remainder=drop_remainder, shard=(index, 3))
        for index in range(3)
    ]
    lengths = [len(list(shard)) for shard in shards]
    assert lengths == [len(shard) for shard in shards]
    # As documented, each has at least this many, and at most one more.
    whole = 1000 // 3 // 83
    assert set(lengths) <= {whole, whole + 1}


def test_shuffled_shards_share_each_epoch(numbers: str) -> None:
    options: dict[str, Any] = {"shuffle_blocks": True, "shuffle_buffer_size": 50, "seed": 3}
    shards = [atds.Dataset(numbers, 64, NUMBER, shard=(i, 3), **options) for i in range(3)]
    first = [read(shard) for shard in shards]
    second = [read(shard) for shard in shards]
    for epoch in (first, second):
        assert sorted(n for shard in epoch for n in shard) == list(range(1000))
    # Each epoch has other records.
    assert sorted(first[0]) != sorted(second[0])
    shards[0].set_epoch(0)
    assert read(shards[0]) == first[0]


def test_shards_of_equal_records_draw_independently(write: Any) -> None:
    fields, records = [{"name": "n", "type": "long"}], [{"n": n} for n in range(80)]
    files = [write(fields, records, f"{file}.avro", sync_interval=1) for file in range(3)]
    options: dict[str, Any] = {"shuffle_buffer_size": 30, "seed": 3}
    shards = [atds.Dataset(files, 10, NUMBER, shard=(i, 3), **options) for i in range(3)]
    orders = [tuple(read(shard)) for shard in shards for _ in range(2)]
    assert all(sorted(order) == list(range(80)) for order in orders)
    assert len(set(orders)) == 6
    # A process that reads all draws as the first shard does.
    assert tuple(read(atds.Dataset(files[0], 10, NUMBER, **options))) == orders[0]


def test_copies_are_the_same_shard(numbers: str) -> None:
    dataset = atds.Dataset(numbers, 64, NUMBER, shard=(1, 4))
    assert read(dataset) == list(range(250, 500))
    for other in (pickle.loads(pickle.dumps(dataset)), copy.deepcopy(dataset)):
        assert (read(other), other.epoch, len(other)) == (list(range(250, 500)), 2, 4)
    assert repr(dataset) == f"atds.Dataset({numbers!r}, batch_size=64, 1 feature, shard=(1, 4))"


def test_a_shard_as_arrow(numbers: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    dataset = atds.Dataset(numbers, 64, NUMBER, shard=(1, 4))
    table = pyarrow.RecordBatchReader.from_stream(dataset).read_all()
    assert table["n"].to_pylist() == list(range(250, 500))


@pytest.mark.parametrize("shard", [(2, 2), (-1, 2), (0, 0), 1, "01", (0, 1, 2), (0.5, 2), (0,)])
def test_what_is_no_shard(numbers: str, shard: Any) -> None:
    with pytest.raises(atds.OptionError) as caught:
        atds.Dataset(numbers, 64, NUMBER, shard=shard)
    assert str(caught.value) == (
        "shard must be the index of a shard and the number of shards, such as (0, 4), the index "
        f"below the number, or None, not {shard!r}"
    )


@pytest.mark.parametrize(
    "option", [{"shuffle_files": True}, {"shuffle_blocks": True}, {"shuffle": "blocks"}]
)
def test_shuffled_shards_need_a_seed(numbers: str, option: dict[str, Any]) -> None:
    def make(shard: tuple[int, int], **options: Any) -> atds.Dataset:
        return atds.Dataset(numbers, 64, NUMBER, shard=shard, **option, **options)

    with pytest.raises(atds.OptionError, match="^seed must be given where several shards"):
        make((0, 2))
    assert make((0, 1)).num_records == 1000
    assert make((0, 2), seed=0).num_records == 500


def test_a_pipe_has_no_shards(tmp_path: Path, numbers: str) -> None:
    pipe = tmp_path / "pipe.avro"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(Path(numbers).read_bytes()))
    writer.start()
    with pytest.raises(atds.ReadOnceError, match="pipe"):
        atds.Dataset(pipe, 64, NUMBER, shard=(0, 2))
    writer.join()
