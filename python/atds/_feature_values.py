"""Checks of the arguments of features."""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Iterable, Sequence
from typing import Any, get_args

import numpy as np

from atds.errors import FeatureError


def dense_shape(shape: Any) -> tuple[int | None, ...]:
    """The shape of a dense feature; None or -1 is a dimension that varies."""
    dims = _dimensions("shape", shape)
    for dim in dims:
        if dim == 0 or (dim is not None and dim < -1):
            raise FeatureError(
                f"shape {list(dims)}: a dimension is above 0, or None where it varies; the batch "
                "is not one of them"
            )
    return tuple(None if dim == -1 else dim for dim in dims)


def sizes(name: str, shape: Any) -> tuple[int, ...]:
    """The shape of a sparse or varlen feature; None or -1 is an unknown dimension."""
    dims = tuple(-1 if dim is None else dim for dim in _dimensions(name, shape))
    if any(dim == 0 or dim < -1 for dim in dims):
        raise FeatureError(
            f"{name} {list(dims)}: a dimension is above 0, or -1 where it is not known"
        )
    return dims


def _dimensions(name: str, shape: Any) -> tuple[int | None, ...]:
    # TensorFlow's shapes.
    if hasattr(shape, "as_list"):
        shape = shape.as_list()
    if isinstance(shape, (str, bytes)) or shape is None:
        raise _no_shape(name, shape)
    try:
        dims = list(shape) if isinstance(shape, Iterable) else [shape]
        return tuple(None if dim is None else operator.index(dim) for dim in dims)
    except TypeError:
        raise _no_shape(name, shape) from None


def _no_shape(name: str, shape: Any) -> FeatureError:
    return FeatureError(f"{name} is {shape!r}, which is not a list of dimensions such as [8] or []")


def integer(name: str, value: Any) -> int:
    """A whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise FeatureError(f"{name} is {value!r}, which is not a whole number") from None


def text(name: str, value: Any) -> str:
    """A string that can be encoded as UTF-8."""
    if not isinstance(value, str):
        raise FeatureError(f"{name} is {value!r}, which is not a str")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise FeatureError(f"{name} is {value!r}, which cannot be UTF-8") from None
    return str(value)


def flag(name: str, value: Any) -> bool:
    """A bool, from Python's or NumPy's True or False."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise FeatureError(f"{name} is {value!r}, which is neither True nor False")


def known_name(name: str, value: Any, literal: Any) -> None:
    """Checks that `value` is one of the names of a `Literal`."""
    names = get_args(literal)
    if value in names:
        return
    nearest = difflib.get_close_matches(str(value), names, n=1)
    meant = f" (did you mean '{nearest[0]}'?)" if nearest else ""
    raise FeatureError(f"{name} is {value!r}{meant}: it must be one of {', '.join(names)}")


def index_keys(keys: Any) -> tuple[str, ...]:
    """One path or several."""
    if isinstance(keys, str):
        return (keys,)
    if isinstance(keys, Iterable):
        given = tuple(keys)
        if given and all(isinstance(key, str) for key in given):
            return given
    raise FeatureError(f"index_key is {keys!r}, which is neither a path nor a list of paths")


_WITH_KEY = ("row_splits", "row_lengths", "row_starts", "row_limits", "value_rowids")


def partitions(given: Any) -> tuple[tuple[str, str | int], ...]:
    """Partitions of a ragged feature, each a name and a key or a length."""
    try:
        pairs = [(name, of) for name, of in given]
    except (TypeError, ValueError):
        pairs = [(None, given)]
    checked: list[tuple[str, str | int]] = []
    for name, of in pairs:
        if name in _WITH_KEY:
            checked.append((name, text(name, of)))
        elif name == "uniform_row_length":
            checked.append((name, integer(name, of)))
            if checked[-1][1] < 1:  # type: ignore[operator]
                raise FeatureError(f"uniform_row_length is 1 or more, not {of}")
        else:
            raise FeatureError(
                f"partitions is {given!r}: each is a pair of one of {', '.join(_WITH_KEY)} and a "
                "key, or of uniform_row_length and a length"
            )
    return tuple(checked)


def fill(value: Any) -> Any:
    """A default for a features file (JSON): a value, or nested lists."""
    if isinstance(value, (str, bytes)):
        return _text("default", value)
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    elif hasattr(value, "__array__"):
        value = np.asarray(value).tolist()
    if isinstance(value, (list, tuple)):
        return [fill(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    # A feature that was read from JSON has bytes in this form.
    if isinstance(value, (bool, int, float)) or _is_bytes(value):
        return value
    raise FeatureError(f"default is {value!r}, which is neither a value nor lists of values")


def words(vocabulary: Any) -> Any:
    """A vocabulary for a features file (JSON): a list of words, or the path of a file."""
    if isinstance(vocabulary, os.PathLike):
        return {"file": os.path.abspath(os.fspath(vocabulary))}
    if isinstance(vocabulary, dict) and vocabulary.keys() == {"file"}:
        return vocabulary
    if isinstance(vocabulary, (Sequence, np.ndarray)) and not isinstance(vocabulary, (str, bytes)):
        known = [word.item() if isinstance(word, np.generic) else word for word in vocabulary]
        if all(isinstance(word, (str, bytes)) or _is_bytes(word) for word in known):
            return [word if isinstance(word, dict) else _text("a word", word) for word in known]
    raise FeatureError(
        "vocabulary is a list of words, or the path of a file with a word a line (as a "
        f"pathlib.Path), not {vocabulary!r}"
    )


def _is_bytes(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"bytes"}


def _text(name: str, value: str | bytes) -> Any:
    """A string. Bytes that are not UTF-8 become an object with one character for each byte."""
    if isinstance(value, str):
        return text(name, value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"bytes": value.decode("latin-1")}
