"""Features files: reading a written file gives the same features."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atds
from atds import _native

WORDS: list[str | bytes] = ["x", "é", "", b"\xff\x00"]

#: Features of every kind, with every keyword.
FEATURES: dict[str, Any] = {
    "scalar": atds.DenseFeature([], "int32"),
    "bytes": atds.DenseFeature([], "bytes", default=b"\xfe"),
    "padded": atds.DenseFeature([None, 3], "float32", default=float("nan")),
    "table": atds.DenseFeature([2, 2], "int64", default=np.arange(4).reshape(2, 2)),
    "renamed": atds.DenseFeature(
        [], "string", expression="a.b[*]['x y']", default="", mask="m", row_mask="rm"
    ),
    "cast": atds.DenseFeature([], "bfloat16", cast=True),
    "buckets": atds.DenseFeature([], "int64", hash_buckets=10),
    "words": atds.DenseFeature([], "int64", vocabulary=WORDS, unknown=7),
    "time": atds.DenseFeature([], "int64", unit="millis"),
    "varlen": atds.VarlenFeature([-1, 4], "bool", layout="ragged"),
    "any": atds.VarlenFeature(None, "int32", expression="a[*]"),
    "sparse": atds.SparseFeature([-1, 7], "float16"),
    "keys": atds.SparseFeature(
        index_key=["i", "j"], value_key="v", dtype="float64", size=[5, -1], already_sorted=True
    ),
    "key": atds.SparseFeature(index_key="i", value_key="v", dtype="float32", size=5),
    "fixed": atds.FixedLenFeature([2], "int32", default_value=[1, 2]),
    "fixed_too": atds.FixedLenFeature([], "int32", default=3),
    "sequence": atds.FixedLenSequenceFeature([None], "int64", allow_missing=True, default_value=9),
    "plain": atds.FixedLenSequenceFeature([None], "int64"),
    "var": atds.VarLenFeature("string"),
    "deep": atds.VarLenFeature("int64", rank=3, layout="ragged"),
    "open": atds.VarLenFeature("int64", rank=None),
    "sized": atds.VarLenFeature("int64", shape=[2, None]),
    'a "name"\n': atds.DenseFeature([], "float32", expression="a"),
    "größe": atds.DenseFeature([], "float32"),
    # A field may have this name, though it is not a valid expression.
    "a.": atds.DenseFeature([], "float32"),
}


def test_all_features_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "features.json"
    atds.write_features(path, FEATURES)
    again = atds.read_features(str(path))
    assert list(again) == list(FEATURES)
    for name, feature in FEATURES.items():
        assert again[name] == feature, name
        assert repr(again[name]) == repr(feature)
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) == len(FEATURES) + 2
    atds.write_features(path, again)
    assert path.read_text(encoding="utf-8") == text


def test_the_command_reads_what_is_written(
    tmp_path: Path, clicks: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "features.json"
    file = f"{clicks}/part-00000.avro"
    atds.write_features(path, atds.inspect(file).features)
    bench = ["atds", "bench", file, "--features", str(path), "--json"]
    assert _native.run_command(bench) == 0
    assert json.loads(capfd.readouterr().out)["records"] == 100
    assert _native.run_command(["atds", "inspect", file, "--features"]) == 0
    (tmp_path / "said.json").write_text(capfd.readouterr().out)
    assert atds.read_features(tmp_path / "said.json") == atds.inspect(file).features


@pytest.mark.parametrize("inside", [True, False])
def test_files_of_vocabularies(tmp_path: Path, inside: bool, monkeypatch: Any) -> None:
    folder = tmp_path / "one"
    words = (folder if inside else tmp_path) / "lists" / "words.txt"
    words.parent.mkdir(parents=True)
    folder.mkdir(exist_ok=True)
    words.write_text("a\nb\n")
    features = {"w": atds.DenseFeature([], "int64", vocabulary=words)}
    atds.write_features(folder / "features.json", features)
    assert atds.read_features(folder / "features.json") == features
    # The vocabulary is found from another working directory, and after the folder has moved.
    monkeypatch.chdir(folder)
    assert atds.read_features("features.json") == features
    folder.rename(tmp_path / "two")
    again: Any = atds.read_features(tmp_path / "two" / "features.json")["w"].vocabulary
    expected = tmp_path / "two" / "lists" / "words.txt" if inside else words
    assert again == {"file": str(expected)}


def test_features_of_the_file_drive_a_data_set(tmp_path: Path, clicks: str) -> None:
    features = {
        "ids": atds.DenseFeature([], "int64", expression="s_label", vocabulary=["0", "1"]),
        "label": atds.DenseFeature([], "int32", expression="s_label"),
    }
    path = tmp_path / "f.json"
    atds.write_features(path, features)
    (batch,) = atds.Dataset(clicks, 200, atds.read_features(path))
    assert batch["ids"].tolist() == [{0: 0, 1: 1}.get(label, -1) for label in batch["label"]]
    path.write_text('{"label": {"kind": "dense", "dtype": "int32", "expression": "s_label"}}')
    (label,) = (batch["label"] for batch in atds.Dataset(clicks, 200, atds.read_features(path)))
    assert label.shape == (200,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1"),
        ("[]", "an object of features"),
        ('{"a": {"kind": "dense", "dtype": "int32"}, "a": {}}', "feature 'a' is there twice"),
        ('{"a": {"kind": "dense", "kind": "dense"}}', "has 'kind' twice"),
        ('{"a": {"kind": "dens", "dtype": "int32"}}', "'kind' is 'dens'"),
        ('{"a": {"kind": "dense", "dtype": "int31"}}', "'dtype' is 'int31'"),
        ('{"a": {"kind": "dense", "dtype": "int32", "rank": 1}}', "has no key 'rank'"),
        ('{"a": {"kind": "dense", "dtype": "int64", "vocabulary": {"file": "no.txt"}}}', "no.txt"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "features.json"
    path.write_text(text)
    with pytest.raises(atds.FeatureError, match=said) as info:
        atds.read_features(path)
    assert info.value.file == str(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(atds.MissingFileError, match=r"none\.json") as info:
        atds.read_features(tmp_path / "none.json")
    assert info.value.filename == str(tmp_path / "none.json")
    with pytest.raises(atds.FileError):
        atds.read_features(tmp_path)


def test_what_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "features.json"
    unwritable: list[dict[str, Any]] = [
        {},
        {"a": 1},
        {"a": atds.DenseFeature([], "int64", hash_buckets=3, unit="days")},
        {"a": atds.DenseFeature([], "int64", vocabulary=tmp_path / "none.txt")},
        {"a": atds.DenseFeature([], "int32", mask="a")},
    ]
    for features in unwritable:
        with pytest.raises(atds.FeatureError):
            atds.write_features(path, features)
    assert not path.exists()
