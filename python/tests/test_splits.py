"""Splits: training, validation and test records of the same files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import atds

NUMBER = {"n": atds.DenseFeature([], "int64")}
PARTS = {"train": 0.8, "valid": 0.1, "test": 0.1}


def read(batches: Any) -> list[int]:
    return [number for batch in batches for number in batch["n"].tolist()]


@pytest.mark.parametrize("by", ["record", "block"])
def test_splits_share_the_records(numbers: str, by: Any) -> None:
    options: dict[str, Any] = {"shuffle_buffer_size": 50, "shuffle": "blocks", "seed": 3}
    whole = read(atds.Dataset(numbers, 30, NUMBER))
    found = []
    for name in PARTS:
        dataset = atds.Dataset(numbers, 30, NUMBER, split=name, splits=PARTS, split_by=by)
        plain = read(dataset)
        assert plain == sorted(plain, key=whole.index)
        assert dataset.num_records == len(plain)
        assert len(dataset) == -(-len(plain) // 30)
        shards = [
            atds.Dataset(
                numbers,
                30,
                NUMBER,
                split=name,
                splits=dict(reversed(PARTS.items())),
                split_by=by,
                shard=(index, 3),
                **options,
            )
            for index in range(3)
        ]
        assert sum(shard.num_records for shard in shards) == len(plain)
        assert sorted(n for shard in shards for n in read(shard)) == sorted(plain)
        found += plain
    assert sorted(found) == sorted(whole)


def test_a_state_goes_on_in_its_split_alone(numbers: str) -> None:
    def dataset(name: str) -> atds.Dataset:
        return atds.Dataset(
            numbers, 30, NUMBER, split=name, splits=PARTS, shuffle_buffer_size=50, seed=3
        )

    train = dataset("train")
    batches = iter(train)
    first = [next(batches)["n"].tolist() for _ in range(3)]
    state = train.state_dict()
    rest = [batch["n"].tolist() for batch in batches]
    other = dataset("train")
    other.load_state_dict(state)
    assert [batch["n"].tolist() for batch in other] == rest
    assert first != rest[:3]
    with pytest.raises(atds.StateError, match="split= was .*train of .* and is .*valid of"):
        valid = dataset("valid")
        valid.load_state_dict(state)
        next(iter(valid))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "train"}, "split='train' needs splits="),
        ({"splits": PARTS}, r"splits= needs split=, the one that is read, of \['test'"),
        ({"split_by": "block"}, "split_by= needs split= and splits="),
        (
            {"split": "dev", "splits": PARTS},
            r'split must be a name in splits= \("test", "train", "valid"\), not "dev"',
        ),
        (
            {"split": "a", "splits": {"a": 0.9, "b": 0.2}},
            "splits must have parts that sum to at most 1",
        ),
        ({"split": "a", "splits": {"a": 0.0}}, 'parts above 0 and at most 1, but "a" has 0'),
        ({"split": "a", "splits": {"a": float("nan")}}, 'but "a" has NaN'),
        ({"split": "a", "splits": {"a": "half"}}, "splits must map names to parts"),
        ({"split": "a", "splits": ["a", "b"]}, "splits must map names to parts"),
        ({"split": 1, "splits": PARTS}, "split must be the name of a split"),
        (
            {"split": "train", "splits": PARTS, "split_by": "user_id"},
            "split_by= \"user_id\" needs hashes .* but there is no index: give index=, .*--split-by 'user_id'",
        ),
    ],
)
def test_wrong_options_are_told(numbers: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(atds.OptionError, match=message):
        atds.Dataset(numbers, 30, NUMBER, **options)


def test_files_of_one_name_need_a_root(numbers: str, tmp_path: Path) -> None:
    paths = [tmp_path / name / "part.avro" for name in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(Path(numbers).read_bytes())
    options: dict[str, Any] = {"split": "valid", "splits": PARTS}
    files = [str(path) for path in paths]
    with pytest.raises(atds.OptionError, match="b/part.avro: it has the name of .* and root="):
        atds.Dataset(files, 30, NUMBER, **options)
    both = [atds.Dataset(path, 30, NUMBER, root=tmp_path, **options) for path in files]
    one, other = map(read, both)
    assert one != other
    assert read(atds.Dataset(files, 30, NUMBER, root=tmp_path, **options)) == one + other
