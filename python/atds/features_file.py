"""Features files: features as JSON, also read and written by the ``atds`` command."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from atds import _native
from atds.feature_sets import entries, from_entries, parse_features, to_json
from atds.features import Feature


def read_features(path: str | os.PathLike[str]) -> dict[str, Feature]:
    """The features of a features file, such as ``atds inspect --features`` prints, by name.

    The path of a vocabulary's file is relative to the folder of the features file.

    >>> features = {"label": atds.DenseFeature([], "int32", expression="s_label")}
    >>> atds.write_features("features.json", features)
    >>> atds.read_features("features.json") == features
    True

    Args:
        path: The file.

    Raises:
        MissingFileError: The file is missing.
        FileError: A file that cannot be read.
        FeatureError: The file is not JSON, a feature is invalid, or the file of a vocabulary cannot
            be read.
    """
    name = os.fsdecode(path)
    _native.check_features_file(name)
    with open(name, encoding="utf-8") as file:
        found: dict[str, dict[str, Any]] = json.load(file)
    folder = os.path.dirname(os.path.abspath(name))
    for entry in found.values():
        words = _words_file(entry)
        if words is not None:
            entry["vocabulary"] = {"file": os.path.join(folder, words)}
    return from_entries(found)


def write_features(path: str | os.PathLike[str], features: Mapping[str, Any]) -> None:
    """Writes features as a features file, from which :func:`read_features` reads the same ones.

    The path of a vocabulary's file is written relative to the folder of the features file if it is
    inside, so that both can be moved together; otherwise as an absolute path. An existing features
    file is replaced.

    Args:
        path: The file.
        features: Features by name, of this package or of TensorFlow.

    Raises:
        FeatureError: A feature is invalid, or the file of a vocabulary cannot be read.
        OSError: A file that cannot be written.
    """
    parsed = parse_features(features)
    _native.check_features(to_json(parsed))
    folder = os.path.dirname(os.path.abspath(os.fsdecode(path)))
    lines = []
    for name, entry in entries(parsed).items():
        words = _words_file(entry)
        if words is not None:
            entry["vocabulary"] = {"file": _from(folder, words)}
        lines.append(f"  {_text(name)}: {_text(entry)}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def _words_file(entry: Mapping[str, Any]) -> str | None:
    vocabulary = entry.get("vocabulary")
    return vocabulary["file"] if isinstance(vocabulary, dict) else None


def _from(folder: str, file: str) -> str:
    """The path of a file relative to a folder if it is inside, otherwise the absolute path."""
    inside = os.path.join(folder, "")
    return file.removeprefix(inside) if file.startswith(inside) else file


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
